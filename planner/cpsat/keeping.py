"""The model of a consolidation: where every pod goes, and which nodes are kept for that, at the least cost.

It is the model of a batch whose running pods may move, with a truth for every node that may go: no pod is on
a node that goes.  Where cells hold several nodes of one kind, a number says how many of them are kept; that
is a relaxation, and its cost a bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from ortools.sat.python import cp_model

from planner.cpsat.kept import COST, LOAD, MOVES, Keepable, KeptRequirements, KeptSolution
from planner.cpsat.lexicographic import StageGoal, reach
from planner.cpsat.linear import LinearModel
from planner.cpsat.model import BatchModel, EncodedRule, Goal, values_of
from planner.cpsat.solver import Solved, solved
from planner.cpsat.variables import Batch
from planner.problem.nodes import Ints
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter


class JudgedConstraint(Protocol):
    """A hard spread constraint, counted over a state without the pods of the batch."""

    number: int
    max_skew: int
    members: frozenset[int]
    carriers: tuple[int, ...]
    #: The constraint's rule, and its carriers by domain; both count what a state holds.
    rule: Any
    held: Any


class KeepModel:
    """All pods of a batch have a place on nodes that are kept."""

    def __init__(
        self,
        batch: Batch,
        profiles: Sequence[tuple[Iterable[EncodedRule], Collection[int]]],
        keepable: Mapping[int, Keepable],
        constraints: Iterable[tuple[JudgedConstraint, int]],
        requirements: KeptRequirements,
    ) -> None:
        """Hard `constraints` have no more pods too many than so many; their counts lack the batch's pods."""
        self._model = BatchModel(batch, profiles, phases=1)
        self._counts = self._model.counts
        self._cp = self._counts.cp
        self._keepable = keepable
        #: For every template, how much of which resource its profile wants to be free.
        self._needs = {
            t: dict(wants)
            for rules, own in profiles
            for t in own
            for rule in rules
            if (wants := rule.wants(batch.problem.templates[t])) is not None
        }
        self._keep = {cell: self._cp.new_int_var(0, found.nodes, "") for cell, found in keepable.items()}
        self._at: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
        for template, cell, variable in (*self._counts.coming(), *self._counts.staying()):
            self._at[cell].append((template, variable))
        for template, wanted in batch.wanted.items():
            self._cp.add(self._counts.placed(template) == wanted)
        loads = self._loads(batch)
        for cell, found in keepable.items():
            self._hold(cell, np.maximum(found.free, loads[:, cell]))
        for constraint, allowed in constraints:
            self._get_no_worse(constraint, allowed)
        self._requirements = requirements
        self._require(requirements)

    def _loads(self, batch: Batch) -> Ints:
        """By resource, what running pods want on the node of each cell where it is most: they may stay."""
        rows, nodes = len(batch.problem.resources), batch.problem.nodes.size
        there = np.zeros((rows, nodes), np.int64)
        for template, running in batch.running.items():
            for row, amount in self._needs.get(template, {}).items():
                there[row] += amount * running
        found = np.zeros((rows, batch.cells.size), np.int64)
        np.maximum.at(found.T, batch.cells.of, there.T)
        return found

    def _hold(self, cell: int, room: Ints) -> None:
        """Pods are only on nodes that are kept, and no more than these have room for, or have now."""
        kept, sites = self._keep[cell], self._at[cell]
        for row, free in enumerate(room.tolist()):
            sizes = [(variable, self._needs.get(t, {}).get(row, 0)) for t, variable in sites]
            asked = [(variable, size) for variable, size in sizes if size]
            if asked:
                unit = math.gcd(*[size for _, size in asked])
                self._add(asked, [size // unit for _, size in asked], free // unit, kept)
                if not self._counts.cells.single:
                    self._strengthen(asked, free, kept)
        for template in dict.fromkeys(template for template, _ in sites):
            both = [variable for other, variable in sites if other == template]
            self._cp.add(cp_model.LinearExpr.sum(both) <= self._most(template, cell) * kept)

    def _most(self, template: int, cell: int) -> int:
        """The most pods of a template that one node of a cell has room for, or runs now.

        Those that come and those that stay together: what comes finds room beside what is there.
        """
        batch, inside = self._counts.batch, self._counts.cells.of == cell
        running = batch.running.get(template)
        now = 0 if running is None else int(running[inside].max())
        return max(int(batch.room[template][inside].max()), now)

    def _strengthen(self, asked: Sequence[tuple[Any, int]], free: int, kept: Any) -> None:
        """What rounding leaves no room for: dual feasible functions of the sizes, in 1/k/(k+1)."""
        for k in range(1, effort.DUAL_FUNCTIONS + 1):
            scaled = [
                k * quotient if not rest else (k + 1) * quotient
                for quotient, rest in (divmod((k + 1) * size, max(1, free)) for _, size in asked)
            ]
            if any(scaled):
                self._add(asked, scaled, k * (k + 1), kept)

    def _add(self, asked: Sequence[tuple[Any, int]], sizes: Sequence[int], free: int, kept: Any) -> None:
        used = cp_model.LinearExpr.weighted_sum([variable for variable, _ in asked], sizes)
        self._cp.add(used <= free * kept)

    def _get_no_worse(self, constraint: JudgedConstraint, allowed: int) -> None:
        """A constraint has no more than so many pods too many."""
        x, rule = self._counts, constraint.rule
        domains = x.domains(rule.column)
        if domains is None or not x.cells.tells(rule.counts.eligible):
            return
        members = {t: 1 for t in constraint.members if t in x.batch.wanted}
        sums, held = rule.counts.sums(), constraint.held.sums()
        low: Any = 0
        codes = np.flatnonzero(rule.counts.domains).tolist()
        counts = {
            code: int(sums[code]) + x.total(members, x.within(domains[code], rule.counts.eligible))
            for code in codes
        }
        if not rule.few_domains:
            low = self._cp.new_int_var(0, rule.ceiling(x.batch.wanted), "")
            for count in counts.values():
                x.require(low <= count)
        carriers = [t for t in constraint.carriers if t in x.batch.wanted]
        over = []
        for code, count in counts.items():
            surplus: Any = 0
            if allowed:
                surplus = self._cp.new_int_var(0, allowed, "")
                over.append(surplus)
            condition = count <= low + constraint.max_skew + surplus
            if held[code] or (not sums[code] and members.keys() <= {*carriers}):
                x.require(condition)
                continue
            some = x.any_there(("carriers", constraint.number, code), carriers, domains[code])
            if some is not None:
                x.require_if(some, condition)
        if over:
            self._cp.add(cp_model.LinearExpr.sum(over) <= allowed)

    def load(self) -> Any:
        """What the pods on the cell that is to be emptied count together."""
        emptied, sizes = self._requirements.emptied, self._requirements.sizes
        at = self._at[emptied] if emptied is not None else []
        return cp_model.LinearExpr.weighted_sum([v for _, v in at], [sizes.get(t, 1) for t, _ in at])

    def _require(self, requirements: KeptRequirements) -> None:
        for spare, brings in requirements.reserve:
            lost = [
                (found.nodes - self._keep[cell]) * brings[cell]
                for cell, found in self._keepable.items()
                if brings.get(cell)
            ]
            self._cp.add(cp_model.LinearExpr.sum(lost) <= spare)
        if requirements.most_moves is not None:
            self._cp.add(self.moves() <= requirements.most_moves)
        if requirements.least_cost > 0:
            self._cp.add(self.cost() >= requirements.least_cost)

    def cost(self) -> Any:
        """The price of the nodes that may go and are kept."""
        return cp_model.LinearExpr.weighted_sum(
            [*self._keep.values()], [found.price for found in self._keepable.values()]
        )

    def moves(self) -> Any:
        """The running pods of the batch that leave their node."""
        return self._model.moves(0.0).expression

    def hint(self, kept: KeptSolution) -> None:
        """Start from a solution."""
        for template, cell, variable in self._counts.coming():
            self._cp.add_hint(variable, kept.coming.get((template, cell), 0))
        for template, cell, variable in self._counts.staying():
            self._cp.add_hint(variable, kept.staying.get((template, cell), 0))
        for cell, variable in self._keep.items():
            self._cp.add_hint(variable, kept.nodes.get(cell, 0))

    def solve(self, stages: Mapping[str, float], meter: Meter) -> KeptSolution | None:
        """The best found, one stage after the other with its work; None when nothing was found."""
        every = {COST: self.cost, MOVES: self.moves, LOAD: self.load}
        goals = [Goal(name, every[name](), False, work) for name, work in stages.items()]
        kept: KeptSolution | None = None

        def solve(goal: Goal) -> Solved:
            return solved(self._cp, meter.part(goal.work), goal.work, linear=True)

        for found in reach(self._cp, goals, solve):
            kept = KeptSolution(
                values_of(found.solver, self._counts.coming()),
                values_of(found.solver, self._counts.staying()),
                {cell: found.solver.value(variable) for cell, variable in self._keep.items()},
                {**(kept.values if kept else {}), found.name: found.value},
                {**(kept.bounds if kept else {}), found.name: found.bound},
            )
        return kept

    def _may_stay(self, running: Mapping[int, Ints]) -> Iterator[Any]:
        """Of the pods of a template on nodes of a kind as many as run on the share of them that is kept."""
        cells = self._counts.cells
        for template, cell, variable in self._counts.coming():
            here = int(running[template][cells.of == cell].sum())
            if not here:
                continue
            stays = self._cp.new_int_var(0, here, "")
            self._cp.add(stays <= variable)
            if cell in self._keep:
                self._cp.add(stays * self._keepable[cell].nodes <= here * self._keep[cell])
            yield stays

    def least_cost(self, meter: Meter) -> int:
        """What the linear relaxation proves of the cost."""
        return max(0, -LinearModel(self._cp).bound(StageGoal(COST, -self.cost()), meter))

    def with_few_moves(self, running: Mapping[int, Ints], meter: Meter) -> KeptSolution | None:
        """A solution little above the least cost, in which many pods stay; conditions may be broken."""
        meter.spend(effort.PRICE_OF_QUOTAS * len(self._cp.proto.variables))
        cost = math.ceil(self.least_cost(meter) * (1 + effort.COST_TO_SPARE))
        stay = StageGoal(MOVES, cp_model.LinearExpr.sum([*self._may_stay(running)]))
        return self._kept(LinearModel(self._cp).near(StageGoal(COST, -self.cost()), -cost, stay, meter))

    def _kept(self, values: Ints | None) -> KeptSolution | None:
        if values is None:
            return None
        known = values.tolist()
        coming = {(t, cell): known[v.index] for t, cell, v in self._counts.coming() if known[v.index]}
        staying = {(t, cell): known[v.index] for t, cell, v in self._counts.staying() if known[v.index]}
        return KeptSolution(coming, staying, {cell: known[v.index] for cell, v in self._keep.items()})
