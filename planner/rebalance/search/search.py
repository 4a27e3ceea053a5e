"""The search for the moves: neighbourhoods one after the other, until the result is proved or the work done.

The table `NEIGHBOURHOODS` says which are used for which clusters.  What each is worth, as totals without it:
pods too many / moves / proved stages; measured when the solver was also asked about the nodes nearest to
having room, which changed no total.

| without | 58 small ones next to full | 409 tiny ones | 11 of 300 to 2,000 nodes, 97 to 99.5 % full |
|---|---|---|---|
| nothing | 17 / 527 / 136 | 814 / 292 / 1222 | 22 / 2489 / 24 |
| exchanges before chains | 22 / 523 / 131 | - | 42 / 2460 / 14 |
| chains, exchanges alone | 73 / 467 / 128 | - | 1080 / 1695 / 9 |
| trying out all moves | 17 / 527 / 133 | 820 / 287 / 1048 | - |
| models of all nodes | 47 / 538 / 95 | the same | - |

Gone, as they changed no total of 25 clusters of `benchmarks/landings.py`, of 90 tiny ones, and of two of
600 and 1,000 nodes that are 99 % full: the strictest model of all nodes, and moves brought into order
again; chains that begin anew, deeper than one, or for several pods at once. Temporary places, and pods that
go in the place of others, stay: without both, 3 pods more are too many in one cluster of 18 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from planner.eviction.protections import Protections
from planner.landing.single_landings import SingleLandings
from planner.moves.movable import Movable
from planner.moves.pin_policy import PinPolicy
from planner.moves.trial_cluster import TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.chains import Chained
from planner.rebalance.search.evaluation import Evaluator, Found, FoundMoves, Values, stages_of
from planner.rebalance.search.exact import ModelOfAllNodes
from planner.rebalance.search.exhaustive import Exhaustive, TriedOut, is_tiny
from planner.rebalance.search.greedy import AsScheduled
from planner.rebalance.search.placements import Placements
from planner.rebalance.search.regions import LowerBounds

__all__ = ["Found", "FoundMoves", "MoveSearch", "stages_of"]


class Neighbourhood(Protocol):
    """A way from moves to better ones; it leaves the trial cluster as it likes."""

    def improve(self, best: Found) -> Found:
        """Moves that may be better than the best so far; it may also learn what no moves can do better."""


class _Size(Enum):
    TINY = auto()
    SMALL = auto()
    LARGE = auto()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A neighbourhood, what is looked for in it, and for which clusters it is used."""

    make: Callable[[Evaluator], Neighbourhood]
    sought: str
    sizes: frozenset[_Size]


def _entry(make: Callable[[Evaluator], Neighbourhood], sought: str, *sizes: _Size) -> _Entry:
    return _Entry(make, sought, frozenset(sizes or _Size))


def _glance(evaluator: Evaluator) -> Neighbourhood:
    tiny = is_tiny(evaluator.trial, evaluator.movable)
    return TriedOut(evaluator, effort.TINY_PREVIEW_WORK if tiny else effort.SMALL_PREVIEW_WORK)


#: In the order in which they are used.
NEIGHBOURHOODS: Sequence[_Entry] = (
    _entry(AsScheduled, "moves that the scheduler makes by itself"),
    _entry(Chained, "chains of moves that make room", _Size.LARGE),
    _entry(_glance, "better moves by trying out all of them", _Size.TINY, _Size.SMALL),
    _entry(LowerBounds, "bounds on the moves"),
    _entry(Chained, "chains of moves that make room", _Size.SMALL),
    _entry(ModelOfAllNodes, "better moves with a model of all nodes", _Size.TINY, _Size.SMALL),
    _entry(TriedOut, "better moves by trying out all of them", _Size.TINY),
)


class MoveSearch:
    """Searches for the fewest moves on a trial cluster, which it leaves as it found it."""

    def __init__(
        self,
        trial: TrialCluster,
        movable: Movable,
        protections: Protections,
        meter: Meter,
        most: int | None = None,
    ) -> None:
        self._evaluator = Evaluator(trial, movable, protections, meter, most)

    def run(self) -> FoundMoves:
        """The best moves found."""
        it = self._evaluator
        best = it.of(())
        it.learn(LowerBounds(it).counted())
        for entry in (entry for entry in NEIGHBOURHOODS if self._size in entry.sizes):
            it.meter.look_for(entry.sought)
            best = it.best((best, entry.make(it).improve(best)))
            it.tell(best)
            it.set()
            if not it.is_open(best) or it.meter.over():
                break
        return it.result(best)

    @property
    def _size(self) -> _Size:
        it = self._evaluator
        if it.is_large:
            return _Size.LARGE
        return _Size.TINY if is_tiny(it.trial, it.movable) else _Size.SMALL

    def landing(self, known: Values, pin_policy: PinPolicy) -> Found | None:
        """Better moves than those known, each certain to land on its node; None if there are none.

        Only a tiny cluster is searched for them.
        """
        it = self._evaluator
        if not is_tiny(it.trial, it.movable) or it.meter.over():
            return None
        it.meter.look_for("moves whose replacements land for certain")
        lone = SingleLandings.of_all(it.trial, it.movable, pin_policy)
        placements = Placements(it.trial, it.movable, it.protections, lone)
        outcome = Exhaustive(placements, it.stages, known, it.floor).run(it.most, it.meter)
        return None if outcome.moves is None else (outcome.moves, outcome.values)
