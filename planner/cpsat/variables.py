"""The variables: how many pods of each template of a batch come to each node.

Families constrain them through this container alone, in plain arithmetic, so that no family needs to
import the solver.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from planner.nodes import Mask
from planner.problem import Problem
from planner.templates import Template


class Batch:
    """Which pods are to be placed: how many of each template, and where each may go."""

    def __init__(self, problem: Problem, wanted: Mapping[int, int], allowed: Mapping[int, Mask]) -> None:
        self.problem = problem
        self.wanted = dict(wanted)
        self.allowed = allowed

    @property
    def templates(self) -> Iterator[Template]:
        """The templates of the batch."""
        return (self.problem.templates[number] for number in self.wanted)


class Counts:
    """`x[template, node]` and what families say about it."""

    def __init__(self, batch: Batch, *, final: bool) -> None:
        self.cp = cp_model.CpModel()
        self.batch = batch
        self.final = final
        self._at: dict[int, dict[int, cp_model.IntVar]] = {}
        self._present: dict[Hashable, cp_model.IntVar] = {}
        for template, wanted in batch.wanted.items():
            nodes = np.flatnonzero(batch.allowed[template]).tolist()
            self._at[template] = {
                node: self.cp.new_int_var(0, wanted, f"pods_of_{template}_on_{node}") for node in nodes
            }
            self.cp.add(sum(self._at[template].values()) <= wanted)

    def clear_hints(self) -> None:
        """Forget what was hinted."""
        self.cp.clear_hints()  # type: ignore[no-untyped-call]

    def items(self) -> Iterator[tuple[int, int, cp_model.IntVar]]:
        """Every template, node and variable."""
        for template, nodes in self._at.items():
            for node, variable in nodes.items():
                yield template, node, variable

    def at(self, template: int, node: int) -> Any:
        """How many pods of a template come to a node; plain 0 where none can."""
        return self._at[template].get(node, 0) if template in self._at else 0

    def nodes_of(self, template: int) -> Iterable[int]:
        """The nodes that a template may come to."""
        return self._at[template].keys()

    def placed(self, template: int) -> Any:
        """How many pods of a template are placed at all."""
        return cp_model.LinearExpr.sum(list(self._at[template].values()))

    def total(self, amounts: Mapping[int, int], nodes: Iterable[int]) -> Any:
        """The pods of some templates, each counted so often, that come to some nodes."""
        variables, weights = [], []
        for node in nodes:
            for template, amount in amounts.items():
                variable = self._at.get(template, {}).get(node)
                if variable is not None and amount:
                    variables.append(variable)
                    weights.append(amount)
        return cp_model.LinearExpr.weighted_sum(variables, weights) if variables else 0

    def forbid(self, template: int, nodes: Iterable[int]) -> None:
        """No pod of the template comes to these nodes."""
        for node in nodes:
            variable = self._at[template].get(node)
            if variable is not None:
                self.cp.add(variable == 0)

    def require(self, condition: Any) -> None:
        """The condition holds; a plain False makes the whole model infeasible."""
        if isinstance(condition, bool | np.bool_):
            if not condition:
                self.cp.add_bool_or([])
            return
        self.cp.add(condition)

    def require_if(self, present: Any, condition: Any) -> None:
        """The condition holds whenever the literal is true."""
        if isinstance(condition, bool | np.bool_):
            if not condition:
                self.cp.add(present == 0)
            return
        self.cp.add(condition).only_enforce_if(present)

    def any_of(
        self, name: Hashable, templates: Iterable[int], nodes: Iterable[int]
    ) -> cp_model.IntVar | None:
        """True exactly when some pod of the templates comes to the nodes; None when none can."""
        found = self._present.get(name)
        if found is not None:
            return found
        variables = [self._at[t][n] for t in templates for n in nodes if n in self._at.get(t, {})]
        if not variables:
            return None
        found = self._present[name] = self.cp.new_bool_var(f"any_of_{name}")
        number = cp_model.LinearExpr.sum(variables)
        self.cp.add(number >= 1).only_enforce_if(found)
        self.cp.add(number == 0).only_enforce_if(~found)
        return found

    def integer(self, low: int, high: int, name: str) -> cp_model.IntVar:
        """A number between two others, for a family's own use."""
        return self.cp.new_int_var(low, high, name)

    def start(self, name: Hashable) -> cp_model.IntVar:
        """A truth that the solver may choose, the same for the same name."""
        found = self._present.get(name)
        if found is None:
            found = self._present[name] = self.cp.new_bool_var(str(name))
        return found
