"""One way in which a rollout may go, until nothing moves.

What is drawn: ties between nodes, how long controllers, scheduler and kubelets take for what they do,
and so which is first, and how long after the snapshot the apply comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from models.errors import NoAnswer
from planner.proof.clock import taken_until_stop
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import ControllerRun
from planner.simulation.rollout.pace import Pace
from planner.simulation.rollout.prepare import Prepared
from planner.simulation.rollout.timeline import Timeline

_Played = TypeVar("_Played")


@dataclass(slots=True)
class RolloutDraw:
    """The simulation as it is, and the controllers with what they remember; given up after `most` events."""

    simulation: ClusterSimulation
    runs: Sequence[ControllerRun]
    timeline: Timeline
    most: int
    at_rest: bool = False
    """Whether it has come to an end."""

    def go_on(self) -> None:
        """Apply what is wanted now, and play until nothing moves."""
        self.timeline.apply()
        self.at_rest = self.timeline.run(self.most)

    def completes(self, place: int) -> bool:
        """Whether a workload is rolled out in the end."""
        return self.at_rest and self.runs[place].completes(self.simulation)


def play(prepared: Prepared, seed: int | None, *, preemption: bool) -> RolloutDraw:
    """One draw; without a seed ties go to the smallest name, and whatever can happen together does."""
    draw = begin(prepared, seed, preemption=preemption)
    draw.go_on()
    return draw


def begin(prepared: Prepared, seed: int | None, *, preemption: bool) -> RolloutDraw:
    """A draw before anything has been applied: as the snapshot has it."""
    simulation = ClusterSimulation(
        prepared.problem,
        prepared.doubles,
        prepared.absent,
        preemption=preemption,
        seed=seed,
        in_time=True,
    )
    simulation.go_on_starting()
    pace = Pace(seed)
    later = timedelta(seconds=pace.later)
    runs: Sequence[ControllerRun] = prepared.runs(later)
    then = None if prepared.taken is None else prepared.taken + later
    for run in runs:
        simulation.watched.update(run.pods)
        for some, seconds in run.min_ready:
            simulation.ask(some, seconds, then)
    effort, pods = prepared.effort.rollout, sum(run.turnover for run in runs)
    most = max(effort.least_events, effort.events_per_pod * pods)
    return RolloutDraw(simulation, runs, Timeline(simulation, runs, pace), most)


def drawn(
    played: Callable[[int | None], _Played], replays: int, stop_event: threading.Event | None
) -> tuple[list[_Played], Sequence[str]]:
    """What is played without chance and with so many seeds, until a stop is requested, and a note of that."""
    draws = taken_until_stop(map(played, (None, *range(1, replays + 1))), stop_event)
    if not draws:
        raise NoAnswer("stopped before the first run had ended")
    return draws, [f"stopped after {len(draws)} of {replays + 1} runs"] if len(draws) <= replays else []
