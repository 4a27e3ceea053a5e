"""Cases whose running pods keep the pin of an earlier move: the planner reads the pins, the search does not.

The next pod is made from its controller's template, so to the search a pinned pod is as its template.  Where
a webhook may have narrowed pods, these stay: the search sees them as they are, and not to be evicted.
"""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from models import Cluster
from tests.truth import claims, emptying_claims, manifests, moving_claims, placing_claims
from tests.truth.findings import Judgement
from tests.truth.generator import Case
from tests.truth.manifests import REQUIRED, Object, key_of
from tests.truth.templates import ZONE

#: What pods of one template may differ in.
_OWN = ("nodeName", "schedulingGates", "volumes", "priority")
_STAYS = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}
#: How the pods of a controller are pinned, if they are.
_WAYS = ("named", "named", "zoned", "zoned", "all", "")
_KINDS = ("mutatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
#: A snapshot with all webhooks and policies that may narrow pods, and there are none.
_NO_WEBHOOK = {"apiVersion": "planner/v1alpha1", "kind": "SnapshotOrigin", "kinds": [*_KINDS]}


def judge_pinned(case: Case, patch: pytest.MonkeyPatch, time_limit: float) -> tuple[Judgement, int]:
    """What is wrong with the answer about a case with old pins, and how many pods have one that is known."""
    pins = _Pins(case)
    for module in (claims, emptying_claims, moving_claims, placing_claims):
        patch.setattr(module, "Cluster", pins)
    return claims.judge(replace(case, objects=pins.objects), time_limit), len(pins.known)


def with_and_without(case: Case) -> tuple[Cluster, Cluster, int]:
    """A case as it is read with the pins that are known to be some, and without these; and their number."""
    pins = _Pins(case)
    number, found = len(pins.known), pins.from_objects(pins.objects)
    pins.known.clear()
    return found, pins.from_objects(pins.objects), number


class _Pins:
    """A case as the search sees it, and a reader that puts the pins back on its pods."""

    def __init__(self, case: Case) -> None:
        self._chance = random.Random(f"pins {case.seed}")
        nodes = [item for item in case.objects if item["kind"] == "Node"]
        self._admission = [_NO_WEBHOOK] if self._chance.random() < 0.5 else []
        self._labels = {item["metadata"]["name"]: item["metadata"].get("labels") or {} for item in nodes}
        #: The node affinity of pods that are known to be pinned.
        self.known: dict[str, Object] = {}
        self._staying: set[str] = set()
        plain = [item for item in case.objects if item["kind"] != "ReplicaSet"]
        self.objects = [*copy.deepcopy(plain)]
        self.objects += [*self._sets(self.objects)]

    def from_objects(self, objects: Sequence[Object]) -> Cluster:
        """What the planner reads: the pins, and nothing that holds a pod."""
        return Cluster.from_objects([*self._admission, *map(self._pinned, objects)])

    def _pinned(self, item: Object) -> Object:
        key = key_of(item) if item["kind"] == "Pod" else ""
        if key in self.known:
            return {**item, "spec": _with(item["spec"], self.known[key])}
        if key in self._staying:
            notes = {k: v for k, v in item["metadata"]["annotations"].items() if k not in _STAYS}
            return {**item, "metadata": {**item["metadata"], "annotations": notes}}
        return item

    def _sets(self, objects: Sequence[Object]) -> Iterator[Object]:
        """The ReplicaSets of the pods, as many as there are replicas; their pods are pinned on the way."""
        found: dict[tuple[str, str], list[Object]] = defaultdict(list)
        for pod in (item for item in objects if item["kind"] == "Pod"):
            owner = manifests.controller(pod)
            if owner is not None and owner["kind"] == "ReplicaSet":
                found[pod["metadata"].setdefault("namespace", "default"), owner["name"]].append(pod)
        for (space, name), pods in found.items():
            owner = manifests.controller(pods[0]) or {}
            meta = {"name": name, "namespace": space, "uid": owner.get("uid", "")}
            labels = pods[0]["metadata"]["labels"]
            spec: Object = {
                "replicas": sum(map(manifests.is_live, pods)),
                "selector": {"matchLabels": labels},
            }
            specs = [_template(pod) for pod in pods]
            if all(one == specs[0] for one in specs) and _same(pod["metadata"]["labels"] for pod in pods):
                spec["template"] = {"metadata": {"labels": labels}, "spec": specs[0]}
                self._pin([pod for pod in pods if pod["spec"].get("nodeName")])
            else:
                # A selector has to be that of all its pods.
                del spec["selector"]
            yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}

    def _pin(self, pods: Sequence[Object]) -> None:
        way = self._chance.choice(_WAYS)
        if not way or not pods:
            return
        some, others = pods, list[Object]()
        if way != "all":
            some = self._chance.sample(pods, self._chance.randint(1, len(pods) - (len(pods) > 1)))
            others = [pod for pod in pods if pod not in some]
        terms = {key_of(pod): self._terms(way, pod["spec"]["nodeName"]) for pod in some}
        by_name = all("matchFields" in one[0] for one in terms.values())
        for pod in some:
            if self._admission or (others and by_name):
                self.known[key_of(pod)] = _both(pod["spec"], terms[key_of(pod)])
            else:
                self._hold([pod], terms[key_of(pod)])

    def _terms(self, way: str, name: str) -> list[Object]:
        zone = self._labels[name].get(ZONE)
        if way != "zoned" or not zone:
            more = self._chance.sample(sorted(self._labels), self._chance.randint(0, 1))
            return [_named(one) for one in dict.fromkeys((name, *more))]
        return [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]

    def _hold(self, pods: Iterable[Object], terms: list[Object]) -> None:
        """Narrow some pods that stay for it."""
        for pod in pods:
            self._staying.add(key_of(pod))
            pod["spec"] = _with(pod["spec"], _both(pod["spec"], terms))
            pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **_STAYS}


def _template(pod: Object) -> Object:
    return {key: value for key, value in pod["spec"].items() if key not in _OWN}


def _same(parts: Iterable[Any]) -> bool:
    return len({manifests.spelled(part) for part in parts}) == 1


def _named(name: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


def _with(spec: Object, affinity: Object) -> Object:
    return {**spec, "affinity": {**(spec.get("affinity") or {}), "nodeAffinity": affinity}}


def _both(spec: Object, terms: list[Object]) -> Object:
    """The node affinity of a spec with a pin: each term that was there, and one of these."""
    before = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = (before.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    merged = [
        {key: [*(one.get(key) or ()), *(more.get(key) or ())] for key in {**one, **more}}
        for one in required
        for more in terms
    ]
    return {**before, REQUIRED: {"nodeSelectorTerms": merged}}
