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
from planner.state.load_arrays import (
    Formula,
    LoadArray,
    at,
    divisors,
    everywhere,
    no_more_than,
    of_node,
    positive,
)
from planner.state.state import State

#: These count for pods that do not ask for them, too.
_ALWAYS = (CPU, MEMORY, EPHEMERAL_STORAGE)
_UNCHANGED = 75


class NodeResourcesBalancedAllocation(Score):
    """Prefers nodes whose resources are used in equal shares, or become so."""

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
        self._everywhere = everywhere(problem.allocatable)
        self._scores: ArrayCache[LoadArray] = ArrayCache(self.nodes.size)
        #: The balance before a pod comes, by the resources that count for it.
        self._before: ArrayCache[LoadArray] = ArrayCache(self.nodes.size)

    def prefers(self, template: Template) -> bool:
        return any(template.amounts[row] for row in self._rows)

    def is_of_node(self, template: Template) -> bool:
        return True

    def score(self, template: Template, feasible: Feasible) -> Ints:
        return self._scores.get(
            template.requests_key,
            lambda: LoadArray(self.state, self._formula(template)),
        ).current()

    def _formula(self, template: Template) -> Formula:
        """The score that the copied release gives a template."""
        rows = [row for row in self._rows if template.amounts[row] or self.problem.resources[row] in _ALWAYS]
        amounts = [template.amounts[row] for row in rows]
        if not self.problem.behaviour.balance_is_change:
            return lambda where: self._balance(rows, amounts, where)
        nothing = [0] * len(rows)
        before = self._before.get(
            tuple(rows), lambda: LoadArray(self.state, lambda where: self._balance(rows, nothing, where))
        )

        def change(where: Where) -> Any:
            # kube adds 50 before it halves, so that the sum is never negative and the half is rounded down.
            found = self._balance(rows, amounts, where)
            found -= of_node(before.current(), where)
            found >>= 1
            found += _UNCHANGED
            return found

        return change

    def _balance(self, rows: Sequence[int], amounts: Sequence[int], where: Where) -> Any:
        """How equal the shares in use of some resources are, of 100, with so much more on the node."""
        shares: list[Any] = []
        counted: list[Any] = []
        rooms, used, divisor = self.problem.allocatable, self.state.used, self._divisors
        for row, amount in zip(rows, amounts, strict=True):
            room = at(rooms, row, where)
            load = no_more_than(at(used, row, where) + amount, room)
            shares.append(load / at(divisor, row, where))
            counted.append(1 if self._everywhere[row] else (room > 0) * 1)
        return _whole((1.0 - _deviation(shares, counted)) * MAX_SCORE)


def _whole(score: Any) -> Any:
    """The score without its fraction."""
    return int(score) if isinstance(score, float) else score.astype(np.int64)


def _deviation(shares: Sequence[Any], counted: Sequence[Any]) -> Any:
    """The standard deviation of the shares that count; of two it is half their difference."""
    if len(shares) == 2:  # noqa: PLR2004
        half, both = abs(shares[0] - shares[1]) / 2, counted[0] * counted[1]
        return half if isinstance(both, int) and both else both * half
    number = sum(counted)
    mean = sum(share * counts for share, counts in zip(shares, counted, strict=True)) / positive(number)
    squares = sum(
        (share - mean) * (share - mean) * counts for share, counts in zip(shares, counted, strict=True)
    )
    highest = np.max([share * counts for share, counts in zip(shares, counted, strict=True)], axis=0)
    lowest = np.min([share + 2 * (1 - counts) for share, counts in zip(shares, counted, strict=True)], axis=0)
    return np.where(number == 2, (highest - lowest) / 2, np.sqrt(squares / positive(number)))  # noqa: PLR2004
