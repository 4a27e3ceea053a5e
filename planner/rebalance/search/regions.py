"""Regions cut out of a cluster: sites, movable pods, room, and the constraints that count them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from planner.cpsat.region import Place, Region, RegionConstraint
from planner.eviction.protections import Protections
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask


class Regions:
    """Cuts regions out of a trial cluster."""

    def __init__(self, trial: TrialCluster, movable: Movable, protections: Protections) -> None:
        self._trial = trial
        self._movable = movable
        self._protections = protections

    def related(self, constraints: Iterable[TrackedConstraint]) -> tuple[list[int], list[TrackedConstraint]]:
        """The movable templates connected with some constraints, and all constraints on those templates."""
        found: dict[int, TrackedConstraint] = {}
        templates: dict[int, None] = {}
        waiting = list(constraints)
        while waiting:
            constraint = waiting.pop()
            if constraint.number in found:
                continue
            found[constraint.number] = constraint
            for template in sorted(constraint.members.union(constraint.carriers)):
                if template not in templates and self._movable.of(template).size:
                    templates[template] = None
                    waiting += self._trial.ledger.of(template)
        return sorted(templates), sorted(found.values(), key=lambda constraint: constraint.number)

    def relaxed(self, templates: Sequence[int], constraints: Sequence[TrackedConstraint]) -> Region:
        """These templates wherever they may ever run, alike nodes as one site, without limits of room."""
        group = self._alike(templates, constraints)
        return self._cut(templates, constraints, group, tight=False)

    def exact(
        self,
        templates: Sequence[int],
        constraints: Sequence[TrackedConstraint],
        nodes: Codes,
        *,
        tight: bool,
        moved: set[int],
    ) -> Region:
        """These templates on these nodes with the free room of now; pods that moved before stay.

        `tight` leaves out nodes that filters other than room and spread refuse in the present state, and pods
        that constraints cannot spare for a while.
        """
        group = np.full(self._trial.problem.nodes.size, -1, np.intp)
        group[nodes] = np.arange(len(nodes))
        return self._cut(templates, constraints, group, tight=tight, roomy=False, moved=moved)

    def _cut(  # noqa: PLR0913 - one place where regions of both kinds are put together
        self,
        templates: Sequence[int],
        constraints: Sequence[TrackedConstraint],
        group: Codes,
        *,
        tight: bool,
        roomy: bool = True,
        moved: set[int] | None = None,
    ) -> Region:
        nodes = np.flatnonzero(group >= 0)
        wants = {t: self._trial.wants(t) for t in templates}
        rows = {row for found in wants.values() for row, _ in found}
        inside = [
            found
            for constraint in constraints
            if (found := self._constraint(constraint, group, templates)) is not None
        ]
        leaving = {t: self._leaving(t, group, moved or set(), tight=tight) for t in templates}
        return Region(
            tuple(templates),
            tuple(nodes.tolist()),
            leaving,
            {t: self._open(t, group, tight=tight) for t in templates},
            {} if roomy else self._room(nodes, group, rows),
            wants,
            tuple(inside),
            () if roomy else tuple(self._limits(leaving, moved or set())),
        )

    def _limits(
        self, leaving: Mapping[int, Mapping[int, tuple[int, ...]]], moved: set[int]
    ) -> Iterable[tuple[tuple[tuple[int, int], ...], int]]:
        """The policy's limits for each node and namespace, and the evictions that Jobs still survive."""
        rules, keys = self._protections, [(t, site) for t, sites in leaving.items() for site in sites]
        if rules.most_per_node is not None:
            for site in sorted({site for _, site in keys}):
                yield tuple(key for key in keys if key[1] == site), rules.most_per_node
        if rules.most_per_namespace is not None:
            templates = self._trial.problem.templates
            for namespace in sorted({templates[t].namespace for t, _ in keys}):
                same = tuple(key for key in keys if templates[key[0]].namespace == namespace)
                yield same, rules.most_per_namespace
        for several, most in self._movable.quotas:
            found = tuple(key for key in keys if key[0] in several)
            if found:
                gone = sum(self._trial.template(pod) in several for pod in moved)
                yield found, max(0, most - gone)

    def _alike(self, templates: Sequence[int], constraints: Sequence[TrackedConstraint]) -> Codes:
        """A site for every node; nodes with pods of the templates are sites of their own."""
        size = self._trial.problem.nodes.size
        of = np.zeros(size, np.int64)
        for trait in self._traits(templates, constraints):
            _, of = np.unique(of * (int(trait.max(initial=0)) + 2) + trait + 1, return_inverse=True)
        holding = np.zeros(size, np.bool_)
        for constraint in constraints:
            holding |= (constraint.rule.tally.counts > 0) | (constraint.held.tally.counts > 0)
        alone = np.flatnonzero(holding)
        of[alone] = int(of.max(initial=0)) + 1 + np.arange(len(alone))
        return np.unique(of, return_inverse=True)[1].astype(np.intp)

    def _traits(self, templates: Sequence[int], constraints: Sequence[TrackedConstraint]) -> Iterable[Ints]:
        for constraint in constraints:
            column = constraint.rule.column
            if column.shared:
                yield column.codes.astype(np.int64)
            else:
                yield column.present.astype(np.int64)
            yield constraint.rule.counts.eligible.astype(np.int64)
        for template in templates:
            yield self._trial.ever_open(template).astype(np.int64)

    def _leaving(
        self, template: int, group: Codes, moved: set[int], *, tight: bool
    ) -> dict[int, tuple[int, ...]]:
        weights: dict[int, list[int]] = {}
        if tight:
            group = np.where(self._spared(template), group, -1)
        for pod in self._movable.of(template).tolist():
            node = int(self._trial.state.node_of[pod])
            if node >= 0 and group[node] >= 0 and pod not in moved:
                weights.setdefault(int(group[node]), []).append(int(self._movable.weights[pod]))
        return {site: tuple(sorted(found)) for site, found in weights.items()}

    def _spared(self, template: int) -> Mask:
        """The nodes that a pod of a template may leave for a while without harm to its hard constraints."""
        mask = self._trial.problem.nodes.every
        for constraint in self._trial.ledger.of(template):
            if constraint.hard and template in constraint.members and not constraint.excess():
                mask = mask & (
                    constraint.bears_less()[constraint.rule.column.codes] | ~constraint.rule.counts.eligible
                )
        return mask

    def _open(self, template: int, group: Codes, *, tight: bool) -> tuple[int, ...]:
        mask: Mask = self._trial.ever_open(template) & (group >= 0)
        if tight:
            for plugin in self._trial.rules(template):
                mask = mask & (plugin.reject(self._trial.problem.templates[template]) == 0)
        return tuple(np.unique(group[mask]).tolist())

    def _constraint(
        self, constraint: TrackedConstraint, group: Codes, templates: Iterable[int]
    ) -> RegionConstraint | None:
        """A constraint inside a region; None where sites cut through its domains."""
        counts, of = constraint.rule.counts, constraint.rule.column.codes
        inside = np.flatnonzero((group >= 0) & counts.eligible)
        width = max(1, len(constraint.rule.column.values))
        pairs = np.unique(group[inside] * width + of[inside])
        sites, codes = pairs // width, pairs % width
        several = np.bincount(sites, minlength=1) > 1
        if several.any() and len(np.unique(codes)) < len(codes):
            return None
        # Either every site has domains of its own, or every domain has sites of its own.
        keys = sites if several.any() else codes
        order = np.argsort(keys, kind="stable")
        cuts = np.flatnonzero(np.diff(keys[order])) + 1
        parts = np.split(order, cuts) if order.size else []
        asking = _sites_of(of, group)
        spares = constraint.bears_less()[:-1] & (constraint.surplus() == 0)
        places = tuple(
            _place(constraint, asking, spares, sites[part], np.unique(codes[part])) for part in parts
        )
        outside = counts.domains.copy()
        outside[codes] = False
        floor = int(counts.sums()[outside].min()) if outside.any() else None
        asked = constraint.members.intersection(constraint.carriers, templates) if constraint.hard else ()
        kept_out = [t for t in asked if any(plugin.compares for plugin in self._trial.plan(t).changing)]
        return RegionConstraint(
            constraint.hard,
            constraint.max_skew,
            constraint.rule.few_domains,
            constraint.members.intersection(templates),
            tuple(t for t in constraint.carriers if t in templates),
            places,
            floor,
            tuple(sorted(kept_out)),
        )

    def _room(self, nodes: Codes, group: Codes, rows: set[int]) -> dict[int, dict[int, int]]:
        free = self._trial.problem.allocatable - self._trial.state.used
        return {int(group[node]): {row: int(free[row, node]) for row in rows} for node in nodes.tolist()}


def _place(
    constraint: TrackedConstraint, asking: Mapping[int, list[int]], spares: Mask, sites: Codes, codes: Codes
) -> Place:
    where = {site for code in codes.tolist() for site in asking[code]}
    return Place(
        tuple(np.unique(sites).tolist()),
        tuple(sorted(where)),
        len(codes),
        int(constraint.rule.counts.sums()[codes].sum()),
        int(constraint.held.sums()[codes].sum()),
        bool(spares[codes].all()),
    )


def _sites_of(codes: Codes, group: Codes) -> Mapping[int, list[int]]:
    """The sites of every domain, eligible or not."""
    found: dict[int, list[int]] = defaultdict(list)
    here = np.flatnonzero((group >= 0) & (codes >= 0))
    width = int(group.max(initial=0)) + 1
    for pair in np.unique(codes[here] * width + group[here]).tolist():
        found[pair // width].append(pair % width)
    return found
