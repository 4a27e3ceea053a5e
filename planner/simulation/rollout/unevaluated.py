"""Admission that is not played: webhooks and policies that may change or refuse what an apply makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from models import Cluster
from models.controllers.apply import ROLLED_OUT
from models.objects.custom_workload import is_custom
from models.objects.webhooks import MatchConstraints, Webhook, in_force
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
_EVERYTHING = MatchConstraints()


def unevaluated(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each webhook or policy in force that is asked about a new template or its pods."""
    concerned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for item, is_new in _changed(cluster, manifests):
        for kind, name, webhook, scope in _asked(cluster, manifests):
            if _is_about(webhook, scope, item, is_new=is_new, namespaces=_labels(cluster, manifests)):
                concerned[kind, name].append(f"{item.kind} {item.key}")
    for (kind, name), several in concerned.items():
        does = "change or refuse" if kind == "MutatingWebhookConfiguration" else "refuse"
        does = "change" if kind == "MutatingAdmissionPolicy" else does
        first, *more = dict.fromkeys(several)
        what = f"{first} or its pods" if not more else f"{first}, {len(more)} more, or their pods"
        yield f"{kind} {name} may {does} {what}: not evaluated here, --server-dry-run asks the API server"


def _changed(cluster: Cluster, manifests: Snapshot) -> Iterator[tuple[Workload, bool]]:
    """The workloads with a template that does not run yet, and whether each is new."""
    asked = (*cluster.admitted_templates, *manifests.admitted_templates)
    told = {(item.namespace, item.workload_kind, item.workload_name) for item in asked}
    for field in ROLLED_OUT:
        before = {item.key: item for item in getattr(cluster, field) if not is_custom(item)}
        for item in getattr(manifests, field):
            if is_custom(item) or (item.namespace, item.kind, item.name) in told:
                continue
            old = before.get(item.key)
            if old is None or not same_template(old.spec.template, item.spec.template):
                yield item, old is None


def _asked(cluster: Cluster, manifests: Snapshot) -> Iterator[tuple[str, str, Webhook, MatchConstraints]]:
    """Every webhook and every policy in force, here or in the manifests."""
    for found in (cluster, manifests):
        for item in (*found.mutating_webhooks, *found.validating_webhooks):
            yield from ((item.kind, item.name, webhook, _EVERYTHING) for webhook in item.webhooks)
        for policies, bindings in (
            (found.mutating_policies, found.mutating_policy_bindings),
            (found.validating_policies, found.validating_policy_bindings),
        ):
            for policy, webhook, scope in in_force(policies, bindings):
                yield policy.kind, policy.name, webhook, scope


def _labels(cluster: Cluster, manifests: Snapshot) -> Mapping[str, Mapping[str, str]]:
    return {item.name: item.metadata.labels for item in (*cluster.namespaces, *manifests.namespaces)}


def _is_about(
    webhook: Webhook,
    scope: MatchConstraints,
    item: Workload,
    *,
    is_new: bool,
    namespaces: Mapping[str, Mapping[str, str]],
) -> bool:
    namespace = namespaces.get(item.namespace, {"kubernetes.io/metadata.name": item.namespace})
    bound = Webhook(namespace_selector=scope.namespace_selector, object_selector=scope.object_selector)
    pod = item.spec.template.metadata.labels if item.spec.template else {}
    requests = (
        ("", "pods", "CREATE", pod),
        (*_RESOURCES[item.kind], "CREATE" if is_new else "UPDATE", item.metadata.labels),
    )
    for group, resource, operation, labels in requests:
        rules = [webhook.rules, *([scope.resource_rules] if scope.resource_rules else [])]
        covered = all(any(rule.covers(group, resource, operation) for rule in some) for some in rules)
        if covered and webhook.reads(namespace, labels) and bound.reads(namespace, labels):
            return True
    return False
