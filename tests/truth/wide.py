"""Random tiny clusters with what the other generators leave out, each feature in some of the cases.

A case is drawn as `generator` does, with somewhat more nodes; then a few features are put on top of it: what
else pods ask for, profiles, priorities, Jobs and StatefulSets in the snapshot, readiness, budgets, volumes.
Most cases have one to three of them, so that a fault has few causes.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.builders import LONG_AGO, node, pod, workload
from tests.truth import manifests, scheduler_configs, wide_controllers, wide_pods, wide_volumes
from tests.truth.generator import Case, _Draw, is_hard
from tests.truth.manifests import Object
from tests.truth.templates import HARD, HOST, ZONE

COMMANDS = ("solve", "solve --allow-moves", "solve --final-state", "rebalance")
#: Drawn when they are asked for.
MORE_COMMANDS = ("consolidate", "scale-down")
Feature = Callable[[random.Random, list[Object], str], None]
FEATURES: dict[str, Feature] = {
    "init containers": wide_pods.init_containers,
    "memory": wide_pods.memory,
    "sidecars": wide_pods.sidecars,
    "overhead": wide_pods.overhead,
    "pod-level requests": wide_pods.pod_level,
    "priorities": wide_pods.priorities,
    "never preempts": wide_pods.never_preempts,
    "grace": wide_pods.grace,
    "huge quantities": wide_pods.huge,
    "readiness": wide_pods.readiness,
    "budgets": wide_controllers.budgets,
    "jobs": wide_controllers.jobs,
    "stateful sets": wide_controllers.stateful_sets,
    "profiles": scheduler_configs.add_profiles,
    "volumes": wide_volumes.volumes,
}
#: Features that are drawn and then left out, for runs that look for other faults than are known.
SKIPPED: set[str] = set()
#: Features that every case has, for runs about them.
FORCED: set[str] = set()
#: How many features a case has.
_HOW_MANY = (0, 1, 1, 1, 2, 2, 3, 4)
#: Binds of claims are remembered, so such cases are kept small.
_MOST_WITH_VOLUMES = 8
_PREFER = ("spread", "spread", "pack", "stable")


def draw(seed: int, command: str | None = None) -> Case:
    """The case of a seed; clusters where nothing is amiss are drawn again."""
    chance = random.Random(f"wide {seed}")
    chosen = command or COMMANDS[seed % len(COMMANDS)]
    chosen = chosen if chosen in (*COMMANDS, *MORE_COMMANDS) else "rebalance"
    found = _case(chance, seed, chosen)
    for _ in range(8):
        if is_hard(_without_volumes(found), chance):
            break
        found = _case(chance, seed, chosen)
    return found


def has_claims(case: Case) -> bool:
    """Whether binding a pod may bind a claim, or claims keep pods apart."""
    return any(item["kind"] == "PersistentVolumeClaim" for item in case.objects)


def _case(chance: random.Random, seed: int, command: str) -> Case:
    base = {"solve --final-state": "solve", "consolidate": "rebalance"}.get(command, command)
    is_wide = chance.random() < 0.6 or base == "scale-down"
    drawing = _Wide(chance, base) if is_wide else _Crowded(chance, base)
    found = drawing.case(seed)
    objects = [item for item in found.objects if item["kind"] != "ReplicaSet" or base == "scale-down"]
    names = chance.sample(sorted(FEATURES), chance.choice(_HOW_MANY))
    for name in sorted({*names, *FORCED} - SKIPPED, key=list(FEATURES).index):
        FEATURES[name](chance, objects, base)
    if any(item["kind"] == "PersistentVolumeClaim" for item in objects):
        objects = _fewer(objects)
    options: dict[str, Any] = dict(found.options)
    if command in ("solve", "solve --final-state"):
        options["prefer"] = chance.choice(_PREFER)
    if command == "consolidate":
        options = consolidate_options(chance, objects)
        if "catalogue" in options and chance.random() < 0.6:
            wide_controllers.daemon_sets(chance, objects, base)
    return replace(found, command=command, objects=objects, options=options)


def consolidate_options(chance: random.Random, objects: list[Object]) -> dict[str, Any]:
    """Prices by zone where every node has one, and a limit or pins in some cases."""
    labels = [item["metadata"].get("labels") or {} for item in objects if item["kind"] == "Node"]
    options: dict[str, Any] = {}
    if chance.random() < 0.5 and all(ZONE in found for found in labels):
        options = {"price_label": ZONE, "prices": {found[ZONE]: chance.randint(1, 4) for found in labels}}
        if chance.random() < 0.5:
            options["catalogue"] = [_machine(chance, number) for number in range(chance.randint(1, 3))]
    limits: tuple[dict[str, Any], ...] = (
        {},
        {},
        {"pins": True},
        {"max_moves": chance.randrange(4)},
        {"pins": True, "reserve": chance.choice((0.1, 0.3, 0.6))},
        {"survive": chance.choice((ZONE, HOST))},
    )
    options |= chance.choice(limits)
    return options | ({"max_unavailable": chance.choice((2, 3))} if chance.random() < 0.3 else {})


def _machine(chance: random.Random, number: int) -> dict[str, str]:
    """A line of a catalogue."""
    found = {"name": f"m{number}", "price": chance.choice(("0.5", "1", "1.25", "2", "3"))}
    found |= {"cpu": chance.choice(("1", "2", "4", "8")), "memory": "64Gi"}
    if chance.random() < 0.3:
        found[ZONE] = chance.choice("xyz")
    if chance.random() < 0.3:
        found["disk"] = chance.choice(("ssd", "hdd"))
    return found


def _fewer(objects: list[Object]) -> list[Object]:
    pods = [item for item in objects if item["kind"] == "Pod"]
    away = {id(item) for item in pods[_MOST_WITH_VOLUMES:]}
    return [item for item in objects if id(item) not in away]


def _without_volumes(case: Case) -> Case:
    """The same for a search that knows nothing of volumes."""
    objects = copy.deepcopy([item for item in case.objects if item["kind"] in _KNOWN])
    return replace(case, objects=objects)


_KNOWN = ("Node", "Pod", "Namespace", "PodDisruptionBudget", "KubeSchedulerConfiguration")


class _Wide(_Draw):
    """As the mixed cases, with three to eight nodes."""

    def _nodes(self) -> list[Object]:
        size = self._one(3, 4, 5, 5, 6, 6, 7, 8)
        found: list[Object] = []
        while len(found) < size:
            node = self._node()
            for _ in range(self._one(1, 1, 2, 3)):
                if len(found) < size:
                    found.append(self._named(node, f"n{len(found)}"))
        self._chance.shuffle(found)
        return found


class _Crowded:
    """A few applications with hard constraints, more pods, next to no room: many moves, many ways."""

    def __init__(self, chance: random.Random, command: str) -> None:
        self._chance = chance
        self._command = command

    def case(self, seed: int) -> Case:
        one = self._chance.choice
        zones = one((("x", "y"), ("x", "y", "z")))
        cpu = one((2, 3, 4, 6))
        nodes = [
            self._node(number, zones[number % len(zones)], cpu) for number in range(one((4, 5, 6, 6, 8)))
        ]
        share = {"solve": 0.3, "solve --allow-moves": 0.6}.get(self._command, 1.0)
        pods: list[Object] = []
        free = {node["metadata"]["name"]: cpu for node in nodes}
        for number in range(one((1, 2, 2, 3))):
            pods += self._application(number, free, share)
        options: dict[str, Any] = {"max_unavailable": 2} if one((False, False, True)) else {}
        if self._command != "rebalance":
            options = {}
        return Case(seed, self._command, [*nodes, *pods], options=options)

    def _node(self, number: int, zone: str, cpu: int) -> Object:
        pods = self._chance.choice(("4", "6", "10"))
        return node(f"n{number}", zone, cpu=str(cpu), memory="64Gi", pods=pods)

    def _application(self, number: int, free: dict[str, int], share: float) -> list[Object]:
        """Replicas, more of them on the first nodes that have room."""
        one = self._chance.choice
        labels = {"app": one(("a", "a", "b", "c")), "workload": f"w{number}"}
        size = one((1, 1, 2))
        spec: Object = {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(size)}}}]
        }
        keys = one(((ZONE,), (HOST,), (ZONE, HOST), ()))
        if keys:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": one((1, 1, 2)),
                    "topologyKey": key,
                    "whenUnsatisfiable": HARD,
                    "labelSelector": {"matchLabels": {"app": labels["app"]}},
                }
                for key in keys
            ]
        if one((False, False, False, True)):
            app = one((labels["app"], labels["app"], "a", "b", "c"))
            term = {"topologyKey": one((ZONE, HOST)), "labelSelector": {"matchLabels": {"app": app}}}
            spec["affinity"] = {one(("podAffinity", "podAntiAffinity")): {manifests.REQUIRED: [term]}}
        kind = one(("ReplicaSet", "ReplicaSet", "StatefulSet"))
        words = {"labels": labels, "owner": workload(kind, f"w{number}", uid=f"uid-w{number}")}
        found = []
        for replica in range(one((2, 3, 3, 4, 5))):
            roomy = [name for name, left in free.items() if left >= size]
            on = one(roomy[:3]) if roomy and self._chance.random() < share else ""
            if on:
                free[on] -= size
            elif self._command == "rebalance":
                continue
            name = f"w{number}-{replica}"
            same = copy.deepcopy(spec)
            found.append(pod(name, on, uid=f"uid-{name}", created=LONG_AGO, **copy.deepcopy(words), **same))
        return found
