"""The pods of a rollout while it goes on: which are there, ready, leaving, or waiting for a node.

Every pod that may ever exist is a pod of the problem from the start; here it is decided which of them
do.  A pod that is told to go while it runs is replaced by its double, which holds the room until it has
ended and counts for nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

import numpy as np

from models.admission.chain import is_new
from models.objects.pod import Pod
from planner.problem.creation_order import awaited
from planner.problem.nodes import Mask
from planner.problem.problem import GATED, Problem
from planner.problem.quotas import Quotas
from planner.scheduler.remarks import no_profile
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.simulation.rollout.scheduling_queue import SchedulingQueue, may_help


class PodChange(Enum):
    """What can happen to a pod."""

    MADE = "made"
    BOUND = "bound"
    READY = "ready"
    AVAILABLE = "available"
    """Ready for as long as its workload asks; where that is no time at all, READY says both."""
    LEAVING = "leaving"
    """Told to go, and running until it has ended."""
    LOST = "lost"
    """Gone at once: it had no node or no grace period, or was evicted for another."""
    STUCK = "stuck"
    """Told to go, and no more than an object: its containers have ended, or quotas take it for stuck."""
    ENDED = "ended"
    SUCCEEDED = "succeeded"
    """Run to its end, as pods of Jobs do."""


class ClusterSimulation:
    """Pods, the nodes that they run on, and the reference scheduler between them."""

    def __init__(  # noqa: PLR0913 - what a simulation begins with
        self,
        problem: Problem,
        doubles: Mapping[int, int],
        absent: Collection[int],
        *,
        preemption: bool,
        seed: int | None,
        in_time: bool = False,
    ) -> None:
        """`doubles` has for every pod that may go the one that takes its place; `absent` are yet to come.

        With `in_time` pods that are Terminating from the start end, and a pod that has preempted others and
        waits for some that still end has its node promised until then.
        """
        self.problem = problem
        self.now = 0.0
        """Seconds since the apply."""
        self._by_chance, self._in_time = seed is not None, in_time
        self.random = random.Random(f"timeline {seed}")
        self.scheduler = Scheduler(problem, preemption=preemption, seed=seed)
        told = _are_terminating(problem) & in_time
        # What is Terminating from the start holds its room itself.
        ending = {pod: pod for pod in np.flatnonzero(told).tolist()}
        #: By pod what holds its room once it was told to go.
        self.doubles = {**doubles, **ending}
        self.originals = {double: pod for pod, double in self.doubles.items()}
        nowhere = {*absent, *doubles.values()}
        self.alive = (problem.node_of >= 0) & ~told
        self.ready = self.alive.copy()
        self.ready[[pod for pod in doubles if self.ready[pod] and _is_not_ready(problem.pods[pod])]] = False
        self.available = self.ready.copy()
        """Which pods have been ready for minReadySeconds."""
        self.min_ready = np.zeros(len(problem.pods))
        self.starting: dict[int, None] = {}
        """Pods that have a node and are not ready yet."""
        self.proving: dict[int, float] = {}
        """Pods that are ready and not available yet, and when they will be."""
        self.leaving: dict[int, None] = dict.fromkeys(ending)
        """Doubles of pods that were told to go, and pods that are Terminating from the start."""
        self.stopped: set[int] = set()
        """Pods that were told to go whose containers have ended, while finalizers keep them."""
        self.succeeded: dict[int, list[int]] = {}
        """The nodes on which pods have run to their end; a pod stands for those that follow in its place."""
        self.preempted: list[tuple[int, int]] = []
        """Pods that were evicted for others, each with the one that it made room for."""
        self.on_ready_preempted: Callable[[int], None] = lambda pod: None
        """Called with each of them that is ready, before it is gone."""
        self.messages: dict[int, str] = {}
        self.made_at = np.full(len(problem.pods), np.nan)
        self.ready_at = np.full(len(problem.pods), np.nan)
        """When pods that came since were made and became ready, in whole seconds as the API tells times."""
        self.random_rank = np.array([self.random.random() for _ in problem.pods])
        self.happened: list[tuple[PodChange, int]] = []
        """What has happened to pods since these events were last read."""
        #: The pods that controllers which take part make again when they are lost.
        self.watched: set[int] = set()
        self._queue = SchedulingQueue()
        self._quotas = Quotas(problem)
        self.refusals: dict[int, str] = {}
        """What the API server said of pods that a controller could not make; what leaves may make room."""
        #: Pods that a controller tried to make when the API server refused them.
        self.refused_once: set[int] = set()
        self._helps: dict[tuple[int, int], bool] = {}
        self.waiting: dict[int, None] = {}
        """Pods without a node, the oldest first."""
        self._following = self._begin_waiting(nowhere)

    def _begin_waiting(self, nowhere: Collection[int]) -> Mapping[int, list[int]]:
        """Have the pods without a node wait; by pod those that are made as soon as it is ready.

        These are of StatefulSets with OrderedReady, and looked for where a quota counts pods.
        """
        there = [pod for pod in self.problem.queue() if pod not in nowhere]
        new = {pod for pod in there if is_new(self.problem.pods[pod])}
        found: dict[int, list[int]] = {}
        if self._quotas:
            pods = {pod: item for pod, item in enumerate(self.problem.pods) if pod not in nowhere}
            for pod, last in awaited(self.problem.cluster, pods, new).items():
                found.setdefault(last, []).append(pod)
        later = {pod for several in found.values() for pod in several}
        for pod in there:
            if pod not in later and not (pod in new and self._is_refused(pod)):
                self.alive[pod] = True
                self._wait(pod)
        return found

    def go_on_starting(self) -> None:
        """Take pods that have a node and start in the snapshot for pods that become ready, too.

        One of which a container could not be started stays as it is.
        """
        bound = [pod for pod in self.doubles if self.alive[pod] and pod not in self.waiting]
        found = self.problem.pods
        self.starting |= dict.fromkeys(
            pod for pod in bound if found[pod].is_starting and not found[pod].start_failure
        )

    def shuffle(self, items: list[Any]) -> None:
        """Bring pods or nodes into any order; without a seed they keep theirs."""
        if self._by_chance:
            self.random.shuffle(items)

    def ask(self, pods: Iterable[int], min_ready: int, now: datetime | None) -> None:
        """These pods are available after so many seconds of being ready; `now` is when this begins."""
        for pod in pods if min_ready else ():
            self.min_ready[pod] = min_ready
            since = self.problem.pods[pod].ready_since
            if self.ready[pod] and since is not None and now is not None:
                until = self.now + min_ready - (now - since).total_seconds()
                if until > self.now:
                    self.available[pod], self.proving[pod] = False, until

    def free(self, pods: Iterable[int]) -> list[int]:
        """Those of some pods that are neither there nor leaving."""
        return [pod for pod in pods if not self.alive[pod] and not self.is_leaving(pod)]

    def is_leaving(self, pod: int) -> bool:
        """Whether a pod was told to go and has not ended."""
        return self.doubles.get(pod) in self.leaving

    def why_not_started(self, pod: int) -> str:
        """Why a pod that has a node does not start, if so."""
        node = int(self.scheduler.state.node_of[pod])
        return self.problem.endings.why_not_started(self.problem.pods[pod], node)

    def become_stuck(self, double: int, *, has_stopped: bool) -> None:
        """A pod that was told to go counts as an object alone; one that has stopped has no room either."""
        pod = self.originals[double]
        if has_stopped:
            self.stopped.add(pod)
            self.scheduler.state.unbind(double)
            self._queue.wake_all(self.now)
        self._quotas.leave_stuck(self.problem.pods[pod])
        self.happened.append((PodChange.STUCK, pod))

    def is_running_on(self, pod: int) -> bool:
        """Whether a pod was told to go and its containers run."""
        return self.is_leaving(pod) and pod not in self.stopped

    def _is_refused(self, pod: int) -> bool:
        """Whether the API server refuses to create a pod."""
        found = self.problem.pods[pod]
        if line := found.refusal or self._quotas.admit(found):
            self.refusals[pod] = f"not created: {line}"
        else:
            self.refusals.pop(pod, None)
        return bool(line)

    def create(self, pod: int) -> bool:
        """A controller makes the pod, and it waits for a node; False when the API server refuses it."""
        if self._is_refused(pod):
            self.refused_once.add(pod)
            return False
        self.alive[pod], self.ready[pod] = True, False
        self.made_at[pod], self.ready_at[pod] = np.floor(self.now), np.nan
        self.random_rank[pod] = self.random.random()
        self._wait(pod)
        self.happened.append((PodChange.MADE, pod))
        return True

    def _wait(self, pod: int) -> None:
        self.waiting[pod] = None
        found = self.problem.pods[pod]
        if found.spec.scheduling_gates:
            self.messages[pod] = GATED
        elif found.spec.scheduler_name in self.scheduler.schedulers:
            self._queue.add(pod, int(self.problem.priorities[pod]), self.now)
        else:
            self.messages[pod] = no_profile(found.spec.scheduler_name)

    def delete(self, pod: int) -> None:
        """The pod is told to go; where it has a node and a grace period it holds its room for a while."""
        node = int(self.scheduler.state.node_of[pod])
        # The API server keeps a pod with a grace period until its kubelet says that it has ended.
        if node < 0 or self.problem.pods[pod].spec.termination_grace_period_seconds == 0:
            self._remove(pod)
            return
        self._forget(pod)
        self.scheduler.state.unbind(pod)
        self.scheduler.state.bind(self.doubles[pod], node)
        self.leaving[self.doubles[pod]] = None
        self.happened.append((PodChange.LEAVING, pod))

    def succeed(self, pod: int) -> None:
        """A ready pod has run to its end."""
        self.succeeded.setdefault(pod, []).append(int(self.scheduler.state.node_of[pod]))
        self._remove(pod, PodChange.SUCCEEDED)

    def _remove(self, pod: int, how: PodChange = PodChange.LOST) -> None:
        """The pod is gone at once, and with it whatever room it had."""
        had_room = self.scheduler.state.node_of[pod] >= 0
        self._forget(pod)
        if had_room:
            self.scheduler.state.unbind(pod)
        self._note_gone(pod, how, frees_room=had_room)

    def _note_gone(self, pod: int, how: PodChange, *, frees_room: bool = True) -> None:
        """Its quotas have room again, and so has its node if it had one."""
        if frees_room:
            self._queue.wake_all(self.now)
        self._quotas.release(self.problem.pods[pod])
        self.happened.append((how, pod))

    def _forget(self, pod: int) -> None:
        self.alive[pod] = self.ready[pod] = self.available[pod] = False
        self.messages.pop(pod, None)
        self.waiting.pop(pod, None)
        self.starting.pop(pod, None)
        self.proving.pop(pod, None)
        self._queue.discard(pod)
        self.scheduler.forget_nominations([pod])

    def end(self, double: int) -> None:
        del self.leaving[double]
        self.scheduler.state.unbind(double)
        self._note_gone(self.originals[double], PodChange.ENDED)

    def become_ready(self, pod: int) -> None:
        del self.starting[pod]
        self.ready[pod], self.ready_at[pod] = True, np.floor(self.now)
        if self.min_ready[pod]:
            self.proving[pod] = float(self.ready_at[pod] + self.min_ready[pod])
        else:
            self.available[pod] = True
        self.happened.append((PodChange.READY, pod))
        for following in self._following.get(pod, ()):
            if not self.alive[following]:
                self.create(following)

    def become_available(self, pod: int) -> None:
        """A pod has been ready for as long as its workload asks."""
        del self.proving[pod]
        self.available[pod] = True
        self.happened.append((PodChange.AVAILABLE, pod))

    def schedule(self, most: int) -> bool:
        """Try every waiting pod until none can be helped; whether that changed anything.

        It ends, too, when so many events have happened since the beginning.
        """
        before = self.scheduler.state.version
        while len(self.happened) < most and self.schedule_one():
            pass
        return self.scheduler.state.version != before

    def schedule_one(self) -> bool:
        """One scheduling cycle; False when every pod waits for an event."""
        pod = self._queue.pop(self.now)
        if pod is None:
            return False
        self._answer(pod)
        return True

    def _answer(self, pod: int) -> None:
        """What the scheduler decides about a pod now, which is not gone back to."""
        self._decide(pod)
        self.scheduler.state.forget_history()

    def _decide(self, pod: int) -> SchedulingDecision:
        decision = self.scheduler.decide(pod)
        for victim in decision.victims:
            self.preempted.append((victim, pod))
            self._lose(victim)
        if decision.node is None:
            if self._in_time and decision.nominated is not None:
                self.scheduler.nominate(pod, decision.nominated)
            self.messages[pod] = decision.message
            self._queue.refused(pod, int(self.problem.priorities[pod]), self.now)
            return decision
        self.messages.pop(pod, None)
        del self.waiting[pod]
        self._queue.discard(pod)
        self.starting[pod] = None
        template = int(self.problem.template_of[pod])
        self._queue.wake([other for other in self._queue.parked if self._may_help(template, other)], self.now)
        self.happened.append((PodChange.BOUND, pod))
        return decision

    def _may_help(self, template: int, other: int) -> bool:
        """Whether a pod of this template that got a node may give another pod a place."""
        waits = int(self.problem.template_of[other])
        known = self._helps.get((template, waits))
        if known is None:
            came, waiting = self.problem.templates[template], self.problem.templates[waits]
            known = self._helps[template, waits] = may_help(came, waiting)
        return known

    def _lose(self, victim: int) -> None:
        """A pod was evicted for another: its controller makes it again, if it has one."""
        if self.ready[victim]:
            self.on_ready_preempted(victim)
        self._forget(victim)
        self._note_gone(victim, PodChange.LOST)
        if self.problem.pods[victim].metadata.controller is not None and victim not in self.watched:
            self.create(victim)


def _are_terminating(problem: Problem) -> Mask:
    """Which pods with a node were told to go."""
    told = np.array([item.terminating for item in problem.templates], bool)[problem.template_of]
    return told & (problem.node_of >= 0)


def _is_not_ready(pod: Pod) -> bool:
    """Whether a bound pod is starting or says that it is not ready; one without conditions says nothing."""
    return pod.is_starting or (bool(pod.status.conditions) and not pod.is_ready)
