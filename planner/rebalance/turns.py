"""The turns that moves find: those of the search, or others where these leave something that moves mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from planner.eviction.protections import Protections
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.deals import Dealt, deal
from planner.rebalance.exhaustive import Values
from planner.rebalance.forced import forced
from planner.rebalance.movable import Movable
from planner.rebalance.search import Found, FoundMoves, MoveSearch
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.waves import WaveRules

_HELD = "nothing holds its replacement to the right nodes"


@dataclass(frozen=True, slots=True)
class Turns:
    """Deals moves out to waves; what others it tries depends on what has no turn."""

    board: TrialCluster
    movable: Movable
    protections: Protections
    rules: WaveRules
    most: int | None
    meter: Meter
    dealing: Meter

    def of(self, search: MoveSearch, found: FoundMoves) -> tuple[Dealt, Dealt]:
        """The best deal, and the one that tells which moves would do more if they had a turn."""
        others = partial(self._others, search)
        best = first = deal(self.board, found.moves, found.values, self.rules, self.dealing, others)
        instead = self._instead(search, found, first)
        while best.left or best.misses(found.values):
            known = next(instead, None)
            if known is None:
                break
            other = deal(self.board, *known, self.rules, self.dealing, lambda: ())
            best = min(best, other, key=lambda one: one.key)
        return best, first if not best.left and best.misses(found.values) else best

    def _others(self, search: MoveSearch) -> Iterator[Sequence[Move]]:
        yield forced(self.board, self.movable, self.protections, self.most)
        if self.rules.evict_only:
            yield search.run(natural=True).moves

    def _instead(self, search: MoveSearch, found: FoundMoves, first: Dealt) -> Iterator[Found]:
        """Other moves, the best of which may still leave more than was found."""
        better = search.landing(self._achieved(first), self.rules.steering)
        if better is not None:
            yield better
        pinnable = self.rules.steering.pinnable
        left = [move for move in first.left if self.board.template(move.pod) not in pinnable]
        if left and len(found.moves) * self.board.problem.nodes.size <= effort.DEALT_ONCE:
            yield from self._without(left)

    def _without(self, left: Sequence[Move]) -> Iterator[Found]:
        """Other moves without the pods that had no turn, then without all that are like them."""
        pods = {move.pod for move in left}
        alike = {pod for move in left for pod in self.movable.of(self.board.template(move.pod)).tolist()}
        for held in (pods, alike) if alike > pods else (pods,):
            if self.dealing.over():
                return
            movable = self.movable.without(held, _HELD)
            found = MoveSearch(self.board, movable, self.protections, self.meter, self.most).run()
            if found.moves:
                yield [*found.moves], found.values

    def _achieved(self, dealt: Dealt) -> Values:
        """What the moves achieve that have turns."""
        pods = [landing.move.pod for wave in dealt.waves for landing in wave]
        weight = int(self.movable.weights[pods].sum()) if pods else 0
        hard, soft = dealt.excess
        return {"hardExcess": hard, "softExcess": soft, "moves": len(pods), "disruption": weight}
