"""What hard spread constraints have too much in a state that changes, constraint by constraint."""

from __future__ import annotations

from planner.audit.spread_counts import asked, excess_of
from planner.constraints.pod_topology_spread import HARD
from planner.problem.problem import Problem
from planner.state.state import State


class HardExcess:
    """The surplus of every hard constraint, read from a state as it is when it is asked for."""

    def __init__(self, problem: Problem, state: State) -> None:
        self._problem = problem
        self._state = state
        found = asked(problem, state)
        self._rules = [rule for rule in found if rule.rule.constraint.when_unsatisfiable == HARD]

    def now(self) -> list[int]:
        """The pods that every constraint has too many, all its domains together."""
        return excess_of(self._problem, self._state, self._rules)
