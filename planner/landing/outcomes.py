"""What may come of moves: every count that their landings may lead to, and how good it is.

Each histogram that may be the case is followed through every order in which pods leave and land.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.landing.constraint_status import ConstraintStatus, OccupancyHistogram, Option
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod
from planner.problem.nodes import Codes, Mask

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
    ends: set[OccupancyHistogram] = set()
    met: list[set[Option]] = [set() for _ in leaving_pods]
    for start in coupled.histograms:
        if not _follow(coupled, start, leaving_pods, exists, ends, met):
            return None
    if len(ends) > coupled.kept:
        return None
    return WaveOutcomes(frozenset(ends), tuple(frozenset(found) for found in met))


def _follow(  # noqa: PLR0913, PLR0917 - what is followed, and what comes of it
    coupled: CoupledConstraints,
    start: OccupancyHistogram,
    leaving_pods: Sequence[LeavingPod],
    exists: Exists,
    ends: set[OccupancyHistogram],
    met: Sequence[set[Option]],
) -> bool:
    before = coupled.status(start)
    waiting = [(start, (0,) * len(leaving_pods))]
    seen = set(waiting)
    while waiting:
        histogram, phases = waiting.pop()
        if _is_worse(coupled, coupled.status(histogram), before, away=_GONE in phases):
            return False
        if min(phases) == _LANDED:
            ends.add(histogram)
        for number, leaving in enumerate(leaving_pods):
            if phases[number] == _LANDED:
                continue
            following = [coupled.left(histogram, leaving)]
            if phases[number] == _GONE:
                options = coupled.options(histogram, leaving)
                if not options or not exists(number, histogram, options):
                    return False
                met[number].update(options)
                following = [coupled.landed(histogram, leaving.template, option) for option in options]
            after = (*phases[:number], phases[number] + 1, *phases[number + 1 :])
            fresh = {(found, after) for found in following} - seen
            seen |= fresh
            waiting += fresh
        if len(seen) > 10 * coupled.kept:
            return False
    return True


class OutcomesByOption:
    """What a single replacement leads to on each of its options; it holds until the histograms change."""

    def __init__(self, coupled: CoupledConstraints, leaving: LeavingPod) -> None:
        self.coupled = coupled
        self.leaving = leaving

    @cached_property
    def _outcomes(self) -> dict[Option, set[Violations]]:
        found: dict[Option, set[Violations]] = {}
        for start in self.coupled.histograms:
            gone = self.coupled.left(start, self.leaving)
            for option in self.coupled.options(gone, self.leaving):
                found.setdefault(option, set()).add(self._outcome(start, gone, option))
        return found

    def _outcome(self, start: OccupancyHistogram, gone: OccupancyHistogram, option: Option) -> Violations:
        coupled = self.coupled
        before = coupled.status(start)
        after = coupled.status(coupled.landed(gone, self.leaving.template, option))
        return None if _is_worse(coupled, after, before, away=False) else _together(after)

    def possible(self) -> frozenset[Option]:
        """The options that spread admits in any possible histogram."""
        return frozenset(self._outcomes)

    def worse(self, *, as_planned: bool) -> frozenset[Option]:
        """The options where it makes something worse, or repairs less than at best.

        With `as_planned` at best means in the planned cell.
        """
        best = self.best(as_planned=as_planned)
        return frozenset(option for option, found in self._outcomes.items() if found != {best})

    def best(self, *, as_planned: bool) -> Violations:
        """The least violations after it has landed."""
        outcomes, target = self._outcomes, self.leaving.target
        every = {s for found in outcomes.values() for s in found if s is not None}
        there = [found for (cell, _), found in outcomes.items() if as_planned and cell == target]
        planned = {s for found in there for s in found if s is not None}
        return min(planned or every, default=None)

    def serves(self, levels: Codes, nodes: Mask, wanted: Violations) -> bool:
        """Whether violations are as wanted on each of these nodes, and no hard constraint is worse meanwhile.

        `levels` are the pods on all nodes before the move.
        """
        coupled = self.coupled
        start = coupled.seen(levels)
        gone = coupled.left(start, self.leaving)
        if _is_worse(coupled, coupled.status(gone), coupled.status(start), away=True):
            return False
        cells = coupled.cell_of[nodes].tolist()
        if coupled.by_node:
            held = levels[:, nodes].T.tolist()
            options = {(cell, tuple(level)) for cell, level in zip(cells, held, strict=True)}
        else:
            options = {(cell, gone[cell][0][0]) for cell in cells}
        # `wanted` is None where every option would make a constraint worse.
        return wanted is not None and all(self._outcome(start, gone, option) == wanted for option in options)


def are_alike(
    coupled: CoupledConstraints, histograms: Iterable[OccupancyHistogram], wanted: Violations = None
) -> bool:
    """Whether the summed violations are equal in all histograms, and no more than `wanted`."""
    found = {_together(coupled.status(histogram)) for histogram in histograms}
    return len(found) <= 1 and (wanted is None or all(one <= wanted for one in found))


def _is_worse(
    coupled: CoupledConstraints,
    now: Iterable[ConstraintStatus],
    before: Iterable[ConstraintStatus],
    *,
    away: bool,
) -> bool:
    """Whether a constraint has more pods too many than before; a soft one may while a pod is `away`."""
    return any(
        one.excess > other.excess and (constraint.hard or not away)
        for one, other, constraint in zip(now, before, coupled.constraints, strict=True)
    )


def _together(statuses: Iterable[ConstraintStatus]) -> tuple[int, ...]:
    """The violations summed over coupled constraints."""
    return tuple(np.array([*statuses], np.int64).reshape(-1, 3).sum(axis=0).tolist())


_GONE, _LANDED = 1, 2
