"""The columns of `compare` in figures, counted once more from where the pods are."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.documents.columns import ComparedColumn
from tests.builders import HARD, SOFT, Object
from tests.planner.oracle import amount, asks, cluster_state, constraints_of, counts, global_minimum, key_of
from tests.truth.tiny_cluster import TinyCluster

#: Pods by `namespace/name`, and the nodes of those that have one.
Places = Mapping[str, str]
_NOT_OF_WORKLOADS = ("DaemonSet", "Node")


@dataclass(frozen=True)
class Column:
    """A column as it is told, and where the pods are then; `lost` are those that nothing makes again."""

    told: ComparedColumn
    places: Places
    lost: int = 0


def refuted(objects: Sequence[Object], asked: Collection[str], column: Column) -> Iterator[str]:
    """Figures that are others than the places lead to; `asked` are the pods of the question."""
    now = [_at(item, column.places) for item in objects]
    told = column.told
    figures = _figures(now, asked, column)
    for name, value in figures.items():
        if getattr(told, name) != value:
            yield f"{told.name} {told.rank} {name}: {getattr(told, name)}, and it is {value}"
    if {_told_row(row) for row in told.spread} != (rows := {*_spread(now)}):
        yield f"{told.name} spread: {told.spread}, and it is {rows}"
    use = [(row.mean_percent, row.fullest_percent) for row in told.utilisation if row.resource == "cpu"]
    if use and use != [_use(now)]:
        yield f"{told.name} cpu: {use}, and it is {_use(now)}"
    if [(row.priority, row.pods, row.placed) for row in told.by_priority] != (by := _by_priority(now, asked)):
        yield f"{told.name} by priority: {told.by_priority}, and it is {by}"
    if told.elsewhere != (leave := _elsewhere(objects, now)):
        yield f"{told.name} elsewhere: {told.elsewhere}, and it is {leave}"


def _at(item: Object, places: Places) -> Object:
    """A pod where it is now."""
    if item["kind"] != "Pod":
        return item
    found = copy.deepcopy(item)
    found["spec"].pop("nodeName", None)
    if key_of(item) in places:
        found["spec"]["nodeName"] = places[key_of(item)]
    found["status"]["phase"] = "Running" if key_of(item) in places else "Pending"
    return found


def _pods(objects: Sequence[Object]) -> list[Object]:
    return [item for item in objects if item["kind"] == "Pod"]


def _owner(pod: Object) -> Object:
    found: Object = (pod["metadata"].get("ownerReferences") or [{}])[0]
    return found


def _figures(now: Sequence[Object], asked: Collection[str], column: Column) -> dict[str, int]:
    """Those that are one number."""
    tiny, pods = TinyCluster(now), _pods(now)
    live = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    bound = [pod for pod in pods if pod["spec"].get("nodeName")]
    used = {pod["spec"]["nodeName"] for pod in bound if _owner(pod).get("kind") not in _NOT_OF_WORKLOADS}
    return {
        "pods": len(asked),
        "placed": sum(key in column.places for key in asked),
        "pending": sum(key_of(pod) not in column.places for pod in live) - column.lost,
        "hard_excess": sum(row.excess(tiny.start) for row in tiny.rows if row.hard),
        "soft_excess": sum(row.excess(tiny.start) for row in tiny.rows if not row.hard),
        "nodes": sum(item["kind"] == "Node" for item in now),
        "nodes_used": len(used),
    }


def _spread(now: Sequence[Object]) -> Iterator[tuple[object, ...]]:
    """Every constraint with its pods by domain and its skew; bare pods have no name here."""
    state = cluster_state(now)
    for pod in state.pods:
        owner = _owner(pod)
        workload = f"{owner['kind']}/{owner['name']}" if owner else "Pod"
        for when in (HARD, SOFT):
            rules = [item for item in constraints_of(state, pod) if item["whenUnsatisfiable"] == when]
            for item in rules:
                found = counts(state, pod, item, [other["topologyKey"] for other in rules])
                skew = max(found.values()) - global_minimum(item, found) if found else 0
                terms = (workload, item["topologyKey"], when, item["maxSkew"])
                yield (*terms, tuple(sorted(found.items())), skew)


def _told_row(row: object) -> tuple[object, ...]:
    fields = ("workload", "topology_key", "when_unsatisfiable", "max_skew", "domains", "skew")
    workload, key, when, most, domains, skew = (getattr(row, name) for name in fields)
    name = "Pod" if workload.startswith("Pod/") else workload
    return name, key, when, most, tuple(sorted(domains.items())), skew


def _use(now: Sequence[Object]) -> tuple[float, float]:
    """How much of all cpus is requested, and of those of the fullest node."""
    room = {
        item["metadata"]["name"]: amount(item["status"]["allocatable"]["cpu"])
        for item in now
        if item["kind"] == "Node"
    }
    used = Counter[str]()
    for pod in _pods(now):
        if "nodeName" in pod["spec"]:
            used[pod["spec"]["nodeName"]] += asks(pod).get("cpu", 0)
    fullest = max(100 * used[name] / cpus for name, cpus in room.items())
    return round(100 * used.total() / sum(room.values()), 1), round(fullest, 1)


def _by_priority(now: Sequence[Object], asked: Collection[str]) -> list[tuple[int, int, int]]:
    pods, placed = Counter[int](), Counter[int]()
    for pod in _pods(now):
        if key_of(pod) in asked:
            pods[pod["spec"].get("priority", 0)] += 1
            placed[pod["spec"].get("priority", 0)] += "nodeName" in pod["spec"]
    return [(priority, pods[priority], placed[priority]) for priority in sorted(pods, reverse=True)]


def _elsewhere(before: Sequence[Object], now: Sequence[Object]) -> int:
    """The pods that leave their node, those alike not told apart."""
    were, are = (
        Counter((_kind(pod), pod["spec"]["nodeName"]) for pod in _pods(side) if pod["spec"].get("nodeName"))
        for side in (before, now)
    )
    return (were - are).total()


def _kind(pod: Object) -> str:
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    meta = pod["metadata"]
    is_ending = "deletionTimestamp" in meta
    return repr((spec, meta["labels"], meta.get("ownerReferences"), is_ending))
