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

Of 24 next to full (`tight` in `test_exchanges.py`), where 11 are too many: 35 without temporary places, 14
unless what is left over comes first in the next try.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from planner.landing.landing import PinPolicy
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import EvictionTimeline
from planner.proof import move_effort as effort
from planner.rebalance.search.chains import repaired_by_ejection_chains
from planner.rebalance.search.evaluation import ClusterSize, Evaluator, Found, FoundMoves, Values
from planner.rebalance.search.exact import modelled
from planner.rebalance.search.exhaustive import Exhaustive, Placements, tried_out
from planner.rebalance.search.greedy import repaired_by_few
from planner.rebalance.search.regions import counted, relaxed

#: A way from the best moves so far to moves that may be better.  It may also learn what no moves can do
#: better, and leaves the trial cluster as it likes.
Neighbourhood = Callable[[Evaluator, Found], Found]


def _previewed(evaluator: Evaluator, best: Found) -> Found:
    work = effort.TINY_PREVIEW_WORK if evaluator.size is ClusterSize.TINY else effort.SMALL_PREVIEW_WORK
    return tried_out(evaluator, best, evaluator.meter.step(work))


#: In the order in which they are used: what is looked for, and for which clusters.
NEIGHBOURHOODS: Sequence[tuple[Neighbourhood, str, Collection[ClusterSize]]] = (
    (repaired_by_few, "moves that the scheduler makes by itself", {*ClusterSize}),
    (repaired_by_ejection_chains, "chains of moves that make room", {ClusterSize.LARGE}),
    (_previewed, "better moves by trying out all of them", {ClusterSize.TINY, ClusterSize.SMALL}),
    (relaxed, "bounds on the moves", {*ClusterSize}),
    (repaired_by_ejection_chains, "chains of moves that make room", {ClusterSize.SMALL}),
    (modelled, "better moves with a model of all nodes", {ClusterSize.TINY, ClusterSize.SMALL}),
    (tried_out, "better moves by trying out all of them", {ClusterSize.TINY}),
)


def find_moves(evaluator: Evaluator) -> FoundMoves:
    """The best moves found; the trial cluster is left as it was."""
    it = evaluator
    best = it.of(())
    it.learn(counted(it))
    for improved, sought, sizes in NEIGHBOURHOODS:
        if it.size not in sizes:
            continue
        it.meter.look_for(sought)
        best = it.best((best, improved(it, best)))
        it.tell(best)
        it.set()
        if not it.is_open(best) or it.meter.over():
            break
    return it.result(best)


def find_certain_moves(evaluator: Evaluator, known: Values, pin_policy: PinPolicy) -> Found | None:
    """Better moves than those known, each certain to land on its node; None if there are none.

    Only a tiny cluster is searched for them: without, 3 pods more are too many in 300.
    """
    it = evaluator
    if it.size is not ClusterSize.TINY or it.meter.over():
        return None
    it.meter.look_for("moves whose replacements land for certain")
    timeline = EvictionTimeline(it.trial.problem, np.flatnonzero(it.movable.weights).tolist(), it.trial.part)
    search = Exhaustive(Placements(it, SingleLandings(timeline, pin_policy)), it, known)
    search.run(it.meter)
    return search.found
