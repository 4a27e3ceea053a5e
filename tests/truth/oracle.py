"""The most pods that can be placed where volumes have a say: every order of binds, filters asked one by one.

What volumes allow is too much to write once more, so the filters are those of the reference scheduler,
which is held against recordings of the real one; the search over orders and evictions is its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from models import Cluster
from planner.moves.constraint_counts import ConstraintCounts, excesses, worse
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.truth.digits import Digits, whereabouts
from tests.truth.manifests import Object

Value = tuple[int, ...]
LIMIT = 6_000
_MOST_EVICTIONS = 2


@dataclass
class Reached:
    """The most pods gained, the highest priority first, with the fewest evictions, and how."""

    value: Value
    evictions: int = 0
    steps: tuple[str, ...] = ()
    complete: bool = True
    states: int = 0
    seen: set[object] = field(default_factory=set)


class Oracle:
    """The search over one cluster."""

    def __init__(self, objects: Sequence[Object], priorities: Sequence[int], limit: int = LIMIT) -> None:
        self._scheduler = Scheduler(Problem(Cluster.from_objects(objects)), preemption=False)
        self._problem, self._state = self._scheduler.problem, self._scheduler.state
        self._priorities = priorities
        self._limit = limit
        self._waiting = {
            pod for pod in self._scheduler.queue if not self._problem.pods[pod].spec.scheduling_gates
        }
        self._hard = ConstraintCounts(self._problem, self._state).hard
        self._before = excesses(self._hard)
        tiny = Digits(objects)
        kinds, _ = whereabouts(tiny)
        self._may_be_evicted_together = tiny.may_be_evicted_together
        self._movable = [
            (self._problem.pod_index[name], tiny.kinds[kind].pod)
            for name, kind in kinds.items()
            if tiny.kinds[kind].movable and name not in tiny.kinds[kind].names
        ]

    def run(self, *, moves: bool) -> Reached:
        """Evictions from none on; those of one number are all tried before more."""
        best = Reached((0,) * len(self._priorities))
        mark = self._state.mark()
        for cost in range(_MOST_EVICTIONS + 1 if moves else 1):
            for chosen in combinations(self._movable, cost):
                if not self._may_be_evicted_together([pod for _, pod in chosen]):
                    continue
                pods = [pod for pod, _ in chosen]
                for pod in pods:
                    self._state.unbind(pod)
                self._explore(self._waiting.union(pods), pods, cost, [], best)
                self._state.rollback(mark)
        best.complete = best.complete and (not moves or len(self._movable) <= _MOST_EVICTIONS)
        return best

    def _explore(
        self, waiting: set[int], evicted: list[int], cost: int, steps: list[str], best: Reached
    ) -> None:
        key = self._key(waiting)
        if key in best.seen:
            return
        if len(best.seen) >= self._limit:
            best.complete = False
            return
        best.seen.add(key)
        value = self._value(waiting, evicted)
        if value > best.value and (not evicted or self._is_no_worse()):
            names = tuple(f"evict {self._problem.pods[pod].key}" for pod in evicted)
            best.value, best.evictions, best.steps = value, cost, (*names, *steps)
        for pod in self._first_of_each(waiting):
            framework = self._scheduler.framework_of(pod)
            mask = framework.feasible(framework.plan(self._problem.template(pod))).mask.copy()
            for node in np.flatnonzero(mask).tolist():
                mark = self._state.mark()
                self._state.bind(pod, node)
                step = f"bind {self._problem.pods[pod].key} -> {self._problem.nodes.names[node]}"
                self._explore(waiting - {pod}, evicted, cost, [*steps, step], best)
                self._state.rollback(mark)

    def _is_no_worse(self) -> bool:
        """Whether no hard spread constraint has more pods too many than at the start."""
        return not worse(self._before, self._hard)

    def _first_of_each(self, waiting: set[int]) -> Iterator[int]:
        """One waiting pod of each template: others are like it."""
        found = {int(self._problem.template_of[pod]): pod for pod in sorted(waiting, reverse=True)}
        yield from found.values()

    def _value(self, waiting: set[int], evicted: Sequence[int]) -> Value:
        gained: Counter[int] = Counter()
        for pod in (*self._waiting, *evicted):
            if pod not in waiting:
                gained[self._problem.pods[pod].priority] += pod in self._waiting
            else:
                gained[self._problem.pods[pod].priority] -= pod not in self._waiting
        return tuple(gained[priority] for priority in self._priorities)

    def _key(self, waiting: set[int]) -> object:
        """Equal where the same pods stand on the same nodes and claims have the same volumes open to them."""
        templates = self._problem.template_of
        places = Counter(
            (int(templates[pod]), int(self._state.node_of[pod])) for pod in range(len(self._problem.pods))
        )
        claims = self._state.claims
        open_to = tuple(
            (key, claims.selected_node(claim), tuple(volume.name for volume in claims.candidates(claim)))
            for key, claim in claims.by_key.items()
            if not claims.is_bound(claim)
        )
        return frozenset(places.items()), open_to, len(waiting)
