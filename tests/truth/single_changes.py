"""Every single change of a pending pod's own manifest, and which of them give it a node.

The filters are those of `tests.planner.oracle`, asked in a cluster at rest.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from models import Cluster
from planner import explain
from planner.documents.explanation import Explanation, Fix, FixChange
from tests.builders import HARD, REQUIRED, Object
from tests.planner.explain.applying import at_rest
from tests.planner.oracle import ClusterState, amount, asks, cluster_state, feasible, key_of

#: By action what of the changes gives the pod a node: the constraint and its maxSkew, for example.
Works = dict[str, list[Any]]
#: No constraint has to be raised by more, and requests are lowered in steps of so many thousandths of a cpu.
_MOST_SKEW, _STEP = 15, 50
#: No more fixes are told, so that some kind may be missing.
_MOST_TOLD = 8


def refuted(objects: Sequence[Object]) -> Iterator[str]:
    """Changes that work where none of their kind is told, and told ones that are larger than need be."""
    explained = explain(Cluster.from_objects(objects)).items
    if any(not fix.changes for item in explained for fix in item.fixes):
        return  # A pod comes by itself when it is tried again, ahead of others: this is no cluster at rest.
    resting = at_rest(objects, preemption=True)
    now = cluster_state(resting)
    pods = {key_of(item): item for item in now.pods}
    for item in explained:
        if item.nodes:
            yield from _refuted(now, pods[item.pod], item)


def _refuted(now: ClusterState, pod: Object, item: Explanation) -> Iterator[str]:
    works = working(now, pod)
    told = [fix for fix in (*item.fixes, *item.risky) if len(fix.changes) == 1 and not fix.victims]
    actions = {fix.changes[0].action for fix in (*item.fixes, *item.risky) if len(fix.changes) == 1}
    for action in works.keys() - actions if max(len(item.fixes), len(item.risky)) < _MOST_TOLD else ():
        yield f"{item.pod}: {action} {works[action]} helps, and none is told"
    for fix in told:
        yield from _too_much(now, pod, fix, works, alike=bool(item.alike))


def _too_much(now: ClusterState, pod: Object, fix: Fix, works: Works, *, alike: bool) -> Iterator[str]:
    (change,) = fix.changes
    if change.action == "RaiseMaxSkew":
        for place, skew in _raised(pod, change):
            least = min((other for at, other in works["RaiseMaxSkew"] if at == place), default=None)
            if least != skew:
                yield f"maxSkew {skew} is told, and {least} is the least that helps"
    # Where several wait, less may be told as it places more of them.
    if change.action == "LowerRequest" and not alike:
        asked = amount(_spec(change)["containers"][0]["resources"]["requests"]["cpu"]) + 1
        if fix.node in feasible(now, _asking(pod, asked)):
            yield f"more than {asked - 1} thousandths of a cpu fit on {fix.node}"


def _spec(change: FixChange) -> Object:
    assert change.patch is not None
    found: Object = change.patch["spec"]
    return found["template"]["spec"] if "template" in found else found


def _raised(pod: Object, change: FixChange) -> Iterator[tuple[int, int]]:
    """The place of every constraint that is raised, and its new maxSkew."""
    told = [item for item in _spec(change)["topologySpreadConstraints"] if "topologyKey" in item]
    for place, constraint in enumerate(pod["spec"]["topologySpreadConstraints"]):
        for item in told:
            skew = item.get("maxSkew", constraint["maxSkew"])
            if item["topologyKey"] == constraint["topologyKey"] and skew != constraint["maxSkew"]:
                yield place, skew


def working(now: ClusterState, pod: Object) -> Works:
    """The changes that give a pod a node."""
    found: Works = defaultdict(list)
    for action, what, changed in (*_spreads(pod), *_affinities(pod), *_others(now, pod)):
        if feasible(now, changed):
            found[action].append(what)
    return found


def _spreads(pod: Object) -> Iterator[tuple[str, Any, Object]]:
    """Changes of constraints that can keep the pod from a node."""
    for place, item in enumerate(pod["spec"].get("topologySpreadConstraints", ())):
        if item["whenUnsatisfiable"] != HARD:
            continue
        for skew in range(item["maxSkew"] + 1, _MOST_SKEW):
            yield "RaiseMaxSkew", (place, skew), _with_constraint(pod, place, maxSkew=skew)
        if item.get("nodeTaintsPolicy", "Ignore") == "Ignore":
            yield "HonorTaints", place, _with_constraint(pod, place, nodeTaintsPolicy="Honor")
        other = "Ignore" if item.get("nodeAffinityPolicy", "Honor") == "Honor" else "Honor"
        yield "NodeAffinityPolicy", place, _with_constraint(pod, place, nodeAffinityPolicy=other)
        soft = _with_constraint(pod, place, whenUnsatisfiable="ScheduleAnyway")
        soft["spec"]["topologySpreadConstraints"][place].pop("minDomains", None)
        yield "ScheduleAnyway", place, soft
        for least in range(1, item.get("minDomains", 1)):
            yield "RelaxMinDomains", (place, least), _with_constraint(pod, place, minDomains=least)


def _with_constraint(pod: Object, place: int, **fields: Any) -> Object:
    found = copy.deepcopy(pod)
    found["spec"]["topologySpreadConstraints"][place].update(fields)
    return found


def _affinities(pod: Object) -> Iterator[tuple[str, Any, Object]]:
    """The pod without its node affinity, and without each term about other pods."""
    affinity = pod["spec"].get("affinity", {})
    if "nodeAffinity" in affinity:
        found = copy.deepcopy(pod)
        del found["spec"]["affinity"]["nodeAffinity"]
        yield "DropNodeRequirement", "", found
    for kind in ("podAffinity", "podAntiAffinity"):
        for place in range(len(affinity.get(kind, {}).get(REQUIRED, ()))):
            found = copy.deepcopy(pod)
            del found["spec"]["affinity"][kind][REQUIRED][place]
            yield "DropAffinityTerm", (kind, place), found


def _others(now: ClusterState, pod: Object) -> Iterator[tuple[str, Any, Object]]:
    """The pod with the tolerations of each node, without host ports, and asking for less."""
    for node in now.nodes:
        found = copy.deepcopy(pod)
        new = [{**taint, "operator": "Equal"} for taint in node["spec"]["taints"]]
        found["spec"]["tolerations"] = [*found["spec"].get("tolerations", ()), *new]
        if new:
            yield "AddToleration", node["metadata"]["name"], found
    if any(container["ports"] for container in pod["spec"]["containers"]):
        found = copy.deepcopy(pod)
        found["spec"]["containers"] = [{**item, "ports": []} for item in pod["spec"]["containers"]]
        yield "DropHostPort", "", found
    for asked in range(_STEP, asks(pod).get("cpu", 0), _STEP):
        yield "LowerRequest", asked, _asking(pod, asked)


def _asking(pod: Object, thousandths: int) -> Object:
    found = copy.deepcopy(pod)
    found["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{thousandths}m"
    return found
