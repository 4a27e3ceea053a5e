"""What the controllers of a rollout have in common: reconciling by single writes, and what is remembered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.errors import InternalError
from planner.documents.rollout import RolloutStep
from planner.problem.nodes import Ints
from planner.simulation.rollout.cluster_simulation import ClusterSimulation


class Controller(ABC):
    """A control loop: woken when something has happened, it reconciles by a series of writes."""

    @property
    @abstractmethod
    def watched(self) -> Iterable[int]:
        """The pods of which it wants to know what happens to them."""

    @abstractmethod
    def reconcile(self, simulation: ClusterSimulation) -> Iterator[Sequence[Controller]]:
        """Its writes one by one, with time in between; each yields the controllers that it concerns."""


class ControllerRun(ABC):
    """A workload that rolls: its controllers, whether it completes, and how it went."""

    def __init__(self, pods: Iterable[int]) -> None:
        self.pods: list[int] = list(dict.fromkeys(pods))
        """Every pod that it has or may have."""
        self._numbers: Ints = np.array(self.pods, np.int64)
        self.steps: list[RolloutStep] = []
        self.least_ready: int | None = None

    @property
    @abstractmethod
    def controllers(self) -> Sequence[Controller]:
        """The control loops that make it roll, the one that sees the apply first."""

    @abstractmethod
    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether all is as the manifest asks, and ready."""

    def scale(self, replicas: int) -> None:
        """Ask for another number of replicas; the controllers act on it when they are woken."""
        raise InternalError(
            f"{type(self).__name__} was asked for {replicas} replicas, and has no such number"
        )

    @property
    def pods_end(self) -> bool:
        """Whether pods come to an end by themselves."""
        return False

    @property
    def turnover(self) -> int:
        """About how many pods may come and go."""
        return len(self.pods)

    @property
    @abstractmethod
    def min_ready(self) -> Iterable[tuple[Iterable[int], int]]:
        """Pods, and how many seconds they have to be ready until they are available."""

    def ready(self, simulation: ClusterSimulation) -> int:
        return int(np.count_nonzero(simulation.ready[self._numbers]))

    def nodes(self, simulation: ClusterSimulation) -> Ints:
        """The nodes of its pods, -1 for those that have none."""
        return simulation.scheduler.state.node_of[self._numbers[simulation.alive[self._numbers]]].astype(
            np.int64
        )

    def observe(self, simulation: ClusterSimulation) -> None:
        """Remember the fewest pods that were ready."""
        ready = self.ready(simulation)
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)

    def note(self, old: int, new: int, ready: int) -> None:
        """Remember the sizes after a write, and the ready pods among so many."""
        self.steps.append(RolloutStep(old=old, new=new, ready=ready))


@dataclass(slots=True)
class Due:
    """Pods to be made and pods to be told to go, as a controller saw it when its reconcile began."""

    made: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    ordered: bool = False
    """Whether the writes have an order; else they are all under way at once, and any may be first."""

    def __bool__(self) -> bool:
        return bool(self.made or self.gone)

    def carried_out(self, simulation: ClusterSimulation) -> Iterator[None]:
        """Do it, one write after the other; what has become idle in the meantime is left out.

        After a pod that is refused no more are made, and where writes have an order none goes either: it is
        tried again when something has left.
        """
        if not self.ordered:
            simulation.shuffle(self.made)
            simulation.shuffle(self.gone)
        for pod in self.made:
            if not simulation.alive[pod] and not simulation.is_leaving(pod):
                if not simulation.create(pod):
                    if self.ordered:
                        return
                    break
                yield
        for pod in self.gone:
            if simulation.alive[pod]:
                simulation.delete(pod)
                yield


class Backlog(Controller):
    """A workload that is not applied, whose pods a quota refused before the apply: it tries them again."""

    def __init__(self, pods: Iterable[int]) -> None:
        self.pods: Sequence[int] = [*pods]

    @classmethod
    def of(cls, simulation: ClusterSimulation) -> Sequence[Backlog]:
        """One for each controller of pods that are refused, and not for good."""
        by_owner = defaultdict[tuple[str, str, str], list[int]](list)
        for pod in simulation.refusals:
            found = simulation.problem.pods[pod]
            if (owner := found.metadata.controller) and not found.refusal:
                by_owner[found.namespace, owner.kind, owner.name].append(pod)
        return [*map(cls, by_owner.values())]

    @property
    def watched(self) -> Iterable[int]:
        return ()

    def reconcile(self, simulation: ClusterSimulation) -> Iterator[Sequence[Controller]]:
        """As many as the API server takes."""
        for pod in simulation.free(self.pods):
            if not simulation.create(pod):
                return
            yield ()


class PodRun(ControllerRun, Controller):
    """A workload whose one controller makes and takes pods itself."""

    def __init__(
        self, pods: Iterable[int], terminating: Iterable[int] = (), min_ready_seconds: int = 0
    ) -> None:
        """`terminating` are pods that were told to go before this begins: others may wait for them."""
        super().__init__(pods)
        self._terminating, self._min_ready_seconds = [*terminating], min_ready_seconds

    @property
    def controllers(self) -> Sequence[Controller]:
        return (self,)

    @property
    def watched(self) -> Iterable[int]:
        return [*self.pods, *self._terminating]

    @property
    def min_ready(self) -> Iterable[tuple[Iterable[int], int]]:
        return [(self.pods, self._min_ready_seconds)]

    @abstractmethod
    def due(self, simulation: ClusterSimulation) -> Due:
        """What is to be made and taken now."""

    @abstractmethod
    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """The pods of old revisions and of the new one."""

    def reconcile(self, simulation: ClusterSimulation) -> Iterator[Sequence[Controller]]:
        """Whatever is due."""
        due = self.due(simulation)
        for _ in due.carried_out(simulation):
            yield ()
        if due:
            self.note(*self.sizes(simulation), self.ready(simulation))


class RemovedRun(PodRun):
    """A workload that was deleted: the garbage collector takes its pods."""

    def due(self, simulation: ClusterSimulation) -> Due:
        return Due(gone=[pod for pod in self.pods if simulation.alive[pod]])

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """The pods that are left; there are no new ones."""
        return sum(bool(simulation.alive[pod]) for pod in self.pods), 0

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether none is left."""
        return not any(simulation.alive[pod] for pod in self.pods)
