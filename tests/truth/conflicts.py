"""Conflicts of `explain --batch`, beside every order of binds: none places their pods, and one with less."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence

from models import Cluster
from planner import explain
from planner.documents.explanation import Conflict, ConflictField
from tests.builders import HARD, REQUIRED, Object
from tests.planner.oracle import key_of
from tests.truth.tiny_cluster import TinyCluster

_MOST_STATES = 10_000
_REQUESTS = "spec.containers[].resources.requests.cpu"
_HOST_PORT = "spec.containers[].ports[].hostPort"


class TooManyStates(Exception):
    """The search is not to the end."""


def refuted(objects: Sequence[Object], seconds: float) -> Iterator[str]:
    """What is wrong with the conflict that is told, or with none."""
    found = explain(Cluster.from_objects(objects), batch=seconds)
    waiting = {key_of(item) for item in objects if item["kind"] == "Pod" and _waits(item)}
    if found.conflict is not None:
        yield from _refuted(objects, found.conflict)
    elif found.items and not found.cut and not is_placeable(objects, waiting):
        yield "pods stay pending, no order places all, and there is no conflict"


def _waits(pod: Object) -> bool:
    return not (pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"])


def _refuted(objects: Sequence[Object], conflict: Conflict) -> Iterator[str]:
    if is_placeable(objects, conflict.pods):
        yield f"an order places {conflict.pods}"
    bare = [_without_others(item, conflict) for item in objects]
    if is_placeable(bare, conflict.pods):
        yield f"an order places {conflict.pods} with these fields alone: {conflict.fields}"
    if not conflict.minimal:
        return
    for pod in conflict.pods:
        rest = {*conflict.pods} - {pod}
        if rest and not is_placeable(bare, rest):
            yield f"without {pod} no order places the others"
    for field in conflict.fields:
        fewer = [without(item, field) for item in bare]
        if not is_placeable(fewer, conflict.pods):
            yield f"without {field} no order places the pods"


def _without_others(pod: Object, conflict: Conflict) -> Object:
    """A pod of the conflict with no field but those that are told."""
    if pod["kind"] != "Pod" or key_of(pod) not in conflict.pods:
        return pod
    told = {(field.field, field.value) for field in conflict.fields if key_of(pod) in field.pods}
    for field, value in [*_fields(pod)]:
        if (field, value) not in told:
            pod = without(pod, ConflictField(pods=(key_of(pod),), field=field, value=value))
    return pod


def _fields(pod: Object) -> Iterator[tuple[str, str]]:
    """What a pod asks for, spelled as in documents."""
    spec = pod["spec"]
    for item in spec.get("topologySpreadConstraints", ()):
        if item["whenUnsatisfiable"] == HARD:
            yield "spec.topologySpreadConstraints", f"{item['topologyKey']}, maxSkew {item['maxSkew']}"
    affinity = spec.get("affinity", {})
    if "nodeAffinity" in affinity:
        yield "spec.affinity.nodeAffinity", "required"
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind, {}).get(REQUIRED, ())
        words = (f"app={t['labelSelector']['matchLabels']['app']} per {t['topologyKey']}" for t in terms)
        if terms:
            yield f"spec.affinity.{kind}", "; ".join(words)
    for container in spec["containers"]:
        for port in container.get("ports", ()):
            yield _HOST_PORT, _port(port)
    yield _REQUESTS, ""


def _port(port: Object) -> str:
    return f"{port.get('protocol', 'TCP')} {port['hostPort']}"


def without(pod: Object, field: ConflictField) -> Object:
    """A pod that does not ask for something, if it is one of those that do."""
    if pod["kind"] != "Pod" or key_of(pod) not in field.pods:
        return pod
    found = copy.deepcopy(pod)
    spec, name = found["spec"], field.field.rpartition(".")[2]
    if name == "topologySpreadConstraints":
        key = field.value.partition(",")[0]
        spec[name] = [c for c in spec[name] if (c["topologyKey"], c["whenUnsatisfiable"]) != (key, HARD)]
    elif field.field == _REQUESTS:
        for container in spec["containers"]:
            container["resources"]["requests"].pop("cpu", None)
    elif field.field == _HOST_PORT:
        for container in spec["containers"]:
            container["ports"] = [p for p in container.get("ports", ()) if _port(p) != field.value]
    else:
        spec.get("affinity", {}).pop(name, None)
    return found


def is_placeable(objects: Sequence[Object], pods: Collection[str]) -> bool:
    """Whether some order of binds to some nodes places all of these pods, with no other one that waits."""
    tiny = TinyCluster(item for item in objects if not _is_left_out(item, pods))
    waiting = [number for number, kind in enumerate(tiny.kinds) if kind.names]
    seen: set[tuple[int, tuple[int, ...]]] = set()

    def all_placed(state: int, left: tuple[int, ...]) -> bool:
        if not any(left):
            return True
        if (state, left) in seen:
            return False
        seen.add((state, left))
        if len(seen) > _MOST_STATES:
            raise TooManyStates
        for place, kind in enumerate(waiting):
            nodes = tiny.feasible(state, kind) if left[place] else 0
            fewer = (*left[:place], left[place] - 1, *left[place + 1 :])
            for node in range(len(tiny.nodes)):
                if nodes >> node & 1 and all_placed(state + tiny.delta[kind][node], fewer):
                    return True
        return False

    return all_placed(tiny.start, tuple(len(tiny.kinds[kind].names) for kind in waiting))


def _is_left_out(item: Object, pods: Collection[str]) -> bool:
    return item["kind"] == "Pod" and _waits(item) and key_of(item) not in pods
