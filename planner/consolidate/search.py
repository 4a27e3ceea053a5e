"""The search: nodes taken away as autoscalers do, then regions solved again and again.

The first layout is the cheapest of a few removals in different orders, so the result is never worse than
theirs.  A cluster that is small enough is one region, and what the solver proves holds for all plans; in a
larger one regions of some nodes each are solved, each around a node that holds little for its price.  In
one of hundreds of nodes quotas of kinds of nodes are distributed, and pods of a few nodes placed anew; in one
of thousands many nodes are taken away at once.

What each step reaches on seven clusters of 120 nodes, two of them drawn anew (cost / moves, in sum):

| step | cost / moves |
|---|---|
| `_emptiest_first`, nodes that stay filled first | 270.9 / 3688 |
| the cheaper of both ways of `_emptiest_first` | 265.9 / 3755 |
| `_together`, too | 256.4 / 4458 |
| `_recreated` | 245.6 / 5295 |
| `_improve` | 244.0 / 5574 |
| `_with_fewer_moves` | 244.0 / 4238 |

Whole plans by evictions alone without one part (cost / moves / waves, in sum).  In the clusters of the second
column nodes are kept, and pods have affinities and budgets:

| without | 2 of 120 nodes | 6 of 30 nodes |
|---|---|---|
| nothing | 51.48 / 1315 / 557 | 65.25 / 1168 / 568 |
| `_emptiest_first` with all nodes alike | the same | 65.48 / 1156 / 584 |
| regions that grow and shrink | 51.12 / 1311 / 532 | 65.85 / 1106 / 548 |
| `CertainMoves.fill` | 51.48 / 1315 / 718 | 65.25 / 1168 / 711 |
| `CarryingOut.repaired` | - | the same (*) |
| what is gone | the same | 65.16 / 1189 / 585 |

(*) 19 clusters of 12 to 60 nodes with --survive keep 338 nodes without it, 332 with it.  Three clusters of 30
nodes with a catalogue cost 17.64; 18.79 without machines of types that the bound leaves out
(`FEW_MACHINE_TYPES`), 17.73 where every region has new machines (`WITHOUT_MACHINES`).  Ten of 30 nodes with a
catalogue and --pin cost 120.8, and 121.6 where regions empty no node further (`LOAD`).  Two of 500 nodes cost
392.7 after `_distributed`, 414.1 after removals alone; one of 100,000 nodes had no answer in ten minutes
without `_in_bulk`.  Of 600 nodes of which 30 % is to stay free 270 are kept, 441 where quotas do not know it.

Gone: nodes taken away in the order of the bound, without which 46 clusters of 5 and 8 nodes cost 124.9
instead of 125.9; where a cluster would be worse without some nodes, the choice of the last nodes of domains
and of those with pods of DaemonSets: with the fuller half kept instead those 46 cost the same, and so do 300
smaller ones; `_together` with pods of few nodes first, too: 40 clusters of 12 to 110 nodes cost 601.9 without
it, and 601.7 with it, in a tenth more time; waves of the layout before pods are brought back, too, where some
nodes are given back: five clusters of 24 and 60 nodes with --survive cost 124.5 without that, 125.1 with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.consolidate.bound import CostBound, cost_bound, reserve_bound, room_bound, with_reserve
from planner.consolidate.bulk_removal import BulkRemoval
from planner.consolidate.distribution import Distribution, KindQuotas
from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import Layout, SearchTask, shares
from planner.consolidate.recreation import Recreation, Staying
from planner.consolidate.regions import NodeRegion, NodeRegions
from planner.cpsat.kept import COST, LOAD, MOVES
from planner.problem.nodes import Codes, Mask
from planner.proof import consolidation_effort as effort
from planner.proof.clock import report_best
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class FoundLayout:
    """A layout, and what no layout can cost less than; `removals` are those of the removals alone."""

    removals: Sequence[Layout]
    layout: Layout
    least_cost: int
    bound: CostBound
    least_moves: int | None = None


class ConsolidationSearch:
    """Looks for the layout with the least cost, and among those for the fewest moves."""

    def __init__(
        self,
        task: SearchTask,
        meter: Meter,
        machines: Codes | None = None,
        bound: CostBound | None = None,
        later: Meter | None = None,
    ) -> None:
        """Nodes go, and `machines` may be added: a kind for each, -1 of other nodes.

        `bound` is that of the cost, where it is known already.  `later`, the meter of what comes after the
        search, is for bringing pods back.
        """
        self._task = task
        self._trial = task.trial
        self._removable = task.removable
        self._meter, self._later = meter, later or meter
        self._machines = machines
        self._bound = bound
        self._before = task.before
        self._regions = NodeRegions(task)
        self._sizes = shares(self._trial.problem)
        self._draw = np.random.default_rng(1)
        #: Pairs of a template and a node.
        self._pairs = len(task.movable.templates) * self._trial.problem.nodes.size
        self._is_large = self._pairs > effort.REMOVALS_AT_MOST

    def run(self) -> FoundLayout:
        removals, bound = self._removals()
        first = removals[0]
        if self._is_large and self._meter.over():
            return FoundLayout(removals, first, bound.cost, bound)
        self._set(first)
        if self._pairs <= effort.KEPT_AT_ONCE:
            return self._whole(removals, bound)
        if not self._follows(bound):
            return self._by_regions(removals, bound)
        if self._is_large:
            return FoundLayout(removals, first, bound.cost, bound)
        layout = self._recreated(first, bound.cost)
        needed = int(self._before.counts.per_node()[layout.removed].sum())
        if layout.moves(self._before) > effort.MANY_MOVES * needed:
            layout = self._with_fewer_moves(layout)
        return FoundLayout(removals, layout, bound.cost, bound)

    def _removals(self) -> tuple[Sequence[Layout], CostBound]:
        """What nodes taken away in different orders lead to, the cheapest first, and the bound."""
        tries = [] if self._is_large else [self._emptiest_first(fixed_first=one) for one in (True, False)]
        if self._pairs > effort.BULK_FIRST:
            tries.append(self._in_bulk())
        bound = self._least() if self._bound is None else self._bound
        if bound.quotas is not None:
            parts = effort.PARTS_THAT_STAY[:1] if self._is_large else effort.PARTS_THAT_STAY
            tries += [self._distributed(bound.quotas, part) for part in parts]
        if not self._follows(bound) and not self._is_large:
            tries.append(self._together(bound.order))
        # Where a layout is so cheap, taking nodes away does not pay.
        is_near = any(self._key(layout)[0] <= bound.cost * effort.NEAR_ENOUGH for layout in tries)
        if self._is_large and self._pairs <= effort.BULK_FIRST and not is_near:
            tries.append(self._in_bulk())
        return sorted(tries, key=self._key), bound

    def _follows(self, bound: CostBound) -> bool:
        """Whether quotas lead to the layout: the waves need the time more that regions would take."""
        return bound.quotas is not None and self._machines is None

    def _by_regions(self, removals: Sequence[Layout], bound: CostBound) -> FoundLayout:
        """The cheapest layout after regions were solved; of those of its cost the one with fewest moves."""
        layout = self._improve(self._recreated(removals[0], bound.cost), bound.cost)
        removals = sorted(map(self._with_fewer_moves, removals), key=self._key)
        fewer = min((*removals, self._with_fewer_moves(layout)), key=self._key)
        return FoundLayout(removals, fewer, bound.cost, bound)

    def _least(self) -> CostBound:
        if self._meter.over():
            return CostBound(max(room_bound(self._task), reserve_bound(self._task)), complete=False)
        share = self._meter.part(self._meter.left() * effort.BOUND_OF_COST_SHARE)
        return with_reserve(cost_bound(self._task, share), self._task)

    def _key(self, layout: Layout) -> tuple[int, int]:
        return self._removable.cost(layout.removed), layout.moves(self._before)

    def _emptiest_first(self, *, fixed_first: bool) -> Layout:
        """What autoscalers do."""
        removal = NodeRemoval(self._task, self._meter, self._before.removed)
        return self._tried(removal, lambda: removal.run(fixed_first=fixed_first))

    def _in_bulk(self) -> Layout:
        """Many nodes at once; that leaves no way back, so the trial cluster is set to what it was."""
        removal = BulkRemoval(self._task, self._meter, self._before.removed)
        removal.run_in_bulk()
        layout = self._task.read(removal.removed)
        self._set(self._before)
        return layout

    def _together(self, nodes: Sequence[int]) -> Layout:
        removal = NodeRemoval(self._task, self._meter, self._none)
        return self._tried(removal, lambda: removal.run_together(nodes))

    def _distributed(self, quotas: KindQuotas, part_that_stays: float) -> Layout:
        removal = Distribution(self._task, self._meter, self._none)
        return self._tried(removal, lambda: removal.follow(quotas, part_that_stays))

    def _tried(self, removal: NodeRemoval, run: Callable[[], None]) -> Layout:
        """What a removal leads to; the trial cluster is as it was before."""
        with self._trial.after():
            run()
            return self._task.read(removal.removed)

    @property
    def _none(self) -> Mask:
        return self._trial.problem.nodes.none

    def _recreated(self, layout: Layout, least_cost: int) -> Layout:
        """A layout improved on the trial cluster, which has it, by placing pods of some nodes anew."""
        share = self._meter.part(self._meter.left() * effort.RECREATION_SHARE)
        found = Recreation(self._task, share, layout.removed).improve(least_cost)
        self._set(found)
        return found

    def _with_fewer_moves(self, layout: Layout) -> Layout:
        """The same nodes kept, and more pods staying where they are."""
        self._set(layout)
        # That ends by itself; only the clock may end it before, and not the one that ends the search.
        meter = self._later.step(math.inf)
        Staying(self._task, meter, layout.removed).bring_back()
        return self._task.read(layout.removed)

    def _set(self, layout: Layout) -> None:
        """Bring the trial cluster to a layout."""
        state, problem = self._trial.state, self._trial.problem
        for template in self._task.movable.templates:
            pods = self._task.movable.of(template).tolist()
            state.unbind_all(pods)
            state.bind_all(pods, np.repeat(np.arange(problem.nodes.size), layout.counts.row(template)))
        state.forget_history()

    def _whole(self, removals: Sequence[Layout], known: CostBound) -> FoundLayout:
        first, least_cost = removals[0], known.cost
        every = self._trial.problem.nodes.every
        fixed = self._removable.fixed_cost
        work = {
            COST: self._meter.left() * (1 - effort.KEPT_MOVES_SHARE),
            MOVES: self._meter.left() * effort.KEPT_MOVES_SHARE,
        }
        layout, found = self._regions.solve(first, NodeRegion(every, work, least_cost - fixed), self._meter)
        if found is None:
            return FoundLayout(removals, first, least_cost, known)
        bound = max(least_cost, fixed + found.bounds[COST]) if known.complete else least_cost
        best = min((first, layout), key=self._key)
        moves = found.bounds.get(MOVES) if known.complete else known.moves
        # Too little is free before anything changes.
        lacks_room = self._task.limits.lacks_room(self._before.removed)
        if lacks_room and self._key(self._before) <= (bound, 0):
            # The model refuses what the snapshot leaves free, and doing nothing is a plan all the same.
            best, bound, moves = self._before, self._key(self._before)[0], 0
        if self._key(best)[0] > bound:
            moves = None
        return FoundLayout(removals, best, bound, known, moves)

    def _improve(self, best: Layout, least_cost: int) -> Layout:
        """Solve regions until the cost is the least or the work is done; of equal cost the first is best.

        Where a region can do without none of its nodes, one node is emptied as far as possible: another
        region may empty the rest.
        """
        size, cheapest = float(effort.KEPT_REGION_NODES), best
        while not self._meter.over() and self._key(best)[0] > least_cost:
            target = self._emptiest(best)
            if target is None:
                break
            part = self._meter.part(effort.KEPT_REGION_WORK)
            nodes = self._region(best, target, min(size, len(best.removed)))
            work = {
                COST: part.left() * effort.KEPT_COST_SHARE,
                LOAD: part.left() * (1 - effort.KEPT_COST_SHARE),
            }
            layout, found = self._regions.solve(best, NodeRegion(nodes, work, emptied=target), part)
            proved = found is not None and LOAD in found.values
            size = (
                min(size * effort.KEPT_REGION_GROWTH, len(best.removed))
                if proved
                else max(effort.KEPT_LEAST_NODES, size / effort.KEPT_REGION_GROWTH)
            )
            if self._key(layout)[0] > self._key(best)[0]:
                # Out of time before the hint was complete.
                self._set(best)
                continue
            if self._key(layout)[0] < self._key(best)[0]:
                report_best(f"cost {self._key(layout)[0]}, at least {least_cost}")
                cheapest = layout
            best = layout
        return cheapest

    def _emptiest(self, layout: Layout) -> int | None:
        """A node that could go and holds little for its price."""
        nodes = np.flatnonzero(self._removable.mask & ~layout.removed)
        if not nodes.size:
            return None
        load = layout.counts.per_node(self._sizes)[nodes] / np.maximum(self._removable.prices[nodes], 1)
        few = nodes[np.argsort(load, kind="stable")][: effort.KEPT_TARGETS]
        return int(self._draw.choice(few))

    def _left_aside(self, layout: Layout, kinds: Codes) -> Codes:
        """Machines that are not used: of a kind all but one, and every other time all of them."""
        idle = np.flatnonzero(layout.removed & (kinds >= 0))
        if self._draw.random() < effort.WITHOUT_MACHINES:
            return idle
        return np.setdiff1d(idle, idle[np.unique(kinds[idle], return_index=True)[1]])

    def _region(self, layout: Layout, target: int, size: float) -> Mask:
        """Nodes of a region: the target and others drawn at random, removed ones less often."""
        problem = self._trial.problem
        chances = self._draw.random(problem.nodes.size)
        chances[layout.removed] **= 2.0
        if self._machines is not None:
            chances[self._left_aside(layout, self._machines)] = -1.0
        chances[target] = 1.0
        return problem.nodes.mask_of(np.argsort(-chances)[: int(size)])
