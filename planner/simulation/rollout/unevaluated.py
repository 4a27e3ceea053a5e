"""Admission that is not played: webhooks and policies that may change or refuse what an apply makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from models import Cluster
from models.admission.policies import AdmissionCheck, checks_in_force, labels_of_namespace
from models.controllers.apply import built_in
from models.objects.workload import Workload
from models.snapshot import Snapshot
from planner.simulation.rollout.slots import same_template

#: The API group of each kind that is applied, and its name in rules.
_RESOURCES = {
    "Deployment": ("apps", "deployments"),
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "DaemonSet": ("apps", "daemonsets"),
    "ReplicationController": ("", "replicationcontrollers"),
    "Job": ("batch", "jobs"),
}


def unevaluated(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each webhook or policy in force that is asked about a new template or its pods."""
    in_question = (*checks_in_force(cluster), *checks_in_force(manifests))
    concerned: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item, is_new in _changed(cluster, manifests):
        namespace = labels_of_namespace(item.namespace, cluster, manifests)
        for one in in_question:
            if _is_about(one, item, is_new=is_new, namespace=namespace):
                concerned[one.kind, one.name, one.does].append(f"{item.kind} {item.key}")
    for (kind, name, does), several in concerned.items():
        first, *more = dict.fromkeys(several)
        what = f"{first} or its pods" if not more else f"{first}, {len(more)} more, or their pods"
        yield f"{kind} {name} may {does} {what}: not evaluated here, --server-dry-run asks the API server"


def _changed(cluster: Cluster, manifests: Snapshot) -> Iterator[tuple[Workload, bool]]:
    """The workloads with a template that does not run yet, and whether each is new."""
    tried = (*cluster.admitted_templates, *manifests.admitted_templates)
    told = {(item.namespace, item.workload_kind, item.workload_name) for item in tried}
    for item, old in built_in(cluster, manifests):
        is_told = (item.namespace, item.kind, item.name) in told
        if not is_told and (old is None or not same_template(old.spec.template, item.spec.template)):
            yield item, old is None


def _is_about(one: AdmissionCheck, item: Workload, *, is_new: bool, namespace: Mapping[str, str]) -> bool:
    pod = item.spec.template.metadata.labels if item.spec.template else {}
    requests = (
        ("", "pods", "CREATE", pod),
        (*_RESOURCES[item.kind], "CREATE" if is_new else "UPDATE", item.metadata.labels),
    )
    return any(
        one.covers(group, resource, operation) and one.reads(namespace, labels)
        for group, resource, operation, labels in requests
    )
