"""`scale_down`: which replicas should go so that the rest is best spread, and how to make it so.

The choice is among what deletion costs can bring about.  Controllers that do not look at them are shown
with their best choice all the same.

Nothing that is printed rests on the solver alone: the spread is counted anew as `check` does, and the
annotations are put on the pods and the controllers asked again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from models import Cluster
from models.admission.chain import is_new
from models.errors import InputError, InternalError
from models.objects.pod import Pod
from models.objects.workload import Deployment, Workload
from models.words import are, counted
from planner.audit import spread_counts
from planner.audit.findings import report_of
from planner.cpsat.replicas import Removal
from planner.documents import plan
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.proof.bounds import Bound, Claim, Measured, ObjectiveStage, judge, status_of
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD, Effort
from planner.proof.meter import Meter
from planner.simulation.scaledown.deletion_costs import Share, annotated, heeds_deletion_costs
from planner.simulation.scaledown.replica_groups import in_numbers
from planner.state.state import State
from planner.whatif.autoscaling import overruled
from planner.whatif.scaling import Replicas, held_up, scalable, surplus_of
from planner.whatif.victims import as_of

if TYPE_CHECKING:
    from planner.cpsat.lexicographic import Reached

#: The parts of the objective, the most important first; the last one is to be large, the others small.
_SPREAD = ("hardExcess", "softExcess", "skew")
_SHARED = "controllersVictims"
#: The controllers' choice is drawn at moments up to so many seconds after the snapshot, evenly over their
#: logarithms: controllers compare how long ago pods became ready by that.
_SOON = 3600.0


def scale_down(
    cluster: Cluster,
    replicas: Mapping[str, int],
    *,
    time_limit: float = 30.0,
    effort: Effort = STANDARD,
    stop_event: threading.Event | None = None,
) -> plan.ScaleDown:
    """The best victims of scaling workloads `Kind/name[.namespace]` down to so many replicas, together.

    When `stop_event` is set, the best choice so far is the answer.
    """
    meter = Meter.of(time_limit, stop_event, effort=effort)
    cluster = _as_created(cluster)
    return _VictimSearch(cluster, _targets(cluster, replicas)).document(meter).cut_while(meter.cut)


def _as_created(cluster: Cluster) -> Cluster:
    """The cluster without the pods that its workloads lack and the API server would not create."""
    if not any(map(is_new, cluster.pods)):
        return cluster
    problem = Problem(cluster)
    refused = {problem.pods[pod].key for pod in problem.refused}
    return replace(cluster, pods=tuple(pod for pod in cluster.pods if pod.key not in refused))


@dataclass(frozen=True, slots=True)
class _Target:
    """A workload, how many replicas it is to keep, and what its controllers have too many of."""

    workload: Workload
    keep: int
    replicas: tuple[Replicas, ...]

    @property
    def live(self) -> int:
        return sum(len(found.pods) for found in self.replicas)

    @property
    def is_rolling(self) -> bool:
        """Whether a Deployment that is not paused has pods of several ReplicaSets."""
        return (
            isinstance(self.workload, Deployment) and len(self.replicas) > 1 and not self.workload.spec.paused
        )


@dataclass(frozen=True, slots=True)
class _Solution:
    """Victims, and what is claimed of all choices."""

    victims: tuple[Pod, ...]
    claims: tuple[Claim, ...]


class _VictimSearch:
    """The replicas that are too many, and the constraints of those that stay."""

    def __init__(self, cluster: Cluster, targets: Sequence[_Target]) -> None:
        self._cluster = cluster
        self._targets = targets
        self._shares = [Share.of(found) for target in targets for found in target.replicas]
        self._problem = Problem(cluster)

    def document(self, meter: Meter) -> plan.ScaleDown:
        """The answer, after everything in it was checked."""
        taken = tuple(pod for share in self._shares for pod in share.replicas.victims)
        controller = self._choice(taken)
        report_best(f"the controllers' own choice: {_told(_worth(controller))}")
        solution = self._solve(meter)
        best = self._choice(solution.victims)
        if _worth(controller) < _worth(best):
            solution, best = _Solution(taken, solution.claims), controller
        stages = tuple(self._judged(solution, best, taken))
        costs = self._costs(solution.victims)
        return plan.ScaleDown(
            status=status_of(stages),
            objective=tuple(stage.objective() for stage in stages),
            workloads=tuple(map(_scaled, self._targets)),
            controller=controller,
            best=best,
            costs=tuple(plan.DeletionCost(pod=pod.key, cost=cost) for pod, cost in costs),
            draws=self._draws(controller, best, meter.effort.scale_down.draws),
            kubernetes=self._problem.kubernetes.document,
            notes=(*self._cluster.notes, *self._problem.notes, *self._notes()),
        )

    @cached_property
    def _templates(self) -> list[Template]:
        """The templates of the workloads' live pods."""
        index = self._problem.pod_index
        pods = (pod for share in self._shares for pod in share.replicas.pods)
        positions = [index[pod.key] for pod in pods if pod.key in index]
        numbers = np.unique(self._problem.template_of[np.array(positions, np.intp)])
        return [self._problem.templates[number] for number in numbers.tolist()]

    def _without(self, pods: Sequence[Pod]) -> State:
        """What is left when these pods are gone."""
        index, node_of = self._problem.pod_index, self._problem.node_of.copy()
        node_of[[index[pod.key] for pod in pods if pod.key in index]] = -1
        return State(self._problem, node_of)

    def _choice(self, victims: Sequence[Pod]) -> plan.ScaleDownChoice:
        """The spread of what stays, counted as `check` counts it."""
        found = spread_counts.take(self._problem, self._without(victims), self._templates)
        return plan.ScaleDownChoice(
            victims=tuple(pod.key for pod in victims),
            hard_excess=sum(sum(row.surplus.values()) for row in found if row.hard),
            soft_excess=sum(sum(row.surplus.values()) for row in found if not row.hard),
            skew=sum(row.skew for row in found),
            constraints=tuple(map(report_of, found)),
        )

    def _draws(
        self, told: plan.ScaleDownChoice, best: plan.ScaleDownChoice, runs: int
    ) -> plan.ScaleDownDraws | None:
        """The controllers' choice at other moments and with other ties; None where it is always the same."""
        taken = as_of(self._cluster)
        known = {frozenset(told.victims): _worth(told)}
        drawn: list[frozenset[str]] = []
        for seed in range(runs):
            chance = Random(seed)
            later = timedelta(seconds=_SOON ** chance.random())
            now = None if taken is None else taken + later
            victims = [
                pod
                for target in self._targets
                for found in surplus_of(self._cluster, target.workload, target.keep, now, chance)
                for pod in found.victims
            ]
            keys = frozenset(pod.key for pod in victims)
            if keys not in known:
                known[keys] = _worth(self._choice(victims))
            drawn.append(keys)
        other = sum(keys != frozenset(told.victims) for keys in drawn)
        worse = sum(known[keys] > _worth(best) for keys in drawn)
        broken = sum(known[keys][0] > 0 for keys in drawn)
        return plan.ScaleDownDraws(runs=runs, other=other, worse=worse, broken=broken) if other else None

    def _solve(self, meter: Meter) -> _Solution:
        """The victims of the best choice, those that go in any case included."""
        forced = tuple(pod for share in self._shares for pod in share.forced)
        groups = [share.open for share in self._shares]
        if not any(0 < group.going < len(group.pods) for group in groups):
            victims = (*forced, *(pod for group in groups for pod in group.victims))
            return _Solution(victims, tuple(self._only(victims)))
        from planner.cpsat.replica_groups import RemovalModel

        meter.look_for("the best replicas to go")
        removal = in_numbers(self._problem, self._without(forced), groups, self._templates)
        chosen = RemovalModel(removal).solve(meter, _tell)
        victims = (*forced, *_picked(removal, chosen.numbers, groups))
        return _Solution(victims, tuple(_claims(chosen.stages, len(forced))))

    def _only(self, victims: Sequence[Pod]) -> Iterator[Claim]:
        """What is claimed where there is but one choice: it is what it is."""
        for name, value in zip(_SPREAD, _worth(self._choice(victims)), strict=True):
            yield Claim(name, Bound(value, "the only choice"))

    def _judged(
        self, solution: _Solution, best: plan.ScaleDownChoice, taken: Sequence[Pod]
    ) -> Iterator[ObjectiveStage]:
        """Every stage as it was counted, with what no choice can beat."""
        shared = len({pod.key for pod in taken} & {pod.key for pod in solution.victims})
        measured = [Measured(*found, largest=False) for found in zip(_SPREAD, _worth(best), strict=True)]
        certain = [Claim(name, Bound(0, "no count is negative")) for name in _SPREAD]
        most = Claim(_SHARED, Bound(len(taken), "the controllers take no more"))
        return judge([*measured, Measured(_SHARED, shared)], [*solution.claims, *certain, most])

    def _costs(self, victims: Sequence[Pod]) -> list[tuple[Pod, int]]:
        """The annotations that make it so, tried out on the controllers."""
        keys = {pod.key for pod in victims}
        costs = [cost for share in self._shares for cost in share.costs(keys)]
        steered = annotated(self._cluster, costs)
        for target in self._targets:
            if heeds_deletion_costs(target.workload):
                for found in surplus_of(steered, target.workload, target.keep):
                    if not {pod.key for pod in found.victims} <= keys:
                        raise InternalError(f"{target.workload.kind} {target.workload.key} takes other pods")
        return costs

    def _notes(self) -> Iterator[str]:
        for target in self._targets:
            yield from held_up(target.workload, target.replicas)
            yield from overruled(self._cluster, target.workload, target.keep)
            if target.is_rolling:
                yield (
                    f"Deployment {target.workload.key} is being rolled out: what that takes and makes "
                    "meanwhile is not played, and other pods may go"
                )
            if not heeds_deletion_costs(target.workload):
                yield (
                    f"{target.workload.kind} {target.workload.key} does not look at deletion costs: the "
                    "controller's choice is what will happen, the best one is for comparison"
                )


def _told(worth: Sequence[int]) -> str:
    """What a choice has of each part of the objective."""
    return ", ".join(f"{name} {value}" for name, value in zip(_SPREAD, worth, strict=False))


def _tell(stages: Sequence[Reached]) -> None:
    """Show the best so far, and the bound of its last stage, on the progress line."""
    report_best(f"{_told([stage.value for stage in stages])}, at least {stages[-1].bound}")


def _targets(cluster: Cluster, replicas: Mapping[str, int]) -> list[_Target]:
    """What is asked, or an InputError with all that is wrong about it."""
    found: list[_Target] = []
    problems: list[str] = []
    for text, number in replicas.items():
        try:
            workload = scalable(cluster, text, number)
        except InputError as error:
            problems += [f"{text}={number}: {problem}" for problem in error.problems]
            continue
        target = _Target(workload, number, tuple(surplus_of(cluster, workload, number)))
        if number > target.live:
            there = f"there {are(target.live)} {counted(target.live, 'replica')}"
            problems.append(f"{text}={number}: that is no scale-down, {there}")
        if any(workload is other.workload for other in found):
            problems.append(f"{text}={number}: {workload.kind} {workload.key} is named twice")
        found.append(target)
    if problems:
        raise InputError(problems)
    return found


def _scaled(target: _Target) -> plan.ScaledWorkload:
    return plan.ScaledWorkload(
        namespace=target.workload.namespace,
        workload=f"{target.workload.kind}/{target.workload.name}",
        replicas_before=target.live,
        replicas=target.keep,
        heeds_deletion_costs=heeds_deletion_costs(target.workload),
    )


def _picked(removal: Removal, numbers: Sequence[int], groups: Sequence[Replicas]) -> Iterator[Pod]:
    """So many pods of every group, those that their controller would take first, first."""
    group_of = {
        pod.key: number
        for number, replica_group in enumerate(removal.replica_groups)
        for pod in replica_group.pods
    }
    left = list(numbers)
    for group in groups:
        for pod in group.pods:
            if left[group_of[pod.key]]:
                left[group_of[pod.key]] -= 1
                yield pod


def _claims(stages: Sequence[Reached], forced: int) -> Iterator[Claim]:
    """The model's bounds, each on choices that have its own values before.

    It counts agreement downwards, and only among those that need not go.
    """
    given: dict[str, int] = {}
    for name, stage in zip((*_SPREAD, _SHARED), stages, strict=False):
        bound = stage.bound if name != _SHARED else forced - stage.bound
        yield Claim(name, Bound(bound, "a model of all replica groups"), dict(given))
        given[name] = stage.value


def _worth(choice: plan.ScaleDownChoice) -> tuple[int, int, int]:
    """Lower is better."""
    return choice.hard_excess, choice.soft_excess, choice.skew
