"""Drains and lost nodes step by step, on manifests: every step is worked out anew, and nothing is remembered.

Written from what Kubernetes does: `kubectl drain` evicts what budgets allow, controllers make what they lack
and a quota has room for, `simulate` places what waits, a pod with a node is ready, and old pods end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from models import Cluster
from planner import simulate
from tests import seeds
from tests.builders import (
    HOST,
    LONG_AGO,
    ZONE,
    Object,
    budget,
    node,
    pod,
    quota,
    scaled,
    spread,
    term,
    workload,
)

NAMES = ("a1", "a2", "b1", "b2", "c1")
KINDS = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
#: What the controller of a DaemonSet adds; the rest is in the pod's name.
_TOLERATED: Object = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}


@dataclass
class App:
    """A workload in a namespace of its own; `words` are those of `pod`, a grace period among them."""

    name: str
    kind: str
    wanted: Sequence[str]
    """The names of its pods, as far as these are given, and one for each of the others."""
    words: Object
    places: Sequence[str]
    """The nodes of its first pods in the snapshot; "" waits."""
    policy: str = ""
    most: int | None = None
    """How many pods a quota admits."""
    away: int | None = None
    """How many may be unavailable by a budget."""

    @property
    def is_named(self) -> bool:
        """Whether each pod has a name to keep: no other one takes its place."""
        return self.kind in {"StatefulSet", "DaemonSet"}

    def manifests(self) -> list[Object]:
        """The workload, its quota and budget, and its pods."""
        owner = scaled(self.kind, self.name, len(self.wanted), namespace=self.name, **self.words)
        if self.policy:
            owner["spec"]["podManagementPolicy"] = self.policy
        limit = quota({"pods": str(self.most)})
        limit["metadata"]["namespace"] = self.name
        pods = [self.pod(name, on) for name, on in zip(self.wanted, self.places, strict=False)]
        return [owner, *[limit] * (self.most is not None), *self.budgets(), *pods]

    def budgets(self) -> list[Object]:
        """Its budget, if any; that has no status, and so preemption takes all of its pods for protected."""
        if self.away is None:
            return []
        return [budget(self.name, self.name, namespace=self.name, maxUnavailable=self.away)]

    def pod(self, name: str, on: str = "", *, gone: bool = False) -> Object:
        """One of its pods."""
        words: Object = {"app": self.name, "namespace": self.name, "created": LONG_AGO, **self.words}
        if self.kind == "DaemonSet":
            named = {"key": "metadata.name", "operator": "In", "values": [name.partition("-")[2]]}
            words |= {"only_on": [{"matchFields": [named]}], **_TOLERATED}
        return pod(name, on, gone=gone, owner=f"{self.kind}/{self.name}", **words)


@dataclass(eq=False)
class _Replica:
    """A pod: its name, its workload, its node or "", and whether it was told to go."""

    name: str
    app: App
    node: str = ""
    leaving: bool = False


@dataclass
class Replay:
    """Nodes that are drained or lost; `before` and `after` have how many pods are lacking or wait then."""

    nodes: Sequence[Object]
    apps: Sequence[App]
    preemption: bool
    pods: list[_Replica] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    blocked: set[str] = field(default_factory=set)
    lost: list[_Replica] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    """How many pods of a workload are left when nodes are lost."""
    refused: list[_Replica] = field(default_factory=list)
    """What waits for a pod to end or to get a node: that one is told to go is no event for kube-scheduler."""
    _made: int = 0

    def _begin(self) -> None:
        """Have all pods there, and those that controllers lack."""
        for app in self.apps:
            there = zip(app.wanted, app.places, strict=False)
            self.pods += [_Replica(name, app, on) for name, on in there]
        self._make(self.apps)

    def lose(self, zone: str) -> Replay:
        """Lose the nodes of a zone, and let controllers and the scheduler act.

        StatefulSets make their pods at once, and what is preempted is made again once all others had a turn.
        """
        self._begin()
        self._come_to_rest()
        self.before = self._missing()
        gone = {item["metadata"]["name"] for item in self.nodes if item["metadata"]["labels"][ZONE] == zone}
        self.nodes = [item for item in self.nodes if item["metadata"]["name"] not in gone]
        self.lost = [one for one in self.pods if one.node in gone]
        self.pods, self.refused = [one for one in self.pods if one.node not in gone], []
        for app in self.apps:
            if app.kind == "DaemonSet":
                app.wanted = [name for name in app.wanted if name.partition("-")[2] not in gone]
            self.left[app.name] = sum(bool(one.node) for one in self.pods if one.app is app)
        self._make(self.apps)
        self._come_to_rest()
        self.after = self._missing()
        return self

    def _come_to_rest(self) -> None:
        while self._schedule(remade=False):
            self._make(self.apps)

    def drain(self, going: Sequence[str], at_once: int) -> Replay:
        """Cordon all nodes, and drain so many at a time; those that are not empty are tried again."""
        for item in self.nodes:
            item["spec"]["unschedulable"] = item["metadata"]["name"] in going
        self._begin()
        self._schedule()
        self.before, waiting = self._missing(), [*going]
        while waiting:
            left: list[str] = []
            for start in range(0, len(waiting), at_once):
                wave = waiting[start : start + at_once]
                while any([*map(self._evict, wave)]) | self._act():
                    pass
                left += [name for name in wave if self._to_go(name)]
            if left == waiting:
                break
            waiting = left
        self.after, self.blocked = self._missing(), {*waiting}
        return self

    def _to_go(self, name: str) -> list[_Replica]:
        """The pods of a node that are to go, and were not told yet."""
        return [
            one for one in self.pods if one.node == name and not one.leaving and one.app.kind != "DaemonSet"
        ]

    def _evict(self, name: str) -> bool:
        """Evict from a node what budgets allow; whether any pod goes."""
        before = len(self.evicted)
        for one in self._to_go(name):
            app = one.app
            ready = sum(bool(other.node) and not other.leaving for other in self.pods if other.app is app)
            if app.away is None or ready > len(app.wanted) - app.away:
                self.evicted.append(one.name)
                one.leaving = True
                if not app.words["terminationGracePeriodSeconds"]:
                    self.pods.remove(one)
                    self.refused.clear()
                self._make([app])
        return len(self.evicted) > before

    def _act(self) -> bool:
        """Pods that wait are scheduled, then old ones end, and controllers try again."""
        moved, still = self._schedule(), [one for one in self.pods if not one.leaving]
        if len(still) < len(self.pods):
            moved, self.refused = True, []
        self.pods = still
        return self._make(self.apps) | moved

    def _make(self, apps: Sequence[App]) -> bool:
        """Have controllers make what they lack, as far as quotas have room; whether any pod comes."""
        before = self._made
        while coming := [(name, app) for app in apps if (name := self._next(app))]:
            # The order is open in Kubernetes. Here those that were evicted come first, one after the other.
            self.pods.append(_Replica(*min(coming, key=lambda one: self._turn(one[0]))))
            self._made += 1
        return self._made > before

    def _turn(self, name: str) -> int:
        return self.evicted.index(name) if name in self.evicted else len(self.evicted)

    def _next(self, app: App) -> str:
        """The name of the pod that a controller makes now; empty where it makes none."""
        own = {one.name: one for one in self.pods if one.app is app}
        if app.most is not None and len(own) >= app.most:
            return ""
        if not app.is_named:
            live = sum(not one.leaving for one in own.values())
            return f"{app.name}-new-{self._made}" if live < len(app.wanted) else ""
        for name in app.wanted:
            if name not in own:
                return name
            if app.policy == "OrderedReady" and (own[name].leaving or not own[name].node):
                return ""
        return ""

    def _schedule(self, *, remade: bool = True) -> bool:
        """Have the reference scheduler place what waits, a pod at a time; whether it places any.

        What preemption evicts is made again at once, or not at all.
        """
        moved = False
        # Workloads that want no pods: default spread constraints have their selectors.
        owners = [workload(app.kind, app.name, namespace=app.name) for app in self.apps]
        fixed = [*self.nodes, *owners, *(item for app in self.apps for item in app.budgets())]
        while True:
            there = [one for one in self.pods if one not in self.refused]
            listed = [one.app.pod(one.name, one.node, gone=one.leaving) for one in there]
            found = simulate(Cluster.from_objects([*fixed, *listed]), preemption=self.preemption)
            placed = next((one for one in found.decisions if one.node is not None), None)
            if placed is None:
                self.refused = [one for one in self.pods if not one.node]
                return moved
            self.refused.clear()
            by_key = {f"{one.app.name}/{one.name}": one for one in self.pods}
            by_key[placed.pod].node = placed.node or ""
            victims = [by_key[key] for key in placed.victims]
            self.pods = [one for one in self.pods if one not in victims]
            self._make([one.app for one in victims] if remade else ())
            moved = True

    def _missing(self) -> Counter[str]:
        """How many pods that are wanted have no node: by workload, or by name where they have one to keep."""
        found = Counter[str]()
        for app in self.apps:
            there = [one.name for one in self.pods if one.app is app and one.node]
            found.update({*app.wanted}.difference(there) if app.is_named else ())
            found[app.name] = 0 if app.is_named else max(0, len(app.wanted) - len(there))
        return found

    def on(self, app: App) -> Counter[str | None]:
        """The nodes of the pods of a workload."""
        return Counter(one.node for one in self.pods if one.app is app and one.node)


def drawn(chance: Random) -> tuple[list[Object], list[App]]:
    """Nodes of three zones, and workloads: some with a quota, a budget, pods that wait or are lacking."""
    room = {name: chance.randint(1, 4) for name in NAMES}
    nodes = [node(name, name[0], cpu=str(cpu)) for name, cpu in room.items()]
    apps = [_app(name, chance, room) for name in "uvwx"[: chance.randint(2, 4)]]
    # The order in which workloads make their pods.
    return nodes, sorted(apps, key=lambda app: KINDS.index(app.kind))


def _app(name: str, chance: Random, room: dict[str, int]) -> App:
    kind, places = chance.choice(KINDS), list[str]()
    for _ in range(chance.randint(1, 4)):
        if free := [on for on in NAMES if room[on] and not (kind == "DaemonSet" and on in places)]:
            places.append(chance.choice(free))
            room[places[-1]] -= 1
    there = len(places)
    rules: list[Object] = [{"apart": [term(HOST, name)]}, *[{"apart": [term(ZONE, name)]}] * 3]
    rules += [{}, {"spread": [spread(app=name)]}, {"node_selector": {ZONE: chance.choice("abc")}}]
    words: Object = {"cpu": "1", "terminationGracePeriodSeconds": chance.choice((0, 30, 30))}
    words["priority"] = chance.choice((0, 0, 10))
    if kind == "DaemonSet":
        others = sorted({*NAMES}.difference(places))
        wanted = [f"{name}-{on}" for on in (*places, *others)]
    else:
        words |= chance.choice(rules) | ({"restartPolicy": "Never"} if kind == "Job" else {})
        if kind != "StatefulSet":
            places += [""] * chance.choice((0, 0, 1, 2))
        more = chance.choice((0, 0, 0, 1)) * (kind != "StatefulSet")
        wanted = [f"{name}-{n}" for n in range(len(places) + more)]
    policy = chance.choice(("OrderedReady", "Parallel")) if kind == "StatefulSet" else ""
    most = chance.choice((None, None, there, there + 1, max(1, there - 1))) if kind != "DaemonSet" else None
    away = chance.choice((None, None, 0, 1, 2)) if kind in {"ReplicaSet", "StatefulSet"} else None
    return App(name, kind, wanted, words, places, policy, most, away)


def refute(quick: int, refuted: Callable[[Random], None]) -> None:
    """Draw so many cases afresh; what is raised says with which seed."""
    for seed in seeds.seeds(quick):
        try:
            refuted(Random(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
