"""What spread constraints may come to count while replacements land wherever they are let.

Moves change the counts of a few constraints.  Constraints that share moving templates are one crowd: its
nodes are put into cells that no constraint of it tells apart, nodes that pods leave in a cell each.  A
tableau says how many nodes of every cell hold how many pods; which of them does not matter.  A crowd
keeps all tableaus that may have come about, and every one is followed through every order of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.landing.constraint_status import (
    ConstraintOverCells,
    ConstraintStatus,
    NodeCounts,
    OccupancyHistogram,
    PinnedCells,
    is_by_node,
)
from planner.landing.node_cells import cells_of, numbered
from planner.landing.spread_admission import Option, Restriction, SpreadAdmission
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import effort
from planner.state.pod_counts import PodCounts

#: Whether one of a mover's options has room for certain.
Exists = Callable[[int, OccupancyHistogram, frozenset[Option]], bool]


@dataclass(frozen=True, slots=True)
class LeavingPod:
    """A pod that leaves a node in a cell of its own; `target` is the cell it was planned to come to."""

    template: int
    cell: int
    target: int
    restriction: Restriction | None = None


@dataclass(frozen=True, slots=True)
class WaveOutcomes:
    """How a wave may go: the tableaus at its end, and the options that every mover may meet."""

    ends: frozenset[OccupancyHistogram]
    options: tuple[frozenset[Option], ...]


class CoupledConstraints:
    """Constraints that share moving templates, and all tableaus of their counts that may have come about."""

    def __init__(
        self,
        trial: TrialCluster,
        constraints: Sequence[TrackedConstraint],
        templates: Sequence[int],
        sources: Iterable[int],
        kept: int = effort.HISTOGRAMS_KEPT,
    ) -> None:
        """A crowd that follows up to so many tableaus; `sources` are the nodes that its pods leave."""
        self.constraints = constraints
        self._kept = kept
        self.templates = tuple(templates)
        self.cell_of = cells_of(trial, constraints, templates, sources)
        shared = [d.rule.column.codes + 1 for d in constraints if not is_by_node(d)]
        #: A number for every node, equal where all shared domains are the same.
        self.domains = numbered(len(self.cell_of), [codes.astype(np.int64) for codes in shared])
        representative = np.unique(self.cell_of, return_index=True)[1]
        self._domain_of: list[int] = self.domains[representative].tolist()
        self.sizes: list[int] = np.bincount(self.cell_of).tolist()
        self._tallies: list[PodCounts] = []
        self._over_cells = [
            ConstraintOverCells(
                d, self._number(d.rule.tally), self._number(d.held.tally), representative, kept
            )
            for d in constraints
        ]
        #: Whether some constraint looks at single nodes; if none does, a cell is like one node.
        self.by_node = any(over_cells.by_node for over_cells in self._over_cells)
        self._weights = {t: tuple(tally.members.get(t, 0) for tally in self._tallies) for t in templates}
        hard = [over_cells for over_cells in self._over_cells if over_cells.constraint.hard]
        self._admission = SpreadAdmission(
            {
                t: [over_cells for over_cells in hard if t in over_cells.constraint.asked.carriers]
                for t in templates
            },
            {t: trial.plan(t).static[representative].tolist() for t in templates},
            kept,
        )
        #: The tableaus that were asked for, by the pods on all nodes.
        self._seen: dict[bytes, OccupancyHistogram] = {}
        self._known: dict[OccupancyHistogram, tuple[ConstraintStatus, ...]] = {}
        self._known_outcomes: _Outcomes | None = None
        self.histograms: frozenset[OccupancyHistogram] = frozenset((self.seen(self.levels()),))

    def _number(self, tally: PodCounts) -> int:
        for number, known in enumerate(self._tallies):
            if known.members == tally.members:
                return number
        self._tallies.append(tally)
        return len(self._tallies) - 1

    def levels(self, without: Iterable[tuple[int, int]] = ()) -> Codes:
        """A row for every tally: the pods on every node, less some of a template on a node."""
        size = len(self.cell_of)
        found = np.array([tally.counts for tally in self._tallies], np.int64).reshape(-1, size)
        for template, node in without:
            found[:, node] -= np.array(self._weights.get(template, (0,) * len(found)), np.int64)
        return found

    def seen(self, levels: Codes) -> OccupancyHistogram:
        """The tableau when so many pods are on the nodes."""
        key = levels.tobytes()
        if key not in self._seen:
            if len(self._seen) > effort.HISTOGRAMS_SEEN:
                self._seen.clear()
            self._seen[key] = self._histogram(levels)
        return self._seen[key]

    def _histogram(self, levels: Codes) -> OccupancyHistogram:
        if not self.by_node:
            together = np.zeros((len(self.sizes), len(levels)), np.int64)
            np.add.at(together, self.cell_of, levels.T)
            return tuple(((tuple(level), 1),) for level in together.tolist())
        kinds, nodes = np.unique(np.vstack([self.cell_of, levels]), axis=1, return_counts=True)
        cells: list[list[tuple[NodeCounts, int]]] = [[] for _ in self.sizes]
        for (cell, *level), number in zip(kinds.T.tolist(), nodes.tolist(), strict=True):
            cells[cell].append((tuple(level), number))
        return tuple(map(tuple, cells))

    def status(self, histogram: OccupancyHistogram) -> tuple[ConstraintStatus, ...]:
        """Where every constraint stands."""
        found = self._known.get(histogram)
        if found is None:
            if len(self._known) > 50 * self._kept:
                self._known.clear()
            found = self._known[histogram] = tuple(f.status(histogram) for f in self._over_cells)
        return found

    def options(self, histogram: OccupancyHistogram, leaving: LeavingPod) -> frozenset[Option]:
        """Where the filters of spread, and all that never change, let a replacement come."""
        return self._admission.options(histogram, leaving.template, leaving.restriction)

    def bear(self, histogram: OccupancyHistogram, leaving: LeavingPod, nodes: Codes, levels: Codes) -> Ints:
        """How many more pods of the crowd come to some nodes at least before each is shut for a replacement.

        `levels` are the pods on all nodes as far as that is known.
        """
        cells, found = self.cell_of[nodes], np.full(len(nodes), len(self.cell_of), np.int64)
        for over_cells, most in self._admission.limits_of_nodes(
            histogram, leaving.template, leaving.restriction
        ):
            weight = max(self._weights[t][over_cells.tally] for t in self._weights)
            left = -(-(most - levels[over_cells.tally, nodes] + 1) // max(weight, 1))
            found = np.where(np.array(over_cells.counts)[cells], np.minimum(found, left), found)
        return np.maximum(found, 0)

    def outcomes(self, leaving_pods: Sequence[LeavingPod], exists: Exists) -> WaveOutcomes | None:
        """All ways in which movers may leave and land; None when one finds no place, or something is worse.

        `exists` says whether one of a mover's options has room for certain.
        """
        ends: set[OccupancyHistogram] = set()
        met: list[set[Option]] = [set() for _ in leaving_pods]
        for start in self.histograms:
            if not self._follow(start, leaving_pods, exists, ends, met):
                return None
        if len(ends) > self._kept:
            return None
        return WaveOutcomes(frozenset(ends), tuple(frozenset(found) for found in met))

    def _follow(
        self,
        start: OccupancyHistogram,
        leaving_pods: Sequence[LeavingPod],
        exists: Exists,
        ends: set[OccupancyHistogram],
        met: Sequence[set[Option]],
    ) -> bool:
        before = self.status(start)
        waiting = [(start, (0,) * len(leaving_pods))]
        seen = set(waiting)
        while waiting:
            histogram, phases = waiting.pop()
            if self._is_worse(self.status(histogram), before, away=_GONE in phases):
                return False
            if min(phases) == _LANDED:
                ends.add(histogram)
            for number, leaving in enumerate(leaving_pods):
                if phases[number] == _LANDED:
                    continue
                following = [self.left(histogram, leaving)]
                if phases[number] == _GONE:
                    options = self.options(histogram, leaving)
                    if not options or not exists(number, histogram, options):
                        return False
                    met[number].update(options)
                    following = [self.landed(histogram, leaving.template, option) for option in options]
                after = (*phases[:number], phases[number] + 1, *phases[number + 1 :])
                fresh = {(found, after) for found in following} - seen
                seen |= fresh
                waiting += fresh
            if len(seen) > 10 * self._kept:
                return False
        return True

    def left(self, histogram: OccupancyHistogram, leaving: LeavingPod) -> OccupancyHistogram:
        """The tableau when a pod has gone."""
        ((level, _),) = histogram[leaving.cell]
        less = tuple(a - b for a, b in zip(level, self._weights[leaving.template], strict=True))
        return (*histogram[: leaving.cell], ((less, 1),), *histogram[leaving.cell + 1 :])

    def landed(self, histogram: OccupancyHistogram, template: int, option: Option) -> OccupancyHistogram:
        """The tableau when a replacement has come to a node of a cell and level."""
        cell, level = option
        levels = Counter(dict(histogram[cell]))
        levels[level] -= 1
        levels[tuple(a + b for a, b in zip(level, self._weights[template], strict=True))] += 1
        return (*histogram[:cell], tuple(sorted((+levels).items())), *histogram[cell + 1 :])

    def tells_domains(self) -> bool:
        """Whether it is known how many pods of its only moving template are in every shared domain."""
        if len(self.templates) != 1:
            return False
        counted = [number for number, weight in enumerate(self._weights[self.templates[0]]) if weight]
        if not counted:
            return False
        found = (self._by_domain(histogram, counted[0]) for histogram in self.histograms)
        first = next(found)
        return all(other == first for other in found)

    def _by_domain(self, histogram: OccupancyHistogram, tally: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for domain, levels in zip(self._domain_of, histogram, strict=True):
            found[domain] = found.get(domain, 0) + sum(level[tally] * nodes for level, nodes in levels)
        return found

    def worse_options(self, leaving: LeavingPod, *, as_planned: bool) -> frozenset[Option]:
        """Where a lone replacement makes something worse, or does less for the constraints than elsewhere.

        With `as_planned` less than in the planned cell.
        """
        outcomes, best = self._outcomes(leaving), self.best(leaving, as_planned=as_planned)
        return frozenset(option for option, found in outcomes.items() if found != {best})

    def possible(self, leaving: LeavingPod) -> frozenset[Option]:
        """Where the filters of spread let a lone replacement come, as the counts may be."""
        return frozenset(self._outcomes(leaving))

    def best(self, leaving: LeavingPod, *, as_planned: bool) -> tuple[int, ...] | None:
        """Where the constraints together can stand when a lone replacement has landed."""
        outcomes = self._outcomes(leaving)
        every = {s for found in outcomes.values() for s in found if s is not None}
        there = [found for (cell, _), found in outcomes.items() if as_planned and cell == leaving.target]
        planned = {s for found in there for s in found if s is not None}
        return min(planned or every, default=None)

    def _outcomes(self, leaving: LeavingPod) -> dict[Option, set[tuple[int, ...] | None]]:
        """For every option where the constraints stand then; None where one is worse than before."""
        known = self._known_outcomes
        if known is None or known[:2] != (leaving, self.histograms):
            found: dict[Option, set[tuple[int, ...] | None]] = {}
            for start in self.histograms:
                gone = self.left(start, leaving)
                for option in self.options(gone, leaving):
                    found.setdefault(option, set()).add(self._outcome(start, gone, leaving, option))
            known = self._known_outcomes = (leaving, self.histograms, found)
        return known[2]

    def _outcome(
        self, start: OccupancyHistogram, gone: OccupancyHistogram, leaving: LeavingPod, option: Option
    ) -> tuple[int, ...] | None:
        before, after = self.status(start), self.status(self.landed(gone, leaving.template, option))
        return None if self._is_worse(after, before, away=False) else _together(after)

    def _is_worse(
        self, now: Iterable[ConstraintStatus], before: Iterable[ConstraintStatus], *, away: bool
    ) -> bool:
        """Whether a constraint has more too much than before; a soft one may as long as somebody is away."""
        return any(
            one.excess > other.excess and (constraint.hard or not away)
            for one, other, constraint in zip(now, before, self.constraints, strict=True)
        )

    def serves(self, levels: Codes, leaving: LeavingPod, nodes: Mask, wanted: tuple[int, ...] | None) -> bool:
        """Whether a replacement on any of these nodes does what is wanted, and nothing is worse meanwhile.

        `levels` are the pods on all nodes before.
        """
        start = self.seen(levels)
        gone = self.left(start, leaving)
        if self._is_worse(self.status(gone), self.status(start), away=True):
            return False
        cells = self.cell_of[nodes].tolist()
        if self.by_node:
            held = levels[:, nodes].T.tolist()
            options = {(cell, tuple(level)) for cell, level in zip(cells, held, strict=True)}
        else:
            options = {(cell, gone[cell][0][0]) for cell in cells}
        # Nothing is wanted where every place would make something worse.
        return wanted is not None and all(
            self._outcome(start, gone, leaving, option) == wanted for option in options
        )

    def nodes_at(self, options: Iterable[Option], levels: Codes, unsure: Mask) -> Mask:
        """The nodes that are one of these options, or may be, as more pods may be there than is known."""
        if not self.by_node:
            return np.isin(self.cell_of, [cell for cell, _ in options])
        found = np.zeros(len(self.cell_of), np.bool_)
        for cell, level in options:
            nodes = np.flatnonzero(self.cell_of == cell)
            wanted, here = np.array(level, np.int64)[:, np.newaxis], levels[:, nodes]
            found[nodes[(here == wanted).all(axis=0)]] = True
            found[nodes[unsure[nodes] & (here <= wanted).all(axis=0)]] = True
        return found

    def restriction(self, nodes: Mask, levels: Codes, unsure: Mask, pin: Mask | None) -> Restriction:
        """What it means for a replacement to be held to some nodes; a pin may name others as well."""
        cells = frozenset(np.unique(self.cell_of[nodes & unsure if self.by_node else nodes]).tolist())
        known = np.flatnonzero(nodes & ~unsure)
        options = {
            (cell, tuple(level))
            for cell, level in zip(self.cell_of[known].tolist(), levels[:, known].T.tolist(), strict=True)
        }
        if pin is None:
            return Restriction(frozenset(options), cells)
        seen = sorted(Counter(self.cell_of[pin].tolist()).items())
        return Restriction(
            frozenset(options),
            cells,
            tuple(PinnedCells(cell, nodes, nodes == self.sizes[cell]) for cell, nodes in seen),
        )

    def alike(self, histograms: Iterable[OccupancyHistogram], wanted: tuple[int, ...] | None = None) -> bool:
        """Whether all constraints together stand the same in all of them, and no worse than is wanted."""
        found = {_together(self.status(histogram)) for histogram in histograms}
        return len(found) <= 1 and (wanted is None or all(one <= wanted for one in found))


_GONE, _LANDED = 1, 2
_Outcomes = tuple[LeavingPod, frozenset[OccupancyHistogram], dict[Option, set[tuple[int, ...] | None]]]


def _together(statuses: Iterable[ConstraintStatus]) -> tuple[int, ...]:
    """Where all constraints of a crowd stand taken together."""
    return tuple(np.array([*statuses], np.int64).reshape(-1, 3).sum(axis=0).tolist())


def coupled_constraints(
    trial: TrialCluster,
    moves: Mapping[int, Sequence[int]],
    cares: Callable[[TrackedConstraint], bool],
    kept: int = effort.HISTOGRAMS_KEPT,
) -> dict[int, CoupledConstraints]:
    """For every moving template its crowd; `moves` has the nodes that pods of a template leave."""
    found: dict[int, CoupledConstraints] = {}
    for template in moves:
        if template in found:
            continue
        constraints: dict[int, TrackedConstraint] = {}
        templates, waiting = [template], [template]
        while waiting:
            for constraint in trial.ledger.of(waiting.pop()):
                if cares(constraint) and constraint.number not in constraints:
                    constraints[constraint.number] = constraint
                    touched = constraint.members.union(constraint.carriers)
                    fresh = [t for t in moves if t in touched and t not in templates]
                    templates += fresh
                    waiting += fresh
        sources = [node for member in templates for node in moves[member]]
        asked = [constraints[number] for number in sorted(constraints)]
        coupled = CoupledConstraints(trial, asked, sorted(templates), sources, kept)
        found |= dict.fromkeys(templates, coupled)
    return found
