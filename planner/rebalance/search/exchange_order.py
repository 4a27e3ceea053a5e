"""An exchange of replicas as single moves: pods with room now, first those that leave a gap others need."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from planner.cpsat.traffic import Exchange, Exchanged
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.limits import EvictionLimits


class ExchangeOrder:
    """Makes the moves of an exchange on a trial cluster, as many as an order is found for."""

    def __init__(
        self,
        trial: TrialCluster,
        movable: Movable,
        limits: EvictionLimits,
        exchange: Exchange,
        found: Exchanged,
    ) -> None:
        self._trial = trial
        self._limits = limits
        self._exchange = exchange
        self._slots = Counter(found.slots)
        self._coming = Counter(found.coming)
        #: For every template the pods that leave, the cheapest first.
        self._leaving = {t: self._pods(movable, t, found) for t in exchange.kind_of}
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
            if left[node] and pod not in self._limits.moved:
                left[node] -= 1
                chosen.append(pod)
        return chosen

    def run(self, meter: Meter) -> list[Move]:
        """The moves in their order; they have been made."""
        moves: list[Move] = []
        while not meter.over():
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
