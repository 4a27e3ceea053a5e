"""The phases of moves, over a trial cluster in which every moving pod has a double while it terminates.

before     the pod runs on its source
leaving    it is terminating: its double holds room, ports and claims there, and does not count for spread
gone       it has ended; the replacement waits for the scheduler
lingering  the replacement runs on the target, and the old pod is still terminating on the source
landed     the replacement runs on the target, and the old pod has ended

An old pod may end at any time until its wave is over; when the next wave begins it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto

from planner.moves.constraint_counts import ConstraintSubset
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem


class Phase(Enum):
    """The phase of a move."""

    BEFORE = auto()
    LEAVING = auto()
    GONE = auto()
    LINGERING = auto()
    LANDED = auto()


class EvictionTimeline:
    """A trial cluster with doubles for the pods of some moves."""

    def __init__(self, problem: Problem, moves: Sequence[Move], trial: TrialCluster | None = None) -> None:
        """A timeline for some moves; with `trial` it tracks only the constraints that they touch."""
        pods = list(dict.fromkeys(move.pod for move in moves))
        numbers = {int(problem.template_of[pod]) for pod in pods}
        self._set(problem, pods, None if trial is None else trial.ledger.concerned(numbers))

    @classmethod
    def of_all(cls, trial: TrialCluster, pods: Sequence[int]) -> EvictionTimeline:
        """A timeline for any moves of some pods, with all constraints of a trial cluster."""
        found = cls.__new__(cls)
        found._set(trial.problem, pods, trial.part)
        return found

    def _set(self, problem: Problem, pods: Sequence[int], part: ConstraintSubset | None) -> None:
        self.problem = problem.with_leaving(pods)
        self.trial = TrialCluster(self.problem, part)
        self._double = {pod: len(problem.pods) + number for number, pod in enumerate(pods)}

    def double(self, move: Move) -> int:
        """The double of the pod that moves."""
        return self._double[move.pod]

    def put(self, move: Move, phase: Phase) -> None:
        """Set the phase of a move, whichever it was in."""
        state = self.trial.state
        for pod in (move.pod, self._double[move.pod]):
            if state.node_of[pod] >= 0:
                state.unbind(pod)
        if phase is Phase.BEFORE:
            state.bind(move.pod, move.source)
        if phase in {Phase.LEAVING, Phase.LINGERING}:
            state.bind(self._double[move.pod], move.source)
        if phase in {Phase.LINGERING, Phase.LANDED}:
            state.bind(move.pod, move.target)

    def put_all(self, moves: Iterable[Move], phase: Phase) -> None:
        """Set the phase of all these moves."""
        for move in moves:
            self.put(move, phase)

    def has_ended(self, move: Move) -> bool:
        """Whether the double of the moving pod is on no node: once evicted, the old pod has ended."""
        return bool(self.trial.state.node_of[self._double[move.pod]] < 0)

    def waits_for_the_end(self, move: Move) -> bool:
        """Whether the replacement is made only after the old pod: StatefulSet pods keep their names."""
        owner = self.problem.pods[move.pod].metadata.controller
        return owner is not None and owner.kind == "StatefulSet"

    def own_phases(self, move: Move) -> tuple[Phase, ...]:
        """The phases in which the replacement may be scheduled."""
        return (Phase.GONE,) if self.waits_for_the_end(move) else (Phase.LEAVING, Phase.GONE)

    def while_unscheduled(self, move: Move) -> Iterator[None]:
        """Put a move into each phase in which its replacement may be scheduled; the last one is GONE."""
        for phase in self.own_phases(move):
            self.put(move, phase)
            yield
