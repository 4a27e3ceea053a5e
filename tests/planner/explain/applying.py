"""Fixes applied as their user would: patches to the manifests, kubectl's lines, a cluster read afresh."""

import copy
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from models import Cluster
from planner import simulate
from planner.documents.explanation import Fix, FixChange
from planner.documents.plan import Decision

Object = dict[str, Any]
_MERGE_KEYS = {"containers": "name", "initContainers": "name", "topologySpreadConstraints": "topologyKey"}
_ROUNDS = 10


def at_rest(objects: Sequence[Object], *, preemption: bool) -> list[Object]:
    """The manifests after the scheduler has tried every pod, and again until nothing changes."""
    resting = copy.deepcopy(list(objects))
    for _ in range(_ROUNDS):
        decisions = simulate(Cluster.from_objects(resting), preemption=preemption).decisions
        if not any(decision.node or decision.victims for decision in decisions):
            break
        resting = list(_after(resting, decisions))
    return resting


def _after(objects: Sequence[Object], decisions: Sequence[Decision]) -> Iterator[Object]:
    places = {decision.pod: decision.node for decision in decisions}
    victims = {victim for decision in decisions for victim in decision.victims}
    for found in objects:
        key = name_of(found) if found["kind"] == "Pod" else ""
        if key not in victims:
            if places.get(key):
                found["spec"]["nodeName"] = places[key]
            yield found


def name_of(found: Object) -> str:
    """`namespace/name` of a pod."""
    return f"{found['metadata'].get('namespace', 'default')}/{found['metadata']['name']}"


def applied(objects: Sequence[Object], pod: str, fix: Fix) -> list[Object]:
    """The manifests with a fix for one pod; the objects given stay as they are."""
    changed = copy.deepcopy(list(objects))
    for change in fix.changes:
        changed = _apply(changed, pod, change, fix.replaced)
    return changed


def _apply(objects: list[Object], pod: str, change: FixChange, replaced: Sequence[str]) -> list[Object]:
    kind, _, name = change.target.partition("/")
    if change.action == "DeletePod":
        lines = [shlex.split(line) for line in change.command.splitlines()]
        for words in lines:
            objects = _without(objects, f"{words[5]}/{words[3]}", replaced)
        return objects
    if change.action in {"AddNode", "StartPeer"}:
        assert change.patch is not None
        metadata = {"name": name, "namespace": change.namespace or "default"}
        containers: Object = {"spec": {"containers": [{"name": "main"}]}} if kind == "Pod" else {}
        made: Object = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **containers}
        return [*objects, merged(made, change.patch)]
    if change.action == "CreateClaim":
        # Its volume may be reached from anywhere, as it was tried.
        made = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": change.namespace}}
        return [*objects, {**made, "spec": {}}]
    if change.action in {"Uncordon", "RemoveTaint"}:
        return [_kubectl(o, change.command) if _is(o, "Node", name) else o for o in objects]
    assert change.patch is not None
    if kind == "Node":
        return [merged(o, change.patch) if _is(o, "Node", name) else o for o in objects]
    inner = change.patch["spec"]
    inner = inner["jobTemplate"]["spec"] if kind == "CronJob" else inner
    patch = change.patch if kind == "Pod" else inner["template"]
    return [merged(o, patch) if o["kind"] == "Pod" and name_of(o) == pod else o for o in objects]


def _without(objects: list[Object], key: str, replaced: Sequence[str]) -> list[Object]:
    """The manifests after a pod was deleted: its controller makes another, or is a Job that failed."""
    (lost,) = (found for found in objects if found["kind"] == "Pod" and name_of(found) == key)
    owners = [owner for owner in lost["metadata"].get("ownerReferences") or () if owner.get("controller")]
    controllers = [found for found in objects for owner in owners if _is(found, owner["kind"], owner["name"])]
    kept = [found for found in objects if found is not lost]
    if key in replaced:
        return kept if controllers else [*kept, _made_again(lost)]
    return [found for found in kept if found not in controllers]


def _made_again(pod: Object) -> Object:
    """The pod that a controller makes in place of one that was deleted."""
    again = {**copy.deepcopy(pod), "status": {}}
    again["metadata"] |= {"name": f"{pod['metadata']['name']}-again", "uid": ""}
    again["spec"].pop("nodeName", None)
    return again


def _kubectl(node: Object, line: str) -> Object:
    """What uncordon and taint do to a node; the taint of a cordon goes with it, as its controller sees to."""
    verb, rest = line.split()[1], line.split()[4:]
    taints = node["spec"].get("taints") or []
    if verb == "uncordon":
        kept = [taint for taint in taints if taint["key"] != "node.kubernetes.io/unschedulable"]
        return {**node, "spec": {**node["spec"], "unschedulable": False, "taints": kept}}
    gone = {word.removesuffix("-") for word in rest}
    kept = [taint for taint in taints if f"{taint['key']}:{taint['effect']}" not in gone]
    return {**node, "spec": {**node["spec"], "taints": kept}}


def _is(found: Object, kind: str, name: str) -> bool:
    return bool(found["kind"] == kind and found["metadata"]["name"] == name)


def merged(old: Any, patch: Any, key: str = "") -> Any:
    """A strategic merge: objects field by field, null deletes, some lists by their key, others whole."""
    if isinstance(patch, dict) and isinstance(old, dict | None):
        result = {**(old or {})}
        for name, value in patch.items():
            if value is None:
                result.pop(name, None)
            else:
                result[name] = merged(result.get(name), value, name)
        return result
    if isinstance(patch, list) and key in _MERGE_KEYS:
        return _merged_by(_MERGE_KEYS[key], old or [], patch)
    return patch


def _merged_by(key: str, old: list[Object], patch: list[Object]) -> list[Object]:
    if patch[0] == {"$patch": "replace"}:
        return patch[1:]
    changes = {item[key]: item for item in patch}
    assert changes.keys() <= {item[key] for item in old}
    return [merged(item, changes[item[key]]) if item[key] in changes else item for item in old]


def landing(objects: Sequence[Object], pod: str, *, preemption: bool) -> Decision:
    """What a fresh simulation of a fresh cluster does with a pod."""
    decisions = simulate(Cluster.from_objects(objects), preemption=preemption, verbose=True).decisions
    return next(decision for decision in decisions if decision.pod == pod)
