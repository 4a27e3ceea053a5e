"""NodeResourcesBalancedAllocation: nodes whose resources are used in equal shares are better.

Kubernetes: the balance is 100 less the standard deviation of the shares requested of cpu and memory
(or of the resources configured); skipped for pods that request none of them.  Up to 1.35 the score is
the balance with the pod counted in; from 1.36 on it is what the pod does to the balance, 75 where it
changes nothing: `50 + (50 + with - without) / 2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.objects.scheduler_config import NodeResourcesBalancedAllocationArgs
from planner.constraints.family import MAX_SCORE, Score
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Feasible, Ints, Where
from planner.problem.problem import Problem
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY
from planner.problem.templates import Template
from planner.state.formulas import at, divisors, no_more_than, positive
from planner.state.load_arrays import LoadArray
from planner.state.state import State

_HALF = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(Score):
    """Likes nodes whose resources are used in equal shares, or become so."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(
        self,
        problem: Problem,
        state: State,
        args: NodeResourcesBalancedAllocationArgs | None = None,
    ) -> None:
        super().__init__(problem, state)
        resources = (args or NodeResourcesBalancedAllocationArgs()).resources
        known = problem.resource_index
        self._rows = [known[resource.name] for resource in resources if resource.name in known]
        self._divisors = divisors(problem.allocatable)
        self._everywhere = [bool(row.all()) for row in problem.allocatable > 0]
        self._scores: ArrayCache[LoadArray] = ArrayCache(self.nodes.size)

    def prefers(self, template: Template) -> bool:
        return bool(template.requests[self._rows].any())

    def score(self, template: Template, feasible: Feasible) -> Ints:
        rate = self._change if self.problem.behaviour.balance_is_change else self._rate
        return self._scores.get(
            template.requests_key,
            lambda: LoadArray(self.state, lambda where: rate(template, where)),
        ).current()

    def _change(self, template: Template, where: Where) -> Any:
        """What the pod does to the balance: 50 at worst, 75 where nothing changes, 100 at best."""
        change = self._rate(template, where) - self._rate(template, where, coming=False)
        # kube divides integers, towards zero; the sum is never negative, so that is rounding down.
        return _HALF + (_HALF + change) // 2

    def _rate(self, template: Template, where: Where, *, coming: bool = True) -> Any:
        """How equal the shares in use are, of 100, with the pod on the node or without it."""
        shares: list[Any] = []
        counted: list[Any] = []
        for row in self._rows:
            name, request = self.problem.resources[row], template.amounts[row]
            if not request and name not in (CPU, MEMORY, EPHEMERAL_STORAGE):
                continue
            room = at(self.problem.allocatable, row, where)
            load = no_more_than(at(self.state.used, row, where) + request * coming, room)
            shares.append(load / at(self._divisors, row, where))
            counted.append(1 if self._everywhere[row] else (room > 0) * 1)
        return _whole((1.0 - _deviation(shares, counted)) * MAX_SCORE)


def _whole(score: Any) -> Any:
    """The score without its fraction."""
    return int(score) if isinstance(score, float) else score.astype(np.int64)


def _deviation(shares: Sequence[Any], counted: Sequence[Any]) -> Any:
    """The standard deviation of the shares that count; of two it is half their difference."""
    if len(shares) == 2:  # noqa: PLR2004
        return counted[0] * counted[1] * (abs(shares[0] - shares[1]) / 2)
    number = sum(counted)
    mean = sum(share * counts for share, counts in zip(shares, counted, strict=True)) / positive(number)
    squares = sum(
        (share - mean) * (share - mean) * counts for share, counts in zip(shares, counted, strict=True)
    )
    highest = np.max([share * counts for share, counts in zip(shares, counted, strict=True)], axis=0)
    lowest = np.min([share + 2 * (1 - counts) for share, counts in zip(shares, counted, strict=True)], axis=0)
    return np.where(number == 2, (highest - lowest) / 2, np.sqrt(squares / positive(number)))  # noqa: PLR2004
