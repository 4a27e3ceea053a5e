"""The `rebalance` command: search for moves, plan and replay their waves, and report what stays broken."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

import numpy as np

from models import Cluster
from models.errors import InternalError
from planner.documents.move_plan import CurvePoint, MovePlan
from planner.eviction import job_notes
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import EMPTIED, JOB_FAILS
from planner.eviction.protections import HARD, SOFT, Protections, protections_of, unmodelled
from planner.landing.landing import Landing
from planner.moves.movable import Movable
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof import effort
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.rebalance.alternatives import Alternatives
from planner.rebalance.evictions_first import EvictionsFirst
from planner.rebalance.report.document import document
from planner.rebalance.report.remedies import remedies, tried
from planner.rebalance.report.unscheduled import UnscheduledMoves
from planner.rebalance.report.why_not import WhyNot
from planner.rebalance.scope import MoveScope
from planner.rebalance.search.search import MoveSearch, stages_of
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
    # Waves are planned in steps of fixed size; only the clock ends that early.
    wave_meter = Meter(math.inf, whole)
    problem = Problem(cluster)
    protections, budgets = protections_of(cluster), Budgets(problem)
    if soft:
        protections = replace(protections, kinds=frozenset((HARD, SOFT)))
    left_alone = (choice or MoveScope()).left_alone(problem)
    trial = _trial(problem, left_alone)
    most = _least(max_moves, protections.most)
    if not trial.ledger.broken(protections.kinds):
        notes = (*unmodelled(cluster.descheduler_policy), *_chosen(problem, left_alone))
        return document(trial, None, (), stages_of(protections), (), notes=notes)
    movable = Movable(problem, protections, budgets, left_alone, jobs=jobs)
    meter = (
        Meter.of(time_limit, stop_event, kept=time_limit * (1 - effort.SEARCH_SHARE))
        if clock is None
        else Meter(time_limit * effort.WORK_PER_SECOND, clock)
    )
    pin_policy = NO_PINS if evict_only else PinPolicy.of(trial, movable.templates, cordon=cordon)
    restricted = False
    while True:
        search = MoveSearch(trial, movable, protections, meter, most)
        rules = WaveRules(budgets, movable.weights, max_unavailable, pin_policy, protections.kinds)
        found = search.run()
        alternatives = Alternatives(trial, movable, protections, rules, most, meter, wave_meter)
        planned_waves, unscheduled = alternatives.of(search, found)
        evictions = EvictionsFirst(trial, movable, protections, rules, meter, wave_meter)
        if evict_only and planned_waves.misses(found.values) and most is None and not evictions.is_bounded:
            better = evictions.better_than(planned_waves)
            planned_waves, unscheduled = better, unscheduled if better is planned_waves else better
        overdrawn = [*_overdrawn(movable, planned_waves)]
        if not overdrawn:
            break
        # Bounds that were found with fewer pods say nothing about all of them.
        movable, restricted = movable.without(overdrawn, JOB_FAILS), True
    misjudged = _failure(trial, planned_waves, protections)
    if misjudged is not None:
        planned_waves = WavePlanner(trial, rules, wave_meter).one_move_a_wave(found.moves)
        if (still := _failure(trial, planned_waves, protections)) is not None:
            raise InternalError(f"a plan did not hold when it was played through: {still}")
    left = UnscheduledMoves(trial, unscheduled, rules, wave_meter)
    again = partial(rebalance, time_limit=effort.REMEDY_SECONDS, explain=False, clock=whole, jobs=jobs)
    with_cordons = partial(
        again,
        cluster,
        max_moves=max_moves,
        max_unavailable=max_unavailable,
        cordon=True,
        soft=soft,
        choice=choice,
    )
    shown = planned_waves.waves[:first_waves]
    points = [*_curve(trial, movable, protections, meter, len(found.moves))] if curve else []
    return document(
        trial,
        movable,
        shown,
        found.stages,
        # Claims about the whole plan do not hold for its first waves.
        found.claims if len(shown) == len(planned_waves.waves) and not restricted else (),
        curve=points,
        notes=(
            *_notes(trial, movable),
            *_jobs(movable, shown),
            *left.why(evict_only=evict_only),
            *(
                left.with_cordons(with_cordons, planned_waves.excess)
                if explain and not (cordon or evict_only)
                else ()
            ),
            *_chosen(problem, left_alone),
            *_misjudged(misjudged),
            *_rest(planned_waves.waves, shown),
            *(
                _why_not(trial, movable, planned_waves, wave_meter, again)
                if explain and planned_waves.excess[0]
                else ()
            ),
        ),
    ).cut_while(meter.cut or wave_meter.cut)


def _failure(trial: TrialCluster, planned_waves: WavePlan, protections: Protections) -> str | None:
    """The first deviation from the plan when its waves are replayed; None if they hold."""
    return (
        first_failure(trial, planned_waves.waves, soft=SOFT in protections.kinds)
        if planned_waves.waves
        else None
    )


def _overdrawn(movable: Movable, planned_waves: WavePlan) -> Iterator[int]:
    """Pods of Jobs that would fail by all of their evictions, as many as have to stay to prevent that.

    The search keeps to the evictions that a Job survives, but a pod may move more than once.
    """
    pods = [landing.move.pod for wave in planned_waves.waves for landing in wave]
    times, controllers = Counter(pods), movable.controllers
    for job, impact in controllers.impacts(pods):
        if impact.outcome == "Fails":
            own = [pod for pod in times if controllers.job_of(pod) is job]
            kept = [pod for pod in own if times[pod] == 1][: controllers.jobs.retries(job)]
            every = np.flatnonzero(movable.weights).tolist()
            yield from (pod for pod in every if pod not in kept and controllers.job_of(pod) is job)


def _jobs(movable: Movable, waves: Sequence[Sequence[Landing]]) -> Iterator[str]:
    """Notes on what the plan costs Jobs, and on which of their pods are left alone."""
    impacts = [*movable.controllers.impacts([landing.move.pod for wave in waves for landing in wave])]
    yield from job_notes.lost(impacts)
    yield from job_notes.presumed(impacts)
    yield from job_notes.left_alone(movable.reasons.values())


def _misjudged(failure: str | None) -> Iterator[str]:
    """A note that waves did not hold, which is a bug of the planner; the moves that are printed do hold."""
    if failure is not None:
        yield f"the moves go one by one: waves that had been judged to hold were not safe ({failure})"


def _trial(problem: Problem, left_alone: Mapping[int, str]) -> TrialCluster:
    """The cluster with the constraints that the chosen pods carry or are counted by."""
    trial = TrialCluster(problem)
    if not left_alone:
        return trial
    placed = np.flatnonzero(problem.node_of >= 0)
    chosen = np.setdiff1d(placed, np.fromiter(left_alone, np.intp))
    templates = np.unique(problem.template_of[chosen]).tolist()
    return TrialCluster(problem, trial.ledger.concerned(templates))


def _pods(number: int) -> str:
    return f"{number} {'pod' if number == 1 else 'pods'}"


def _chosen(problem: Problem, left_alone: Mapping[int, str]) -> Iterator[str]:
    """Notes on how many pods were not chosen, by reason."""
    for reason, pods in sorted(Counter(left_alone.values()).items()):
        yield f"{_pods(pods)} {reason}: left alone, and so are constraints that count only such pods"


def _why_not(
    trial: TrialCluster,
    movable: Movable,
    planned_waves: WavePlan,
    meter: Meter,
    again: Callable[[Cluster], MovePlan],
) -> Iterator[str]:
    """Why constraints stay broken when all moves are made, and which small changes would help."""
    mark = trial.state.mark()
    for wave in planned_waves.waves:
        for landing in wave:
            trial.make(landing.move)
    found = [*WhyNot(trial, movable).reasons()]
    trial.state.rollback(mark)
    yield from (f"stays broken: {reason.text}" for reason in found)
    problem = trial.problem
    if len(problem.pods) * problem.nodes.size <= effort.TRIED_PLACES:
        meter.look_for("what would help")
        # Asked before and after every try: one that the clock ended has no result, as the document says.
        possible = takewhile(lambda _: not meter.over(), remedies(problem.cluster, found))
        yield from tried(possible, again, planned_waves.excess[0], len(problem.queue()))
        meter.over()


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def _rest(waves: Sequence[Sequence[Landing]], shown: Sequence[Sequence[Landing]]) -> Iterator[str]:
    """A note on the waves that are not shown."""
    if len(shown) < len(waves):
        later = sum(map(len, waves[len(shown) :]))
        yield f"{len(shown)} of {len(waves)} waves; moves that come after them, as things are: {later}"


def _curve(
    trial: TrialCluster, movable: Movable, protections: Protections, meter: Meter, moves: int
) -> Iterator[CurvePoint]:
    """The least excess for every number of moves up to those of the plan."""
    for most in range(moves + 1):
        found = MoveSearch(trial, movable, protections, meter, most).run()
        excess = next(found.judged())
        yield CurvePoint(moves=most, hard_excess=excess.value, proved=excess.proved)
        if meter.over():
            return


def _notes(trial: TrialCluster, movable: Movable) -> Iterator[str]:
    problem, protections = trial.problem, movable.protections
    yield from unmodelled(problem.cluster.descheduler_policy)
    if protections.min_age is not None and movable.now is not None:
        yield f"minPodAge counts up to {movable.now.isoformat()}, the newest time of any pod"
    emptied = sum(reason == EMPTIED for reason in movable.reasons.values())
    if emptied:
        yield f"{_pods(emptied)} {EMPTIED}: not moved"
    pending = len(problem.queue())
    if pending:
        yield f"pending pods ({pending}) may take the room that moves leave: place them first"
    if protections.most is not None:
        yield f"evictions that the DeschedulerPolicy allows in all: {protections.most}"
