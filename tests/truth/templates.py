"""The templates of a random case: workloads and their revisions, with rules of the topics that it has."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.truth.manifests import PREFERRED, REQUIRED, Object

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
GPU = "example.com/gpu"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
_TOPICS = """
    taints cordons near apart ports gpu priorities budgets gone gates soft rack namespaces choice bare stuck
    keys policies minimum expressions labels preferences tight
"""
#: What meets most often in real clusters, all of it a little, in so many of the cases.
_CLASSICS = "taints near apart ports soft choice policies minimum tight"
_CLASSIC = 0.35


class Templates:
    """Draws pod templates with their owners; how likely each topic is stays the same for a case."""

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

    def _has(self, topic: str) -> bool:
        return self._chance.random() < self._likely[topic]

    def _one(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def templates(self) -> tuple[list[Object], list[Object]]:
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
        self._preference(spec, labels)
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
        match self._one("constraints", "constraints", "room", "preference", "revision"):
            case "constraints":
                if spec.pop("topologySpreadConstraints", None) is None:
                    spec["topologySpreadConstraints"] = [self._constraint(found["labels"])]
            case "room":
                spec["containers"] = [self._container()]
            case "preference":
                spec.pop("affinity", None)
                spec.pop("tolerations", None)
                self._preference(spec, found["labels"])
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

    def _preference(self, spec: Object, labels: dict[str, str]) -> None:
        """Affinities, tolerations, node choices, priorities."""
        affinity: Object = {}
        if self._has("near"):
            terms = [self._term(labels) for _ in range(self._one(1, 1, 1, 2))]
            affinity["podAffinity"] = {REQUIRED: terms}
        if self._has("apart"):
            terms = [self._term(labels) for _ in range(self._one(1, 1, 1, 2))]
            affinity["podAntiAffinity"] = {REQUIRED: terms}
        if self._has("preferences"):
            kind = self._one("podAffinity", "podAntiAffinity")
            preference = {"weight": self._one(1, 10, 100), "podAffinityTerm": self._term(labels)}
            affinity.setdefault(kind, {})[PREFERRED] = [preference]
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
        match self._one("selector", "selector", "zone", "name", "preference"):
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
