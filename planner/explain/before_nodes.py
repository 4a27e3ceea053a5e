"""What a pod lacks before any node is asked about it: a gate that is to go, claims that are to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from models.objects.pod import PodSpec
from planner.explain.blockers import PendingCase
from planner.explain.change import ClusterChange, Cost
from planner.problem.problem import GATED


def without_gates(case: PendingCase) -> Iterator[ClusterChange]:
    """The scheduling gates taken off."""
    if case.static.messages.get(case.pod) == GATED:
        gates = case.template.pod.spec.scheduling_gates
        yield ClusterChange(
            "RemoveSchedulingGate",
            Cost.GATE,
            "remove the scheduling gate " + ", ".join(gate.name for gate in gates),
            edit=lambda spec: spec.model_copy(update={"scheduling_gates": ()}),
        )


def with_claims(case: PendingCase) -> Iterator[ClusterChange]:
    """The claims made that the pod uses and that are not there; where their volumes will be is not known."""
    claims, pod = case.state.claims.by_key, case.template.pod
    used = [v.persistent_volume_claim for v in pod.spec.volumes if v.persistent_volume_claim is not None]
    names = tuple(claim.claim_name for claim in used if f"{pod.namespace}/{claim.claim_name}" not in claims)
    if names and not case.problem.cluster.is_unseen("persistentvolumeclaims"):
        words = f"create claim{'s' if len(names) > 1 else ''} {', '.join(names)}"
        edit = partial(_without_volumes, names=names)
        yield ClusterChange("CreateClaim", Cost.CREATE_CLAIM, words, edit=edit, claims=names)


def _without_volumes(spec: PodSpec, names: Sequence[str]) -> PodSpec:
    kept = tuple(
        volume
        for volume in spec.volumes
        if volume.persistent_volume_claim is None or volume.persistent_volume_claim.claim_name not in names
    )
    return spec.model_copy(update={"volumes": kept})
