"""The pods below a priority: on a node the most important first, and what they hold on every node."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

import numpy as np

from models.objects.base import FAR_AHEAD
from models.objects.pod import Pod
from planner.problem.nodes import Ints
from planner.problem.problem import Problem
from planner.state.state import State

#: Beyond this share of changed nodes everything is added up anew.
_ANEW_SHARE = 4


def started(pod: Pod) -> datetime:
    """Since when a pod has run; one that has not begun comes after all that have."""
    return pod.status.start_time or FAR_AHEAD


class Importance:
    """The importance of pods: by priority, then by how long they have run; small ranks matter more."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def rank(self, pod: int) -> tuple[int, datetime]:
        """What pods are sorted by; the same for equals."""
        return -self.priorities[pod], started(self._problem.pods[pod])

    @cached_property
    def priorities(self) -> list[int]:
        """The priority of every pod, as plain numbers."""
        found: list[int] = self._problem.priorities.tolist()
        return found


class LowerPriorityPods:
    """The pods below one priority, kept current against the state's log of changed nodes."""

    def __init__(self, state: State, importance: Importance, priority: int) -> None:
        self._state = state
        self._importance = importance
        self._priority = priority
        self._epoch, self._position = -1, 0
        self._any = bool((state.problem.priorities < priority).any())
        #: How many of them every node holds, and what they request there: a row for every resource.
        self._pods: Ints = np.zeros(state.problem.nodes.size, np.int64)
        self._load: Ints = np.zeros_like(state.used)

    def on(self, node: int) -> list[int]:
        """Those on a node, the most important first; equals in the order in which they came."""
        priorities = self._importance.priorities
        there = [pod for pod in self._state.pods_on[node] if priorities[pod] < self._priority]
        return sorted(there, key=self._importance.rank)

    def current(self) -> tuple[Ints, Ints]:
        """How many every node holds, and their load, now; the arrays are live, do not keep them."""
        state = self._state
        if not self._any:
            return self._pods, self._load
        changed = set(state.log[self._position :]) if self._epoch == state.epoch else None
        if changed is None or len(changed) * _ANEW_SHARE > len(self._pods):
            self._add_up()
        else:
            for node in changed:
                self._look_again(node)
        self._epoch, self._position = state.epoch, len(state.log)
        return self._pods, self._load

    def _add_up(self) -> None:
        state = self._state
        pods = np.flatnonzero((state.node_of >= 0) & (state.problem.priorities < self._priority))
        self._pods = np.bincount(state.node_of[pods], minlength=len(self._pods))
        self._load = state.load_of(pods)

    def _look_again(self, node: int) -> None:
        there = self.on(node)
        self._pods[node] = len(there)
        self._load[:, node] = sum(
            (self._state.problem.template(pod).requests for pod in there), np.zeros(len(self._load), np.int64)
        )
