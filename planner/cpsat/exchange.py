"""The model of an exchange: which replicas leave, so that what they leave is room for those that come.

No other pod moves.  In every domain so many of a workload leave or come as its constraint asks for; the
nodes are full, so which of the replicas leave decides which others have room.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ortools.sat.python import cp_model

from planner.cpsat.solver import solved
from planner.cpsat.traffic import Exchange, Exchanged, Traffic
from planner.proof.meter import Meter


class ExchangeModel:
    """Variables and constraints of an exchange."""

    def __init__(self, exchange: Exchange) -> None:
        self.cp = cp_model.CpModel()
        self._exchange = exchange
        self._leave = {key: self.cp.new_int_var(0, most, "") for key, most in exchange.leaving.items()}
        self._slots = {key: self.cp.new_int_var(0, most, "") for key, most in exchange.coming.items()}
        self._come = {key: self.cp.new_int_var(0, each.most, "") for key, each in exchange.into.items()}
        self._goal: list[cp_model.LinearExprT] = []
        self._leave_domains()
        self._come_to_slots()
        self._conserve()
        self._keep_room()

    def _leave_domains(self) -> None:
        leaves: dict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        for (t, node), variable in self._leave.items():
            leaves[t, self._exchange.domain_of[self._exchange.kind_of[t]][node]].append(variable)
        for key, each in self._exchange.out.items():
            self._limit(cp_model.LinearExpr.sum(leaves[key]), each)

    def _come_to_slots(self) -> None:
        """So many slots of a kind in a domain as templates of the kind send pods there."""
        slots: dict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        comes: dict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        for (kind, node), variable in self._slots.items():
            slots[kind, self._exchange.domain_of[kind][node]].append(variable)
        for (t, domain), variable in self._come.items():
            comes[self._exchange.kind_of[t], domain].append(variable)
            self._limit(variable, self._exchange.into[t, domain])
        for key in comes.keys() | slots.keys():
            self.cp.add(cp_model.LinearExpr.sum(slots[key]) == cp_model.LinearExpr.sum(comes[key]))

    def _limit(self, pods: cp_model.LinearExprT, traffic: Traffic) -> None:
        """At most so many, and what has to be counts as reached."""
        self.cp.add(pods <= traffic.most)
        if traffic.least:
            reached = self.cp.new_int_var(0, traffic.least, "")
            self.cp.add(reached <= pods)
            self._goal.append(reached)

    def _conserve(self) -> None:
        """Every pod that leaves comes somewhere, in as many moves as the constraint needs at most."""
        leaves: dict[int, list[cp_model.IntVar]] = defaultdict(list)
        comes: dict[int, list[cp_model.IntVar]] = defaultdict(list)
        for (t, _), variable in self._leave.items():
            leaves[t].append(variable)
        for (t, _), variable in self._come.items():
            comes[t].append(variable)
        for t, most in self._exchange.moves.items():
            self.cp.add(cp_model.LinearExpr.sum(leaves[t]) == cp_model.LinearExpr.sum(comes[t]))
            self.cp.add(cp_model.LinearExpr.sum(leaves[t]) <= most)

    def _keep_room(self) -> None:
        used: dict[int, list[tuple[int, cp_model.IntVar, int]]] = defaultdict(list)
        for (t, node), variable in self._leave.items():
            used[node].append((self._exchange.kind_of[t], variable, -1))
        for (kind, node), variable in self._slots.items():
            used[node].append((kind, variable, 1))
        for node, parts in used.items():
            for row, free in enumerate(self._exchange.free[node]):
                terms = [(v, sign * self._exchange.wants[kind][row]) for kind, v, sign in parts]
                if any(weight > 0 for _, weight in terms):
                    variables, weights = zip(*terms, strict=True)
                    self.cp.add(cp_model.LinearExpr.weighted_sum(variables, weights) <= free)

    def solve(self, meter: Meter, work: float) -> Exchanged | None:
        """The exchange that does most of what has to be done."""
        self.cp.maximize(cp_model.LinearExpr.sum(self._goal))
        result = solved(self.cp, meter.step(work), work, linear=True)
        if not result.found:
            return None
        value = result.solver.value
        return Exchanged(
            Counter({key: n for key, v in self._leave.items() if (n := value(v))}),
            Counter({key: n for key, v in self._slots.items() if (n := value(v))}),
            Counter({key: n for key, v in self._come.items() if (n := value(v))}),
        )
