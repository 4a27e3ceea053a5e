"""The document of `planner rollout`: what an apply leads to, step by step, and how it may end."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.documents.explanation import Fix
from planner.documents.plan import Document, DocumentPart, Simulation, SpreadChange


class RolloutStep(DocumentPart):
    """The pods that the old revisions and the new one are asked for after a sync, and all that are ready."""

    old: int
    new: int
    ready: int


class RolloutEnd(DocumentPart):
    """One way in which draws ended, and how many did: the workload's pods by domain of each key.

    `messages` are the scheduler's lines where they stop, each with the runs that have it: when the pod was
    last tried decides which.
    """

    runs: int
    completes: bool
    domains: dict[str, dict[str, int]]
    messages: dict[str, int] = Field(default_factory=dict)


class WorkloadRollout(DocumentPart):
    """One workload: `stoppedAt` is the step after which nothing moves, `message` the scheduler's line then.

    After `givesUpAfter` seconds without progress a Deployment that stops says so. `completes` is said of all
    draws, and `leastReady` of the worst; `leastReadyMedian` of the middle one, `leastReadyBest` of the best.
    The steps are those of the first, in which ties go to the smallest name and pods become ready together.
    `asBefore` says that it lacked ready pods before, and that its manifest changes nothing of it.
    """

    namespace: str
    workload: str
    completes: bool
    stopped_at: int | None = None
    message: str = ""
    gives_up_after: int | None = None
    least_ready: int
    least_ready_median: int
    least_ready_best: int = 0
    as_before: bool = False
    steps: tuple[RolloutStep, ...] = ()
    ends: tuple[RolloutEnd, ...] = ()


class RolloutReplays(DocumentPart):
    """How many ways were drawn; how many completed, and how many ended with no hard constraint broken anew.

    What was as broken before is in neither count: a note names it.
    """

    runs: int
    completed: int
    held: int


class BrokenConstraint(DocumentPart):
    """A DoNotSchedule constraint that draws end with more broken than before; the pods too many at worst."""

    namespace: str
    workload: str
    topology_key: str
    runs: int
    excess: int


class Rollout(Document):
    """What happens when the manifests are applied."""

    kind: Literal["Rollout"] = "Rollout"
    completes: bool
    replays: RolloutReplays
    workloads: tuple[WorkloadRollout, ...]
    spread: tuple[SpreadChange, ...] = ()
    broken: tuple[BrokenConstraint, ...] = ()
    fixes: tuple[Fix, ...] = ()


class AppliedSimulation(Simulation):
    """A Simulation of files of which later ones change workloads that run: those are rolled out."""

    rollouts: tuple[WorkloadRollout, ...]


class CourseStep(DocumentPart):
    """A number of replicas on a workload's course, and what had become of it when nothing moved any more.

    `completed` and `lopsided` count runs: all replicas ready; a DoNotSchedule constraint of the workload with
    too many somewhere, `excess` of them at worst.
    """

    replicas: int
    completed: int
    message: str = ""
    lopsided: int
    excess: int
    ends: tuple[RolloutEnd, ...]


class ScalingPath(DocumentPart):
    """A workload that is scaled to one number of replicas after the other."""

    namespace: str
    workload: str
    steps: tuple[CourseStep, ...]


class Trajectory(Document):
    """What scaling in time leads to; `rebalance` counts the runs that end with a constraint to be mended."""

    kind: Literal["Trajectory"] = "Trajectory"
    runs: int
    rebalance: int
    courses: tuple[ScalingPath, ...]
