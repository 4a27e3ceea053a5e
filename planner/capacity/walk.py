"""Through the queue: pods that wait are placed for good; replicas to come are counted, and undone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from models import Cluster
from models.controllers.expand import MOST_NEW_PODS
from models.controllers.owners import is_live
from models.controllers.stateful import NUMBERED_LABELS, ordinal_of, set_key
from models.objects.pod import Pod
from models.objects.workload import StatefulSet
from planner.capacity.growth import (
    Asked,
    KnownClaims,
    grown,
    is_plain,
    is_shared_out,
    name_of,
    names_taken,
    ordinals_of,
)
from planner.capacity.replicas import Found, RoomInQuotas, count, earlier, limits, not_yet_asked_for
from planner.capacity.room import at_most, order_matters
from planner.problem.problem import Problem
from planner.problem.templates import ruled_keys
from planner.problem.volume_claims import Claims, claims_of
from planner.proof.clock import is_stop_requested, report_best
from planner.proof.effort import REPLICAS_ONE_BY_ONE
from planner.scheduler.remarks import no_profile
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif.named import workload_named
from planner.whatif.scaling import scale

_NO_REASON: tuple[str, tuple[str, ...]] = ("", ())


class _ToCount(NamedTuple):
    """A workload to count, the pods that stand for its replicas, and how many a quota has room for."""

    name: str
    copies: Sequence[int]
    quota: tuple[int, str] | None


def walked(
    problem: Problem,
    several: Sequence[Asked],
    stop_event: threading.Event | None = None,
    seed: int | None = None,
    enough: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Found]:
    """Every workload for itself, by name; after a stop only those that were counted.

    With a seed nodes are sampled and ties drawn, else they go to the smallest name.  Of a workload of which
    so many are `enough` no more than their number has to be exact where at least so many fit.
    """
    cluster = problem.cluster
    waiting = not_yet_asked_for(problem)
    known = KnownClaims(cluster)
    plain = [one for one in several if is_plain(one, known) and one.workload.namespace not in waiting]
    found = _over_one_state(problem, plain, stop_event, seed, enough) if plain else {}
    for asked in several:
        if asked.name not in found and not is_stop_requested(stop_event):
            is_ahead = asked.workload.namespace in waiting and not any(names_taken(asked))
            by_number = _by_halves if is_shared_out(asked) or is_ahead else _by_simulation
            simulated = by_number(cluster, asked, stop_event, seed)
            if simulated is not None:
                found[asked.name] = simulated
    return found


def _over_one_state(
    now: Problem,
    several: Sequence[Asked],
    stop_event: threading.Event | None,
    seed: int | None,
    enough: Mapping[str, int],
) -> dict[str, Found]:
    """The same state for all of them; what one workload's replicas did to it is undone."""
    more, pods = grown(now.cluster, several)
    own, others = _new_claims(now, more, pods.values())
    problem = Problem(more, now, own)
    before = Scheduler(problem)
    names = {problem.pod_index[pod.key]: name for name, pod in pods.items()}
    room, queued = RoomInQuotas(problem, names), set(before.queue)
    by_number = not NUMBERED_LABELS.isdisjoint(ruled_keys(more))
    needed, counting = dict[int, int](), dict[int, _ToCount]()
    first = len(problem.pods)
    for extra, name in names.items():
        pod = problem.pods[extra]
        differ = not others.isdisjoint(use.key for use in claims_of(pod)) or (by_number and set_key(pod))
        if extra in queued and not differ and room.is_certain(extra, own):
            quota = room.of(extra)
            needed[extra] = min(_needed(before, extra), MOST_NEW_PODS if quota is None else quota[0])
            counting[extra] = _ToCount(name, [extra, *range(first, first + needed[extra])], quota)
            first += needed[extra]
    scheduler = Scheduler(problem.with_copies(needed, room.refused), seed=seed)
    queue = [pod for pod in before.queue if pod in counting or pod not in names]
    return _counted(scheduler, queue, counting, stop_event, enough)


def _new_claims(now: Problem, more: Cluster, coming: Iterable[Pod]) -> tuple[set[str], set[str]]:
    """The claims that are made for pods to come: those that every copy has for itself alike, and others.

    Others are those that several of them mount, or for which there are volumes: each of those is taken once.
    """
    claims = Claims(more, now.nodes, now.pods)
    known = {claim.key for claim in now.cluster.persistent_volume_claims}
    new = [claim for claim in more.persistent_volume_claims if claim.key not in known]
    mounts = Counter(use.key for pod in coming for use in claims_of(pod))
    own = {claim.key for claim in new if mounts[claim.key] == 1 and not claims.candidates(claim)}
    return own, {claim.key for claim in new} - own


def _counted(
    scheduler: Scheduler,
    queue: Sequence[int],
    counting: Mapping[int, _ToCount],
    stop_event: threading.Event | None,
    enough: Mapping[str, int],
) -> dict[str, Found]:
    """What fits of each workload at the place in the queue of the pod that stands for it."""
    scheduler.restore_nominations(pod for pod in queue if pod not in counting)
    found: dict[str, Found] = {}
    decided: dict[str, str | None] = {}
    left_open = _LeftOpen(scheduler)
    for pod in queue:
        if pod not in counting:
            left_open.comes(pod)
            _note(scheduler, scheduler.take(pod), decided)
            continue
        if is_stop_requested(stop_event):
            break
        report_best(f"{len(found)} of {len(counting)} workloads")
        name, copies, quota = counting[pod]
        # Pods that came before have taken room, and may have made some by evicting others.
        most = _most(scheduler, pod)
        known = count(scheduler, copies, most, enough.get(name))
        known = earlier(known, len(copies) if known is None else known.more, most, quota)
        if known is not None:
            is_open = left_open.any or scheduler.leaves_open(pod)
            found[name] = replace(known, most=None if is_open else known.most, decided={**decided})
    return found


class _LeftOpen:
    """Whether the snapshot does not tell of some pod that has come so far where it may be."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._known = scheduler, set[int]()
        self.any = False

    def comes(self, pod: int) -> None:
        """A pod comes; those of one template are alike in this."""
        template = int(self._scheduler.problem.template_of[pod])
        if template not in self._known:
            self._known.add(template)
            self.any = self.any or self._scheduler.leaves_open(pod)


def _note(scheduler: Scheduler, decision: SchedulingDecision, decided: dict[str, str | None]) -> None:
    """Keep what became of a pod that waits, and of those that it evicts."""
    problem = scheduler.problem
    scheduler.state.forget_history()
    for victim in decision.victims:
        decided[problem.pods[victim].key] = None
    node = None if decision.node is None else problem.nodes.names[decision.node]
    decided[problem.pods[decision.pod].key] = node


def _most(scheduler: Scheduler, pod: int) -> int:
    return min(at_most(scheduler.plan_of(pod)), MOST_NEW_PODS)


def _needed(scheduler: Scheduler, pod: int) -> int:
    """How many copies are placed one by one at most; the others are counted."""
    most = _most(scheduler, pod)
    return most if order_matters(scheduler.plan_of(pod)) else min(most, REPLICAS_ONE_BY_ONE)


def _by_simulation(
    cluster: Cluster, asked: Asked, stop_event: threading.Event | None, seed: int | None
) -> Found | None:
    """Where replicas bring something of their own, or room is made: more each time."""
    fits = 0
    # A StatefulSet makes no pod where one has its name: the plans that are asked for more then count too few.
    counts_pods = not any(names_taken(asked))
    for more in _tries(asked):
        if is_stop_requested(stop_event):
            break
        scaled = scale(cluster, asked.name, asked.replicas + more)
        found, is_enough = _first_left(scaled, {pod.key for pod in cluster.pods}, asked, more, seed)
        if not is_enough or asked.replicas + more >= MOST_NEW_PODS:
            # Of fewer replicas it is known already that none is left.
            number = found.more if is_enough else max(fits, min(found.more, more - 1))
            return replace(found, more=number, most=found.most if counts_pods else None)
        fits = more
    return None


def _by_halves(
    cluster: Cluster, asked: Asked, stop_event: threading.Event | None, seed: int | None
) -> Found | None:
    """Where it depends on their number which pods come: it is doubled, then halved, a simulation each.

    So many are placed, and of one more one is not; what no order of binds can beat is not known.
    """
    known, last = {pod.key for pod in cluster.pods}, MOST_NEW_PODS - asked.replicas
    fits, too_many = 0, last + 1
    found = Found(0, *_NO_REASON, None)
    while fits + 1 < too_many:
        if is_stop_requested(stop_event):
            return None
        more = (fits + too_many) // 2 if too_many <= last else min(max(1, 2 * fits), last)
        scaled = scale(cluster, asked.name, asked.replicas + more)
        tried, is_enough = _first_left(scaled, known, asked, more, seed)
        if is_enough:
            fits = more
        else:
            too_many, found = more, tried
    return replace(found, more=fits, most=None)


def _tries(asked: Asked) -> Iterator[int]:
    """How many more replicas are tried: one by one as long as it depends on the number which pods there are.

    A StatefulSet deletes live pods of higher ordinals.
    """
    most, more = MOST_NEW_PODS - asked.replicas, REPLICAS_ONE_BY_ONE
    if isinstance(asked.workload, StatefulSet):
        taken = _ordinals_taken(asked)
        ordinals = ordinals_of(asked, MOST_NEW_PODS)[asked.replicas :] if taken else ()
        below = enumerate(takewhile(max(taken, default=0).__ge__, ordinals), 1)
        last = max((number for number, ordinal in below if ordinal in taken), default=0)
        yield from range(1, last + 1)
        more += last
    while more < most:
        yield more
        more *= 4
    yield most


def _ordinals_taken(asked: Asked) -> set[int]:
    """The ordinals of live pods that have the names of replicas to come."""
    live = filter(is_live, names_taken(asked))
    return {ordinal for ordinal in map(ordinal_of, live) if ordinal is not None}


def _first_left(
    scaled: Cluster, known: Iterable[str], asked: Asked, more: int, seed: int | None
) -> tuple[Found, bool]:
    """How many more replicas there may be before a new pod is not placed, and whether all are placed."""
    old, problem = {*known}, Problem(scaled)
    scheduler = Scheduler(problem, seed=seed)
    scheduler.restore_nominations(scheduler.queue)
    decided: dict[str, str | None] = {}
    placed = 0
    most: int | None = 0
    before: dict[str, str | None] | None = None
    left_open = _LeftOpen(scheduler)
    for pod in scheduler.queue:
        left_open.comes(pod)
        new = problem.pods[pod].key not in old
        if new and before is None:
            before = {**decided}
            most = None if left_open.any else max(_most(scheduler, pod), more)
        decision = scheduler.take(pod)
        if new and (decision.node is None or decision.victims):
            number = _replicas_before(scaled, asked, problem.pods[pod].name, placed)
            reason = decision.message, limits(scheduler, decision)
            return Found(number, *reason, most, before or {}), False
        placed += new
        _note(scheduler, decision, decided)
    if before is None and (reason := _not_queued(problem, old)) != _NO_REASON:
        return Found(0, *reason, most), False
    return Found(more, *_NO_REASON, most, before or {}), True


def _replicas_before(scaled: Cluster, asked: Asked, name: str, placed: int) -> int:
    """How many more replicas a workload has before it makes a pod: so many pods, unless names are taken."""
    workload = workload_named(scaled, asked.name)
    if not isinstance(workload, StatefulSet):
        return placed
    ordinals = ordinals_of(asked, workload.spec.replicas)
    names = [name_of(workload, ordinal) for ordinal in ordinals]
    return max(0, names.index(name) - asked.replicas) if name in names else placed


def _not_queued(problem: Problem, old: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Why none of the new pods comes to be looked at, and what limits them by that."""
    new = next((pod for pod in problem.pods if pod.key not in old), None)
    if new is None:
        return _NO_REASON
    if new.node_name:
        return f"its template has spec.nodeName {new.node_name}: no scheduler is asked", ("NodeName",)
    return no_profile(new.spec.scheduler_name), ("SchedulerName",)
