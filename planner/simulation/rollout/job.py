"""A Job in a rollout: pods that run to their end, and others that follow until enough have succeeded.

How long a pod runs is not known: in a draw a second to hours, without chance longer than anything else
takes.  That pods fail is not played.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.controllers.jobs import replaces_ended_only
from models.objects.workload import Job
from planner.problem.nodes import Ints
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Due, PodRun
from planner.simulation.rollout.replica_set import Revision

#: A Job that goes on for longer fills the same room again and again: it is played no further.
_MOST_ROUNDS = 10


class JobRun(PodRun):
    def __init__(self, owner: Job, replicas: Revision, succeeded: int, terminating: Sequence[int]) -> None:
        """`replicas` has the pods that run and those that may come; so many have succeeded before.

        `terminating` are its pods that were told to go before this begins.
        """
        super().__init__(replicas.slots, terminating)
        self.owner, self._replicas = owner, replicas
        replicas.of_job = True
        self._left = self._completions(succeeded)

    def _completions(self, succeeded: int) -> int | None:
        """How many pods are still to succeed; None where with the first that does no more are made."""
        spec = self.owner.spec
        if spec.suspend or self.owner.is_finished or self.owner.is_managed_elsewhere:
            return 0
        if spec.wanted_completions is None:
            return 0 if succeeded else None
        return max(0, min(spec.wanted_completions - succeeded, _MOST_ROUNDS * max(1, spec.parallelism)))

    @property
    def pods_end(self) -> bool:
        return True

    @property
    def turnover(self) -> int:
        """As many as are still to succeed."""
        return self._left or len(self.pods)

    def due(self, simulation: ClusterSimulation) -> Due:
        """The pods that lack, or those that are too many."""
        self._replicas.replicas = self._wanted(simulation)
        return self._replicas.due(simulation, ())

    def _wanted(self, simulation: ClusterSimulation) -> int:
        succeeded, wanted = len(self._places(simulation)), self.owner.spec.parallelism
        live = len(self._replicas.live(simulation))
        if self._left is not None:
            wanted = min(wanted, self._left - succeeded)
        elif succeeded:
            wanted = live
        return min(wanted, max(live, wanted - self._waited_for(simulation)))

    def _waited_for(self, simulation: ClusterSimulation) -> int:
        """How many of its pods have to end before others are made for them."""
        if not replaces_ended_only(self.owner):
            return 0
        return sum(map(simulation.is_running_on, self.watched))

    def _places(self, simulation: ClusterSimulation) -> list[int]:
        """The nodes on which its pods have succeeded."""
        return [node for pod in self.pods for node in simulation.succeeded.get(pod, ())]

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """No old revision, and the pods that have been started."""
        return 0, len(self.nodes(simulation))

    def nodes(self, simulation: ClusterSimulation) -> Ints:
        """Pods that have succeeded count where they ran."""
        return np.concatenate([super().nodes(simulation), np.array(self._places(simulation), np.int64)])

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether as many as are wanted have succeeded, and none runs on.

        With a parallelism of 0 no more is asked than that none runs: a note says that it does not complete.
        """
        if not self.owner.spec.parallelism:
            return not len(self._replicas.live(simulation))
        wanted = 1 if self._left is None else self._left
        return len(self._places(simulation)) >= wanted and not len(self._replicas.live(simulation))
