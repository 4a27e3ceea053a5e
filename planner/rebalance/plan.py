"""The `rebalance` command: search for moves, plan and replay their waves, and report what stays broken."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from models import Cluster
from models.errors import InternalError
from planner.documents.move_plan import CurvePoint, MovePlan
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import JOB_FAILS
from planner.eviction.protections import HARD, SOFT, protections_of, unmodelled
from planner.moves.movable import Movable
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.problem.problem import Problem
from planner.proof import effort
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.rebalance.alternatives import Alternatives, MoveTask, PlannedMoves
from planner.rebalance.document import document
from planner.rebalance.evictions_first import EvictionsFirst
from planner.rebalance.notes import (
    UnscheduledMoves,
    about_jobs,
    beforehand,
    later_waves,
    not_chosen,
    one_by_one,
)
from planner.rebalance.scope import MoveScope
from planner.rebalance.search.search import stages_of
from planner.rebalance.why_not import what_would_help
from planner.waves.limits import WaveRules
from planner.waves.replay import first_failure
from planner.waves.wave_plan import WavePlan
from planner.waves.wave_planner import WavePlanner


def rebalance(  # noqa: PLR0913 - the options of the command
    cluster: Cluster,
    *,
    time_limit: float = 60.0,
    max_moves: int | None = None,
    max_unavailable: int = 1,
    evict_only: bool = False,
    cordon: bool = False,
    soft: bool = False,
    choice: MoveScope | None = None,
    curve: bool = False,
    first_waves: int | None = None,
    stop_event: threading.Event | None = None,
    explain: bool = True,
    jobs: bool = False,
    clock: Clock | None = None,
) -> MovePlan:
    """The fewest moves after which hard spread constraints hold, in waves; with `soft` all constraints.

    With `evict_only` no replacement needs a pin.  With `cordon` nodes may be cordoned for those that cannot
    be pinned.  `curve` adds what fewer moves would achieve.
    With `jobs` pods of Jobs are moved, too, where the Job survives it.
    Only pods of the `choice` are moved, and only constraints that they carry or are counted by are repaired.
    With `first_waves` only so many waves are in the plan, for callers that plan anew after them.
    `explain` adds why something stays broken, and changes that would help, each tried out.
    With the `clock` of an enclosing plan `time_limit` says only how much work may be done.
    """
    whole = Clock(time_limit, stop_event) if clock is None else clock
    problem, scope = Problem(cluster), choice or MoveScope()
    protections, left_alone = protections_of(cluster), scope.left_alone(problem)
    if soft:
        protections = replace(protections, kinds=frozenset((HARD, SOFT)))
    trial = scope.trial(problem, left_alone)
    if not trial.ledger.broken(protections.kinds):
        notes = (*unmodelled(cluster.descheduler_policy), *not_chosen(left_alone))
        return document(trial, None, (), stages_of(protections), (), notes=notes)
    meter = (
        Meter.of(time_limit, stop_event, kept=time_limit * (1 - effort.SEARCH_SHARE))
        if clock is None
        else Meter(time_limit * effort.WORK_PER_SECOND, clock)
    )
    budgets = Budgets(problem)
    movable = Movable(problem, protections, budgets, left_alone, jobs=jobs)
    pins = NO_PINS if evict_only else PinPolicy.of(trial, movable.templates, cordon=cordon)
    rules = WaveRules(budgets, movable.weights, max_unavailable, pins, protections.kinds)
    most = min((number for number in (max_moves, protections.most) if number is not None), default=None)
    # Waves are planned in steps of fixed size; only the clock ends that early.
    asked = MoveTask(trial, movable, protections, rules, most, meter, Meter(math.inf, whole))

    task, planned = _planned(asked)
    best, misjudged = _played_through(task, planned)

    again = partial(rebalance, time_limit=effort.REMEDY_SECONDS, explain=False, clock=whole, jobs=jobs)
    options = {"max_moves": max_moves, "max_unavailable": max_unavailable, "soft": soft, "choice": choice}
    shown, left = best.waves[:first_waves], UnscheduledMoves(task, planned.reported)
    points = [*_curve(task, len(planned.found.moves))] if curve else []
    return document(
        trial,
        task.movable,
        shown,
        planned.found.stages,
        # What holds for fewer pods does not hold for all, nor what holds for all waves for the first.
        planned.found.claims if task is asked and len(shown) == len(best.waves) else (),
        curve=points,
        notes=(
            *beforehand(trial, task.movable),
            *about_jobs(task.movable, shown),
            *left.why(evict_only=evict_only),
            *(
                left.with_cordons(partial(again, cluster, cordon=True, **options), best.excess)
                if explain and not (cordon or evict_only)
                else ()
            ),
            *not_chosen(left_alone),
            *one_by_one(misjudged),
            *later_waves(best.waves, shown),
            *(what_would_help(task, best, again) if explain and best.excess[0] else ()),
        ),
    ).cut_while(meter.cut or task.wave_meter.cut)


def _planned(task: MoveTask) -> tuple[MoveTask, PlannedMoves]:
    """The best plan that fails no Job; where pods of Jobs have to stay for that, the task without them."""
    while True:
        planned = Alternatives(task).plan()
        if task.rules.evict_only and planned.best.misses(planned.found.values) and not task.is_bounded:
            better = EvictionsFirst(task).better_than(planned.best)
            if better is not planned.best:
                planned = replace(planned, best=better, reported=better)
        overdrawn = [*task.movable.overdrawn([move.pod for move in planned.best.moves])]
        if not overdrawn:
            return task, planned
        task = task.without(overdrawn, JOB_FAILS)


def _played_through(task: MoveTask, planned: PlannedMoves) -> tuple[WavePlan, str | None]:
    """A plan that holds when it is replayed, and how the best one deviates if that is another one."""
    soft, best = SOFT in task.protections.kinds, planned.best
    misjudged = first_failure(task.trial, best.waves, soft=soft) if best.waves else None
    if misjudged is None:
        return best, None
    single = WavePlanner(task.trial, task.rules, task.wave_meter).one_move_a_wave(planned.found.moves)
    if single.waves and (failure := first_failure(task.trial, single.waves, soft=soft)) is not None:
        raise InternalError(f"a plan did not hold when it was played through: {failure}")
    return single, misjudged


def _curve(task: MoveTask, moves: int) -> Iterator[CurvePoint]:
    """The least excess for every number of moves up to those of the plan."""
    for most in range(moves + 1):
        excess = next(replace(task, most=most).search().run().judged())
        yield CurvePoint(moves=most, hard_excess=excess.value, proved=excess.proved)
        if task.meter.over():
            return
