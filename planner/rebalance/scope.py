"""Which pods a rebalance may move: those of a namespace, with some labels, but not of excluded workloads.

A constraint is repaired when a chosen pod carries it or is counted by it.  All other constraints stay as they
are, because no pod that they count may move.  Pods that are not chosen are still counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models import Cluster
from models.controllers.reconcile import workloads_of
from models.objects.annotations import EXCLUDE
from models.objects.pod import Pod
from models.objects.selectors import LabelSelector
from models.objects.workload import Workload
from planner.audit.spread_counts import Owners
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class MoveScope:
    """Pods by namespace and labels; None is no restriction.  Workloads as `namespace Kind/name`."""

    namespace: str | None = None
    selector: LabelSelector | None = None
    excluded: frozenset[str] = frozenset()

    def why_not(self, pod: Pod, workload: str) -> str:
        """Why a pod of a workload is left alone; empty if it is chosen."""
        if self.namespace not in (None, pod.namespace):
            return "of another namespace"
        if self.selector is not None and not self.selector.matches(pod.metadata.labels):
            return "without the chosen labels"
        if workload in self.excluded:
            return "of an excluded workload"
        return "with an annotation that excludes it" if _excludes_itself(pod.metadata.annotations) else ""

    def left_alone(self, problem: Problem) -> dict[int, str]:
        """The placed pods that are not chosen, with the reason."""
        choice = self._with_annotated(problem.cluster)
        owners = Owners(problem.cluster)
        workloads = [f"{t.namespace} {owners.workload(t)}" for t in problem.templates]
        template_of = problem.template_of.tolist()
        found = {
            pod: choice.why_not(problem.pods[pod], workloads[template_of[pod]])
            for pod in np.flatnonzero(problem.node_of >= 0).tolist()
        }
        return {pod: reason for pod, reason in found.items() if reason}

    @staticmethod
    def trial(problem: Problem, left_alone: Mapping[int, str]) -> TrialCluster:
        """The cluster with the constraints that the chosen pods carry or are counted by."""
        trial = TrialCluster(problem)
        if not left_alone:
            return trial
        placed = np.flatnonzero(problem.node_of >= 0)
        chosen = np.setdiff1d(placed, np.fromiter(left_alone, np.intp))
        templates = np.unique(problem.template_of[chosen]).tolist()
        return TrialCluster(problem, trial.ledger.concerned(templates))

    def _with_annotated(self, cluster: Cluster) -> MoveScope:
        """The same without the workloads that are annotated to be left alone."""
        annotated = {
            identity(item)
            for item in workloads_of(cluster).known
            if _excludes_itself(item.metadata.annotations)
        }
        return MoveScope(self.namespace, self.selector, self.excluded | annotated)


def identity(workload: Workload) -> str:
    """`namespace Kind/name`."""
    return f"{workload.namespace} {workload.kind}/{workload.name}"


def _excludes_itself(annotations: Mapping[str, str]) -> bool:
    return annotations.get(EXCLUDE) == "true"
