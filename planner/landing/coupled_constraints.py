"""All counts that spread constraints may reach while replacements land on any node the filters accept.

Constraints that share moving templates are coupled.  Their nodes are grouped into cells whose nodes none of
these constraints distinguishes; every node that a pod leaves is a cell of its own.  An occupancy histogram
says how many nodes of every cell hold how many pods; which nodes these are does not matter.  All histograms
that may be the case are kept.  `wave_outcomes` follows each of them through every order in which the pods of
a wave leave and land.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.landing.constraint_status import (
    ConstraintOverCells,
    ConstraintStatus,
    NodeCounts,
    OccupancyHistogram,
    Option,
    PinnedCell,
    Restriction,
)
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import TrialCluster
from planner.problem.node_groups import numbered
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import move_effort as effort
from planner.state.pod_counts import PodCounts


@dataclass(frozen=True, slots=True)
class LeavingPod:
    """A pod that leaves `cell`, a cell of one node."""

    template: int
    cell: int
    restriction: Restriction | None = None


class CoupledConstraints:
    """Constraints that share moving templates, and all histograms of their counts that may be the case."""

    def __init__(
        self,
        trial: TrialCluster,
        constraints: Sequence[TrackedConstraint],
        templates: Sequence[int],
        sources: Iterable[int],
        kept: int,
    ) -> None:
        """Follow up to `kept` histograms; `sources` are the nodes that pods leave."""
        self.constraints = constraints
        #: So many histograms are followed.
        self.kept = kept
        self.templates = tuple(templates)
        self.cell_of = _cells_of(trial, constraints, templates, sources)
        representative = np.unique(self.cell_of, return_index=True)[1]
        self.sizes: list[int] = np.bincount(self.cell_of).tolist()
        self._tallies: list[PodCounts] = []
        self._over_cells = [
            ConstraintOverCells(
                one, self._number(one.rule.tally), self._number(one.held.tally), representative, kept
            )
            for one in constraints
        ]
        #: Whether some constraint counts by single nodes; if none does, only the sum of a cell matters.
        self.by_node = any(over_cells.by_node for over_cells in self._over_cells)
        self._weights = {t: tuple(tally.members.get(t, 0) for tally in self._tallies) for t in templates}
        hard = [over_cells for over_cells in self._over_cells if over_cells.constraint.hard]
        # Of a profile without PodTopologySpread no constraint keeps a replacement out.
        asking = {t for t in templates if any(plugin.compares for plugin in trial.plan(t).changing)}
        #: By template its own hard constraints, and the cells that pass the filters that never change.
        self._carried = {
            t: [found for found in hard if t in asking and t in found.constraint.asked.carriers]
            for t in templates
        }
        self._static = {t: trial.plan(t).static[representative].tolist() for t in templates}
        #: The options that pass the filters of spread and those whose answer never changes.
        self.options = lru_cache(10 * kept)(self._options)
        #: The histogram of counts on all nodes, given as bytes.
        self._histogram = lru_cache(effort.HISTOGRAMS_SEEN)(self._histogram_of)
        #: How far every constraint is violated in a histogram.
        self.status = lru_cache(50 * kept)(self._status)
        self.histograms: frozenset[OccupancyHistogram] = frozenset((self.seen(self.counts_on_nodes()),))

    def _number(self, tally: PodCounts) -> int:
        for number, known in enumerate(self._tallies):
            if known.members == tally.members:
                return number
        self._tallies.append(tally)
        return len(self._tallies) - 1

    def counts_on_nodes(self, without: Iterable[tuple[int, int]] = ()) -> Codes:
        """A row for every tally: the pods on every node, without some pods given as (template, node)."""
        size = len(self.cell_of)
        found = np.array([tally.counts for tally in self._tallies], np.int64).reshape(-1, size)
        for template, node in without:
            found[:, node] -= np.array(self._weights[template], np.int64)
        return found

    def seen(self, on_nodes: Codes) -> OccupancyHistogram:
        """The histogram of these counts of pods on the nodes."""
        return self._histogram(on_nodes.tobytes())

    def _histogram_of(self, counted: bytes) -> OccupancyHistogram:
        on_nodes = np.frombuffer(counted, np.int64).reshape(-1, len(self.cell_of))
        if not self.by_node:
            together = np.zeros((len(self.sizes), len(on_nodes)), np.int64)
            np.add.at(together, self.cell_of, on_nodes.T)
            return tuple(((tuple(counts), 1),) for counts in together.tolist())
        kinds, nodes = np.unique(np.vstack([self.cell_of, on_nodes]), axis=1, return_counts=True)
        cells: list[list[tuple[NodeCounts, int]]] = [[] for _ in self.sizes]
        for (cell, *counts), number in zip(kinds.T.tolist(), nodes.tolist(), strict=True):
            cells[cell].append((tuple(counts), number))
        return tuple(map(tuple, cells))

    def _status(self, histogram: OccupancyHistogram) -> tuple[ConstraintStatus, ...]:
        return tuple(over_cells.status(histogram) for over_cells in self._over_cells)

    def violations(self, histogram: OccupancyHistogram) -> tuple[int, ...]:
        """The same summed over the constraints."""
        return tuple(np.array(self.status(histogram), np.int64).reshape(-1, 2).sum(axis=0).tolist())

    def is_worse(
        self, now: Iterable[ConstraintStatus], before: Iterable[ConstraintStatus], *, away: bool
    ) -> bool:
        """Whether a constraint has more pods too many than before; a soft one may while a pod is `away`."""
        return any(
            one.excess > other.excess and (constraint.hard or not away)
            for one, other, constraint in zip(now, before, self.constraints, strict=True)
        )

    def _options(self, histogram: OccupancyHistogram, leaving: LeavingPod) -> frozenset[Option]:
        restriction, carried, found = leaving.restriction, self._carried[leaving.template], set[Option]()
        pinned = None if restriction is None else restriction.pinned
        limits = [over.limits(histogram, pinned) for over in carried]
        for cell, inside in enumerate(histogram):
            if not self._static[leaving.template][cell] or any(over.domain_of[cell] < 0 for over in carried):
                continue
            for counts, _ in inside:
                if restriction is not None and not restriction.allows((cell, counts)):
                    continue
                here = [over.pods_at(histogram, cell, counts) for over in carried]
                if all(pods <= most for pods, (most, _) in zip(here, limits, strict=True)):
                    found.add((cell, counts))
                elif all(pods <= with_pin for pods, (_, with_pin) in zip(here, limits, strict=True)):
                    # The pin opens an option that the unpinned spec rejects: the landing would be unsafe.
                    return frozenset()
        return frozenset(found)

    def headroom(
        self, histogram: OccupancyHistogram, leaving: LeavingPod, nodes: Codes, on_nodes: Codes
    ) -> Ints:
        """For every node, at least how many more counted pods it takes until it rejects the replacement.

        `on_nodes` are the pods that are on the nodes for certain.
        """
        cells, found = self.cell_of[nodes], np.full(len(nodes), len(self.cell_of), np.int64)
        pinned = None if leaving.restriction is None else leaving.restriction.pinned
        for over_cells in self._carried[leaving.template]:
            if not over_cells.by_node:
                continue
            most, _ = over_cells.limits(histogram, pinned)
            weight = max(self._weights[t][over_cells.tally] for t in self._weights)
            left = -(-(most - on_nodes[over_cells.tally, nodes] + 1) // max(weight, 1))
            found = np.where(np.array(over_cells.eligible)[cells], np.minimum(found, left), found)
        return np.maximum(found, 0)

    def left(self, histogram: OccupancyHistogram, leaving: LeavingPod) -> OccupancyHistogram:
        """The histogram after a pod has left."""
        ((counts, _),) = histogram[leaving.cell]
        less = tuple(a - b for a, b in zip(counts, self._weights[leaving.template], strict=True))
        return (*histogram[: leaving.cell], ((less, 1),), *histogram[leaving.cell + 1 :])

    def landed(self, histogram: OccupancyHistogram, template: int, option: Option) -> OccupancyHistogram:
        """The histogram after a replacement has landed on a node of this cell with these counts."""
        cell, counts = option
        inside = Counter(dict(histogram[cell]))
        inside[counts] -= 1
        inside[tuple(a + b for a, b in zip(counts, self._weights[template], strict=True))] += 1
        return (*histogram[:cell], tuple(sorted((+inside).items())), *histogram[cell + 1 :])

    def nodes_at(self, options: Iterable[Option], on_nodes: Codes, unsure: Mask) -> Mask:
        """The nodes at one of these options; `unsure` nodes may hold more pods than `on_nodes` says."""
        if not self.by_node:
            return np.isin(self.cell_of, [cell for cell, _ in options])
        found = np.zeros(len(self.cell_of), np.bool_)
        for cell, counts in options:
            nodes = np.flatnonzero(self.cell_of == cell)
            wanted, here = np.array(counts, np.int64)[:, np.newaxis], on_nodes[:, nodes]
            found[nodes[(here == wanted).all(axis=0)]] = True
            found[nodes[unsure[nodes] & (here <= wanted).all(axis=0)]] = True
        return found

    def restriction(self, nodes: Mask, on_nodes: Codes, unsure: Mask, pin: Mask | None) -> Restriction:
        """The restriction of a replacement to some nodes; its pin may name further nodes."""
        cells = frozenset(np.unique(self.cell_of[nodes & unsure if self.by_node else nodes]).tolist())
        known = np.flatnonzero(nodes & ~unsure)
        options = {
            (cell, tuple(counts))
            for cell, counts in zip(self.cell_of[known].tolist(), on_nodes[:, known].T.tolist(), strict=True)
        }
        seen = [] if pin is None else sorted(Counter(self.cell_of[pin].tolist()).items())
        pinned = tuple(PinnedCell(cell, number, number == self.sizes[cell]) for cell, number in seen)
        return Restriction(frozenset(options), cells, None if pin is None else pinned)


def coupled_constraints(
    trial: TrialCluster,
    moves: Mapping[int, Sequence[int]],
    tracked: Callable[[TrackedConstraint], bool],
    kept: int = effort.HISTOGRAMS_KEPT,
) -> dict[int, CoupledConstraints]:
    """For every moving template its coupled constraints; `moves` has the nodes that its pods leave."""
    found: dict[int, CoupledConstraints] = {}
    for template in moves:
        if template not in found:
            templates, constraints = trial.ledger.linked(template, moves.__contains__, tracked)
            sources = [node for member in templates for node in moves[member]]
            coupled = CoupledConstraints(trial, constraints, templates, sources, kept)
            found |= dict.fromkeys(templates, coupled)
    return found


def _cells_of(
    trial: TrialCluster,
    constraints: Sequence[TrackedConstraint],
    templates: Iterable[int],
    sources: Iterable[int],
) -> Codes:
    """A cell number for every node; a node that pods leave is a cell of its own."""
    own = np.zeros(trial.problem.nodes.size, np.int64)
    alone = sorted(set(sources))
    own[alone] = 1 + np.arange(len(alone))
    traits: list[Codes | Ints | Mask] = [own, *(trial.plan(template).static for template in templates)]
    for constraint in constraints:
        column = constraint.rule.column
        traits += [column.present if constraint.by_node else column.codes, constraint.rule.counts.eligible]
    return numbered(len(own), traits)


#: Whether, for the leaving pod of this number, one of these options has room for certain.
Exists = Callable[[int, OccupancyHistogram, frozenset[Option]], bool]
#: The violations of coupled constraints, summed; None where one of them gets worse.
Violations = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class WaveOutcomes:
    """How a wave may go: the histograms at its end, and the options that each leaving pod may meet."""

    ends: frozenset[OccupancyHistogram]
    options: tuple[frozenset[Option], ...]


def wave_outcomes(
    coupled: CoupledConstraints, leaving_pods: Sequence[LeavingPod], exists: Exists
) -> WaveOutcomes | None:
    """Everything that may happen while pods leave and land.

    None when a replacement may find no node, when a constraint may get worse, or when there are too many
    histograms.  `exists` says whether one of a replacement's options has room for certain.
    """
    ends, met = set[OccupancyHistogram](), [set[Option]() for _ in leaving_pods]
    waiting = [(coupled.status(start), start, (0,) * len(leaving_pods)) for start in coupled.histograms]
    seen = set(waiting)
    while waiting:
        before, histogram, phases = waiting.pop()
        if coupled.is_worse(coupled.status(histogram), before, away=_GONE in phases):
            return None
        if min(phases) == _LANDED:
            ends.add(histogram)
        for number, leaving in enumerate(leaving_pods):
            if phases[number] == _LANDED:
                continue
            following = [coupled.left(histogram, leaving)]
            if phases[number] == _GONE:
                options = coupled.options(histogram, leaving)
                if not options or not exists(number, histogram, options):
                    return None
                met[number].update(options)
                following = [coupled.landed(histogram, leaving.template, option) for option in options]
            after = (*phases[:number], phases[number] + 1, *phases[number + 1 :])
            fresh = {(before, found, after) for found in following} - seen
            seen |= fresh
            waiting += fresh
        if len(seen) > 10 * coupled.kept * len(coupled.histograms):
            return None
    return WaveOutcomes(frozenset(ends), tuple(map(frozenset, met))) if len(ends) <= coupled.kept else None


def are_alike(
    coupled: CoupledConstraints, histograms: Iterable[OccupancyHistogram], wanted: Violations = None
) -> bool:
    """Whether the summed violations are equal in all histograms, and no more than `wanted`."""
    found = {*map(coupled.violations, histograms)}
    return len(found) <= 1 and (wanted is None or all(one <= wanted for one in found))


_GONE, _LANDED = 1, 2
