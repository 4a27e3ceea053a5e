"""Regions cut out of a cluster for the solver, and lower bounds on moves, by counting and by relaxed regions.

A region has sites, movable pods, room, and the constraints that count them.  Groups of constraints that share
no movable pods compete for room alone.  A relaxation leaves room out, so the bounds of groups add up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.cpsat.region import Place, Region, RegionConstraint, RegionLimit
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import Move
from planner.problem.node_groups import numbered
from planner.problem.nodes import Codes, Mask
from planner.proof import move_effort as effort
from planner.proof.bounds import Assumption, Bound, Claim
from planner.rebalance.search.evaluation import ConstraintGroup, Evaluator, Found

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift


class Regions:
    """Cuts regions out of a trial cluster."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._trial = evaluator.trial
        self._movable = evaluator.movable

    def relaxed(self, templates: Sequence[int], constraints: Sequence[TrackedConstraint]) -> Region:
        """These templates wherever they may ever run, alike nodes as one site, without limits of room."""
        return self._cut(templates, constraints, self._alike(templates, constraints))

    def exact(self) -> Region:
        """All movable pods on all nodes with the free room of now, and every constraint to be repaired."""
        it = self._evaluator
        nodes = np.arange(it.trial.problem.nodes.size)
        asked = [one for one in it.trial.ledger.constraints if one.kind in it.protections.kinds]
        region = self._cut([*it.movable.templates], asked, nodes)
        return replace(region, room=self._room(nodes, region.wants), limits=self._limits(region.leaving))

    def _cut(
        self, templates: Sequence[int], constraints: Sequence[TrackedConstraint], group: Codes
    ) -> Region:
        """Nodes of a group are one site, without limits of room."""
        cut = (self._constraint(constraint, group, templates) for constraint in constraints)
        return Region(
            templates=tuple(templates),
            leaving={t: self._leaving(t, group) for t in templates},
            open={t: self._open(t, group) for t in templates},
            room={},
            wants={t: self._trial.wants(t) for t in templates},
            constraints=tuple(found for found in cut if found is not None),
        )

    def _limits(self, leaving: Mapping[int, Mapping[int, tuple[int, ...]]]) -> tuple[RegionLimit, ...]:
        """The pairs of template and site that each limit on evictions counts."""
        limits = self._evaluator.limits()
        found: dict[Hashable, tuple[list[tuple[int, int]], int]] = {}
        for t, sites in leaving.items():
            for site in sites:
                for key, most in limits.of(t, site):
                    found.setdefault(key, ([], most))[0].append((t, site))
        return tuple((tuple(keys), most) for keys, most in found.values())

    def _alike(self, templates: Sequence[int], constraints: Sequence[TrackedConstraint]) -> Codes:
        """A site for every node; nodes with pods of the templates are sites of their own."""
        holding = np.zeros(self._trial.problem.nodes.size, np.bool_)
        traits: list[Codes | Mask] = []
        for constraint in constraints:
            column = constraint.rule.column
            traits += [column.codes if column.shared else column.present, constraint.rule.counts.eligible]
            holding |= (constraint.rule.tally.counts > 0) | (constraint.held.tally.counts > 0)
        of = numbered(len(holding), [*traits, *map(self._trial.ever_open, templates)])
        alone = np.flatnonzero(holding)
        of[alone] = int(of.max(initial=0)) + 1 + np.arange(len(alone))
        return numbered(len(of), (of,))

    def _leaving(self, template: int, group: Codes) -> dict[int, tuple[int, ...]]:
        weights: dict[int, list[int]] = {}
        pods = self._movable.of(template)
        sites = group[self._trial.state.node_of[pods]]
        for site, weight in zip(sites.tolist(), self._movable.weights[pods].tolist(), strict=True):
            weights.setdefault(site, []).append(weight)
        return {site: tuple(sorted(found)) for site, found in weights.items()}

    def _open(self, template: int, group: Codes) -> tuple[int, ...]:
        return tuple(np.unique(group[self._trial.ever_open(template)]).tolist())

    def _constraint(
        self, constraint: TrackedConstraint, group: Codes, templates: Iterable[int]
    ) -> RegionConstraint | None:
        """A constraint inside a region; None where sites cut through its domains."""
        counts, of = constraint.rule.counts, constraint.rule.column.codes
        inside = np.flatnonzero(counts.eligible)
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
        places = tuple(_place(constraint, asking, sites[part], np.unique(codes[part])) for part in parts)
        asked = constraint.members.intersection(constraint.carriers, templates) if constraint.hard else ()
        kept_out = [t for t in asked if any(plugin.compares for plugin in self._trial.plan(t).changing)]
        return RegionConstraint(
            constraint.hard,
            constraint.max_skew,
            constraint.rule.few_domains,
            constraint.members.intersection(templates),
            tuple(t for t in constraint.carriers if t in templates),
            places,
            tuple(sorted(kept_out)),
        )

    def _room(
        self, nodes: Codes, wants: Mapping[int, Sequence[tuple[int, int]]]
    ) -> dict[int, dict[int, int]]:
        free = self._trial.free()
        rows = {row for found in wants.values() for row, _ in found}
        return {node: {row: int(free[row, node]) for row in rows} for node in nodes.tolist()}


def _place(
    constraint: TrackedConstraint, asking: Mapping[int, list[int]], sites: Codes, codes: Codes
) -> Place:
    where = {site for code in codes.tolist() for site in asking[code]}
    return Place(
        tuple(np.unique(sites).tolist()),
        tuple(sorted(where)),
        len(codes),
        int(constraint.rule.counts.sums()[codes].sum()),
        int(constraint.held.sums()[codes].sum()),
    )


def _sites_of(codes: Codes, group: Codes) -> Mapping[int, list[int]]:
    """The sites of every domain, eligible or not."""
    found: dict[int, list[int]] = defaultdict(list)
    here = np.flatnonzero(codes >= 0)
    width = int(group.max(initial=0)) + 1
    for pair in np.unique(codes[here] * width + group[here]).tolist():
        found[pair // width].append(pair % width)
    return found


_SOFT = "softExcess"


def relaxed(evaluator: Evaluator, best: Found) -> Found:
    """No other moves, but the tighter bounds of a relaxed model, group by group.

    By counting where that says as much as the moves have: models of those, too, bound nothing lower, and take
    1.8 s for the 34 groups of 1,200 nodes.  Where nothing says that some excess of a group remains, counting
    holds, too.
    """
    it, total = evaluator, Counter(dict.fromkeys(evaluator.stages, 0))
    with it.trial.after(best[0]):
        achieved = [_achieved(it, group, best[0]) for group in it.groups]
    for group, values in zip(it.groups, achieved, strict=True):
        least = _counted(it, group)
        found = _relaxed(it, group) if values != least else {}
        total.update(found if found.get("hardExcess") else least | Counter(found))
    it.learn(chained(it.stages, total, "a relaxation without room"))
    return best


def counted(evaluator: Evaluator) -> Iterator[Claim]:
    """Claims by counting alone: of each group the moves that its most demanding constraint needs."""
    total = Counter(dict.fromkeys(evaluator.stages, 0))
    for group in evaluator.groups:
        total.update(_counted(evaluator, group))
    return chained(evaluator.stages, total, "counting")


def _counted(evaluator: Evaluator, group: ConstraintGroup) -> Counter[str]:
    broken, movable = (one for one in group.constraints if one.hard and one.excess()), evaluator.movable
    least = max((one.moves_needed(closed=False) or 0 for one in broken), default=0)
    weights = [int(movable.weights[movable.of(t)].min()) for t in group.templates]
    return Counter(moves=least, disruption=least * min(weights, default=0))


def _achieved(evaluator: Evaluator, group: ConstraintGroup, moves: Sequence[Move]) -> Counter[str]:
    """What moves have of a group on the trial cluster after them; hard and soft excess together."""
    pods = [move.pod for move in moves if evaluator.trial.template(move.pod) in group.templates]
    excess = sum(one.excess() for one in group.constraints if one.hard or _SOFT in evaluator.stages)
    weight = int(evaluator.movable.weights[pods].sum())
    return Counter(moves=len(pods), disruption=weight, **{_SOFT: excess})


def _relaxed(evaluator: Evaluator, group: ConstraintGroup) -> Mapping[str, int]:
    """The bounds of a model of one group."""
    from planner.cpsat.moves import MoveModel

    it, region = evaluator, Regions(evaluator).relaxed(group.templates, group.constraints)
    if region.size > effort.REGION_VARIABLES:
        return {}
    shift = MoveModel(region, most_moves=it.most).solve(it.stages, it.meter, effort.RELAXED_REGION_WORK)
    return proved_by(shift, it.stages)


def proved_by(shift: Shift | None, stages: Sequence[str]) -> Mapping[str, int]:
    """The bounds of a model's stages, up to the first one that it did not reach."""
    bounds: dict[str, int] = {}
    if shift is None:
        return bounds
    for name in stages:
        bounds[name] = shift.bounds.get(name, 0)
        if shift.values.get(name) != bounds[name]:
            break
    return bounds


def chained(
    stages: Sequence[str], bounds: Mapping[str, int], source: str, *assumes: Assumption
) -> Iterator[Claim]:
    """A claim for every stage with a bound, about plans that reach the bounds before."""
    given: dict[str, int] = {}
    for name in stages:
        if name not in bounds:
            return
        yield Claim(name, Bound(bounds[name], source, frozenset(assumes)), dict(given))
        given[name] = bounds[name]
