"""Whether so many pods can be packed by requests alone, where hardly anything may stay free on any node.

Every pattern of a node is found, if there are not too many.  Few sets of pods fill a node to that degree.
They are all found without a dead end: first it is worked out, for two resources at once, which amounts the
kinds of pods still to be looked at can use up; then only those ways are gone.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.problem.nodes import Ints
from planner.proof.meter import Meter

#: After how many steps the clock is read.
_NOW_AND_THEN = 1024
#: (kind, pods of it) for every kind on the node.
Pattern = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PatternRoom:
    """What a node has of every resource, how much of it may stay free, and the most pods of every kind."""

    free: tuple[int, ...]
    waste: tuple[int, ...]
    most: tuple[int, ...]


class PackingPatterns:
    """Finds the patterns of a node; `wanted` has a row for every kind of pod."""

    def __init__(self, wanted: Ints, meter: Meter) -> None:
        self._rows = np.flatnonzero(wanted.any(axis=0))
        self._wanted = wanted[:, self._rows]
        self._meter = meter
        self._effort = meter.effort.patterns

    def of(self, room: PatternRoom) -> list[Pattern] | None:
        """All patterns; None where they are too many, or too much work."""
        kinds = [kind for kind, most in enumerate(room.most) if most]
        free, waste, wanted = self._scaled(room, kinds)
        if min(waste, default=0) < 0:
            return []
        if not kinds or not len(self._rows):
            return None
        most = [room.most[kind] for kind in kinds]
        grid = _Grid(free, waste, wanted)
        if grid.size * len(kinds) > self._effort.bits or self._meter.over():
            return None
        self._meter.spend(self._effort.price_of_bit * grid.size * (sum(most) + len(kinds)))
        found = self._walk(wanted, most, free, waste, grid)
        return None if found is None else [tuple((kinds[k], n) for k, n in pattern) for pattern in found]

    def _scaled(self, room: PatternRoom, kinds: Sequence[int]) -> tuple[list[int], list[int], Ints]:
        """The amounts in the largest units that all requests are multiples of."""
        wanted = self._wanted[kinds]
        units = [math.gcd(*wanted[:, row].tolist()) or 1 for row in range(wanted.shape[1])]
        own, wasted = [room.free[row] for row in self._rows], [room.waste[row] for row in self._rows]
        free = [amount // unit for amount, unit in zip(own, units, strict=True)]
        least = [-(-(amount - waste) // unit) for amount, waste, unit in zip(own, wasted, units, strict=True)]
        waste = [min(f, f - low) for f, low in zip(free, least, strict=True)]
        return free, waste, wanted // np.array(units, np.int64)

    def _walk(
        self, wanted: Ints, most: Sequence[int], free: Sequence[int], waste: Sequence[int], grid: _Grid
    ) -> list[Pattern] | None:
        """Depth first through the kinds, only where the two resources come out."""
        reach = grid.reach(most, self._meter)
        if reach is None:
            return None
        found: list[Pattern] = []
        wants = [tuple(row) for row in wanted.tolist()]
        stack: list[tuple[int, tuple[int, ...], Pattern]] = [(0, tuple(free), ())]
        steps = 0
        while stack:
            kind, left, pattern = stack.pop()
            if kind == len(wants):
                if all(amount <= may for amount, may in zip(left, waste, strict=True)):
                    found.append(pattern)
                continue
            steps += 1
            ended = steps % _NOW_AND_THEN == 0 and self._meter.cut_short()
            if ended or steps > self._effort.steps or len(found) > self._effort.most:
                self._meter.spend(self._effort.price_of_step * steps)
                return None
            for pods in range(most[kind] + 1):
                if min(left) < 0:
                    break
                if grid.holds(left, reach[kind + 1]):
                    stack.append((kind + 1, left, (*pattern, (kind, pods)) if pods else pattern))
                left = tuple(amount - want for amount, want in zip(left, wants[kind], strict=True))
        self._meter.spend(self._effort.price_of_step * steps)
        return found


class _Grid:
    """Sets of amounts of the two resources with the least waste, as the bits of one long number."""

    def __init__(self, free: Sequence[int], waste: Sequence[int], wanted: Ints) -> None:
        first, *others = sorted(range(len(free)), key=lambda row: waste[row] / max(free[row], 1))
        self._first, self._second = first, others[0] if others else first
        self._columns = free[self._second] if others else 0
        self._rows = free[first]
        across = wanted[:, self._second].tolist() if others else [0] * len(wanted)
        self._wanted = list(zip(wanted[:, first].tolist(), across, strict=True))
        self._waste = waste[first], waste[self._second] if others else 0
        # What is pushed over the end of a row lands in the gap before the next one.
        self._stride = self._columns + 1 + max(across, default=0)
        self.size = (self._rows + 1) * self._stride

    def reach(self, most: Sequence[int], meter: Meter) -> list[bytes] | None:
        """For every kind the amounts that all from there on can use up but for the waste; None when cut."""
        rows, columns = self._waste
        now = self._repeated((1 << (columns + 1)) - 1, rows + 1)
        inside = self._repeated((1 << (self._columns + 1)) - 1, self._rows + 1)
        found = [self._packed(now)]
        for (down, across), pods in zip(reversed(self._wanted), reversed(most), strict=True):
            if meter.cut_short():
                return None
            moved = now
            for _ in range(pods):
                moved = (moved << (down * self._stride + across)) & inside
                now |= moved
            found.append(self._packed(now))
        return found[::-1]

    def holds(self, left: Sequence[int], packed: bytes) -> bool:
        """Whether what is left is one of the amounts."""
        across = left[self._second] if self._columns else 0
        bit = left[self._first] * self._stride + across
        return bool(packed[bit >> 3] >> (bit & 7) & 1)

    def _repeated(self, row: int, times: int) -> int:
        """The same bits in so many rows."""
        number, done = row, 1
        while done < times:
            more = min(done, times - done)
            number |= (number & ((1 << (more * self._stride)) - 1)) << (done * self._stride)
            done += more
        return number

    def _packed(self, number: int) -> bytes:
        return number.to_bytes(self.size // 8 + 1, "little")


class Covers:
    """Packings put together from patterns of nodes; running pods may be anywhere they might come to."""

    def __init__(self, pending: Pending) -> None:
        from planner.cpsat.cover import PackingKind

        self._pending = pending
        self._numbers = list(pending.pods)
        running = pending.running_counts()
        room = pending.room(pending.wanted)
        none_running = np.zeros(pending.problem.nodes.size, np.int64)
        load = np.zeros_like(pending.state.used)
        wants = pending.room_needed[self._numbers]
        for number, wanted in zip(self._numbers, wants, strict=True):
            load += wanted[:, np.newaxis] * running.get(number, none_running)
        free = np.maximum(pending.problem.allocatable - pending.state.used, load)
        kinds = []
        for number, own in zip(self._numbers, wants, strict=True):
            fits = np.full_like(none_running, pending.wanted[number])
            for row in np.flatnonzero(own).tolist():
                fits = np.minimum(fits, free[row] // int(own[row]))
            most = np.minimum(fits, room[number] + running.get(number, none_running))
            kinds.append(PackingKind(pending.wanted[number], pending.priority(number), own, most))
        self._kinds, self._free = kinds, free

    def find(self, least: Mapping[int, int], meter: Meter) -> Arrangement | bool | None:
        """A packing with at least so many pods of each priority.

        False when there is none, None when that stayed open.
        """
        from planner.cpsat.cover import Alike, CoverModel

        patterns = PackingPatterns(np.array([kind.wanted for kind in self._kinds]), meter)
        waste = self._waste(least)
        groups = []
        for nodes in self._alike():
            free = self._free[:, nodes[0]]
            most = tuple(min(kind.pods, int(kind.room[nodes[0]])) for kind in self._kinds)
            found = patterns.of(PatternRoom(tuple(free.tolist()), waste, most))
            if found is None:
                return None
            groups.append(Alike(tuple(nodes), free, found))
        answer = CoverModel(groups, self._kinds, least).solve(meter, meter.effort.patterns.cover_work)
        if not isinstance(answer, dict):
            return answer
        there = Counter({(self._numbers[kind], node): pods for (kind, node), pods in answer.items()})
        return Arrangement.of(there, self._pending.running)

    def _waste(self, least: Mapping[int, int]) -> tuple[int, ...]:
        """Of every resource, how much may stay free at most when so many pods have a place."""
        needed = np.zeros(len(self._free), np.int64)
        for priority, pods in least.items():
            own = [kind for kind in self._kinds if kind.priority == priority]
            amounts = np.repeat([kind.wanted for kind in own], [kind.pods for kind in own], axis=0)
            needed += np.sort(amounts, axis=0)[:pods].sum(axis=0)
        return tuple((self._free.sum(axis=1) - needed).tolist())

    def _alike(self) -> Iterable[list[int]]:
        """Nodes that have the same free and take the same pods."""
        groups: dict[bytes, list[int]] = defaultdict(list)
        rooms = np.array([kind.room for kind in self._kinds])
        for node in range(self._free.shape[1]):
            groups[self._free[:, node].tobytes() + rooms[:, node].tobytes()].append(node)
        return groups.values()
