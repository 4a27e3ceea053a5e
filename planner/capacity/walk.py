"""Through the queue: pods that wait are placed for good; replicas to come are counted, and undone."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence

from models import Cluster
from models.controllers.expand import MOST_NEW_PODS
from planner.capacity.growth import Asked, grown, is_plain
from planner.capacity.replicas import Found, count, limits
from planner.capacity.room import at_most, order_matters
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, report_best
from planner.proof.effort import REPLICAS_ONE_BY_ONE
from planner.scheduler.framework import Plan
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif.scaling import scale


def walked(
    problem: Problem, several: Sequence[Asked], stop_event: threading.Event | None = None
) -> dict[str, Found]:
    """Every workload for itself, by name; after a stop only those that were counted."""
    cluster = problem.cluster
    plain = [asked for asked in several if is_plain(cluster, asked)]
    found = _over_one_state(problem, plain, stop_event) if plain else {}
    for asked in several:
        if asked.name not in found and not is_stop_requested(stop_event):
            found[asked.name] = _by_simulation(cluster, asked)
    return found


def _over_one_state(
    now: Problem, several: Sequence[Asked], stop_event: threading.Event | None
) -> dict[str, Found]:
    """The same state for all of them; what one workload's replicas did to it is undone."""
    more, pods = grown(now.cluster, several)
    problem = Problem(more, now)
    before = Scheduler(problem)
    asks = {problem.pod_index[pod.key]: name for name, pod in pods.items()}
    queued = set(before.queue)
    most = {extra: _most(before, extra) for extra in asks if extra in queued}
    needed = {extra: _needed(before, extra, number) for extra, number in most.items()}
    copies, first = dict[int, list[int]](), len(problem.pods)
    for extra, number in needed.items():
        copies[extra] = [extra, *range(first, first + number)]
        first += number
    asked = {extra: (asks[extra], copies[extra], most[extra]) for extra in most}
    return _counted(Scheduler(problem.with_copies(needed)), before.queue, asked, stop_event)


def _counted(
    scheduler: Scheduler,
    queue: Sequence[int],
    asks: dict[int, tuple[str, list[int], int]],
    stop_event: threading.Event | None,
) -> dict[str, Found]:
    scheduler.restore_nominations(pod for pod in queue if pod not in asks)
    found: dict[str, Found] = {}
    decided: dict[str, str | None] = {}
    for pod in queue:
        if pod not in asks:
            _note(scheduler, scheduler.take(pod), decided)
            continue
        if is_stop_requested(stop_event):
            break
        report_best(f"{len(found)} of {len(asks)} workloads")
        name, copies, most = asks[pod]
        known = count(scheduler, copies, most)
        if known is not None:
            found[name] = Found(known.more, known.message, known.limited_by, known.most, {**decided})
    return found


def _note(scheduler: Scheduler, decision: SchedulingDecision, decided: dict[str, str | None]) -> None:
    """Keep what became of a pod that waits, and of those that it evicts."""
    problem = scheduler.problem
    scheduler.state.forget_history()
    for victim in decision.victims:
        decided[problem.pods[victim].key] = None
    node = None if decision.node is None else problem.nodes.names[decision.node]
    decided[problem.pods[decision.pod].key] = node


def _most(scheduler: Scheduler, pod: int) -> int:
    return min(at_most(_plan(scheduler, pod)), MOST_NEW_PODS)


def _needed(scheduler: Scheduler, pod: int, most: int) -> int:
    """How many copies are placed one by one at most; the others are counted."""
    return most if order_matters(_plan(scheduler, pod)) else min(most, REPLICAS_ONE_BY_ONE)


def _plan(scheduler: Scheduler, pod: int) -> Plan:
    return scheduler.framework_of(pod).plan(scheduler.problem.template(pod))


def _by_simulation(cluster: Cluster, asked: Asked) -> Found:
    """Where replicas bring something of their own, a quota counts them, or room is made: more each time."""
    more = REPLICAS_ONE_BY_ONE
    while True:
        more = min(more, MOST_NEW_PODS - asked.replicas)
        scaled = scale(cluster, asked.name, asked.replicas + more)
        found = _first_left(scaled, {pod.key for pod in cluster.pods}, more)
        if found.more < more or asked.replicas + more >= MOST_NEW_PODS:
            return found
        more *= 4


def _first_left(scaled: Cluster, known: Iterable[str], asked: int) -> Found:
    """How many of the new pods are placed before one is not."""
    old, problem = {*known}, Problem(scaled)
    scheduler = Scheduler(problem)
    scheduler.restore_nominations(scheduler.queue)
    decided: dict[str, str | None] = {}
    placed, most = 0, 0
    before: dict[str, str | None] | None = None
    for pod in scheduler.queue:
        new = problem.pods[pod].key not in old
        if new and before is None:
            before, most = {**decided}, max(_most(scheduler, pod), asked)
        decision = scheduler.take(pod)
        if new and (decision.node is None or decision.victims):
            return Found(placed, decision.message, limits(scheduler, decision), most, before or {})
        placed += new
        _note(scheduler, decision, decided)
    if before is None:
        return Found(0, *_not_queued(problem, old), most)
    return Found(placed, "", (), most, before)


def _not_queued(problem: Problem, old: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Why none of the new pods comes to be looked at, and what limits them by that."""
    new = next((pod for pod in problem.pods if pod.key not in old), None)
    if new is None:
        return "", ()
    return f"it asks for scheduler {new.spec.scheduler_name}, which has no profile here", ("SchedulerName",)
