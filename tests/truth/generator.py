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

from planner.proof.effort import STANDARD, Effort
from tests.builders import budget, namespace, node, selector
from tests.truth.manifests import Object
from tests.truth.templates import GPU, HOST, RACK, ZONE, Templates
from tests.truth.tiny_cluster import TinyCluster

MOST_PODS, MOST_NODES = 10, 6
COMMANDS = ("solve", "solve --allow-moves", "rebalance", "scale-down")
_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True)
class Case:
    """A cluster, and what is asked about it."""

    seed: int
    command: str
    objects: list[Object]
    replicas: dict[str, int] = field(default_factory=dict)
    #: What the command is called with beside the cluster.
    options: dict[str, Any] = field(default_factory=dict)
    #: How far the engines of `solve` go.
    effort: Effort = STANDARD


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
    """Whether first fit leaves a pod out, or there is something to repair."""
    tiny = TinyCluster(case.objects)
    if case.command in ("rebalance", "scale-down"):
        return sum(tiny.excess(tiny.start)) > 0 and any(kind.movable for kind in tiny.kinds)
    waiting = [number for number, kind in enumerate(tiny.kinds) for _ in kind.names]
    chance.shuffle(waiting)
    state, left = tiny.start, 0
    for number in waiting:
        nodes = tiny.feasible(state, number)
        if nodes:
            state += tiny.delta[number][nodes.bit_length() - 1]
        else:
            left += 1
    return left > 0 and any(tiny.fits[number][0](state) for number in waiting)


class _Draw(Templates):
    """One case in the making."""

    def __init__(self, chance: random.Random, command: str) -> None:
        super().__init__(chance, command)
        self._zones = chance.choice((("x", "y"), ("x", "y"), ("x", "y", "z"), ("x",)))

    def case(self, seed: int) -> Case:
        nodes = self._nodes()
        pods, workloads = self._pods(nodes)
        others = (
            [namespace("shop", team="red", **{"kubernetes.io/metadata.name": "shop"})]
            if self._likely["namespaces"]
            else []
        )
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
            made = self._node()
            for _ in range(self._one(1, 1, 2, 3)):
                if len(found) < size:
                    found.append(self._named(made, f"n{len(found)}"))
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
        unset = {name: None for name in ("cpu", "memory") if name not in room}
        cordoned = self._has("cordons")
        return node("", labels={HOST: None, **labels}, room=room | unset, taints=taints, cordoned=cordoned)

    def _taint(self) -> str:
        effect = self._one("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")
        return f"{self._one('dedicated', 'old')}=x:{effect}"

    def _named(self, made: Object, name: str) -> Object:
        found: Object = copy.deepcopy(made)
        found["metadata"]["name"] = name
        if not (self._likely["labels"] and self._one(*[False] * 7, True)):
            found["metadata"]["labels"][HOST] = name
        return found

    # Pods

    def _pods(self, nodes: Sequence[Object]) -> tuple[list[Object], list[Object]]:
        kinds, owners = self.templates()
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
        limit = self._one({"maxUnavailable": 1}, {"minAvailable": 1}, {"minAvailable": "50%"})
        allowed = self._one(0, 1, 1, 2) if self._one(True, True, False) else None
        made = budget(name, value, allowed, **limit)
        made["spec"]["selector"] = selector(**{key: value})
        return made

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
