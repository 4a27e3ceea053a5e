"""Webhooks and policies: the objects that they are asked about, and which of them have not seen the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from models.admission.evidence import Whose, described, workload_of
from models.objects.base import LONG_AGO
from models.objects.pod import Pod
from models.objects.webhooks import MatchConstraints, Webhook, in_force
from models.snapshot import Snapshot

_EVERYTHING = MatchConstraints()


class AdmissionCheck(NamedTuple):
    """A webhook or a policy in force, where its binding puts it, and since when."""

    kind: str
    name: str
    webhook: Webhook
    scope: MatchConstraints = _EVERYTHING
    since: datetime = LONG_AGO

    @property
    def does(self) -> str:
        """What it may do to objects."""
        words = {"MutatingWebhookConfiguration": "change or refuse", "MutatingAdmissionPolicy": "change"}
        return words.get(self.kind, "refuse")

    def covers(self, group: str, resource: str, operation: str) -> bool:
        """Whether it is asked about such requests."""
        scoped = [self.scope.resource_rules] if self.scope.resource_rules else []
        rules = [self.webhook.rules, *scoped]
        return all(any(rule.covers(group, resource, operation) for rule in some) for some in rules)

    def reads(self, namespace: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels in a namespace with those is among its own."""
        bound = Webhook(
            namespace_selector=self.scope.namespace_selector, object_selector=self.scope.object_selector
        )
        return self.webhook.reads(namespace, labels) and bound.reads(namespace, labels)


def checks_in_force(found: Snapshot) -> Iterator[AdmissionCheck]:
    """Every webhook and every policy in force."""
    for item in (*found.mutating_webhooks, *found.validating_webhooks):
        yield from (
            AdmissionCheck(item.kind, item.name, one, since=item.metadata.created) for one in item.webhooks
        )
    for policies, bindings in (
        (found.mutating_policies, found.mutating_policy_bindings),
        (found.validating_policies, found.validating_policy_bindings),
    ):
        for policy, binding in in_force(policies, bindings):
            since = max(policy.metadata.created, binding.metadata.created)
            yield AdmissionCheck(
                policy.kind, policy.name, policy.as_webhook, binding.spec.match_resources, since
            )


def labels_of_namespace(name: str, *found: Snapshot) -> Mapping[str, str]:
    """Its labels; one that is not known has its name."""
    known = (item.metadata.labels for each in found for item in each.namespaces if item.name == name)
    return next(known, {"kubernetes.io/metadata.name": name})


def newer_than_pods(found: Snapshot) -> Iterator[str]:
    """A note for each that no pod of some workload has been through: it may not let another one in."""
    in_question = [
        one for one in checks_in_force(found) if one.since > LONG_AGO and one.covers("", "pods", "CREATE")
    ]
    if not in_question:
        return
    tried = {(one.namespace, one.workload_kind, one.workload_name) for one in found.admitted_templates}
    youngest = {whose: pod for whose, pod in _youngest(found).items() if whose not in tried}
    names = {pod.namespace for pod in youngest.values()}
    namespaces = {name: labels_of_namespace(name, found) for name in names}
    for one in in_question:
        whose = [
            described(owner)
            for owner, pod in youngest.items()
            if pod.metadata.created < one.since and one.reads(namespaces[pod.namespace], pod.metadata.labels)
        ]
        if whose:
            more = f" and of {len(whose) - 1} more" if len(whose) > 1 else ""
            yield (
                f"{one.kind} {one.name} is newer than the pods of {whose[0]}{more}, and may {one.does} "
                "the next ones: not evaluated here, --server-dry-run asks the API server"
            )


def _youngest(found: Snapshot) -> dict[Whose, Pod]:
    youngest: dict[Whose, Pod] = {}
    for pod in found.pods:
        if pod.metadata.controller is not None and pod.metadata.creation_timestamp and not pod.is_finished:
            whose = workload_of(pod)
            if whose not in youngest or youngest[whose].metadata.created < pod.metadata.created:
                youngest[whose] = pod
    return youngest
