"""What each way makes of the cluster: kube-scheduler, Descheduler, the plan of `solve` or of `rebalance`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from planner.compare.descheduler import Descheduled, descheduled
from planner.documents.columns import ColumnName
from planner.documents.move_plan import MovePlan
from planner.documents.plan import PlacementPlan
from planner.eviction.protections import protections_of
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.proof.clock import Clock, looking_for


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where all pods are in the end, and what was evicted on the way there."""

    name: ColumnName
    node_of: Codes
    seed: int | None = None
    #: The pods that every round or wave evicted.
    rounds: tuple[tuple[int, ...], ...] = ()
    #: Pods that were evicted, and that no controller makes again.
    lost: int = 0
    descheduled: Descheduled | None = None
    plan: PlacementPlan | MovePlan | None = None

    @property
    def evictions(self) -> int:
        """The pods that all rounds or waves evicted."""
        return sum(map(len, self.rounds))


def by_kube_scheduler(by_name: Codes, drawn: Mapping[int, Codes]) -> list[Outcome]:
    """The run without draws, and those with them."""
    draws = [Outcome("kubeScheduler", node_of, seed) for seed, node_of in drawn.items()]
    return [Outcome("kubeScheduler", by_name), *draws]


def by_descheduler(problem: Problem, replays: int, clock: Clock) -> list[Outcome]:
    """Descheduler with ties going by the name, and as many draws as there is time for, at least one."""
    found: list[Outcome] = []
    for seed in (None, *range(1, replays + 1)):
        if len(found) > 1 and clock.over():
            break
        looking_for(f"what Descheduler evicts ({len(found)} of {replays + 1} runs)")
        found.append(_descheduled(problem, seed))
    return found


def _descheduled(problem: Problem, seed: int | None) -> Outcome:
    found = descheduled(problem, protections_of(problem.cluster), seed=seed)
    gone = (problem.node_of >= 0) & (found.node_of < 0)
    gone[[*found.waiting]] = False
    return Outcome("descheduler", found.node_of, seed, found.rounds, int(gone.sum()), found)


def by_solve(problem: Problem, found: PlacementPlan) -> Outcome:
    node_of = problem.node_of.copy()
    for step in found.steps:
        node_of[problem.pod_index[step.pod]] = -1 if step.node is None else problem.nodes.index[step.node]
    return Outcome("optimum", node_of, plan=found)


def by_rebalance(problem: Problem, found: MovePlan) -> Outcome:
    node_of, waves = problem.node_of.copy(), defaultdict[int, list[int]](list)
    for step in found.steps:
        pod = problem.pod_index[step.pod]
        node_of[pod] = problem.nodes.index[step.node]
        waves[step.wave].append(pod)
    return Outcome("optimum", node_of, rounds=tuple(map(tuple, waves.values())), plan=found)
