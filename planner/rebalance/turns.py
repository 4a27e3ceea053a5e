"""The turns that moves find: those of the search, or others where these leave something that moves mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from planner.eviction.protections import Protections
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.deals import Deals, Dealt
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
        deals = Deals(self.board, self.rules, self.dealing)
        moves, values, dealt = self._led_on(deals, found)
        best = first = deals.of(moves, values, partial(self._others, search), dealt)
        instead = self._instead(search, deals, found, first)
        while best.left or best.misses(found.values):
            known = next(instead, None)
            if known is None:
                break
            best = min(best, deals.of(*known, lambda: ()), key=lambda one: one.key)
        return best, first if not best.left and best.misses(found.values) else best

    def _led_on(self, deals: Deals, found: FoundMoves) -> tuple[Sequence[Move], Values, Dealt]:
        """Moves of a large cluster, others than were found if only a few of these have no turn; their deal.

        What is left then would be pinned with nearly all the others, to one certain node each.
        """
        every = moves, values, dealt = found.moves, found.values, deals.with_care(found.moves, found.values)
        # What comes before pins.
        counted, held = found.stages[: found.stages.index("moves") + 1], set[int]()
        for _ in range(effort.SCARCE_SEARCHES if deals.is_large(moves) else 0):
            if not 0 < len(dealt.left) <= effort.SCARCE_FEW * len(moves) or self.meter.over():
                break
            held |= {move.pod for move in dealt.left}
            again = self._search(self.movable.without(held, _HELD))
            if any(again.values[name] > found.values[name] for name in counted):
                break
            moves, values, dealt = again.moves, again.values, deals.with_care(again.moves, again.values)
        return every if dealt.left or dealt.misses(found.values) else (moves, values, dealt)

    def _search(self, movable: Movable) -> FoundMoves:
        return MoveSearch(self.board, movable, self.protections, self.meter, self.most).run()

    def _others(self, search: MoveSearch) -> Iterator[Sequence[Move]]:
        yield forced(self.board, self.movable, self.protections, self.most)
        if self.rules.evict_only:
            yield search.run(natural=True).moves

    def _instead(self, search: MoveSearch, deals: Deals, found: FoundMoves, first: Dealt) -> Iterator[Found]:
        """Other moves, the best of which may still leave more than was found."""
        better = search.landing(self._achieved(first), self.rules.steering)
        if better is not None:
            yield better
        pinnable = self.rules.steering.pinnable
        left = [move for move in first.left if self.board.template(move.pod) not in pinnable]
        if left and not deals.is_large(found.moves):
            yield from self._without(left)

    def _without(self, left: Sequence[Move]) -> Iterator[Found]:
        """Other moves without the pods that had no turn, then without all that are like them."""
        pods = {move.pod for move in left}
        alike = {pod for move in left for pod in self.movable.of(self.board.template(move.pod)).tolist()}
        for held in (pods, alike) if alike > pods else (pods,):
            if self.dealing.over():
                return
            found = self._search(self.movable.without(held, _HELD))
            if found.moves:
                yield [*found.moves], found.values

    def _achieved(self, dealt: Dealt) -> Values:
        """What the moves achieve that have turns."""
        pods = [landing.move.pod for wave in dealt.waves for landing in wave]
        weight = int(self.movable.weights[pods].sum()) if pods else 0
        hard, soft = dealt.excess
        return {"hardExcess": hard, "softExcess": soft, "moves": len(pods), "disruption": weight}
