"""What of a document is shown: `-n` and `-l`. The whole cluster was looked at before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cli.selector import parse_selector
from cli.views.spread import is_hard
from cli.workloads import Workloads
from models import Cluster, InputError
from models.objects.selectors import LabelSelector
from planner.documents.plan import (
    CheckReport,
    ConstraintReport,
    Decision,
    PendingReason,
    Simulation,
    SpreadChange,
)
from planner.documents.survival import LostPending, Survival, WorkloadLoss


@dataclass(frozen=True, slots=True)
class Scope:
    """A choice of pods, by namespace and labels; None is no restriction."""

    namespace: str | None = None
    selector: LabelSelector | None = None

    @classmethod
    def of(cls, namespace: str | None, all_namespaces: bool, selector: str | None) -> Scope:
        """The choice that the options describe; as with kubectl, -A is stronger than -n."""
        if namespace == "":
            raise InputError(["-n: the name of a namespace is missing"])
        return cls(
            None if all_namespaces else namespace,
            parse_selector(selector) if selector else None,
        )

    def of_simulation(self, document: Simulation, cluster: Cluster) -> Simulation:
        """The simulation of the chosen pods."""
        if self == Scope():
            return document
        pods, shown = self.pods(cluster), self._rows(cluster)
        decisions = tuple(decision for decision in document.decisions if decision.pod in pods)
        spread = tuple(row for row in document.spread if shown(row))
        return document.model_copy(
            update={"decisions": decisions, "spread": spread, "pending": tuple(_pending(decisions))}
        )

    def of_check(self, document: CheckReport, cluster: Cluster) -> CheckReport:
        """The report on the chosen pods' constraints."""
        if self == Scope():
            return document
        pods, shown = self.pods(cluster), self._rows(cluster)
        constraints = [row for row in document.constraints if shown(row)]
        # A finding about a node alone concerns everybody on it.
        findings = [finding for finding in document.findings if not finding.pod or finding.pod in pods]
        surplus = [amount for row in constraints if is_hard(row) for amount in row.excess.values()]
        return document.model_copy(
            update={
                "constraints": tuple(constraints),
                "findings": tuple(findings),
                "hard_excess": sum(surplus),
                "violations": len(surplus) + len(findings),
            }
        )

    def of_survival(self, document: Survival, cluster: Cluster) -> Survival:
        """The survey of the chosen pods' workloads."""
        if self == Scope():
            return document
        shown = self._rows(cluster)
        domains = []
        for loss in document.domains:
            rows = tuple(row for row in loss.workloads if shown(row))
            left = tuple(row for row in loss.pending if shown(row))
            update = {"workloads": rows, "pending": left, "pods": sum(row.lost for row in rows)}
            domains.append(loss.model_copy(update={**update, "ok": all(row.ok for row in rows)}))
        failures = sum(not row.ok for loss in domains for row in loss.workloads)
        return document.model_copy(update={"domains": tuple(domains), "failures": failures})

    def pods(self, cluster: Cluster) -> set[str]:
        """`namespace/name` of the chosen pods."""
        return {
            pod.key
            for pod in cluster.pods
            if self.namespace in (None, pod.namespace)
            and (self.selector is None or self.selector.matches(pod.metadata.labels))
        }

    def _rows(
        self, cluster: Cluster
    ) -> Callable[[ConstraintReport | SpreadChange | WorkloadLoss | LostPending], bool]:
        """Whether a constraint is one of the chosen pods'."""
        if self.selector is None:
            return lambda row: row.namespace == self.namespace
        workloads = Workloads(cluster)
        chosen = {(pod.partition("/")[0], workloads.of(pod)) for pod in self.pods(cluster)}
        return lambda row: (row.namespace, row.workload) in chosen


def _pending(decisions: Sequence[Decision]) -> Iterator[PendingReason]:
    """The verdicts of the pods that stayed pending, the most frequent first."""
    left = [decision for decision in decisions if decision.node is None]
    examples = {decision.message: decision.pod for decision in reversed(left)}
    for message, pods in Counter(decision.message for decision in left).most_common():
        yield PendingReason(message=message, pods=pods, example=examples[message])
