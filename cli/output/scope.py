"""What of a document is shown: `-n` and `-l`. The whole cluster was looked at before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cli.input.selector import parse_selector
from cli.output.views.spread import is_hard
from cli.output.workloads import WorkloadNames
from models import Cluster, InputError
from models.controllers.reconcile import workloads_of
from models.objects.selectors import LabelSelector
from planner.audit.contradicted import contradictions, notes_of
from planner.audit.spread_counts import spelled
from planner.documents.plan import CheckReport, ConstraintPart, Simulation, WorkloadPart
from planner.documents.reasons import pending_by_reason
from planner.documents.rollout import AppliedSimulation
from planner.documents.survival import Survival
from planner.problem.problem import Problem
from planner.whatif.named import suggestion, workload_named


@dataclass(frozen=True, slots=True)
class Scope:
    """A choice of pods, by namespace and labels; None is no restriction."""

    namespace: str | None = None
    selector: LabelSelector | None = None
    excluded: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and workloads `Kind/name` that are left out."""

    @classmethod
    def of(cls, namespace: str | None, all_namespaces: bool, selector: str | None) -> Scope:
        """The choice that the options describe; as with kubectl, -A is stronger than -n."""
        if namespace == "":
            raise InputError(["-n: the name of a namespace is missing"])
        return cls(
            None if all_namespaces else namespace,
            parse_selector(selector) if selector else None,
        )

    @property
    def about(self) -> str | None:
        """The choice in words, for the documents; None where it is no restriction."""
        if self == Scope():
            return None
        where = "" if self.namespace is None else f" of namespace {self.namespace}"
        labels = "" if self.selector is None else f" with {spelled(self.selector)}"
        lead = "only" if where or labels else "all"
        excluded = ", ".join(f"{name} of {namespace}" for namespace, name in sorted(self.excluded))
        return f"{lead} pods{where}{labels}" + (f" but those of {excluded}" if excluded else "")

    def without(self, cluster: Cluster, names: Sequence[str]) -> Scope:
        """The choice without some workloads; without a namespace in the name they are in the chosen one."""
        found = [workload_named(cluster, name, self.namespace) for name in names]
        return replace(
            self, excluded=frozenset((item.namespace, f"{item.kind}/{item.name}") for item in found)
        )

    def check(self, cluster: Cluster) -> None:
        """An InputError when there is nothing in the cluster that the options could mean."""
        if self == Scope():
            return
        # Manifests alone do not make a namespace where the snapshot says which there are.
        running = {pod.namespace for pod in cluster.pods if pod.node_name}
        places = running.union(item.name for item in cluster.namespaces)
        places = places if cluster.namespaces else places.union(_labels_by_namespace(cluster))
        if self.namespace is not None and self.namespace not in places:
            hint = suggestion(self.namespace, places)
            raise InputError([f"-n {self.namespace}: there is no such namespace in the cluster{hint}"])
        if self.selector is not None and not any(self._labelled(cluster)):
            where = "" if self.namespace is None else f" in namespace {self.namespace}"
            raise InputError(
                [f"-l {spelled(self.selector)}: no pod{where} has such labels{self._hint(cluster)}"]
            )

    def knows(self, cluster: Cluster) -> bool:
        """Whether there is something in the cluster that the options mean."""
        try:
            self.check(cluster)
        except InputError:
            return False
        return True

    def _hint(self, cluster: Cluster) -> str:
        """A label that is there and looks like one that was asked for."""
        known = {
            f"{key}={value}"
            for found in _labels_by_namespace(cluster).values()
            for labels in found
            for key, value in labels.items()
        }
        asked = self.selector.requirements if self.selector is not None else ()
        texts = [f"{key}={value}" for key, operator, values in asked if operator == "In" for value in values]
        return next((suggestion(text, known) for text in texts if text not in known), "")

    def _labelled(self, cluster: Cluster) -> Iterator[bool]:
        """For every pod and template of the namespace whether its labels are the chosen ones."""
        for namespace, found in _labels_by_namespace(cluster).items():
            if self.namespace in (None, namespace):
                yield from (self.selector is None or self.selector.matches(labels) for labels in found)

    def of_simulation(self, document: Simulation, cluster: Cluster) -> Simulation:
        """The simulation of the chosen pods."""
        if self == Scope():
            return document
        pods, shown = self.pods(cluster), self._rows(cluster)
        decisions = tuple(decision for decision in document.decisions if decision.pod in pods)
        update: dict[str, object] = {
            "about": self.about,
            "decisions": decisions,
            "spread": tuple(row for row in document.spread if shown(row)),
            "pending": pending_by_reason(decisions),
        }
        if isinstance(document, AppliedSimulation):
            update["rollouts"] = tuple(row for row in document.rollouts if shown(row))
        if document.contradicted:
            update["contradicted"] = chosen = contradictions(Problem(cluster), pods)
            others = {*notes_of(document.contradicted)}
            kept = (note for note in document.notes if note not in others)
            update["notes"] = (*kept, *notes_of(chosen))
        return document.model_copy(update=update)

    def of_check(self, document: CheckReport, cluster: Cluster) -> CheckReport:
        """The report on the chosen pods' constraints."""
        if self == Scope():
            return document
        pods, shown = self.pods(cluster), self._rows(cluster)
        constraints = [row for row in document.constraints if shown(row)]
        # A finding about a node alone concerns every pod on it.
        findings = [finding for finding in document.findings if not finding.pod or finding.pod in pods]
        surplus = [amount for row in constraints if is_hard(row) for amount in row.excess.values()]
        return document.model_copy(
            update={
                "about": self.about,
                "constraints": tuple(constraints),
                "findings": tuple(findings),
                "hard_excess": sum(surplus),
                "violations": len(surplus) + len(findings),
                "pending": sum(
                    pod.key in pods and pod.is_waiting and not pod.is_terminating for pod in cluster.pods
                ),
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
            update["meanwhile"] = tuple(row for row in loss.meanwhile if shown(row))
            domains.append(loss.model_copy(update={**update, "ok": all(row.ok for row in rows)}))
        failures = sum(not row.ok for loss in domains for row in loss.workloads)
        return document.model_copy(
            update={"about": self.about, "domains": tuple(domains), "failures": failures}
        )

    def pods(self, cluster: Cluster) -> set[str]:
        """`namespace/name` of the chosen pods."""
        found = {
            pod.key
            for pod in cluster.pods
            if self.namespace in (None, pod.namespace)
            and (self.selector is None or self.selector.matches(pod.metadata.labels))
        }
        if not self.excluded:
            return found
        workloads = WorkloadNames(cluster)
        return {pod for pod in found if (pod.partition("/")[0], workloads.of(pod)) not in self.excluded}

    def _rows(self, cluster: Cluster) -> Callable[[ConstraintPart | WorkloadPart], bool]:
        """Whether a row is about the chosen pods."""
        if self.selector is None:
            return lambda row: (
                self.namespace in (None, row.namespace) and (row.namespace, row.workload) not in self.excluded
            )
        workloads = WorkloadNames(cluster)
        chosen = {(pod.partition("/")[0], workloads.of(pod)) for pod in self.pods(cluster)}
        return lambda row: (row.namespace, row.workload) in chosen


def _labels_by_namespace(cluster: Cluster) -> dict[str, list[Mapping[str, str]]]:
    """The labels of pods, and of what workloads would make, in every namespace that anything names."""
    found: dict[str, list[Mapping[str, str]]] = {item.name: [] for item in cluster.namespaces}
    for pod in cluster.pods:
        found.setdefault(pod.namespace, []).append(pod.metadata.labels)
    for workload in workloads_of(cluster).known:
        here = found.setdefault(workload.namespace, [])
        here += [workload.spec.template.metadata.labels] if workload.spec.template else []
    return found
