"""A smaller cluster that still shows the same fault."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

from models.errors import PlannerError
from tests.truth.claims import judge
from tests.truth.findings import Fault
from tests.truth.generator import Case
from tests.truth.manifests import Object

_MOST_TRIALS = 400


def shrunk(case: Case, fault: Fault, time_limit: float) -> Case:
    """Leave out objects, then parts of pods and nodes, as long as the fault stays."""
    trials, found = 0, True
    while found and trials < _MOST_TRIALS:
        found = False
        for candidate in smaller(case):
            trials += 1
            if trials >= _MOST_TRIALS:
                break
            if _shows(candidate, fault, time_limit):
                case, found = candidate, True
                break
    return case


def _shows(case: Case, fault: Fault, time_limit: float) -> bool:
    try:
        return fault in judge(case, min(time_limit, 5.0)).faults
    except (PlannerError, LookupError, ValueError):
        return False


def smaller(case: Case) -> Iterator[Case]:
    """The case with one thing less, the largest things first."""
    for number, item in enumerate(case.objects):
        left = case.objects[:number] + case.objects[number + 1 :]
        if item["kind"] == "Node":
            name = item["metadata"]["name"]
            left = [other for other in left if other.get("spec", {}).get("nodeName") != name]
        if not _owns(item, left):
            yield replace(case, objects=left)
    for number, item in enumerate(case.objects):
        for part in _reduced(item):
            yield replace(case, objects=[*case.objects[:number], part, *case.objects[number + 1 :]])


def _owns(item: Object, others: list[Object]) -> bool:
    """Whether something is left that names it as its owner."""
    uid = (item.get("metadata") or {}).get("uid")
    owners = [owner for other in others for owner in (other.get("metadata") or {}).get("ownerReferences", ())]
    return uid is not None and item["kind"] != "Pod" and any(owner["uid"] == uid for owner in owners)


def _reduced(item: Object) -> Iterator[Object]:
    """One object with a field less."""
    paths = {
        "Pod": (
            ("metadata", "annotations"),
            ("metadata", "deletionTimestamp"),
            ("spec", "affinity"),
            ("spec", "tolerations"),
            ("spec", "nodeSelector"),
            ("spec", "priority"),
            ("spec", "schedulingGates"),
            ("spec", "volumes"),
            ("spec", "topologySpreadConstraints"),
        ),
        "Node": (("spec", "taints"), ("spec", "unschedulable"), ("metadata", "labels", "rack")),
    }.get(item["kind"], ())
    for path in paths:
        found: Object = copy.deepcopy(item)
        inner = found
        for name in path[:-1]:
            inner = inner.get(name, {})
        if path[-1] in inner:
            del inner[path[-1]]
            yield found
    if item["kind"] == "Pod":
        yield from _without_parts(item)


def _without_parts(pod: Object) -> Iterator[Object]:
    """A pod with one constraint, affinity, port or request less."""
    for number in range(len(pod["spec"].get("topologySpreadConstraints", ()))):
        found = copy.deepcopy(pod)
        del found["spec"]["topologySpreadConstraints"][number]
        yield found
        for name in ("minDomains", "nodeTaintsPolicy", "nodeAffinityPolicy", "matchLabelKeys"):
            if name in pod["spec"]["topologySpreadConstraints"][number]:
                found = copy.deepcopy(pod)
                del found["spec"]["topologySpreadConstraints"][number][name]
                yield found
    for name in pod["spec"].get("affinity", {}):
        found = copy.deepcopy(pod)
        del found["spec"]["affinity"][name]
        yield found
    container = pod["spec"]["containers"][0]
    if container.get("ports"):
        found = copy.deepcopy(pod)
        del found["spec"]["containers"][0]["ports"]
        yield found
    for name in container.get("resources", {}).get("requests", {}):
        found = copy.deepcopy(pod)
        del found["spec"]["containers"][0]["resources"]["requests"][name]
        yield found
