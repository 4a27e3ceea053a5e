"""How long things take in a draw: what decides which is first where several could be.

Controllers and the scheduler take milliseconds to tenths of a second for a step, each draw its own
number of them; kubelets take from a fiftieth of a second to half a minute, all at the same ticks of a
clock or each by itself.  Draws in a row share out what is possible: of sixteen each has another sixteenth
of every range.  Without a seed nothing is left to chance: controllers finish before kubelets do anything,
and whatever can happen together does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

#: Means in seconds, from and to; drawn evenly over their logarithms.
_STEP = (0.0003, 0.03)
_RECONCILE = (0.001, 0.1)
_WRITE = (0.0005, 0.05)
_STARTING = (0.05, 30.0)
_ENDING = (0.02, 30.0)
_TICKS = (0.1, 0.1, 1.0, 10.0)
#: How often pods become ready and end at the same ticks of a clock; and where not, how often they end so.
_SAME_TICKS, _AT_TICKS = 0.5, 0.3
#: At a tick kubelets come one closely after the other.
_CLOSELY = (0.0005, 0.02)
_APPLY = (0.001, 1.0)
#: What one controller takes of what all of them take in the middle.
_SLOWNESS = (1 / 4, 4.0)
#: Pods of a Job run on for so long once they are ready.
_WORK = (1.0, 36_000.0)
#: Controllers try again what has been refused for long: after every refusal twice as late, to 1000 seconds.
_RETRY = (0.01, 1000.0)
#: From the snapshot to the apply.
_LATER = (1.0, 3600.0)
#: Without a seed everything happens at the same ticks, and what takes longest at the rarest.
_TICK, _RARE_TICK = 1e3, 1e6
#: So many draws in a row share out every range.
_SHARES = 16


@lru_cache(1024)
def _shares_of(thing: int, block: int) -> Sequence[int]:
    """Which share of a range each of the draws of a block has."""
    order = list(range(_SHARES))
    Random(f"{thing} of {block}").shuffle(order)
    return order


class _Shared:
    """Numbers between 0 and 1, one for each thing that a draw has to decide on."""

    def __init__(self, seed: int) -> None:
        self._block, self._place = divmod(seed, _SHARES)
        self._chance = Random(f"shared {seed}")
        self._things = 0

    def number(self) -> float:
        """The next one; draws in a row have theirs in different shares."""
        self._things += 1
        return (_shares_of(self._things, self._block)[self._place] + self._chance.random()) / _SHARES

    def mean(self, bounds: tuple[float, float]) -> float:
        """A number within bounds, evenly over their logarithms."""
        return _between(bounds, self.number())


@dataclass(frozen=True, slots=True)
class _Kubelets:
    """When pods become ready, or have ended: at the next tick, or after a while of their own."""

    tick: float | None
    mean: float

    @classmethod
    def drawn(cls, shared: _Shared, at_ticks: float, bounds: tuple[float, float]) -> _Kubelets:
        """At ticks as often as that; else with a mean within bounds."""
        by_ticks, tick, mean = shared.number() < at_ticks, shared.number(), shared.number()
        if by_ticks:
            return cls(_TICKS[int(tick * len(_TICKS))], _between(_CLOSELY, mean))
        return cls(None, _between(bounds, mean))

    def after(self, now: float, chance: Random) -> float:
        """Seconds from now."""
        wait = chance.expovariate(1 / self.mean)
        return wait if self.tick is None else _to_next(now, self.tick) + wait


class Pace:
    """Waiting times of one draw."""

    def __init__(self, seed: int | None) -> None:
        self.chance = None if seed is None else Random(f"pace {seed}")
        self.later = 0.0
        """Seconds from the snapshot to the apply."""
        self._slow: dict[int, float] = {}
        if seed is not None:
            self._draw(_Shared(seed))

    def _draw(self, shared: _Shared) -> None:
        self._step, self._reconcile, self._write = map(shared.mean, (_STEP, _RECONCILE, _WRITE))
        self._apply, self._work, self.later = map(shared.mean, (_APPLY, _WORK, _LATER))
        self._starting = _Kubelets.drawn(shared, _SAME_TICKS, _STARTING)
        ending = _Kubelets.drawn(shared, _AT_TICKS, _ENDING)
        self._ending = ending if self._starting.tick is None else self._starting
        self._retry = shared.mean(_RETRY)

    def _slowness(self, controller: int, chance: Random) -> float:
        if controller not in self._slow:
            self._slow[controller] = _between(_SLOWNESS, chance.random())
        return self._slow[controller]

    def apply(self) -> float:
        """Between two workloads of the manifests."""
        return 0.0 if self.chance is None else self.chance.expovariate(1 / self._apply)

    def reconcile(self, controller: int) -> float:
        """From what happened until a controller reconciles."""
        if self.chance is None:
            return 0.01
        return self.chance.expovariate(1 / self._reconcile) * self._slowness(controller, self.chance)

    def write(self, controller: int) -> float:
        """Between two writes of a controller."""
        if self.chance is None:
            return 0.001
        return self.chance.expovariate(1 / self._write) * self._slowness(controller, self.chance)

    def step(self) -> float:
        """Between two pods of the scheduler, and until it sees the first."""
        return 0.001 if self.chance is None else self.chance.expovariate(1 / self._step)

    def start(self, now: float) -> float:
        """Until a pod that got a node is ready."""
        return _to_next(now, _TICK) if self.chance is None else self._starting.after(now, self.chance)

    def end(self, now: float) -> float:
        """Until a pod that was told to go has ended."""
        return _to_next(now, _TICK) if self.chance is None else self._ending.after(now, self.chance)

    def retry(self, now: float) -> float:
        """Until a controller tries again what had been refused before the apply."""
        return _to_next(now, _RARE_TICK) if self.chance is None else self.chance.expovariate(1 / self._retry)

    def work(self, now: float) -> float:
        """Until a ready pod of a Job has run to its end."""
        return _to_next(now, _RARE_TICK) if self.chance is None else self.chance.expovariate(1 / self._work)


def _between(bounds: tuple[float, float], share: float) -> float:
    """So far from one bound to the other, on a logarithmic scale."""
    return bounds[0] * math.pow(bounds[1] / bounds[0], share)


def _to_next(now: float, tick: float) -> float:
    """Seconds to the next whole number of ticks."""
    return tick - now % tick
