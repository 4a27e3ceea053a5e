"""What else the API server asks about new objects: admission webhooks, and policies with their bindings.

What they would say is not known here; their rules say about which objects they are asked.
"""

from collections.abc import Iterator, Mapping

from pydantic import Field

from models.objects.base import ClusterObject, KubeModel
from models.objects.selectors import LabelSelector


class AdmissionRule(KubeModel):
    """The requests that one is asked about."""

    api_groups: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def covers(self, group: str, resource: str, operation: str) -> bool:
        """Whether it names these requests, or all."""
        return (
            not {group, "*"}.isdisjoint(self.api_groups)
            and not {resource, "*", "*/*"}.isdisjoint(self.resources)
            and not {operation, "*"}.isdisjoint(self.operations)
        )


class Webhook(KubeModel):
    """A server that is asked."""

    rules: tuple[AdmissionRule, ...] = ()
    namespace_selector: LabelSelector = Field(default_factory=LabelSelector)
    object_selector: LabelSelector = Field(default_factory=LabelSelector)

    def reads(self, namespace: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Whether objects with these labels in a namespace with those are among its own."""
        return self.namespace_selector.matches(namespace) and self.object_selector.matches(labels)


class WebhookConfiguration(ClusterObject):
    """Servers that are asked one after the other."""

    webhooks: tuple[Webhook, ...] = ()


class MutatingWebhookConfiguration(WebhookConfiguration):
    """Webhooks that may change objects, or refuse them."""


class ValidatingWebhookConfiguration(WebhookConfiguration):
    """Webhooks that may refuse objects."""


class MatchConstraints(KubeModel):
    """What a policy is about."""

    resource_rules: tuple[AdmissionRule, ...] = ()
    namespace_selector: LabelSelector = Field(default_factory=LabelSelector)
    object_selector: LabelSelector = Field(default_factory=LabelSelector)


class AdmissionPolicySpec(KubeModel):
    """Only what it is about; its expressions are not evaluated."""

    match_constraints: MatchConstraints = Field(default_factory=MatchConstraints)


class AdmissionPolicy(ClusterObject):
    """Expressions that the API server itself evaluates once they are bound."""

    spec: AdmissionPolicySpec = Field(default_factory=AdmissionPolicySpec)

    @property
    def as_webhook(self) -> Webhook:
        """What it is asked about, as a webhook says it."""
        found = self.spec.match_constraints
        return Webhook(
            rules=found.resource_rules,
            namespace_selector=found.namespace_selector,
            object_selector=found.object_selector,
        )


class MutatingAdmissionPolicy(AdmissionPolicy):
    """A policy that may change objects."""


class ValidatingAdmissionPolicy(AdmissionPolicy):
    """A policy that may refuse objects."""


class PolicyBindingSpec(KubeModel):
    """Which policy is in force, and where."""

    policy_name: str = ""
    validation_actions: tuple[str, ...] = ()
    match_resources: MatchConstraints = Field(default_factory=MatchConstraints)


class PolicyBinding(ClusterObject):
    """Puts a policy in force."""

    spec: PolicyBindingSpec = Field(default_factory=PolicyBindingSpec)

    @property
    def refuses_nothing(self) -> bool:
        """Whether it only warns, or writes to the audit log."""
        return bool(self.spec.validation_actions) and "Deny" not in self.spec.validation_actions


class MutatingAdmissionPolicyBinding(PolicyBinding):
    """Puts a mutating policy in force."""


class ValidatingAdmissionPolicyBinding(PolicyBinding):
    """Puts a validating policy in force."""


def in_force(
    policies: tuple[AdmissionPolicy, ...], bindings: tuple[PolicyBinding, ...]
) -> Iterator[tuple[AdmissionPolicy, PolicyBinding]]:
    """The policies that are bound and may refuse or change something, each with its binding."""
    known = {item.name: item for item in policies}
    for binding in bindings:
        policy = known.get(binding.spec.policy_name)
        if policy is not None and not binding.refuses_nothing:
            yield policy, binding
