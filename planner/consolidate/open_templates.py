"""The templates whose replacements may land on any node: what room and counts say about them is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from models.errors import InternalError
from planner.consolidate.possible_counts import CountedMove
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.documents.move_plan import OnNodes, Place
from planner.landing.landing import NodeSets
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import consolidation_effort as effort


@dataclass(frozen=True, slots=True)
class SharedSpread:
    """A hard constraint over domains of several nodes: the domain of each, and those open to a template."""

    constraint: TrackedConstraint
    domain_of: Codes
    open_domains: tuple[int, ...]

    def move(self, template: int, node: int) -> CountedMove:
        return CountedMove(template, int(self.domain_of[node]), self.open_domains)


@dataclass(frozen=True, slots=True)
class OpenTemplate:
    """Where pods of a template may land: never on other nodes, and on these while others leave room.

    Each pod of the templates in `apart` closes a node.
    """

    nodes: Mask
    place: Place
    spread: SharedSpread | None
    apart: frozenset[int]

    @property
    def fewest_nodes(self) -> int:
        """How many nodes are open in the domain that has the fewest of them."""
        if self.spread is None:
            return int(np.count_nonzero(self.nodes))
        return int(np.unique(self.spread.domain_of[self.nodes], return_counts=True)[1].min())


class OpenTemplates:
    """Looks at templates while the pods that are to move are on `removed` nodes, which are cordoned."""

    def __init__(self, trial: TrialCluster, removed: Mask, moving: Iterable[int]) -> None:
        """All pods that are `moving` may be evicted."""
        self._trial = trial
        self._removed = removed
        self._moving = Counter(map(trial.template, moving))
        self._free = trial.free()
        self._places = NodeSets(trial)
        #: Of a template; None where more than room and counts would have to be known.
        self.of = cache(self._of)

    def open_to(self, template: int) -> OpenTemplate:
        """The same of a template of which enough is known."""
        found: OpenTemplate | None = self.of(template)
        if found is None:
            raise InternalError("a pod is to land anywhere about which more would have to be known")
        return found

    def may_come_to(self, nodes: Codes) -> Mask:
        """For every template whether its pods are moving and may land on one of some nodes."""
        found: Mask = np.asarray(self._open_nodes[:, nodes].any(axis=1))
        return found

    @cached_property
    def _open_nodes(self) -> Mask:
        """For every template the nodes on which its pods may land, if they are moving."""
        found = np.zeros((len(self._trial.problem.templates), self._trial.problem.nodes.size), np.bool_)
        for template in self._moving:
            known = self.of(template)
            if known is not None:
                found[template] = known.nodes
        return found

    def _of(self, template: int) -> OpenTemplate | None:
        trial = self._trial
        plan, rules = trial.plan(template), trial.rules(template)
        local = [
            rule for rule in rules if isinstance(rule, InterPodAffinity) and rule.is_local(plan.template)
        ]
        open_to_removed = (plan.static & self._removed).any()
        if open_to_removed or template in trial.affinity_peers or len(local) < len(rules):
            return None
        nodes: Mask = plan.static & trial.has_room(template, self._free)
        apart = {number for rule in local for number in rule.watches(plan.template)}
        for rule in local:
            nodes = nodes & (rule.reject(plan.template) == 0)
        over = list[TrackedConstraint]()
        for constraint in trial.ledger.hard_of((template,)):
            if not self._is_followed(constraint, template):
                return None
            if self._has_idle_nodes(constraint):
                counts, codes = constraint.rule.counts, constraint.rule.column.codes
                nodes = nodes & (codes >= 0) & (counts.padded()[codes] < constraint.max_skew)
                apart |= constraint.members
            else:
                over.append(constraint)
        spread = [self._spread(constraint, nodes) for constraint in over]
        place = self._places.of(nodes, trial.problem.nodes.none, template) if nodes.any() else None
        if place is None or None in spread or len(spread) > 1:
            return None
        if isinstance(place, OnNodes) and len(place.nodes) > effort.EMPTYING_CORDONED:
            return None
        return OpenTemplate(nodes, place, next(iter(spread), None), frozenset(apart))

    def _is_followed(self, constraint: TrackedConstraint, template: int) -> bool:
        """Whether all pods that a constraint counts are held to it, each once, and taints change nothing."""
        rule = constraint.rule
        asked = any(plugin.compares for plugin in self._trial.plan(template).changing)
        once = rule.counts_alike_everywhere and {*rule.tally.members.values()} == {1}
        heeds_taints = rule.constraint.node_taints_policy == "Honor"
        return asked and once and not heeds_taints and constraint.members == frozenset(constraint.carriers)

    def _has_idle_nodes(self, constraint: TrackedConstraint) -> bool:
        """Whether every domain is a node, none has too many pods, and some never have any."""
        rule = constraint.rule
        column, domains = rule.column, int(np.count_nonzero(rule.counts.domains))
        by_node = len(column.values) == np.count_nonzero(column.present)
        return by_node and domains > rule.tally.total and not constraint.excess()

    def _spread(self, constraint: TrackedConstraint, nodes: Mask) -> SharedSpread | None:
        """A constraint all domains of which stay, and all pods that it counts are on kept nodes, or move."""
        counts = constraint.rule.counts
        domain_of: Codes = np.where(counts.eligible, counts.column.codes, -1)
        there = int(counts.tally.counts[self._removed].sum())
        moving = sum(self._moving[number] for number in constraint.members)
        kept, open_domains = np.unique(domain_of[~self._removed]), np.unique(domain_of[nodes])
        if there != moving or not np.isin(domain_of, [*kept, -1]).all() or -1 in open_domains:
            return None
        return SharedSpread(constraint, domain_of, tuple(open_domains.tolist()))
