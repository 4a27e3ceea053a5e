"""Whether the API server would let in the pod that replaces an evicted one, and as what.

The next pod is made from the template and goes through admission anew.  An evicted pod counts for its quota
until it has ended, so its replacement may have to wait that long; where more is used than `hard` says, or
where pods of another workload wait for the same quota, the replacement may never come.
"""

from __future__ import annotations

from functools import cached_property

from models.admission.chain import Admission, accounts_of, refused, told_by_sets
from models.admission.evidence import same_requests
from models.admission.pod_security import ENFORCE
from models.admission.pods import Priorities
from models.controllers.owners import Workloads
from models.controllers.stateful import REVISION_LABEL, next_revision, pod_of_template
from models.controllers.templates import made_again, new_pod, usable, with_requests_of
from models.objects.pod import Pod, PodStatus, PodTemplateSpec
from models.objects.workload import DaemonSet, StatefulSet
from planner.problem.problem import Problem
from planner.problem.quotas import EXCEEDED, Quotas

REFUSED = "whose replacement the API server would refuse"
CONTENDED = "whose replacement would compete with other pods for a ResourceQuota"
DIFFERS = "whose replacement would request something else, as LimitRange or its template has it"
OTHER_AFFINITY = "whose replacement would have the node affinity of its template, which is another one"
RESIZED = "whose replacement would request what the template has, not what it was resized to"


class ReplacementAdmission:
    """The pods that come in the place of evicted ones, as far as their controllers' templates were read."""

    def __init__(self, problem: Problem, workloads: Workloads) -> None:
        self._problem, self._workloads = problem, workloads
        self._quotas, self._priorities = Quotas(problem), Priorities(problem.cluster)
        known = (*problem.cluster.limit_ranges, *problem.cluster.admitted_templates)
        judged = {
            item.name
            for item in problem.cluster.namespaces
            if item.metadata.deletion_timestamp or ENFORCE in item.metadata.labels
        }
        judged.update(namespace for (namespace, *_), _ in told_by_sets(problem.cluster))
        self._limited = judged.union(item.namespace for item in known)
        known_classes = {item.name for item in problem.cluster.runtime_classes}
        self._runtimes = known_classes if problem.cluster.has_all_of("runtimeclasses") else None
        self._accounts = accounts_of(problem.cluster)
        self._made: dict[tuple[str, str], Pod] = {}
        """By controller the next pod, as it was asked about."""

    def why_not(self, pod: Pod) -> str:
        """Why a pod should stay; empty where it is made again as it is."""
        if self._priorities.is_missing(pod.spec):
            return REFUSED
        if why := self._by_limits(pod):
            return why
        if not self._quotas.limits(pod):
            return ""
        if self._contending.get(pod.namespace, set()) - {_owner(pod)}:
            return CONTENDED
        return REFUSED if self._quotas.refuses_again(pod) else ""

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self._problem.cluster)

    @cached_property
    def _contending(self) -> dict[str, set[object]]:
        """By namespace the owners of the pods that a full quota keeps from being created."""
        found: dict[str, set[object]] = {}
        for number, line in self._problem.refused.items():
            pod = self._problem.pods[number]
            if EXCEEDED in line:
                found.setdefault(pod.namespace, set()).add(_owner(pod))
        return found

    def is_gated(self, pod: Pod) -> bool:
        """Whether the next pod has a scheduling gate, which somebody took away from this one."""
        template = self._template_of(pod)
        return template is not None and template.spec is not None and bool(template.spec.scheduling_gates)

    def bound_to(self, pod: Pod) -> str:
        """The node that the template names, on which the next pod is from the start; empty where none."""
        owner, template = self._workloads.controller_of(pod), self._template_of(pod)
        if template is None or template.spec is None or isinstance(owner, DaemonSet):
            return ""
        return template.spec.node_name or ""

    def has_other_affinity(self, pod: Pod) -> bool:
        """Whether the next pod has another node affinity, as where this one was made while a pin was set.

        The controller of a DaemonSet sets it itself, and one of a StatefulSet may make an older revision.
        """
        owner, template = self._workloads.controller_of(pod), self._template_of(pod)
        if template is None or template.spec is None or isinstance(owner, DaemonSet):
            return False
        if isinstance(owner, StatefulSet) and _is_of_other_revision(owner, pod):
            return False
        return pod.spec.node_affinity != template.spec.node_affinity

    def _by_limits(self, pod: Pod) -> str:
        """What a LimitRange does to the next pod: it may be newer than the pod that runs."""
        made = self._next(pod)
        if made is None:
            return ""
        if made.refusal:
            return REFUSED
        return "" if same_requests(made.spec, pod.spec) else DIFFERS

    def is_resized(self, pod: Pod) -> bool:
        """Whether the next pod requests something else, as this one was resized in place."""
        made = self._instead_of_resized(pod)
        return made is not None and not same_requests(made.spec, pod.spec)

    def _instead_of_resized(self, pod: Pod) -> Pod | None:
        """What the API server makes of the next pod, where this one may have been resized in place."""
        # Asked of every running pod, nearly all of which are as they were made.
        template = self._template_of(pod) if pod.metadata.generation > 1 else None
        if template is None or template.spec is None or not pod.may_be_resized(template.spec):
            return None
        return self._made_for(pod)

    def _template_of(self, pod: Pod) -> PodTemplateSpec | None:
        owner = self._workloads.controller_of(pod)
        return None if owner is None else usable(owner.spec.template)

    def _next(self, pod: Pod) -> Pod | None:
        """What the API server makes of the next pod; None where nothing says that it would be another one."""
        known = pod.namespace in self._limited or self._names_what_is_gone(pod)
        return self._made_for(pod) if known else None

    def _made_for(self, pod: Pod) -> Pod | None:
        """What the API server makes of the next pod of this one's controller; None without a template."""
        owner, template = self._workloads.controller_of(pod), self._template_of(pod)
        if owner is None or template is None:
            return None
        whose = owner.kind, owner.key
        if whose not in self._made:
            self._made[whose] = self._admission.admit(new_pod(template, owner, pod.name))
        return self._made[whose]

    def _names_what_is_gone(self, pod: Pod) -> bool:
        """Whether a class or the account of a running pod is not there any more, as far as all are known."""
        runtime, account = pod.spec.runtime_class_name, pod.spec.account
        return (
            self._priorities.is_missing(pod.spec)
            or bool(runtime and self._runtimes is not None and runtime not in self._runtimes)
            or bool(account and self._accounts is not None and (pod.namespace, account) not in self._accounts)
        )

    def other(self, pod: Pod) -> Pod | None:
        """The pod that comes in the place of one, where it is another to the scheduler.

        Or where the API server refuses it for other reasons than a quota.
        """
        owner, template = self._workloads.controller_of(pod), self._template_of(pod)
        if template is None or template.spec is None:
            return None
        if isinstance(owner, StatefulSet) and _is_of_other_revision(owner, pod):
            return self._of_template(owner, template, pod)
        spec, made = made_again(pod, template.spec), self._next(pod)
        line = "" if made is None else made.refusal
        if (resized := self._instead_of_resized(pod)) is not None:
            spec = with_requests_of(resized.spec, spec)
        same = (spec.affinity, spec.scheduling_gates) == (pod.spec.affinity, pod.spec.scheduling_gates)
        same = same and not pod.status.resource_claim_statuses
        if same and same_requests(spec, pod.spec) and not line:
            return None
        other = pod.model_copy(update={"spec": spec, "status": PodStatus()})
        return refused(other, line) if line else other

    def _of_template(self, owner: StatefulSet, template: PodTemplateSpec, pod: Pod) -> Pod | None:
        """The next pod of an ordinal where it is made from the template; None where it is not."""
        revision = next_revision(owner, pod)
        if not revision:
            return None
        made = self._admission.admit(pod_of_template(owner, template, pod.name, revision))
        metadata = pod.metadata.model_copy(update={"labels": made.metadata.labels})
        other = pod.model_copy(update={"metadata": metadata, "spec": made.spec, "status": PodStatus()})
        return refused(other, made.refusal) if made.refusal else other


def _is_of_other_revision(owner: StatefulSet, pod: Pod) -> bool:
    """Whether a StatefulSet made the pod from another template than it has now; the next one may be, too."""
    made_from, now = pod.metadata.labels.get(REVISION_LABEL), owner.status.update_revision
    return bool(made_from and now) and made_from != now


def _owner(pod: Pod) -> object:
    owner = pod.metadata.controller
    return pod.key if owner is None else (owner.kind, owner.name)
