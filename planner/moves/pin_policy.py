"""Which replacements may be pinned, where that causes no rollout, and for which wrong nodes may be cordoned.

Pods of a ReplicaSet or ReplicationController stay as they are when its template changes; only new ones
follow it.  A Deployment above it is paused meanwhile.  Any other controller above would undo the change, or
roll it out, as a StatefulSet does with its own template.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from models.snapshot import Snapshot
from planner.constraints.node_unschedulable import NodeUnschedulable
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem

_NARROWED = {"ReplicaSet", "ReplicationController"}
_PAUSED = {("ReplicaSet", "Deployment")}


@dataclass(frozen=True, slots=True)
class PinPolicy:
    """The templates whose replacements may be pinned, and those for which nodes may be cordoned."""

    pinnable: frozenset[int] = frozenset()
    cordonable: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.pinnable or self.cordonable)

    @classmethod
    def of(cls, trial: TrialCluster, templates: Iterable[int], *, cordon: bool) -> PinPolicy:
        """Which of some templates may be pinned, and which use cordons; cordons only with `cordon`."""
        several = frozenset(templates)
        pinned = several & pinnable(trial.problem)
        pins = frozenset(t for t in pinned if trial.framework(t).profile.heeds_affinity)
        others = several - pins if cordon else ()
        return cls(pins, frozenset(template for template in others if _heeds_cordons(trial, template)))

    @classmethod
    def of_cordons(cls, trial: TrialCluster, templates: Iterable[int]) -> PinPolicy:
        """No pins; cordons for all of some templates that heed them."""
        return cls(cordonable=frozenset(t for t in templates if _heeds_cordons(trial, t)))


#: Evictions alone.
NO_PINS = PinPolicy()


def pinnable(problem: Problem) -> frozenset[int]:
    """The templates whose replacements may be pinned."""
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
    """The kind of the controller of each ReplicaSet or ReplicationController that has one."""
    return {
        (item.namespace, item.kind, item.name): item.metadata.controller.kind
        for item in (*snapshot.replica_sets, *snapshot.replication_controllers)
        if item.metadata.controller is not None
    }


def _heeds_cordons(trial: TrialCluster, number: int) -> bool:
    """Whether a cordon closes a node to pods of a template, and changes nothing else for them.

    A constraint that honours taints would not count the pods of a cordoned node.
    """
    template = trial.problem.templates[number]
    filters = trial.framework(number).profile.filters
    heeds = any(isinstance(plugin, NodeUnschedulable) and not plugin.part(template) for plugin in filters)
    return heeds and not any(
        rule.constraint.node_taints_policy == "Honor"
        for plugin in filters
        if isinstance(plugin, PodTopologySpread)
        for rule in plugin.hard(template)
    )
