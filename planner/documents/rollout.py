"""The document of `planner rollout`: what an apply leads to, step by step, and how it may end."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.documents.explanation import Fix
from planner.documents.plan import (
    ConstraintPart,
    Document,
    DocumentPart,
    Simulation,
    SpreadChange,
    WorkloadPart,
)


class RolloutStep(DocumentPart):
    """The pods that the old revisions and the new one are asked for after a sync, and all that are ready."""

    old: int
    """Pods that the old revisions are asked for."""
    new: int
    """Pods that the new revision is asked for."""
    ready: int
    """All that are ready."""


class RolloutEnd(DocumentPart):
    """One way in which draws ended."""

    runs: int
    """How many draws ended so."""
    completes: bool
    """Whether the workload completes then."""
    domains: dict[str, dict[str, int]]
    """By topology key and domain, the workload's pods."""
    messages: dict[str, int] = Field(default_factory=dict)
    """The scheduler's lines where it stops, each with the runs that have it."""


class WorkloadRollout(WorkloadPart):
    """What becomes of one workload."""

    completes: bool
    """Whether it completes in every draw."""
    stopped_at: int | None = None
    """The step after which nothing moves; null where it completes."""
    message: str = ""
    """The scheduler's line then."""
    gives_up_after: int | None = None
    """The seconds without progress after which a Deployment that stops says so."""
    least_ready: int
    """The fewest ready pods of any draw."""
    least_ready_median: int
    """Those of the middle draw."""
    least_ready_best: int = 0
    """Those of the best draw."""
    as_before: bool = False
    """Whether it lacked ready pods before, and its manifest changes nothing of it."""
    steps: tuple[RolloutStep, ...] = ()
    """After every sync of the controller, in the first draw: ties go to the smallest name, pods become ready
    together."""
    ends: tuple[RolloutEnd, ...] = ()
    """The ways in which draws end."""


class RolloutReplays(DocumentPart):
    """Moments and ties drawn. A constraint that was as broken before is named by a note."""

    runs: int
    """The draws."""
    completed: int
    """How many completed."""
    held: int
    """How many ended with no DoNotSchedule constraint more broken than before."""


class BrokenConstraint(ConstraintPart):
    """A DoNotSchedule constraint that draws end with more broken than before."""

    runs: int
    """How many draws end so."""
    excess: int
    """Pods too many, at worst."""


class Rollout(Document):
    """What happens when the manifests are applied."""

    kind: Literal["Rollout"] = "Rollout"
    completes: bool
    """Whether every workload completes in every draw."""
    replays: RolloutReplays
    """The draws."""
    workloads: tuple[WorkloadRollout, ...]
    """Every workload that changes."""
    spread: tuple[SpreadChange, ...] = ()
    """The constraints at the end of the first draw."""
    broken: tuple[BrokenConstraint, ...] = ()
    """DoNotSchedule constraints that draws end with more broken than before."""
    fixes: tuple[Fix, ...] = ()
    """With each of them every draw completes, and no constraint is more broken than before."""


class AppliedSimulation(Simulation):
    """A Simulation of files of which later ones change workloads that run: those are rolled out."""

    rollouts: tuple[WorkloadRollout, ...]
    """The workloads that are rolled out."""


class ScalingStep(DocumentPart):
    """A number of replicas, and what had become of the workload when nothing moved any more."""

    replicas: int
    """So many are asked for."""
    completed: int
    """The runs in which all became ready."""
    message: str = ""
    """Why pods stay pending in the others."""
    lopsided: int
    """The runs in which a DoNotSchedule constraint of the workload is broken then."""
    excess: int
    """By how many pods, at worst."""
    ends: tuple[RolloutEnd, ...]
    """The ways in which runs end."""


class ScalingPath(WorkloadPart):
    """A workload that is scaled to one number of replicas after the other."""

    steps: tuple[ScalingStep, ...]
    """One number of replicas after the other."""


class Trajectory(Document):
    """What scaling in time leads to."""

    kind: Literal["Trajectory"] = "Trajectory"
    runs: int
    """The draws."""
    rebalance: int
    """How many of them end with a DoNotSchedule constraint of a workload that has too many somewhere."""
    courses: tuple[ScalingPath, ...]
    """The workloads that are scaled."""
