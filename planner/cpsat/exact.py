"""The exact model: every constraint of every pod over `x[template, node]`, solved stage by stage.

One model a stage, each with what the stages before achieved as a constraint.  The bound of a stage is
a proof only while the stages before it were proved.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from planner.constraints import Filter
from planner.cpsat.variables import Batch, Counts

#: One worker finds the same plan on every machine.
_WORKERS = 1
_SEED = 1


@dataclass(frozen=True, slots=True)
class Found:
    """A placement; and per priority the most pods that one as good at the higher ones could have."""

    placement: dict[tuple[int, int], int]
    bounds: dict[int, int]


class ExactModel:
    """A batch under all its constraints; `final` as they must hold when all is placed."""

    def __init__(self, batch: Batch, families: Iterable[Filter], *, final: bool) -> None:
        self._batch = batch
        self._x = Counts(batch, final=final)
        for family in families:
            family.encode(self._x)

    def solve(self, hint: Mapping[tuple[int, int], int], deadline: float) -> Found | None:
        """The most pods, highest priority first; None when time ran out before anything was found."""
        best: dict[tuple[int, int], int] | None = None
        bounds: dict[int, int] = {}
        for priority, templates in self._priorities():
            goal = cp_model.LinearExpr.sum([self._x.placed(template) for template in templates])
            self._hint(best if best is not None else hint)
            solver = _solver(deadline)
            self._x.cp.maximize(goal)
            status = solver.solve(self._x.cp)
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                break
            best = {(t, n): count for t, n, v in self._x.items() if (count := solver.value(v))}
            placed = sum(count for (t, _), count in best.items() if t in templates)
            bounds[priority] = int(solver.best_objective_bound + 1e-6)
            self._x.cp.add(goal >= placed)
        return None if best is None else Found(best, bounds)

    def _priorities(self) -> Sequence[tuple[int, frozenset[int]]]:
        """The templates by priority, highest first."""
        by_priority: dict[int, set[int]] = {}
        for template in self._batch.templates:
            by_priority.setdefault(template.priority, set()).add(template.index)
        return [(p, frozenset(by_priority[p])) for p in sorted(by_priority, reverse=True)]

    def _hint(self, placement: Mapping[tuple[int, int], int]) -> None:
        self._x.clear_hints()
        for template, node, variable in self._x.items():
            self._x.cp.add_hint(variable, placement.get((template, node), 0))


def _solver(deadline: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.05, deadline - time.monotonic())
    solver.parameters.num_workers = _WORKERS
    solver.parameters.random_seed = _SEED
    return solver
