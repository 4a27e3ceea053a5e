"""Random tiny clusters of another make: one or two applications, templates that share their label.

Nearly every pod counts for nearly every constraint, few carry one, and pods run where their own rules would
not let them come any more.  The given clusters look like this.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.builders import LONG_AGO, node, pod
from tests.truth.generator import Case, is_hard, options_of
from tests.truth.manifests import REQUIRED, Object
from tests.truth.templates import HARD, HOST, SOFT, ZONE

COMMANDS = ("solve", "solve --allow-moves", "rebalance")


def draw(seed: int, command: str | None = None) -> Case:
    """The case of a seed; clusters where nothing is amiss are drawn again."""
    chance = random.Random(f"plain {seed}")
    chosen = command or COMMANDS[seed % len(COMMANDS)]
    found = _Plain(chance, chosen).case(seed)
    for _ in range(12):
        if is_hard(found, chance):
            break
        found = _Plain(chance, chosen).case(seed)
    return found


class _Plain:
    """One case in the making."""

    def __init__(self, chance: random.Random, command: str) -> None:
        self._chance = chance
        self._command = command
        self._apps = chance.choice((("a",), ("a",), ("a", "b")))
        self._zones = chance.choice((("x", "y"), ("x", "y"), ("x", "y", "z")))
        self._owner = chance.choice(("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet"))

    def _one(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def _likely(self, share: float) -> bool:
        return self._chance.random() < share

    def case(self, seed: int) -> Case:
        """Nodes and pods."""
        nodes = [self._node(number) for number in range(self._one(3, 4, 4, 4, 5, 6))]
        kinds = [self._kind(number) for number in range(self._one(2, 3, 3, 4))]
        share = {"solve": 0.4, "solve --allow-moves": 0.6}.get(self._command, 1.0)
        pods = []
        for number in range(self._one(4, 5, 6, 6, 7, 8, 9, 10)):
            on = self._one(*nodes)["metadata"]["name"] if self._likely(share) else ""
            pods.append(self._pod(self._one(*kinds), number, on))
        return Case(seed, self._command, [*nodes, *pods], options=options_of(seed, self._command))

    def _node(self, number: int) -> Object:
        labels = {HOST: f"n{number}", ZONE: self._zones[number % len(self._zones)]}
        if self._likely(0.2):
            labels[ZONE] = self._one(*self._zones)
        if self._likely(0.6):
            labels["disk"] = "ssd"
        room = {"cpu": self._one("2", "4", "6", "8"), "memory": "64Gi", "pods": self._one("2", "3", "10")}
        taints = ["dedicated=x:NoSchedule"] if self._likely(0.15) else []
        return node(f"n{number}", labels=labels, room=room, taints=taints)

    def _kind(self, number: int) -> Object:
        labels = {"app": self._one(*self._apps)}
        container: Object = {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": self._one("1", "1", "2", "3")}},
        }
        if self._likely(0.2):
            container["ports"] = [{"containerPort": 80, "hostPort": self._one(80, 80, 81)}]
        spec: Object = {"containers": [container]}
        constraints = [self._constraint() for _ in range(self._one(0, 1, 1, 2, 2))]
        if constraints:
            unique = {(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}
            spec["topologySpreadConstraints"] = [*unique.values()]
        affinity = {
            name: {REQUIRED: [{"topologyKey": self._one(ZONE, HOST), "labelSelector": self._selector()}]}
            for name, share in (("podAffinity", 0.1), ("podAntiAffinity", 0.15))
            if self._likely(share)
        }
        if affinity:
            spec["affinity"] = affinity
        if self._likely(0.2):
            spec["nodeSelector"] = {"disk": "ssd"}
        if self._likely(0.25):
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        return {"name": f"t{number}", "labels": labels, "spec": spec}

    def _selector(self) -> Object:
        return {"matchLabels": {"app": self._one(*self._apps)}}

    def _constraint(self) -> Object:
        found: Object = {
            "maxSkew": self._one(1, 1, 1, 2),
            "topologyKey": self._one(ZONE, ZONE, HOST),
            "whenUnsatisfiable": self._one(HARD, HARD, HARD, SOFT),
            "labelSelector": self._selector(),
        }
        if self._likely(0.25):
            found["nodeTaintsPolicy"] = "Honor"
        if self._likely(0.2):
            found["nodeAffinityPolicy"] = "Ignore"
        if found["whenUnsatisfiable"] == HARD and self._likely(0.25):
            found["minDomains"] = self._one(2, 3)
        return found

    def _pod(self, kind: Object, number: int, on: str) -> Object:
        name = f"{kind['name']}-{number}" if self._owner == "StatefulSet" else f"r{number}"
        words = {"uid": f"uid-{number}", "created": LONG_AGO, "owner": f"{self._owner}/{kind['name']}"}
        return pod(name, on, labels=dict(kind["labels"]), **words, **copy.deepcopy(kind["spec"]))
