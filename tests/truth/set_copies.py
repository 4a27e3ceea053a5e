"""How many copies of a set of manifests fit: copy after copy, pod after pod, to the first node that fits.

The filters are those of `tests.planner.oracle`; what controllers and the API server do is written once more.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import count, islice

from tests.builders import REQUIRED, Object
from tests.planner.oracle import (
    amount,
    asks,
    cluster_state,
    feasible,
    key_of,
    taints_tolerated,
    wanted_by_pod,
)
from tests.truth.sets_drawn import NAME, PRIORITIES, SetCase

#: Pods without a time of their own are in the queue by the kind of what makes them, then as they are read.
_KINDS = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
_CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


def fitting(case: SetCase, most: int) -> int:
    """How many copies are placed before one is not, up to so many."""
    return _Copies(case).fitting(most)


def without(case: SetCase, key: str, value: str) -> SetCase:
    """The case after the loss of all nodes with a label, and of the pods on them."""
    lost = {
        item["metadata"]["name"]
        for item in case.objects
        if item["kind"] == "Node" and item["metadata"]["labels"].get(key) == value
    }
    kept = [
        item
        for item in case.objects
        if not (item["kind"] == "Node" and item["metadata"]["name"] in lost)
        and not (item["kind"] == "Pod" and item["spec"].get("nodeName") in lost)
    ]
    return SetCase(kept, case.manifests)


class _Copies:
    """Copies in one cluster."""

    def __init__(self, case: SetCase) -> None:
        self._manifests = case.manifests
        self._now = cluster_state(copy.deepcopy(case.objects))

    def fitting(self, most: int) -> int:
        """How many are placed before one is not."""
        self._place([item for item in self._now.pods if key_of(item) not in self._now.placed])
        for placed, number in enumerate(islice(self._numbers(), most)):
            made = self._made(number)
            if made is None or not self._place(made):
                return placed
        return most

    def _numbers(self) -> Iterator[int]:
        """The numbers with which no namespace is there."""
        taken = {*self._now.namespaces, *(item["metadata"]["namespace"] for item in self._now.pods)}
        own = {item["metadata"].get("namespace", item["metadata"]["name"]) for item in self._manifests}
        return (number for number in count(1) if not any(f"{name}-{number}" in taken for name in own))

    def _made(self, number: int) -> list[Object] | None:
        """The pods of a copy as they are in the queue; None where a quota refuses one."""
        items = copy.deepcopy(self._manifests)
        for item in items:
            self._rename(item["metadata"], item["kind"], number)
        usual = {item["kind"]: item for item in items if item["metadata"]["name"] == "usual"}
        makers = [item for item in items if item["kind"] in _KINDS]
        pods: list[Object] = []
        for item in sorted(makers, key=lambda maker: _KINDS.index(maker["kind"])):
            pods += self._pods_of(item, usual.get("LimitRange"))
        quota = usual.get("ResourceQuota")
        is_refused = quota is not None and not _is_within(quota, pods)
        return None if is_refused else sorted(pods, key=lambda item: -_priority(item))

    def _rename(self, metadata: Object, kind: str, number: int) -> None:
        """What a copy is called, and the labels of its namespaces."""
        field = "name" if kind == "Namespace" else "namespace"
        name = metadata[field] = f"{metadata[field]}-{number}"
        labels = metadata["labels"] if kind == "Namespace" else self._now.namespaces.get(name, {})
        self._now.namespaces[name] = {**labels, NAME: name}

    def _pods_of(self, item: Object, limits: Object | None) -> Iterator[Object]:
        """The pods that a workload makes, with what a LimitRange adds."""
        space, spec = item["metadata"]["namespace"], item["spec"]
        template = item if item["kind"] == "Pod" else spec["template"]
        names = [""] * spec.get("replicas", spec.get("parallelism", 1))
        if item["kind"] == "DaemonSet":
            names = [node["metadata"]["name"] for node in self._now.nodes if self._serves(template, node)]
        of_range = limits is not None and limits["metadata"]["namespace"] == space
        usual = limits["spec"]["limits"][0]["defaultRequest"] if limits is not None and of_range else {}
        for number, name in enumerate(names):
            made = copy.deepcopy(template)
            made |= {"kind": "Pod"}
            made["metadata"] |= {"namespace": space, "name": f"{item['metadata']['name']}-{number}"}
            for container in made["spec"]["containers"]:
                container["resources"]["requests"] = {**usual, **container["resources"]["requests"]}
            if name:
                _bind_to(made["spec"], name)
            yield made

    def _serves(self, template: Object, node: Object) -> bool:
        """Whether a DaemonSet has a pod on a node; its pods tolerate cordons."""
        return wanted_by_pod(template, node) and taints_tolerated(self._now, template, node)

    def _place(self, queue: Sequence[Object]) -> bool:
        """Whether all pods find a node, tried again as long as some do; none may evict others."""
        self._now.pods += [item for item in queue if item not in self._now.pods]
        left = [*queue]
        while left:
            refused = []
            for item in left:
                nodes = feasible(self._now, item)
                if nodes:
                    self._now.placed[key_of(item)] = min(nodes)
                elif self._evicts(item):
                    return False
                else:
                    refused.append(item)
            if len(refused) == len(left):
                return False
            left = refused
        return True

    def _evicts(self, item: Object) -> bool:
        """Whether some node would take the pod without its pods of lower priority."""
        there = self._now.placed
        lower = {key_of(other) for other in self._now.pods if _priority(other) < _priority(item)}
        for name in [node["metadata"]["name"] for node in self._now.nodes]:
            rest = {key: place for key, place in there.items() if place != name or key not in lower}
            self._now.placed = rest
            fits = len(rest) < len(there) and name in feasible(self._now, item)
            self._now.placed = there
            if fits:
                return True
        return False


def _bind_to(spec: Object, name: str) -> None:
    """What the controller of a DaemonSet does to a pod."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    terms = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}
    spec["affinity"] = {**spec.get("affinity", {}), "nodeAffinity": terms}
    spec["tolerations"] = [*spec.get("tolerations", ()), _CORDON]


def _is_within(quota: Object, pods: Sequence[Object]) -> bool:
    """Whether a quota has room for all pods; one on requests wants each to have some."""
    hard = quota["spec"]["hard"]
    mine = [item for item in pods if item["metadata"]["namespace"] == quota["metadata"]["namespace"]]
    if len(mine) > int(hard.get("pods", len(mine))):
        return False
    cpu = [asks(item).get("cpu", 0) for item in mine]
    return "requests.cpu" not in hard or (all(cpu) and sum(cpu) <= amount(hard["requests.cpu"]))


def _priority(item: Object) -> int:
    found: int = item["spec"].get("priority", PRIORITIES.get(item["spec"].get("priorityClassName", ""), 0))
    return found
