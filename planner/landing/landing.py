"""A landing: the nodes that a replacement may land on, how they are described, and what restricts it to them.

Pods of a ReplicaSet or ReplicationController stay as they are when its template changes; only new ones
follow it.  So their replacements may be pinned without a rollout, while a Deployment above is paused.  Any
other controller above would undo the change, or roll it out, as a StatefulSet does with its own template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.snapshot import Snapshot
from planner.constraints.node_unschedulable import NodeUnschedulable
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.documents.move_plan import OnNodes, Place, WithLabels
from planner.landing.constraint_status import OccupancyHistogram
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Column, Mask
from planner.problem.problem import Problem
from planner.proof import move_effort as effort

#: By kind of controller what may be above it: nothing, or a Deployment, which is paused meanwhile.
_MAY_BE_ABOVE: Mapping[str, tuple[str | None, ...]] = {
    "ReplicaSet": (None, "Deployment"),
    "ReplicationController": (None,),
}


@dataclass(frozen=True, slots=True)
class PinPolicy:
    """The templates whose replacements may be pinned, and those for which nodes may be cordoned."""

    pinnable: frozenset[int] = frozenset()
    cordonable: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.pinnable or self.cordonable)

    @classmethod
    def of(
        cls, trial: TrialCluster, templates: Iterable[int], *, cordon: bool, pins: bool = True
    ) -> PinPolicy:
        """Which of some templates may be pinned, and which others use cordons; cordons only with `cordon`."""
        several = frozenset(templates)
        may = several & pinnable(trial.problem) if pins else ()
        pinned = frozenset(t for t in may if trial.framework(t).profile.heeds_affinity)
        others = several - pinned if cordon else ()
        return cls(pinned, frozenset(template for template in others if _heeds_cordons(trial, template)))


#: Evictions alone.
NO_PINS = PinPolicy()


def pinnable(problem: Problem) -> frozenset[int]:
    above = _above(problem.cluster)
    return frozenset(
        template.index
        for template in problem.templates
        if (owner := template.owner) is not None
        and above.get((template.namespace, owner.kind, owner.name)) in _MAY_BE_ABOVE.get(owner.kind, ())
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


class LandingContradiction(Exception):
    """A wave does not lead to what it was judged to lead to, so the wave plan cannot be used."""


Kind = Literal["filters", "scores", "pinned", "cordoned"]
#: The kinds that need more than an eviction.
RESTRICTED = frozenset({"pinned", "cordoned"})


@dataclass(frozen=True, slots=True)
class Considered:
    """What is considered that restricts a replacement to where it is planned; filters always are.

    With `plain` nothing but a pin to the planned node is, where pins are possible.  Scores take longest.
    """

    pins: bool = True
    plain: bool = False
    scores: bool = True


@dataclass(frozen=True, slots=True)
class Landing:
    """A move, the nodes that its replacement may land on, and what restricts it to them.

    `place` describes the nodes to the user; the move's own target is the node when ties go to the smallest
    name.  A `pin`, which only a pinned landing has, may be wider: it keeps further nodes visible to
    constraints, on which the replacement cannot land.  `cordon` are the nodes cordoned meanwhile.  `ends` are
    the histograms of its coupled constraints that its wave may end with, until it has been carried out.
    """

    move: Move
    kind: Kind
    nodes: Mask
    place: Place
    pin: Place | None = None
    cordon: tuple[int, ...] = ()
    ends: frozenset[OccupancyHistogram] = frozenset()


@dataclass(frozen=True, slots=True)
class LandingPreferences:
    """How replacements should land beyond being as good as planned.

    Pinned or cordoned only as `pin_policy` allows.  Pods in `again` must land on their planned node, as they
    move once more; those in `certain` on a node known beforehand if scores decide that.
    """

    pin_policy: PinPolicy = NO_PINS
    again: Collection[int] = ()
    certain: Collection[int] = ()


#: Labels that users know nodes by, besides those that constraints name.
_KNOWN_KEYS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/os")


class NodeSets:
    """Describes sets of nodes, and resolves the descriptions."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._nodes = trial.problem.nodes

    def named(self, nodes: Mask) -> OnNodes:
        return OnNodes(nodes=self._nodes.names_of(nodes))

    def mask(self, place: Place) -> Mask:
        if isinstance(place, OnNodes):
            return self._nodes.mask_of([self._nodes.index[name] for name in place.nodes])
        labelled = (self._nodes.column(key).one_of(values) for key, values in place.labels.items())
        every: Mask = np.logical_and.reduce([self._nodes.every, *labelled])
        return every

    def of(self, nodes: Mask, shut: Mask, template: int) -> Place:
        """The nodes that pass the filters: by label values without a `shut` node, else by name.

        A few nodes are named where every node that the pod could have has these values: they say nothing.
        """
        if (many := int(nodes.sum())) > 1:
            static, domains = self._trial.plan(template).static, self._trial.domains(template)
            alike = np.isin(domains, np.unique(domains[nodes])) & ~shut
            for column in self._columns(template):
                values = np.unique(column.codes[nodes])
                inside = np.isin(column.codes, values) & static
                if many <= effort.FEW_NAMES and inside.sum() == static.sum() > many:
                    continue
                if values[0] >= 0 and not (inside & ~alike).any():
                    return _labelled(column, values.tolist())
        return self.named(nodes)

    def pins(
        self, template: int, nodes: Mask, wrong: Mask, target: int, *, many: bool
    ) -> Iterator[tuple[Place, Mask]]:
        """Pins to good nodes that exclude the wrong ones, the widest first.

        Only with `many` to several domains at once, as a pin to one domain hides all others from constraints.
        """
        static = self._trial.plan(template).static
        for column in self._columns(template):
            clean = set(column.codes[nodes].tolist()) - set(column.codes[wrong].tolist()) - {-1}
            first = int(column.codes[target])
            found = [sorted(clean)] if many and len(clean) > 1 else []
            found += [[code] for code in sorted(clean, key=lambda code: (code != first, code))]
            for values in found:
                yield _labelled(column, values), np.isin(column.codes, values) & static
        domains = self._trial.domains(template)
        for wide in (nodes, nodes & (domains == domains[target])):
            if 1 < int(wide.sum()) <= effort.PIN_NAMES:
                yield self.named(wide), wide
        if nodes[target]:
            only = self._nodes.only(target)
            yield self.named(only), only

    def _columns(self, template: int) -> list[Column]:
        """The labels that may describe a place, those of the template's constraints first."""
        constraints = [one for one in self._trial.ledger.of(template) if not one.by_node]
        hard_first = sorted(constraints, key=lambda one: not one.hard)
        keys = dict.fromkeys((*(one.rule.column.key for one in hard_first), *_KNOWN_KEYS))
        return [column for column in map(self._nodes.column, keys) if column.values and column.shared]


def _labelled(column: Column, codes: list[int]) -> WithLabels:
    return WithLabels(labels={column.key: tuple(sorted(column.values[code] for code in codes))})
