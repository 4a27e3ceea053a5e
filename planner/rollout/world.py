"""The pods of a rollout while it goes on: who is there, who is ready, who is leaving, who waits for a node.

Every pod that may ever exist is a pod of the problem from the start; here it is decided which of them
do.  A pod that is told to go while it runs is replaced by its double, which holds the room until it has
ended and counts for nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from models.objects.pod import Pod
from planner.problem.problem import Problem
from planner.scheduler.scheduler import GATED, Scheduler


class World:
    """Pods, the nodes that they run on, and the reference scheduler between them."""

    def __init__(
        self,
        problem: Problem,
        doubles: Mapping[int, int],
        absent: Collection[int],
        *,
        preemption: bool,
        seed: int | None,
    ) -> None:
        """`doubles` has for every pod that may go the one that takes its place; `absent` are yet to come."""
        self.problem = problem
        self.random = random.Random(0 if seed is None else seed)
        self.scheduler = Scheduler(problem, preemption=preemption, seed=seed)
        self._doubles = doubles
        nowhere = {*absent, *doubles.values()}
        self.alive = problem.node_of >= 0
        self.ready = self.alive.copy()
        self.ready[[pod for pod in doubles if self.ready[pod] and _is_sick(problem.pods[pod])]] = False
        self.waiting: list[int] = [pod for pod in problem.queue() if pod not in nowhere]
        self.alive[self.waiting] = True
        self.starting: list[int] = []
        self.leaving: list[int] = []
        self.messages: dict[int, str] = {}
        self.age = np.zeros(len(problem.pods), np.int64)
        self.lot = [self.random.random() for _ in problem.pods]
        self._born = 0
        self._stale = True
        self._watched: frozenset[int] = frozenset()

    def watch(self, pods: Iterable[int]) -> None:
        """Leave it to the controllers that take part to make these pods again when they are lost."""
        self._watched |= frozenset(pods)

    def free(self, pods: Iterable[int]) -> list[int]:
        """Those of some pods that are neither there nor leaving."""
        going = set(self.leaving)
        return [pod for pod in pods if not self.alive[pod] and self._doubles.get(pod) not in going]

    def any_leaving(self, pods: Iterable[int]) -> bool:
        """Whether one of some pods was told to go and has not ended."""
        going = set(self.leaving)
        return bool(going) and any(self._doubles.get(pod) in going for pod in pods)

    def create(self, pod: int) -> None:
        """A controller makes the pod; it waits for a node."""
        self._born += 1
        self.alive[pod], self.ready[pod], self.age[pod] = True, False, self._born
        self.lot[pod] = self.random.random()
        self.waiting.append(pod)
        self._stale = True

    def delete(self, pod: int) -> None:
        """The pod is told to go: at once where it has no node, else it holds its room for a while."""
        node = int(self.scheduler.state.node_of[pod])
        self._forget(pod)
        if node >= 0:
            self.scheduler.state.unbind(pod)
            self.scheduler.state.bind(self._doubles[pod], node)
            self.leaving.append(self._doubles[pod])
        self._stale = True

    def _forget(self, pod: int) -> None:
        self.alive[pod] = self.ready[pod] = False
        self.messages.pop(pod, None)
        for group in (self.waiting, self.starting):
            if pod in group:
                group.remove(pod)

    def end(self, double: int) -> None:
        """A pod that was leaving has ended."""
        self.leaving.remove(double)
        self.scheduler.state.unbind(double)
        self._stale = True

    def become_ready(self, pod: int) -> None:
        """A pod that has a node runs and is ready."""
        self.starting.remove(pod)
        self.ready[pod] = True
        self._born += 1
        self.age[pod] = self._born

    def schedule(self) -> bool:
        """Give everybody who waits a turn; whether that changed anything."""
        if not self._stale:
            return False
        self._stale = False
        state, changed = self.scheduler.state, False
        refused: set[int] = set()
        for pod in self._queue():
            template = int(self.problem.template_of[pod])
            if template in refused and not self._stale:
                self.messages.setdefault(pod, self._message_of(template))
                continue
            changed |= self._decide(pod, template, refused)
            state.forget_history()
        return changed

    def _message_of(self, template: int) -> str:
        return next(text for pod, text in self.messages.items() if self.problem.template_of[pod] == template)

    def _decide(self, pod: int, template: int, refused: set[int]) -> bool:
        if self.problem.pods[pod].spec.scheduling_gates:
            self.messages[pod] = GATED
            return False
        decision = self.scheduler.decide(pod)
        for victim in decision.victims:
            self._lose(victim)
        if decision.node is None:
            self.messages[pod] = decision.message
            refused.add(template)
            return bool(decision.victims)
        refused.clear()
        self.messages.pop(pod, None)
        self.waiting.remove(pod)
        self.starting.append(pod)
        return True

    def _lose(self, victim: int) -> None:
        """A pod was evicted for another: its controller makes it again, if it has one."""
        self._forget(victim)
        if self.problem.pods[victim].metadata.controller is None:
            return
        if victim not in self._watched:
            self.create(victim)
        self._stale = True

    def _queue(self) -> list[int]:
        """Who waits, the highest priority first, and of equal ones who has waited longest."""
        known = self.scheduler.schedulers
        pods = [pod for pod in self.waiting if self.problem.pods[pod].spec.scheduler_name in known]
        return sorted(pods, key=lambda pod: (-int(self.problem.priorities[pod]), int(self.age[pod]), pod))


def _is_sick(pod: Pod) -> bool:
    """Whether a running pod says that it is not ready; one without conditions says nothing."""
    return bool(pod.status.conditions) and not pod.is_ready
