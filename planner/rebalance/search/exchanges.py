"""Repair in a full cluster without bystanders: one replica takes the gap that another one leaves.

Any replicas of a workload may leave a domain; well chosen ones leave room for all that come.
The solver chooses; `ExchangeOrder` makes the moves: pods with room now, first those that leave a gap that
others need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.cpsat.traffic import Exchange, Exchanged, Traffic
from planner.moves.constraint_counts import TrackedConstraint, fewest_moves
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import effort
from planner.rebalance.search.evaluation import Evaluator


@dataclass(frozen=True, slots=True)
class _Workload:
    """A template whose one constraint over shared domains is broken, and the moves that repair it."""

    template: int
    constraint: TrackedConstraint
    moves: int
    minimum: int

    @property
    def counts(self) -> Ints:
        """The pods of every domain."""
        return self.constraint.rule.counts.sums()

    def out(self, domain: int) -> Traffic:
        """The pods that leave a domain."""
        pods = int(self.counts[domain])
        most = self.minimum + self.constraint.max_skew
        return Traffic(max(pods - most, 0), max(pods - self.minimum, 0))

    def into(self, domain: int) -> Traffic:
        """The pods that come to a domain."""
        pods = int(self.counts[domain])
        most = self.minimum + self.constraint.max_skew
        return Traffic(max(self.minimum - pods, 0), max(most - pods, 0))


@dataclass(slots=True)
class _ExchangeKind:
    """Templates that ask for the same and may go to the same nodes."""

    codes: Codes
    open_to: Mask
    wants: Ints
    workloads: list[_Workload] = field(default_factory=list)


class Exchanges:
    """Exchanges replicas of broken constraints on a trial cluster."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._trial = evaluator.trial
        self._movable = evaluator.movable

    def repair(self) -> list[Move]:
        """Moves of the broken constraints' own pods, each to a gap that another leaves; all made."""
        it = self._evaluator
        it.set()
        kinds = self._kinds(self._workloads(it.still_broken()))
        exchange = self._exchange(kinds)
        if not exchange.coming or len(exchange.coming) > effort.REGION_VARIABLES:
            return []
        from planner.cpsat.exchange import ExchangeModel

        found = ExchangeModel(exchange).solve(it.meter, effort.EXCHANGE_WORK)
        return [] if found is None else ExchangeOrder(it, exchange, found).run()

    def _workloads(self, constraints: Iterable[TrackedConstraint]) -> Iterator[_Workload]:
        """Those whose pods all have the constraint, and no other one over shared domains."""
        for constraint in constraints:
            templates = [t for t in sorted(constraint.members) if self._movable.of(t).size]
            if (
                not constraint.rule.column.shared
                or len(templates) != 1
                or not constraint.members.issubset(constraint.carriers)
            ):
                continue
            others = [d for d in self._trial.ledger.of(templates[0]) if d.hard and d.rule.column.shared]
            rule = constraint.rule
            counts = rule.counts.sums()[rule.counts.domains]
            best = fewest_moves(counts, constraint.max_skew, few_domains=rule.few_domains)
            if len(others) == 1 and best is not None:
                yield _Workload(templates[0], constraint, *best)

    def _kinds(self, workloads: Iterable[_Workload]) -> list[_ExchangeKind]:
        found: dict[tuple[str, bytes, bytes], _ExchangeKind] = {}
        for workload in workloads:
            rule, wants = workload.constraint.rule, self._trial.wanted[workload.template]
            open_to = self._trial.plan(workload.template).static & rule.counts.eligible
            key = rule.column.key, wants.tobytes(), open_to.tobytes()
            kind = found.setdefault(key, _ExchangeKind(rule.column.codes, open_to, wants))
            kind.workloads.append(workload)
        return [*found.values()]

    def _exchange(self, kinds: Sequence[_ExchangeKind]) -> Exchange:
        out: dict[tuple[int, int], Traffic] = {}
        into: dict[tuple[int, int], Traffic] = {}
        leaving: Counter[tuple[int, int]] = Counter()
        for kind in kinds:
            for workload in kind.workloads:
                for domain in np.flatnonzero(workload.constraint.rule.counts.domains).tolist():
                    out[workload.template, domain] = workload.out(domain)
                    into[workload.template, domain] = workload.into(domain)
                leaving.update((workload.template, node) for node in self._standing(kind, workload, out))
        coming = dict(self._coming(kinds, leaving, into))
        rows, units = self._units(kinds)
        free = self._trial.free()[rows] // units[:, np.newaxis]
        nodes = sorted({node for _, node in leaving} | {node for _, node in coming})
        return Exchange(
            kind_of={w.template: number for number, kind in enumerate(kinds) for w in kind.workloads},
            wants=[(kind.wants[rows] // units).tolist() for kind in kinds],
            domain_of=[kind.codes.tolist() for kind in kinds],
            leaving=leaving,
            coming=coming,
            out=out,
            into=into,
            moves={w.template: w.moves for kind in kinds for w in kind.workloads},
            free={node: free[:, node].tolist() for node in nodes},
        )

    def _standing(
        self, kind: _ExchangeKind, workload: _Workload, out: Mapping[tuple[int, int], Traffic]
    ) -> Iterator[int]:
        """The nodes of pods that may leave."""
        for pod in self._movable.of(workload.template).tolist():
            node = int(self._trial.state.node_of[pod])
            traffic = out.get((workload.template, int(kind.codes[node])))
            eligible = workload.constraint.rule.counts.eligible[node]
            if eligible and traffic is not None and traffic.most:
                yield node

    def _coming(
        self,
        kinds: Sequence[_ExchangeKind],
        leaving: Mapping[tuple[int, int], int],
        into: Mapping[tuple[int, int], Traffic],
    ) -> Iterator[tuple[tuple[int, int], int]]:
        """By kind and node, how many pods could have room when all pods leave that may."""
        room = self._trial.free()
        for (t, node), pods in leaving.items():
            room[:, node] += pods * self._trial.taken[t]
        for number, kind in enumerate(kinds):
            most = np.zeros(int(kind.codes.max(initial=0)) + 2, np.int64)
            for workload in kind.workloads:
                for domain in np.flatnonzero(workload.constraint.rule.counts.domains).tolist():
                    most[domain] += into[workload.template, domain].most
            asked = kind.wants > 0
            fit = (np.maximum(room[asked], 0) // kind.wants[asked, np.newaxis]).min(axis=0)
            fit = np.where(kind.open_to, np.minimum(fit, most[kind.codes]), 0)
            yield from (((number, node), int(fit[node])) for node in np.flatnonzero(fit).tolist())

    @staticmethod
    def _units(kinds: Sequence[_ExchangeKind]) -> tuple[Codes, Ints]:
        """The rows of the requested resources, and for each a unit that divides all amounts."""
        if not kinds:
            return np.empty(0, np.intp), np.empty(0, np.int64)
        wants = np.stack([kind.wants for kind in kinds])
        rows = np.flatnonzero(wants.any(axis=0))
        return rows, np.gcd.reduce(wants[:, rows], axis=0)


class ExchangeOrder:
    """Makes the moves of an exchange on a trial cluster, as many as an order is found for."""

    def __init__(self, evaluator: Evaluator, exchange: Exchange, found: Exchanged) -> None:
        self._trial = evaluator.trial
        self._meter = evaluator.meter
        self._limits = evaluator.limits()
        self._exchange = exchange
        self._slots = Counter(found.slots)
        self._coming = Counter(found.coming)
        #: For every template the pods that leave, the cheapest first.
        self._leaving = {t: self._pods(evaluator.movable, t, found) for t in exchange.kind_of}
        self._wanted = Counter(node for _, node in self._slots.elements())
        self._templates: dict[int, list[int]] = defaultdict(list)
        for t, kind in exchange.kind_of.items():
            self._templates[kind].append(t)

    def _pods(self, movable: Movable, template: int, found: Exchanged) -> list[int]:
        left = Counter({node: n for (t, node), n in found.leaving.items() if t == template})
        pods = sorted(movable.of(template).tolist(), key=lambda pod: (int(movable.weights[pod]), pod))
        chosen = []
        for pod in pods:
            node = int(self._trial.state.node_of[pod])
            if left[node]:
                left[node] -= 1
                chosen.append(pod)
        return chosen

    def run(self) -> list[Move]:
        """The moves in their order; they have been made."""
        moves: list[Move] = []
        while not self._meter.over():
            found = [*self._round(opening=True)] or [*self._first(self._round(opening=False))]
            if not found:
                break
            moves += found
        return moves

    @staticmethod
    def _first(moves: Iterator[Move]) -> Iterator[Move]:
        found = next(moves, None)
        if found is not None:
            yield found

    def _round(self, *, opening: bool) -> Iterator[Move]:
        """Moves to slots with room; with `opening` only of pods that leave a gap for others."""
        for kind, node in sorted(self._slots):
            while self._slots[kind, node]:
                move = self._into(kind, node, opening=opening)
                if move is None:
                    break
                yield move

    def _into(self, kind: int, node: int, *, opening: bool) -> Move | None:
        """A move to a slot, if any pod can come there now; it has been made."""
        domain = self._exchange.domain_of[kind][node]
        for template in self._templates[kind]:
            if not self._coming[template, domain] or not self._trial.accepts(template, node):
                continue
            tried = 0
            for pod in self._leaving[template]:
                source = int(self._trial.state.node_of[pod])
                if bool(self._wanted[source]) is not opening or source == node:
                    continue
                tried += 1
                if tried > effort.EXCHANGE_PODS:
                    break
                move = Move(pod, source, node)
                if self._limits.allow((move,)) and self._trial.attempt(move):
                    self._take(move, template, kind, domain)
                    return move
        return None

    def _take(self, move: Move, template: int, kind: int, domain: int) -> None:
        self._limits.remember((move,))
        self._leaving[template].remove(move.pod)
        self._coming[template, domain] -= 1
        self._slots[kind, move.target] -= 1
        self._wanted[move.target] -= 1
