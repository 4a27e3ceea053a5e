"""Random tiny clusters: one to six nodes, up to ten pods, and as much trouble as fits.

A case draws a few topics and stays with them, so that rules meet each other instead of each pod having
a rule of its own.  Running pods stand anywhere, so constraints are often broken from the start; workloads
are caught in the middle of a rollout, so pods that carry a constraint stand among others that only match.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.truth.manifests import PREFERRED, REQUIRED, Object
from tests.truth.world import World

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
GPU = "example.com/gpu"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
MOST_PODS, MOST_NODES = 10, 6
COMMANDS = ("solve", "solve --allow-moves", "rebalance", "scale-down")
_COST = "controller.kubernetes.io/pod-deletion-cost"
_TOPICS = """
    taints cordons near apart ports gpu priorities budgets gone gates soft rack namespaces choice bare stuck
    keys policies minimum expressions labels wishes tight
"""
#: What meets most often in real clusters, all of it a little, in so many of the cases.
_CLASSICS = "taints near apart ports soft choice policies minimum tight"
_CLASSIC = 0.35


@dataclass(frozen=True)
class Case:
    """A cluster, and what is asked about it."""

    seed: int
    command: str
    objects: list[Object]
    replicas: dict[str, int] = field(default_factory=dict)
    #: What the command is called with beside the cluster.
    options: dict[str, Any] = field(default_factory=dict)


def draw(seed: int, command: str | None = None) -> Case:
    """The case of a seed; the same on every machine.  Clusters where nothing is amiss are drawn again."""
    chance = random.Random(seed)
    chosen = command or COMMANDS[seed % len(COMMANDS)]
    for _ in range(chance.choice((0, 12, 12, 12))):
        found = _Draw(chance, chosen).case(seed)
        if is_hard(found, chance):
            return found
    return _Draw(chance, chosen).case(seed)


def options_of(seed: int, command: str) -> dict[str, Any]:
    """What a command is called with: half of the time nothing in particular."""
    if command != "rebalance":
        return {}
    chance = random.Random(f"options {seed}")
    choice: tuple[dict[str, Any], ...] = (
        {"max_moves": chance.randrange(3)},
        {"max_moves": chance.randrange(3), "soft": True},
        {"soft": True},
        {"evict_only": True},
        {"cordon": True},
        {"max_unavailable": 2},
        {"curve": True},
    )
    return chance.choice(choice) if chance.random() < 0.5 else {}


def is_hard(case: Case, chance: random.Random) -> bool:
    """Whether first fit leaves somebody out, or there is something to repair."""
    world = World(case.objects)
    if case.command in ("rebalance", "scale-down"):
        return sum(world.excess(world.start)) > 0 and any(kind.movable for kind in world.kinds)
    waiting = [number for number, kind in enumerate(world.kinds) for _ in kind.names]
    chance.shuffle(waiting)
    state, left = world.start, 0
    for number in waiting:
        nodes = world.feasible(state, number)
        if nodes:
            state += world.delta[number][nodes.bit_length() - 1]
        else:
            left += 1
    return left > 0 and any(world.fits[number][0](state) for number in waiting)


class _Draw:
    """One case in the making: how likely each topic is in this one."""

    def __init__(self, chance: random.Random, command: str) -> None:
        self._chance = chance
        self._command = command
        topics = _TOPICS.split()
        self._likely = dict.fromkeys(topics, 0.0)
        if chance.random() < _CLASSIC:
            self._likely |= dict.fromkeys(_CLASSICS.split(), 0.3)
        else:
            for topic in chance.sample(topics, chance.choice((2, 3, 4, 5, 6))):
                self._likely[topic] = chance.choice((0.3, 0.5, 0.8))
        self._zones = chance.choice((("x", "y"), ("x", "y"), ("x", "y", "z"), ("x",)))

    def _has(self, topic: str) -> bool:
        return self._chance.random() < self._likely[topic]

    def _one(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def case(self, seed: int) -> Case:
        nodes = self._nodes()
        pods, workloads = self._pods(nodes)
        others = [self._namespace("shop", team="red")] if self._likely["namespaces"] else []
        budgets = self._budgets(pods)
        replicas: dict[str, int] = {}
        if self._command == "scale-down":
            replicas = self._asked(pods, workloads)
        objects = [*nodes, *others, *budgets, *workloads, *pods]
        return Case(seed, self._command, objects, replicas, options_of(seed, self._command))

    # Nodes

    def _nodes(self) -> list[Object]:
        size = self._one(1, 2, 3, 3, 4, 4, 4, 5, 6)
        found: list[Object] = []
        while len(found) < size:
            node = self._node()
            for _ in range(self._one(1, 1, 2, 3)):
                if len(found) < size:
                    found.append(self._named(node, f"n{len(found)}"))
        self._chance.shuffle(found)
        return found

    def _node(self) -> Object:
        labels: dict[str, str] = {}
        if not self._has("labels"):
            labels[ZONE] = self._one(*self._zones)
        if self._has("rack") or self._has("rack"):
            labels[RACK] = self._one("r1", "r2")
        if self._one(True, False):
            labels["disk"] = self._one("ssd", "ssd", "hdd")
        room = {"cpu": self._one("1", "2", "3", "4", "6", "8"), "memory": "64Gi", "pods": "10"}
        if self._has("tight"):
            room |= {"cpu": self._one("1", "2", "3"), "pods": self._one("1", "2", "3")}
        if self._has("gpu"):
            room[GPU] = self._one("1", "2")
        if self._one(*[False] * 11, True):
            del room[self._one("cpu", "memory")]
        taints = []
        if self._has("taints"):
            taints.append(self._taint())
        spec: Object = {"taints": taints} if taints else {}
        if self._has("cordons"):
            spec["unschedulable"] = True
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"labels": labels},
            "spec": spec,
            "status": {"allocatable": room, "capacity": room},
        }

    def _taint(self) -> Object:
        effect = self._one("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")
        return {"key": self._one("dedicated", "old"), "value": "x", "effect": effect}

    def _named(self, node: Object, name: str) -> Object:
        found: Object = copy.deepcopy(node)
        found["metadata"]["name"] = name
        if not (self._likely["labels"] and self._one(*[False] * 7, True)):
            found["metadata"]["labels"][HOST] = name
        return found

    @staticmethod
    def _namespace(name: str, **labels: str) -> Object:
        labels["kubernetes.io/metadata.name"] = name
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    # Pods

    def _pods(self, nodes: Sequence[Object]) -> tuple[list[Object], list[Object]]:
        kinds, owners = self._kinds()
        pods: list[Object] = []
        running = self._share()
        for _ in range(self._one(3, 4, 5, 6, 7, 8, 9, MOST_PODS)):
            kind = self._one(*kinds)
            on = self._one(*nodes)["metadata"]["name"] if self._chance.random() < running else ""
            pods.append(self._pod(kind, len(pods), on))
        return pods, owners

    def _share(self) -> float:
        """How many of the pods run."""
        match self._command:
            case "solve":
                return float(self._one(0.0, 0.2, 0.4, 0.6))
            case "solve --allow-moves":
                return float(self._one(0.3, 0.5, 0.7, 0.8))
            case _:
                return float(self._one(0.9, 1.0, 1.0))

    def _kinds(self) -> tuple[list[Object], list[Object]]:
        """Pod templates with their owners: workloads, some with an older revision beside the new one."""
        kinds: list[Object] = []
        owners: list[Object] = []
        for number in range(self._one(1, 2, 2, 3)):
            kind = self._kind(number)
            kinds.append(kind)
            if self._command == "scale-down":
                owners.append(kind["owner_object"])
            if self._one(True, False) and len(kinds) < 5:
                kinds.append(self._revised(kind, number, owners))
        return kinds, owners

    def _kind(self, number: int) -> Object:
        labels = {"app": self._one("a", "a", "b", "c")}
        if self._has("keys") or self._one(*[False] * 4, True):
            labels["rev"] = self._one("1", "2")
        spec: Object = {"containers": [self._container()]}
        constraints = [self._constraint(labels) for _ in range(self._one(0, 1, 1, 1, 2, 2, 3))]
        unique = {(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}
        if unique:
            spec["topologySpreadConstraints"] = list(unique.values())
        self._wish(spec, labels)
        kind: Object = {"labels": labels, "spec": spec, "namespace": "default", "owner": None}
        if self._has("namespaces"):
            kind["namespace"] = "shop"
        self._own(kind, number)
        return kind

    def _own(self, kind: Object, number: int) -> None:
        """An owner, or none."""
        if self._has("bare") and self._command != "scale-down":
            return
        choice = ["ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job"]
        if self._command != "scale-down" and self._has("bare"):
            choice.append("DaemonSet")
        owner = self._one(*choice)
        name = f"w{number}"
        version = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}.get(owner, "apps/v1")
        kind["owner"] = {
            "apiVersion": version,
            "kind": owner,
            "name": name,
            "uid": f"uid-{name}",
            "controller": True,
        }
        kind["owner_object"] = {
            "apiVersion": version,
            "kind": owner,
            "metadata": {"name": name, "namespace": kind["namespace"], "uid": f"uid-{name}"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"workload": name}}},
        }
        kind["labels"]["workload"] = name

    def _revised(self, kind: Object, number: int, owners: list[Object]) -> Object:
        """The same in another revision: with or without its constraints, or with other room."""
        found: Object = copy.deepcopy(kind)
        spec = found["spec"]
        match self._one("constraints", "constraints", "room", "wish", "revision"):
            case "constraints":
                if spec.pop("topologySpreadConstraints", None) is None:
                    spec["topologySpreadConstraints"] = [self._constraint(found["labels"])]
            case "room":
                spec["containers"] = [self._container()]
            case "wish":
                spec.pop("affinity", None)
                spec.pop("tolerations", None)
                self._wish(spec, found["labels"])
            case _:
                found["labels"]["rev"] = self._one("1", "2", "3")
        if found["owner"] is not None and self._command != "scale-down" and self._one(True, True, False):
            found["owner"] = {**found["owner"], "name": f"w{number}b", "uid": f"uid-w{number}b"}
        return found

    def _container(self) -> Object:
        requests: dict[str, str] = {}
        if self._one(True, True, True, False):
            requests["cpu"] = self._one("500m", "1", "1", "1", "2", "3")
        if self._has("gpu"):
            requests[GPU] = "1"
        if self._one(*[False] * 9, True):
            requests["memory"] = self._one("1Gi", "32Gi", "40Gi")
        found: Object = {"name": "c", "image": "i", "resources": {"requests": requests}}
        if self._has("ports"):
            port: Object = {"containerPort": 80, "hostPort": self._one(80, 80, 81)}
            if self._one(*[False] * 4, True):
                port |= self._one({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, {"protocol": "UDP"})
            found["ports"] = [port]
        return found

    def _selector(self, labels: dict[str, str]) -> Object | None:
        """Mostly the pod's own app, sometimes another's."""
        if self._has("expressions"):
            choice: tuple[Object | None, ...] = (
                {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
                {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
                {"matchExpressions": [{"key": "rev", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "rev", "operator": "DoesNotExist"}]},
                {"matchLabels": {"app": labels["app"], "rev": "1"}},
                {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                {"matchLabels": {"app": "nobody"}},
                {},
            )
            found: Object | None = self._one(*choice)
            return found
        app = labels["app"] if self._one(True, True, True, False) else self._one("a", "b", "c")
        return {"matchLabels": {"app": app}}

    def _key(self) -> str:
        if self._has("rack"):
            return RACK
        return str(self._one(ZONE, ZONE, ZONE, HOST))

    def _constraint(self, labels: dict[str, str]) -> Object:
        when = SOFT if self._has("soft") else HARD
        found: Object = {
            "maxSkew": self._one(1, 1, 1, 2),
            "topologyKey": self._key(),
            "whenUnsatisfiable": when,
            "labelSelector": self._selector(labels),
        }
        if self._has("policies"):
            found["nodeTaintsPolicy"] = self._one("Honor", "Ignore")
        if self._has("policies"):
            found["nodeAffinityPolicy"] = self._one("Honor", "Ignore")
        if when == HARD and self._has("minimum"):
            found["minDomains"] = self._one(1, 2, 2, 3)
        if "rev" in labels and self._has("keys"):
            found["matchLabelKeys"] = ["rev"]
        return found

    def _term(self, labels: dict[str, str]) -> Object:
        found: Object = {"topologyKey": self._key(), "labelSelector": self._selector(labels)}
        if self._has("namespaces"):
            found |= self._one(
                {"namespaces": ["shop"]},
                {"namespaces": ["default", "shop"]},
                {"namespaceSelector": {}},
                {"namespaceSelector": {"matchLabels": {"team": "red"}}},
            )
        return found

    def _wish(self, spec: Object, labels: dict[str, str]) -> None:
        """Affinities, tolerations, node choices, priorities."""
        affinity: Object = {}
        if self._has("near"):
            terms = [self._term(labels) for _ in range(self._one(1, 1, 1, 2))]
            affinity["podAffinity"] = {REQUIRED: terms}
        if self._has("apart"):
            terms = [self._term(labels) for _ in range(self._one(1, 1, 1, 2))]
            affinity["podAntiAffinity"] = {REQUIRED: terms}
        if self._has("wishes"):
            kind = self._one("podAffinity", "podAntiAffinity")
            wish = {"weight": self._one(1, 10, 100), "podAffinityTerm": self._term(labels)}
            affinity.setdefault(kind, {})[PREFERRED] = [wish]
        if self._has("choice"):
            self._choose(spec, affinity)
        if affinity:
            spec["affinity"] = affinity
        if self._has("taints") or self._has("taints"):
            spec["tolerations"] = [self._toleration()]
        if self._has("priorities"):
            spec["priority"] = self._one(100, 100, -5, 7)

    def _choose(self, spec: Object, affinity: Object) -> None:
        operator = self._one("In", "NotIn")
        match self._one("selector", "selector", "zone", "name", "wish"):
            case "selector":
                spec["nodeSelector"] = {"disk": "ssd"}
            case "zone":
                term: Object = {"matchExpressions": [{"key": ZONE, "operator": operator, "values": ["x"]}]}
                affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [term]}}
            case "name":
                field_of = {"key": "metadata.name", "operator": operator, "values": ["n1"]}
                affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field_of]}]}}
            case _:
                term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x"]}]}
                affinity["nodeAffinity"] = {PREFERRED: [{"weight": 10, "preference": term}]}

    def _toleration(self) -> Object:
        found: Object = self._one(
            {"key": "dedicated", "operator": "Exists"},
            {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"key": "old", "operator": "Exists"},
            {"operator": "Exists"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
        )
        return found

    def _pod(self, kind: Object, number: int, on: str) -> Object:
        spec: Object = copy.deepcopy(kind["spec"])
        meta: Object = {
            "name": f"p{number}",
            "namespace": kind["namespace"],
            "uid": f"uid-p{number}",
            "labels": dict(kind["labels"]),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        if kind["owner"] is not None:
            meta["ownerReferences"] = [kind["owner"]]
            if kind["owner"]["kind"] == "StatefulSet":
                meta["name"] = f"{kind['owner']['name']}-{number}"
        notes: dict[str, str] = {}
        if on:
            spec["nodeName"] = on
            if self._has("gone"):
                meta["deletionTimestamp"] = "2026-01-01T01:00:00Z"
                meta["deletionGracePeriodSeconds"] = 30
            if self._has("stuck"):
                self._stick(spec, notes)
            if self._command in ("rebalance", "scale-down") and self._one(*[False] * 5, True):
                notes[_COST] = self._one("-5", "10")
        elif self._has("gates"):
            spec["schedulingGates"] = [{"name": "example.com/gate"}]
        if notes:
            meta["annotations"] = notes
        status: Object = {"phase": "Running" if on else "Pending"}
        if self._command == "scale-down":
            status["conditions"] = [{"type": "Ready", "status": "True" if self._unlikely() else "False"}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    def _unlikely(self) -> bool:
        return bool(self._one(*[True] * 5, False))

    def _stick(self, spec: Object, notes: dict[str, str]) -> None:
        """Something that speaks against its eviction."""
        match self._one("volume", "safe", "descheduler", "system"):
            case "volume":
                spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
            case "safe":
                notes["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false"
            case "descheduler":
                notes["descheduler.alpha.kubernetes.io/prefer-no-eviction"] = ""
            case _:
                spec["priority"] = 2_000_000_000

    # Budgets and scale-downs

    def _budgets(self, pods: Sequence[Object]) -> list[Object]:
        if not self._has("budgets"):
            return []
        return [self._budget(f"budget-{number}") for number in range(self._one(1, 1, 2))]

    def _budget(self, name: str) -> Object:
        key, value = self._one(("app", "a"), ("app", "b"), ("workload", "w0"))
        spec: Object = {"selector": {"matchLabels": {key: value}}}
        spec |= self._one({"maxUnavailable": 1}, {"minAvailable": 1}, {"minAvailable": "50%"})
        found: Object = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        if self._one(True, True, False):
            found["status"] = {"disruptionsAllowed": self._one(0, 1, 1, 2)}
        return found

    def _asked(self, pods: Sequence[Object], workloads: Sequence[Object]) -> dict[str, int]:
        """How many replicas some workloads are to keep."""
        asked: dict[str, int] = {}
        for item in workloads:
            mine = [pod for pod in pods if self._owner(pod) == (item["kind"], item["metadata"]["name"])]
            if item["kind"] == "StatefulSet":
                # Missing ordinals would be filled when the manifests are read.
                for number, pod in enumerate(mine):
                    pod["metadata"]["name"] = f"{item['metadata']['name']}-{number}"
                    pod["metadata"].pop("deletionTimestamp", None)
            live = [pod for pod in mine if "deletionTimestamp" not in pod["metadata"]]
            item["spec"]["replicas"] = len(live)
            if item["kind"] == "Job":
                item["spec"] = {"parallelism": len(live), "completions": 20}
            elif mine:
                item["spec"]["template"] = {
                    "metadata": {"labels": mine[0]["metadata"]["labels"]},
                    "spec": {key: value for key, value in mine[0]["spec"].items() if key != "nodeName"},
                }
            if live and (not asked or self._one(True, False)):
                space = item["metadata"]["namespace"]
                keep = self._chance.randrange(len(live))
                asked[f"{item['kind'].lower()}/{item['metadata']['name']}.{space}"] = keep
        return asked

    @staticmethod
    def _owner(pod: Object) -> tuple[str, str]:
        owner = pod["metadata"]["ownerReferences"][0]
        return owner["kind"], owner["name"]
