"""What is wrong before an apply: that is not what the rollout breaks, unless it becomes worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models import Cluster
from models.snapshot import Snapshot
from models.words import counted
from planner.audit.spread_counts import SpreadCounts, WorkloadConstraint, summed, surpluses_of
from planner.simulation.rollout.controllers import Backlog
from planner.simulation.rollout.draw import RolloutDraw, begin
from planner.simulation.rollout.makers import Rolling
from planner.simulation.rollout.prepare import Prepared
from planner.simulation.rollout.report import counts_at
from planner.simulation.rollout.restart import as_they_run
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class Before:
    """Pods too many by constraint, workloads that lack pods although they do not change, and all applied.

    A new template changes whatever a constraint has but its topology key.
    """

    surplus: Mapping[WorkloadConstraint, int]
    unfinished: frozenset[tuple[str, str]]
    applied: frozenset[tuple[str, str]] = frozenset()
    refused: int = 0
    """Pods of workloads that are not applied which quotas refuse."""

    @classmethod
    def of(cls, cluster: Cluster, manifests: Snapshot, prepared: Prepared) -> Before:
        """The cluster before the manifests are applied to it."""
        begun, same = begin(prepared, None, preemption=True), as_they_run(cluster, manifests)
        return cls(
            summed(surpluses_of(counts_at(prepared.problem, State(prepared.problem)))),
            frozenset(
                name_of(owner)
                for owner, run in zip(prepared.workloads, begun.runs, strict=True)
                if f"{owner.kind} {owner.key}" in same and not run.completes(begun.simulation)
            ),
            frozenset(map(name_of, prepared.workloads)),
            sum(len(found.pods) for found in Backlog.of(begun.simulation)),
        )

    def completes(self, draw: RolloutDraw, workloads: Sequence[Rolling]) -> bool:
        """Whether everything that the apply changes is rolled out in the end."""
        return draw.at_rest and all(
            draw.completes(place) or name_of(owner) in self.unfinished
            for place, owner in enumerate(workloads)
        )

    def worse(self, counts: Sequence[SpreadCounts]) -> Iterator[tuple[WorkloadConstraint, int]]:
        """The hard constraints with more pods too many than before, and how many there are."""
        for whose, excess in summed(surpluses_of(counts)).items():
            if excess > self.surplus.get(whose, 0):
                yield whose, excess

    def notes(self, ends: Sequence[Sequence[SpreadCounts]], *, completes: bool) -> Iterator[str]:
        """What was wrong before and stays so in some draw, or may keep the rollout from completing."""
        if self.refused and not completes:
            yield f"{counted(self.refused, 'pod')} that quotas refuse now may take the room of pods that go"
        for namespace, workload in sorted(self.unfinished):
            yield f"{workload} of {namespace} lacked ready pods before, and its manifest changes nothing"
        after = [summed(surpluses_of(counts)) for counts in ends]
        # Those that end broken in some draw, and worse in none.
        worst = {whose: max(found[whose] for found in after) for whose in sorted(self.surplus)}
        stays = [whose for whose, pods in worst.items() if 0 < pods <= self.surplus[whose]]
        others = [whose for whose in stays if whose[:2] not in self.applied]
        alone = [whose for whose in stays if whose not in others] if len(others) > 1 else stays
        for whose in alone:
            namespace, workload, key = whose
            yield (
                f"{workload} of {namespace}: its DoNotSchedule constraint over {key} had "
                f"{counted(self.surplus[whose], 'pod')} too many before, and no run ends with more"
            )
        if len(others) > 1:
            pods = sum(self.surplus[whose] for whose in others)
            yield (
                f"{len(others)} DoNotSchedule constraints of workloads that are not applied had "
                f"{pods} pods too many before, and no run ends with more"
            )


def name_of(owner: Rolling) -> tuple[str, str]:
    """The namespace and `Kind/name` of a workload, as documents name it."""
    return owner.namespace, f"{owner.kind}/{owner.name}"
