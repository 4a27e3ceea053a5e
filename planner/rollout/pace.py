"""How long things take in a draw: what decides who is first where several could be.

Controllers and the scheduler take milliseconds for a step, each draw its own number of them; kubelets
take from a twentieth of a second to half a minute, all at the same ticks of a clock or each by itself.
Without a seed nothing is left to chance: controllers finish before kubelets do anything, and whatever
can happen together does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

#: Means in seconds, from and to; drawn evenly over their logarithms.
_STEP = (0.0003, 0.01)
_TURN = (0.001, 0.03)
_WRITE = (0.0005, 0.02)
_KUBELET = (0.05, 30.0)
_TICKS = (0.1, 0.1, 1.0, 10.0)
#: How often pods become ready and end at the same ticks of a clock; and where not, how often they end so.
_SAME_TICKS, _AT_TICKS = 0.5, 0.3
#: At a tick kubelets come one closely after the other.
_CLOSELY = (0.0005, 0.02)
_APPLY = (0.001, 0.1)
#: Pods of a Job run on for so long once they are ready.
_WORK = (1.0, 36_000.0)
#: Without a seed everything happens at the same ticks, and whatever takes longest at the rarest.
_TICK, _RARE_TICK = 1e3, 1e6


@dataclass(frozen=True, slots=True)
class _Kubelets:
    """When pods become ready, or have ended: at the next tick, or after a while of their own."""

    tick: float | None
    mean: float

    def after(self, now: float, chance: Random) -> float:
        """Seconds from now."""
        wait = chance.expovariate(1 / self.mean)
        return wait if self.tick is None else _to_next(now, self.tick) + wait


class Pace:
    """Waiting times of one draw."""

    def __init__(self, seed: int | None) -> None:
        self.chance = None if seed is None else Random(seed)
        if self.chance is not None:
            self._step, self._turn, self._write, self._apply = (
                self._mean(bounds) for bounds in (_STEP, _TURN, _WRITE, _APPLY)
            )
            self._starting = self._kubelets(self.chance, _SAME_TICKS)
            same = self._starting.tick is not None
            self._ending = self._starting if same else self._kubelets(self.chance, _AT_TICKS)
            self._work = self._mean(_WORK)

    def _mean(self, bounds: tuple[float, float]) -> float:
        assert self.chance is not None
        return math.exp(self.chance.uniform(math.log(bounds[0]), math.log(bounds[1])))

    def _kubelets(self, chance: Random, at_ticks: float) -> _Kubelets:
        if chance.random() < at_ticks:
            return _Kubelets(chance.choice(_TICKS), self._mean(_CLOSELY))
        return _Kubelets(None, self._mean(_KUBELET))

    def apply(self) -> float:
        """Between two workloads of the manifests."""
        return 0.0 if self.chance is None else self.chance.expovariate(1 / self._apply)

    def turn(self) -> float:
        """From what happened until a controller takes its turn."""
        return 0.01 if self.chance is None else self.chance.expovariate(1 / self._turn)

    def write(self) -> float:
        """Between two writes of a controller."""
        return 0.001 if self.chance is None else self.chance.expovariate(1 / self._write)

    def step(self) -> float:
        """Between two pods of the scheduler, and until it sees the first."""
        return 0.001 if self.chance is None else self.chance.expovariate(1 / self._step)

    def start(self, now: float) -> float:
        """Until a pod that got a node is ready."""
        return _to_next(now, _TICK) if self.chance is None else self._starting.after(now, self.chance)

    def end(self, now: float) -> float:
        """Until a pod that was told to go has ended."""
        return _to_next(now, _TICK) if self.chance is None else self._ending.after(now, self.chance)

    def work(self, now: float) -> float:
        """Until a ready pod of a Job has run to its end."""
        return _to_next(now, _RARE_TICK) if self.chance is None else self.chance.expovariate(1 / self._work)


def _to_next(now: float, tick: float) -> float:
    """Seconds to the next whole number of ticks."""
    return tick - now % tick
