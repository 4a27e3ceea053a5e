"""Two snapshots of which everything is known that is different: what `diff` has to name, and nothing else."""

from __future__ import annotations

import copy
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from models import Cluster
from planner import diff
from planner.documents.diff import Diff, MovedPod
from planner.documents.move_plan import Balance
from tests.builders import HARD, HOST, SOFT, ZONE, Object, node, pod, spread
from tests.truth.tiny_cluster import TinyCluster

_NODE_CHANGES = ["added", "removed", "cordoned", "uncordoned", "remade", "tainted", "labelled", "resized"]


@dataclass(frozen=True)
class Placed:
    """A pod of a kind, and its node; "" while it waits."""

    kind: int
    node: str
    is_gone: bool = False
    phase: str = ""

    @property
    def takes_part(self) -> bool:
        """Whether the planner counts it: not one that has finished, nor one that ends without a node."""
        return not self.phase and not (self.is_gone and not self.node)


@dataclass
class Snapshot:
    """Nodes, and pods by their names."""

    kinds: Sequence[Object]
    nodes: list[Object]
    pods: dict[str, Placed]

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return [item["metadata"]["name"] for item in self.nodes]

    @property
    def places(self) -> dict[str, str]:
        """The pods that take part by `namespace/name`, and their nodes."""
        there = {*self.names, ""}
        found = {name: one for name, one in self.pods.items() if one.node in there and one.takes_part}
        return {self.key(name): one.node for name, one in found.items()}

    def key(self, name: str) -> str:
        """`namespace/name` of a pod."""
        return f"{self.kinds[self.pods[name].kind].get('namespace', 'default')}/{name}"

    def owners(self) -> dict[str, tuple[str, str]]:
        """By pod the namespace and the owner, "" where there is none."""
        kinds = {self.key(name): self.kinds[one.kind] for name, one in self.pods.items()}
        return {key: (key.partition("/")[0], kind.get("owner", "")) for key, kind in kinds.items()}

    def objects(self) -> list[Object]:
        """The manifests."""
        return [*self.nodes, *(self._manifest(name, one) for name, one in self.pods.items())]

    def _manifest(self, name: str, one: Placed) -> Object:
        phase = one.phase or ("Running" if one.node else "Pending")
        return pod(name, one.node, gone=one.is_gone, phase=phase, **copy.deepcopy(self.kinds[one.kind]))


def draw(seed: int) -> tuple[Snapshot, Snapshot, dict[str, set[str]]]:
    """A snapshot, a later one, and the nodes by what was done to them."""
    chance = random.Random(f"mutations {seed}")
    nodes = [_node(chance, f"n{number}") for number in range(chance.randint(2, 5))]
    kinds = [_kind(chance, number) for number in range(chance.randint(1, 3))]
    before = Snapshot(kinds, nodes, {})
    for number in range(chance.randint(2, 8)):
        on = chance.choice([*before.names, *before.names, ""])
        before.pods[f"p{number}"] = Placed(chance.randrange(len(kinds)), on)
    after = Snapshot(kinds, copy.deepcopy(nodes), dict(before.pods))
    changes = _Changes(chance, after)
    changes.make()
    return before, after, changes.nodes


def _node(chance: random.Random, name: str) -> Object:
    labels, taints = {"disk": "ssd"}, ["a=b:NoSchedule"] if chance.random() < 0.2 else []
    zone, cordoned = chance.choice("xyz"), chance.random() < 0.15
    found = node(name, zone=zone, taints=taints, cordoned=cordoned, labels=labels)
    found["metadata"]["uid"] = f"uid-{name}"
    return found


def _kind(chance: random.Random, number: int) -> Object:
    app = f"a{number}"
    found: Object = {"app": app, "cpu": "100m"}
    owner = chance.choice((f"ReplicaSet/w{number}", f"ReplicaSet/w{number}", f"StatefulSet/w{number}", ""))
    if owner:
        found["owner"] = owner
    if chance.random() < 0.6:
        when = chance.choice((HARD, HARD, SOFT))
        counted = chance.choice((app, "a0"))
        found["spread"] = [spread(chance.choice((ZONE, HOST)), chance.choice((1, 2)), counted, when=when)]
    if chance.random() < 0.3:
        found["namespace"] = "shop"
    return found


@dataclass
class _Changes:
    """Changes of the later snapshot."""

    chance: random.Random
    after: Snapshot
    nodes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def make(self) -> None:
        """Some nodes and pods are others."""
        for item in self.after.nodes:
            self._change_node(item, item["metadata"]["name"])
        if self.chance.random() < 0.15:
            (gone,) = self.chance.sample(self.after.nodes, 1)
            self.after.nodes.remove(gone)
            for found in self.nodes.values():
                found.discard(gone["metadata"]["name"])
            self.nodes["removed"].add(gone["metadata"]["name"])
        if self.chance.random() < 0.15:
            self.after.nodes.append(node("new", zone="x"))
            self.nodes["added"].add("new")
        for name in [*self.after.pods]:
            if self.chance.random() < 0.5:
                self._change_pod(name)
        for number in range(self.chance.choice((0, 0, 1, 2))):
            self.after.pods[f"m{number}"] = Placed(self.chance.randrange(len(self.after.kinds)), self._any())

    def _any(self) -> str:
        return self.chance.choice([*self.after.names, ""])

    def _change_node(self, item: Object, name: str) -> None:
        if self.chance.random() < 0.1:
            item["metadata"]["uid"] = "another"
            self.nodes["remade"].add(name)
        if self.chance.random() < 0.12:
            item["spec"]["unschedulable"] = not item["spec"]["unschedulable"]
            self.nodes["cordoned" if item["spec"]["unschedulable"] else "uncordoned"].add(name)
        if self.chance.random() < 0.1:
            # The taint of a cordon is no other taint.
            item["spec"]["taints"].append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if self.chance.random() < 0.12:
            item["spec"]["taints"].append({"key": "new", "value": "x", "effect": "NoSchedule"})
            self.nodes["tainted"].add(name)
        if self.chance.random() < 0.12:
            item["metadata"]["labels"][self.chance.choice(("disk", "other"))] = "changed"
            self.nodes["labelled"].add(name)
        if self.chance.random() < 0.12:
            item["status"]["allocatable"][self.chance.choice(("cpu", "pods"))] = "77"
            self.nodes["resized"].add(name)

    def _change_pod(self, name: str) -> None:
        there = self.after.pods
        kind = there[name].kind
        match self.chance.choice(("moves", "goes", "is replaced", "waits", "ends", "is over")):
            case "moves":
                there[name] = Placed(kind, self.chance.choice([*self.after.names]))
            case "goes":
                del there[name]
            case "is replaced":
                del there[name]
                there[f"{self.chance.choice('az')}{name}"] = Placed(kind, self._any())
            case "waits":
                there[name] = Placed(kind, "")
            case "ends":
                there[name] = Placed(kind, there[name].node, is_gone=True)
            case _:
                there[name] = Placed(kind, there[name].node, phase="Succeeded")


def refuted(before: Snapshot, after: Snapshot, nodes: dict[str, set[str]]) -> Iterator[str]:
    """What is said of the two and is not so, or is so and not said."""
    found = diff(Cluster.from_objects(before.objects()), Cluster.from_objects(after.objects()))
    for what in _NODE_CHANGES:
        if [*getattr(found.nodes, what)] != sorted(nodes[what]):
            yield f"{what}: {getattr(found.nodes, what)}, and it is {nodes[what]}"
    for told, side in ((found.before, before), (found.after, after)):
        yield from _figures(told, side)
    yield from _by_name(found, before.places, after.places)
    yield from _replaced(found, before, after)


def _figures(told: Balance, side: Snapshot) -> Iterator[str]:
    tiny = TinyCluster(side.objects())
    excess = [sum(row.excess(tiny.start) for row in tiny.rows if row.hard == hard) for hard in (True, False)]
    waiting = sum(not node for node in side.places.values())
    if [told.hard_excess, told.soft_excess, told.pending] != [*excess, waiting]:
        yield f"{told}, and it is {excess}, {waiting}"


def _by_name(found: Diff, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Pods that have kept their names."""
    both = {pod: (before[pod], after[pod]) for pod in before.keys() & after.keys()}
    moved = {pod: pair for pod, pair in both.items() if all(pair) and pair[0] != pair[1]}
    placed = {pod: now for pod, (was, now) in both.items() if now and not was}
    waiting = {pod for pod, now in after.items() if not now and before.get(pod) != ""}
    if {row.pod: (row.source, row.node) for row in found.moved if row.replacement is None} != moved:
        yield f"moved: {found.moved}, and it is {moved}"
    if {row.pod: row.node for row in found.placed} != placed:
        yield f"placed: {found.placed}, and it is {placed}"
    if {row.pod for row in found.pending} != waiting:
        yield f"pending: {found.pending}, and it is {waiting}"


def _replaced(found: Diff, before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Of each owner as many have moved under other names as are gone from some nodes and come to others."""
    told: dict[tuple[str, str], list[MovedPod]] = defaultdict(list)
    for row in found.moved:
        if row.replacement is not None:
            told[row.pod.partition("/")[0], row.workload].append(row)
    gone, come = _only(before, after), _only(after, before)
    for owner in {*gone, *come, *told}:
        stay = gone[owner] & come[owner]
        left, right, rows = gone[owner] - stay, come[owner] - stay, told[owner]
        sources, nodes = Counter(row.source for row in rows), Counter(row.node for row in rows)
        if len(rows) != min(left.total(), right.total()) or not (sources <= left and nodes <= right):
            yield f"{owner}: {rows}, and {left} are gone, {right} have come"


def _only(side: Snapshot, other: Snapshot) -> dict[tuple[str, str], Counter[str]]:
    """By owner the nodes of pods that only this side has."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    owners, there = side.owners(), other.places
    for pod_, on in side.places.items():
        if on and pod_ not in there and owners[pod_][1]:
            found[owners[pod_]][on] += 1
    return found
