"""Where the whole batch should go: the most pods that a sequence of admissible binds can place."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from models import Cluster
from models.errors import InputError
from planner.batch.document import document, move_document
from planner.batch.goals import PlanShape
from planner.batch.incumbent import Watch
from planner.batch.moves import EvictionSearch
from planner.batch.pending import Pending
from planner.batch.search import MOST_PODS, BatchSearch
from planner.documents import plan
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, Effort
from planner.proof.meter import Meter
from planner.scheduler.order import Step


def solve(
    cluster: Cluster,
    *,
    time_limit: float | None = None,
    final_state: bool = False,
    prefer: str = "spread",
    allow_moves: bool = False,
    jobs: bool = False,
    watch: Watch | None = None,
    effort: Effort = STANDARD,
    stop_event: threading.Event | None = None,
) -> plan.PlacementPlan:
    """The best placement of all pending pods, how good it is, and an order that a cluster accepts.

    With `final_state` every constraint holds when all is placed, whether or not an order leads there.
    `prefer` says what the plan looks like where all else is equal: `spread` keeps the fullest node low,
    `pack` uses few nodes, `stable` stays near kube-scheduler's own choices.
    With `allow_moves` running pods may be evicted to let others in, and are bound elsewhere where they
    can be: as few as possible, after the pods placed and instead of what `prefer` asks for.  With `jobs`
    those of Jobs are among them, where the Job survives it.
    Without a limit of yours there are 30 seconds, and for more than 150,000 pods one for every 5,000.
    `watch` is told the pods placed so far and the bound; when `stop_event` is set, the best plan so far is
    the answer.  `effort` says how far each engine goes.
    """
    if allow_moves and final_state:
        raise InputError(["--allow-moves and --final-state exclude each other: moves are a sequence"])
    if jobs and not allow_moves:
        raise InputError(["--jobs says which pods --allow-moves may evict: it needs that"])
    if allow_moves:
        movable = Pending(Problem(cluster), moves=True, jobs=jobs)
        meter = Meter.of(_limit(movable, time_limit, effort), stop_event, effort=effort)
        return move_document(movable, EvictionSearch(movable, meter, watch).run()).cut_while(meter.cut)
    pending = Pending(Problem(cluster))
    meter = _meter(pending, _limit(pending, time_limit, effort), stop_event, effort)
    search = BatchSearch(pending, meter, PlanShape(prefer), watch)
    found = search.final_state() if final_state else search.sequence()
    return _cut(document(pending, found, final_state=final_state, usual=search.usual), meter)


def solve_from(
    problem: Problem,
    known: Sequence[Sequence[Step]],
    *,
    time_limit: float,
    watch: Watch | None = None,
    stop_event: threading.Event | None = None,
) -> plan.PlacementPlan:
    """The same for a problem whose pods were placed in other ways before: no plan that is known is better.

    The first of them is what the reference scheduler does without a seed.
    """
    pending = Pending(problem)
    meter = _meter(pending, time_limit, stop_event, STANDARD)
    found = BatchSearch(pending, meter, PlanShape.SPREAD, watch, known).sequence()
    return _cut(document(pending, found, final_state=False), meter)


def _cut(found: plan.PlacementPlan, meter: Meter) -> plan.PlacementPlan:
    """The plan of a search that may have been ended: what was looked for, once the most pods are proved."""
    cut = meter.cut
    placed = [stage for stage in found.objective if stage.name.startswith(plan.PODS_PLACED)]
    if cut is not None and cut.looking_for == MOST_PODS and all(stage.proved for stage in placed):
        cut = cut._replace(looking_for="better nodes for these pods")
    return found.cut_while(cut)


def _limit(pending: Pending, asked: float | None, effort: Effort) -> float:
    """The limit in seconds that was asked for, or what a batch of this size gets."""
    if asked is not None:
        return asked
    return max(effort.limit.least_seconds, sum(pending.wanted.values()) / effort.limit.pods_a_second)


def _meter(pending: Pending, time_limit: float, stop_event: threading.Event | None, effort: Effort) -> Meter:
    """The limit, with some time kept for checking the plan."""
    kept = min(
        effort.limit.check_per_pod * sum(pending.wanted.values()), effort.limit.most_check * time_limit
    )
    return Meter.of(time_limit, stop_event, kept, effort)


def solve_as_part(cluster: Cluster, meter: Meter) -> plan.PlacementPlan:
    """The same for one question of many, whose work is counted together, whatever the shape."""
    pending = Pending(Problem(cluster))
    found = BatchSearch(pending, meter, None).sequence()
    return document(pending, found, final_state=False)
