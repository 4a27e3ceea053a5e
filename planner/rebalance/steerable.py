"""Whose replacements may be pinned: those of controllers whose template is narrowed without a rollout.

Pods of a ReplicaSet or ReplicationController stay as they are when its template changes; only new ones
follow it.  A Deployment above it is paused meanwhile.  Whatever else is above would undo the change, or
roll it out, as a StatefulSet does with its own template.
"""

from __future__ import annotations

from models.snapshot import Snapshot
from planner.problem.problem import Problem

_NARROWED = {"ReplicaSet", "ReplicationController"}
_PAUSED = {("ReplicaSet", "Deployment")}


def pinnable(problem: Problem) -> frozenset[int]:
    """The templates of such pods."""
    above = _above(problem.cluster)
    return frozenset(
        template.index
        for template in problem.templates
        if (owner := template.owner) is not None
        and owner.kind in _NARROWED
        and (
            (kind := above.get((template.namespace, owner.kind, owner.name))) is None
            or (owner.kind, kind) in _PAUSED
        )
    )


def _above(snapshot: Snapshot) -> dict[tuple[str, str, str], str]:
    """The kind of what controls a ReplicaSet or ReplicationController, where something does."""
    return {
        (item.namespace, item.kind, item.name): item.metadata.controller.kind
        for item in (*snapshot.replica_sets, *snapshot.replication_controllers)
        if item.metadata.controller is not None
    }
