"""What limits a wave: budgets, `max_unavailable`, coupled moves, and room kept for later moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from planner.eviction.budgets import Budgets
from planner.landing.room import WaveRoom
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Ints, Mask
from planner.proof import effort


@dataclass(frozen=True, slots=True)
class WaveRules:
    """How much may be under way at the same time, what may be pinned, and which constraints count.

    `weights` has the cost of moving each pod.  `lets_preempt` accepts replacements that could preempt others;
    it only serves to find out which moves that risk prevents.  With `needs_all` a move is an end in itself:
    the fewer are left over, the better, whatever they repair.
    """

    budgets: Budgets
    weights: Ints
    max_unavailable: int = 1
    pin_policy: PinPolicy = NO_PINS
    kinds: frozenset[str] = frozenset(("DoNotSchedule",))
    lets_preempt: bool = False
    needs_all: bool = False

    @property
    def evict_only(self) -> bool:
        """Whether nothing may be pinned."""
        return not self.pin_policy


class PodsAway:
    """How many pods are away at the same time: of each workload, budget and set of coupled constraints."""

    def __init__(self, rules: WaveRules, groups_of: Callable[[Move], tuple[str, int]]) -> None:
        """`groups_of` has the workload of a move's pod, and an identifier of its coupled constraints."""
        self._rules = rules
        self._groups_of = groups_of
        self._workloads: Counter[str] = Counter()
        self._budgets: Counter[int] = Counter()
        self._coupled_moves: Counter[int] = Counter()

    def has_room_for(self, move: Move) -> bool:
        """Whether one more pod may be away."""
        rules = self._rules
        workload, coupled = self._groups_of(move)
        return (
            self._workloads[workload] < rules.max_unavailable
            and all(self._budgets[n] < rules.budgets.allowed[n] for n in rules.budgets.asked(move.pod))
            and self._coupled_moves[coupled] < (effort.COUPLED_IN_A_WAVE if rules.max_unavailable > 1 else 1)
        )

    def add(self, move: Move) -> None:
        """Count one more pod as away."""
        workload, coupled = self._groups_of(move)
        self._workloads[workload] += 1
        self._coupled_moves[coupled] += 1
        self._budgets.update(self._rules.budgets.asked(move.pod))

    def as_many(self, moves: Iterable[Move]) -> Iterator[Move]:
        """As many of some moves as may be away at once."""
        for move in moves:
            if self.has_room_for(move):
                self.add(move)
                yield move


class ReservedRoom:
    """What is free on the target nodes of reserved moves when all moves that are left are done."""

    def __init__(
        self, trial: TrialCluster, room: WaveRoom, left: Iterable[Move], reserved: Collection[int]
    ) -> None:
        """Room for those of the moves `left` whose pods are `reserved`."""
        self._trial = trial
        self._room = room
        self._reserved = reserved
        several = [*left]
        coming = [move for move in several if move.pod in reserved]
        self._nodes = np.array(sorted({move.target for move in coming}), np.intp)
        free = room.free()
        for move in several:
            free[:, move.source] += room.takes[trial.template(move.pod)]
        for move in coming:
            free[:, move.target] -= room.takes[trial.template(move.pod)]
        self._free: Ints = free[:, self._nodes]

    def closed_to(self, move: Move) -> Mask:
        """The nodes on which a replacement would take room that is reserved for other moves."""
        closed = self._trial.problem.nodes.none.copy()
        if self._nodes.size:
            template, free = self._trial.template(move.pod), self._free
            if move.pod in self._reserved:
                free = free.copy()
                free[:, self._nodes == move.target] += self._room.takes[template][:, np.newaxis]
            closed[self._nodes] = ~self._room.fits(template, free)
        return closed
