"""One way in which a rollout may go: controllers, scheduler and kubelets take turns until nothing moves.

What is drawn: ties between nodes, which controller is first, how many pods become ready or end between
two turns of the controllers, and whether those wait until everything has been scheduled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from planner.rollout.makers import Run
from planner.rollout.prepare import Prepared
from planner.rollout.world import World

#: Pods that evict each other in turn never come to rest: so many turns for every pod are enough.
_TURNS_PER_POD = 20
_LEAST_TURNS = 1_000
#: How many of the pods that are about to be ready, or to end, come through at a time.
_ALL, _ONE, _SOME = "all", "one", "some"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a rollout ended: the world as it is then, and the controllers with what they remember."""

    world: World
    runs: Sequence[Run]
    at_rest: bool


def play(prepared: Prepared, seed: int | None, *, preemption: bool) -> Ended:
    """One draw; without a seed ties go to the smallest name, and whatever can happen together does."""
    world = World(prepared.problem, prepared.doubles, prepared.absent, preemption=preemption, seed=seed)
    # Seconds to an hour may pass between the snapshot and the apply.
    later = timedelta(seconds=0 if seed is None else math.exp(Random(seed).uniform(0, math.log(3600))))
    runs = prepared.runs(later)
    for run in runs:
        world.watch(run.pods)
    pace = _Pace(None if seed is None else Random(seed))
    turns = max(_LEAST_TURNS, _TURNS_PER_POD * sum(len(run.pods) for run in runs))
    return Ended(world, runs, _run(world, runs, pace, turns))


def _run(world: World, runs: Sequence[Run], pace: _Pace, turns: int) -> bool:
    for _ in range(turns):
        moved = [run.sync(world) for run in pace.order(runs)]
        moved.append(world.schedule())
        for run in runs:
            run.observe(world)
        if any(moved) and pace.lets_controllers_finish():
            continue
        if not _let_kubelets_act(world, pace) and not any(moved):
            return True
    return False


def _let_kubelets_act(world: World, pace: _Pace) -> bool:
    """Pods that have a node become ready, pods that are leaving end; whether there was anybody."""
    leaving = list(world.leaving)
    chosen = pace.choose([*leaving, *world.starting])
    ending = set(leaving)
    for pod in chosen:
        if pod in ending:
            world.end(pod)
        else:
            world.become_ready(pod)
    return bool(chosen)


class _Pace:
    """How the turns of a draw follow one another."""

    def __init__(self, random: Random | None) -> None:
        self._random = random
        self._size = _ALL if random is None else random.choice((_ALL, _ONE, _SOME))
        self._patience = 1.0 if random is None else random.choice((1.0, 1.0, 0.5))

    def order(self, runs: Sequence[Run]) -> list[Run]:
        """The controllers in the order of this turn."""
        found = list(runs)
        if self._random is not None:
            self._random.shuffle(found)
        return found

    def lets_controllers_finish(self) -> bool:
        """Whether kubelets wait until the controllers have nothing more to do."""
        return self._random is None or self._random.random() < self._patience

    def choose(self, pods: Sequence[int]) -> Sequence[int]:
        """The pods that come through next."""
        if self._random is None or self._size == _ALL or len(pods) <= 1:
            return pods
        number = 1 if self._size == _ONE else self._random.randint(1, len(pods))
        return self._random.sample(pods, number)
