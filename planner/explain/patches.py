"""A change as its user applies it: the fragment of a manifest, and the line for kubectl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from models.admission.pods import NOT_READY_TOLERATIONS
from models.objects.affinity import PodAffinityTerm, TopologySpreadConstraint
from models.objects.base import KubeModel
from models.objects.containers import Container
from models.objects.pod import PodSpec
from models.objects.quantity import format_quantity

Fragment = dict[str, Any]
_WithLabelKeys = TypeVar("_WithLabelKeys", PodAffinityTerm, TopologySpreadConstraint)
#: Workloads whose pod template can be changed where it is.
_PATCHABLE = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "CronJob"}


def spec_patch(old: PodSpec, new: PodSpec) -> Fragment:
    """What of a pod's spec is other, as a strategic merge patch: null takes a field away."""
    patch: Fragment = {}
    if old.scheduling_gates != new.scheduling_gates:
        patch["schedulingGates"] = [_dump(gate) for gate in new.scheduling_gates] or None
    if old.node_selector != new.node_selector:
        patch["nodeSelector"] = _changes(old.node_selector, new.node_selector)
    if old.tolerations != new.tolerations:
        # What admission adds to every pod is not written in a manifest.
        patch["tolerations"] = [_dump(one) for one in new.tolerations if one not in NOT_READY_TOLERATIONS]
    if old.topology_spread_constraints != new.topology_spread_constraints:
        patch["topologySpreadConstraints"] = _spread(
            old.topology_spread_constraints, new.topology_spread_constraints
        )
    if old.affinity != new.affinity:
        patch["affinity"] = _affinity(old, new)
    for field, name in (("containers", "containers"), ("init_containers", "initContainers")):
        listed = _containers(getattr(old, field), getattr(new, field))
        if listed:
            patch[name] = listed
    if new.resources is not None and old.resources != new.resources:
        patch["resources"] = {"requests": _amounts(new.resources.requests)}
    return patch


def wrapped(workload: str, patch: Fragment) -> Fragment:
    """The patch of a pod's spec where the workload has it."""
    inner = {"spec": patch}
    kind = workload.partition("/")[0]
    if kind == "CronJob":
        return {"spec": {"jobTemplate": {"spec": {"template": inner}}}}
    return inner if kind == "Pod" else {"spec": {"template": inner}}


def command(workload: str, namespace: str, patch: Fragment) -> str:
    """The line that changes a workload; empty where the object has to be made again."""
    kind, _, name = workload.partition("/")
    if kind not in _PATCHABLE:
        return ""
    text = json.dumps(wrapped(workload, patch), separators=(",", ":"))
    return f"kubectl patch {kind.lower()} {name} -n {namespace} -p {shlex.quote(text)}"


def _dump(part: KubeModel) -> Fragment:
    found: Fragment = part.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return found


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> Fragment:
    return {
        **{key: None for key in old if key not in new},
        **{k: v for k, v in new.items() if old.get(k) != v},
    }


def _spread(
    old: Sequence[TopologySpreadConstraint], new: Sequence[TopologySpreadConstraint]
) -> list[Fragment]:
    """The changed constraints by their key; the whole list where a key stands twice or is another one."""
    keys = [item.topology_key for item in old]
    if keys != [item.topology_key for item in new] or len(set(keys)) < len(keys):
        return [{"$patch": "replace"}, *({**_dump(_given(item)), "maxSkew": item.max_skew} for item in new)]
    changed = []
    for before, after in zip(old, new, strict=True):
        if before != after:
            a, b = (item.model_dump(mode="json", by_alias=True) for item in (before, after))
            fields = {name: value for name, value in b.items() if a[name] != value}
            changed.append({"topologyKey": after.topology_key, **fields})
    return changed


def _given(item: _WithLabelKeys) -> _WithLabelKeys:
    """A constraint or term as a manifest has it: without what the API server merged into its selector.

    Its values are those of one pod, such as the hash of its template, and no manifest may have a key twice.
    """
    selector = item.label_selector
    keys = {*item.match_label_keys, *getattr(item, "mismatch_label_keys", ())}
    if selector is None or not keys:
        return item
    kept = tuple(found for found in selector.match_expressions if found.key not in keys)
    return item.model_copy(update={"label_selector": selector.model_copy(update={"match_expressions": kept})})


def _affinity(old: PodSpec, new: PodSpec) -> Fragment:
    """The lists of required terms that are other; null where none is left."""
    patch: Fragment = {}
    for field, name in (
        ("node_affinity", "nodeAffinity"),
        ("pod_affinity", "podAffinity"),
        ("pod_anti_affinity", "podAntiAffinity"),
    ):
        before, after = getattr(old.affinity, field, None), getattr(new.affinity, field, None)
        if before != after and after is not None:
            required = after.required
            terms = (
                _dump(required)
                if isinstance(required, KubeModel)
                else [_dump(_given(term)) for term in required or ()]
            )
            patch[name] = {"requiredDuringSchedulingIgnoredDuringExecution": terms or None}
    return patch


def _containers(old: Sequence[Container], new: Sequence[Container]) -> list[Fragment]:
    """The changed containers by name: requests, limits and ports."""
    found = []
    for before, after in zip(old, new, strict=True):
        patch: Fragment = {}
        for name in ("requests", "limits"):
            a, b = getattr(before.resources, name), getattr(after.resources, name)
            if a != b:
                patch.setdefault("resources", {})[name] = _changes(_amounts(a), _amounts(b))
        if before.ports != after.ports:
            patch["ports"] = [
                {
                    "containerPort": port.container_port,
                    "protocol": port.protocol,
                    "hostPort": port.host_port or None,
                }
                for port in after.ports
            ]
        if patch:
            found.append({"name": after.name, **patch})
    return found


def _amounts(resources: Mapping[str, int]) -> dict[str, str]:
    return {name: format_quantity(amount) for name, amount in resources.items()}
