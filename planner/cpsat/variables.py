"""The variables: how many pods of each template of a batch come to each cell of nodes, and stay there.

Families constrain them through this container alone, in plain arithmetic, so that no family needs to
import the solver.  Where every node is its own cell the model is exact; where cells hold several
nodes it is a relaxation: a family says what holds for the sum over a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from planner.cpsat.spread import DomainPods, Spread
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Column, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template

_Variables = dict[int, dict[int, cp_model.IntVar]]


class Batch:
    """The pods to be placed: how many of each template, and how many of them a node could take at most.

    `uneven` are identities of spread constraints that have pods too many while pods of the batch still run
    where they are: while these move, the global minimum may be higher than it is in the end.

    Pods that run and may move are among those wanted; `running` says how many each node has.  The
    state behind the model does not hold them.
    """

    def __init__(  # noqa: PLR0913 - what a batch is
        self,
        problem: Problem,
        wanted: Mapping[int, int],
        room: Mapping[int, Ints],
        *,
        cells: NodeGroups | None = None,
        running: Mapping[int, Ints] | None = None,
        uneven: Collection[Hashable] = (),
    ) -> None:
        self.problem = problem
        self.uneven = uneven
        self.wanted = dict(wanted)
        self.room = room
        self.running = running or {}
        self.cells = NodeGroups.single_nodes(problem.nodes.size) if cells is None else cells

    @property
    def templates(self) -> Iterator[Template]:
        return (self.problem.templates[number] for number in self.wanted)


class Holds(Enum):
    """When the constraints of coming pods are looked at."""

    #: When each pod is bound, whatever the order: what is necessary for any order.
    AT_ANY_TURN = auto()
    #: When a phase is over, for the pods that come in it.
    AFTER_A_PHASE = auto()
    #: The same, and a phase is one pod.
    AFTER_A_POD = auto()
    #: When all is placed, as far as any order of binds and moves leads there.
    AT_THE_END = auto()
    #: When all is placed, for each pod beside all others as if it came last.
    IN_A_FINAL_STATE = auto()


class Counts:
    """`x[template, cell]` and what families say about it.

    `fullness` below 1 leaves a part of every cell's room unused, so that its nodes need not be packed
    tightly.  What comes may come after what came `before`: totals count both, presence only the later ones.
    """

    def __init__(
        self, batch: Batch, holds: Holds, *, fullness: float = 1.0, before: Counts | None = None
    ) -> None:
        self.cp: cp_model.CpModel = cp_model.CpModel() if before is None else before.cp
        self.batch = batch
        self.cells = batch.cells
        self.holds = holds
        self._fullness = fullness
        self._coming: _Variables = {}
        self._staying: _Variables = {}
        #: The templates whose constraints are being encoded: all, or those of one profile.
        self.carriers: Collection[int] = batch.wanted.keys()
        #: The templates that the family being encoded is asked about, in whatever profile.
        self.asked: Collection[int] = batch.wanted.keys()
        self._present: dict[Hashable, cp_model.IntVar] = {}
        self._domains: dict[str, dict[int, list[int]] | None] = {}
        for template, wanted in batch.wanted.items():
            self._make(template, wanted)
            if template in batch.running and before is None:
                self._make_staying(template)
        earlier = [] if before is None else before._sides
        self._sides: list[_Variables] = [self._coming, self._staying, *earlier]
        for template, wanted in batch.wanted.items():
            self.cp.add(self.placed(template) <= wanted)

    def _make(self, template: int, wanted: int) -> None:
        room = self.cells.sums(self.batch.room[template])
        self._coming[template] = {
            cell: self.cp.new_int_var(0, min(wanted, int(room[cell])), f"coming_{template}_{cell}")
            for cell in np.flatnonzero(room).tolist()
        }

    def _make_staying(self, template: int) -> None:
        there = self.cells.sums(self.batch.running[template])
        self._staying[template] = {
            cell: self.cp.new_int_var(0, int(there[cell]), f"staying_{template}_{cell}")
            for cell in np.flatnonzero(there).tolist()
        }

    @property
    def final(self) -> bool:
        """Whether constraints hold after all that comes, rather than when some pod is bound."""
        return self.holds is not Holds.AT_ANY_TURN

    @property
    def is_final_state(self) -> bool:
        """Whether each pod that comes is judged beside all others, whichever profile these are of."""
        return self.holds is Holds.IN_A_FINAL_STATE

    @property
    def one_comes(self) -> bool:
        """Whether no more than one pod comes, beside those that came in earlier phases."""
        return self.holds is Holds.AFTER_A_POD

    def judged(self) -> Iterator[Template]:
        """The templates of the batch that a rule is asked about; others may come last, past any limit."""
        return (template for template in self.batch.templates if template.index in self.asked)

    def clear_hints(self) -> None:
        """Forget what was hinted."""
        self.cp.clear_hints()  # type: ignore[no-untyped-call]

    def coming(self) -> Iterator[tuple[int, int, cp_model.IntVar]]:
        """Every template, cell and variable for the pods that come."""
        return _flat(self._coming)

    def staying(self) -> Iterator[tuple[int, int, cp_model.IntVar]]:
        """Every template, cell and variable for the pods that run there already and stay."""
        return _flat(self._staying)

    def cells_of(self, template: int) -> Iterable[int]:
        return self._coming[template].keys()

    def reached(self, templates: Iterable[int]) -> list[int]:
        """The cells that pods of some templates may come to, or may be in already, in their order."""
        return sorted(
            {cell for template in templates for side in self._sides for cell in side.get(template, ())}
        )

    def placed(self, template: int) -> Any:
        """How many pods of a template have a place at all."""
        return cp_model.LinearExpr.sum(
            [variable for side in self._sides for variable in side.get(template, {}).values()]
        )

    def domains(self, column: Column) -> Mapping[int, list[int]] | None:
        """The cells of every value of a label; None where a cell has nodes with different values."""
        if column.key not in self._domains:
            self._domains[column.key] = self._read_domains(column)
        return self._domains[column.key]

    def _read_domains(self, column: Column) -> dict[int, list[int]] | None:
        if not self.cells.tells(column.codes):
            return None
        found: dict[int, list[int]] = {code: [] for code in range(len(column.values))}
        for cell, code in enumerate(column.codes[self.cells.first].tolist()):
            if code >= 0:
                found[code].append(cell)
        return found

    def within(self, cells: Iterable[int], mask: Mask) -> list[int]:
        """Those of the cells whose nodes, all alike, are in the mask."""
        inside = mask[self.cells.first]
        return [cell for cell in cells if inside[cell]]

    def summed(self, amounts: Ints) -> list[int]:
        """Amounts of nodes added up for each cell."""
        found: list[int] = self.cells.sums(amounts).tolist()
        return found

    def at_best(self, amounts: Ints) -> list[int]:
        """The largest amount in each cell."""
        if self.cells.single:
            found: list[int] = amounts.tolist()
            return found
        largest = np.full(self.cells.size, np.iinfo(np.int64).min)
        np.maximum.at(largest, self.cells.of, amounts)
        highest: list[int] = largest.tolist()
        return highest

    def total(self, amounts: Mapping[int, int], cells: Iterable[int]) -> Any:
        """The pods of some templates, each counted so often, that come to some cells or stay there."""
        return _sum(self._sides, amounts, cells)

    def arriving(self, amounts: Mapping[int, int], cells: Iterable[int]) -> Any:
        """Those of them that come; of a model in phases, in this one."""
        return _sum(self._sides[:1], amounts, cells)

    def found(self, amounts: Mapping[int, int], cells: Iterable[int]) -> Any:
        """Those of them that a coming pod finds there: they stay, or came in an earlier phase."""
        return _sum(self._sides[1:], amounts, cells)

    def may_be_found(self, templates: Iterable[int]) -> bool:
        """Whether coming pods may find pods of some templates that the model's state does not hold."""
        return any(template in side for side in self._sides[1:] for template in templates)

    def running(self, amounts: Mapping[int, int]) -> Ints:
        """For every node, the pods of some templates that run there and may stay, each counted so often."""
        load = np.zeros(self.batch.problem.nodes.size, np.int64)
        for template, pods in self.batch.running.items():
            load += amounts.get(template, 0) * pods
        return load

    def limit(self, name: Hashable, amounts: Mapping[int, int], free: Ints, *, tight: bool = False) -> None:
        """On every node no more of some templates than are free, if one of them comes.

        Pods that run there may stay, even where it is too much already.  `tight` leaves the room unused that
        is to be left over.
        """
        load = self.running(amounts)
        most = self.cells.sums(np.maximum(free, load))
        for cell in sorted({cell for template in amounts for cell in self._coming.get(template, ())}):
            room = self.filled(int(most[cell])) if tight else int(most[cell])
            self.require(self.total(amounts, (cell,)) <= room)
        for node in np.flatnonzero(load > free).tolist() if self.cells.single else ():
            coming = self.any_of((name, node), amounts, (node,))
            if coming is not None:
                self.require_if(coming, self.total(amounts, (node,)) <= int(free[node]))

    def filled(self, room: int) -> int:
        """What of some room may be taken."""
        # A float would round what has more than 53 bits.
        return int(room * self._fullness) if self._fullness < 1.0 else room

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
        self, name: Hashable, templates: Iterable[int], cells: Iterable[int]
    ) -> cp_model.IntVar | None:
        """True exactly when some pod of the templates comes to the cells; None when none can."""
        return self._any(self._sides[:1], name, templates, cells)

    def any_there(
        self, name: Hashable, templates: Iterable[int], cells: Iterable[int]
    ) -> cp_model.IntVar | None:
        """True exactly when some pod of the templates comes to the cells, stays there or came before."""
        return self._any(self._sides, name, templates, cells)

    def _any(
        self, sides: Sequence[_Variables], name: Hashable, templates: Iterable[int], cells: Iterable[int]
    ) -> cp_model.IntVar | None:
        found = self._present.get(name)
        if found is not None:
            return found
        variables = [side[t][c] for t in templates for c in cells for side in sides if c in side.get(t, {})]
        if not variables:
            return None
        found = self._present[name] = self.cp.new_bool_var(f"any_of_{name}")
        number = cp_model.LinearExpr.sum(variables)
        self.cp.add(number >= 1).only_enforce_if(found)
        self.cp.add(number == 0).only_enforce_if(~found)
        return found

    def spread(
        self,
        domains: Iterable[tuple[Any, int, int, int]],
        max_skew: int,
        *,
        few_domains: bool = False,
        ceiling: int | None = None,
    ) -> Spread:
        """A spread constraint over domains: what each holds, and between what numbers that lies."""
        pods = [DomainPods(*domain) for domain in domains]
        return Spread(self.cp, pods, max_skew, few_domains=few_domains, ceiling=ceiling)

    def integer(self, low: int, high: int, name: str) -> cp_model.IntVar:
        """A number between two others, for a family's own use."""
        return self.cp.new_int_var(low, high, name)

    def start(self, name: Hashable) -> cp_model.IntVar:
        """A truth that the solver may choose, the same for the same name."""
        found = self._present.get(name)
        if found is None:
            found = self._present[name] = self.cp.new_bool_var(str(name))
        return found


def _sum(sides: Sequence[_Variables], amounts: Mapping[int, int], cells: Iterable[int]) -> Any:
    variables, weights = [], []
    for cell in cells:
        for template, amount in amounts.items():
            for side in sides:
                variable = side.get(template, {}).get(cell)
                if variable is not None and amount:
                    variables.append(variable)
                    weights.append(amount)
    return cp_model.LinearExpr.weighted_sum(variables, weights) if variables else 0


def _flat(variables: _Variables) -> Iterator[tuple[int, int, cp_model.IntVar]]:
    for template, cells in variables.items():
        for cell, variable in cells.items():
            yield template, cell, variable
