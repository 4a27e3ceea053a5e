"""Repair in a full cluster without ejecting other pods: one replica takes the gap that another one leaves.

Any replicas of a workload may leave a domain; well chosen ones leave room for all that come.
The solver chooses; `ExchangeOrder` makes the moves: pods with room now, first those that leave a gap that
others need: without that order 16 clusters next to full have 39 pins in 167 waves, not 36 in 165.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from planner.cpsat.traffic import Exchange, Exchanged, Traffic
from planner.moves.constraint_counts import TrackedConstraint, fewest_moves
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Codes, Mask
from planner.proof import move_effort as effort
from planner.rebalance.search.evaluation import Evaluator


@dataclass(frozen=True, slots=True)
class _Workload:
    """A template whose one constraint over shared domains is broken, and the moves that repair it."""

    template: int
    constraint: TrackedConstraint
    moves: int
    minimum: int
    open_to: Mask

    @property
    def codes(self) -> Codes:
        return self.constraint.rule.column.codes

    def traffic(self) -> Iterator[tuple[int, Traffic, Traffic]]:
        """Every domain with the pods that leave it, and those that come to it."""
        counts, most = self.constraint.rule.counts, self.minimum + self.constraint.max_skew
        for domain in np.flatnonzero(counts.domains).tolist():
            pods = int(counts.sums()[domain])
            out = Traffic(max(pods - most, 0), max(pods - self.minimum, 0))
            yield domain, out, Traffic(max(self.minimum - pods, 0), max(most - pods, 0))


#: Workloads whose pods ask for the same and may go to the same nodes.
_Kind = list[_Workload]
#: By template and domain.
_Flows = dict[tuple[int, int], Traffic]


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
                open_to = self._trial.plan(templates[0]).static & rule.counts.eligible
                yield _Workload(templates[0], constraint, *best, open_to)

    def _kinds(self, workloads: Iterable[_Workload]) -> list[_Kind]:
        found: dict[tuple[str, bytes, bytes], _Kind] = {}
        for workload in workloads:
            wants = self._trial.room_needed[workload.template]
            key = workload.constraint.rule.column.key, wants.tobytes(), workload.open_to.tobytes()
            found.setdefault(key, []).append(workload)
        return [*found.values()]

    def _exchange(self, kinds: Sequence[_Kind]) -> Exchange:
        out, into, leaving = _Flows(), _Flows(), Counter[tuple[int, int]]()
        workloads = [workload for kind in kinds for workload in kind]
        for workload in workloads:
            t = workload.template
            for domain, outward, inward in workload.traffic():
                out[t, domain], into[t, domain] = outward, inward
            leaving.update((t, node) for node in self._nodes_left(workload, out))
        coming = dict(self._coming(kinds, leaving, into))
        wants = self._trial.room_needed[[kind[0].template for kind in kinds]]
        rows = np.flatnonzero(wants.any(axis=0))
        # A unit that divides all amounts.
        units = np.gcd.reduce(wants[:, rows], axis=0)
        free = self._trial.free()[rows] // units[:, np.newaxis]
        nodes = sorted({node for _, node in leaving} | {node for _, node in coming})
        return Exchange(
            kind_of={w.template: number for number, kind in enumerate(kinds) for w in kind},
            wants=(wants[:, rows] // units).tolist(),
            domain_of=[kind[0].codes.tolist() for kind in kinds],
            leaving=leaving,
            coming=coming,
            out=out,
            into=into,
            moves={workload.template: workload.moves for workload in workloads},
            free={node: free[:, node].tolist() for node in nodes},
        )

    def _nodes_left(self, workload: _Workload, out: _Flows) -> Iterator[int]:
        """The nodes of pods that may leave."""
        nodes = self._trial.state.node_of[self._movable.of(workload.template)]
        for node in nodes[workload.constraint.rule.counts.eligible[nodes]].tolist():
            traffic = out.get((workload.template, int(workload.codes[node])))
            if traffic is not None and traffic.most:
                yield node

    def _coming(
        self, kinds: Sequence[_Kind], leaving: Mapping[tuple[int, int], int], into: _Flows
    ) -> Iterator[tuple[tuple[int, int], int]]:
        """By kind and node, how many pods could have room when all pods leave that may."""
        room = self._trial.free()
        for (t, node), pods in leaving.items():
            room[:, node] += pods * self._trial.taken[t]
        for number, kind in enumerate(kinds):
            codes = kind[0].codes
            templates = {workload.template for workload in kind}
            most = np.zeros(int(codes.max(initial=0)) + 2, np.int64)
            for (t, domain), traffic in into.items():
                most[domain] += traffic.most if t in templates else 0
            fit = self._trial.slots(kind[0].template, np.maximum(room, 0))
            fit = np.where(kind[0].open_to, np.minimum(fit, most[codes]), 0)
            yield from (((number, node), int(fit[node])) for node in np.flatnonzero(fit).tolist())


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
        """The cheapest pods of every node, as many as leave it."""
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
            found = [*self._round(opening=True)] or [*islice(self._round(opening=False), 1)]
            if not found:
                break
            moves += found
        return moves

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
            for move in islice(self._possible(template, node, opening=opening), effort.EXCHANGE_PODS):
                if self._limits.allow((move,)) and self._trial.attempt(move):
                    self._limits.remember((move,))
                    self._leaving[template].remove(move.pod)
                    self._coming[template, domain] -= 1
                    self._slots[kind, node] -= 1
                    self._wanted[node] -= 1
                    return move
        return None

    def _possible(self, template: int, node: int, *, opening: bool) -> Iterator[Move]:
        for pod in self._leaving[template]:
            source = int(self._trial.state.node_of[pod])
            if bool(self._wanted[source]) is opening and source != node:
                yield Move(pod, source, node)
