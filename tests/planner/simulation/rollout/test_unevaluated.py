"""Webhooks and policies that are asked about an apply: a note says so, as nobody evaluates them here."""

from typing import Any

import pytest

from tests.builders import Object
from tests.planner.simulation.rollout.running import applied, running, web, zones

PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
LABELS = {"kubernetes.io/metadata.name": "shop", "team": "a"}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": LABELS}}


def of(kind: str, name: str, **content: Any) -> Object:
    """An object of admission."""
    group = "admissionregistration.k8s.io/v1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, **content}


def policy(kind: str = "Validating", actions: tuple[str, ...] = ("Deny",), **rule: Any) -> list[Object]:
    """A policy about pods, with its binding."""
    constraints = {"resourceRules": [{**PODS, **rule}]}
    bound = {"policyName": "p", **({"validationActions": [*actions]} if kind == "Validating" else {})}
    return [
        of(f"{kind}AdmissionPolicy", "p", spec={"matchConstraints": constraints}),
        of(f"{kind}AdmissionPolicyBinding", "b", spec=bound),
    ]


def webhook(kind: str = "Validating", **more: Any) -> Object:
    """A webhook about pods."""
    return of(f"{kind}WebhookConfiguration", "w", webhooks=[{"name": "w", "rules": [PODS], **more}])


def notes(*objects: Object, new: Object | None = None) -> list[str]:
    """What is said of a new Deployment, or of another one, beside these objects."""
    found = applied([*zones("ab"), NAMESPACE, *objects], new or web(2), replays=1)
    return [note for note in found.notes if "not evaluated here" in note]


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        ([webhook()], "ValidatingWebhookConfiguration w may refuse Deployment shop/web or its pods"),
        ([webhook("Mutating")], "MutatingWebhookConfiguration w may change or refuse"),
        (policy(), "ValidatingAdmissionPolicy p may refuse"),
        (policy("Mutating"), "MutatingAdmissionPolicy p may change"),
        (policy(apiGroups=["apps"], resources=["deployments"]), "ValidatingAdmissionPolicy p"),
        (policy(apiGroups=["*"], resources=["*"], operations=["*"]), "ValidatingAdmissionPolicy p"),
        ([webhook(namespaceSelector={"matchLabels": {"team": "a"}})], "WebhookConfiguration w"),
        ([webhook(objectSelector={"matchLabels": {"app": "web"}})], "WebhookConfiguration w"),
    ],
)
def test_a_rule_that_covers_new_pods_is_told(objects: list[Object], says: str) -> None:
    """Or the workload itself; the note names what would ask the API server."""
    (note,) = notes(*objects)
    assert says in note
    assert note.endswith("--server-dry-run asks the API server")


@pytest.mark.parametrize(
    "objects",
    [
        policy()[:1],
        policy(actions=("Warn", "Audit")),
        policy(operations=["DELETE"]),
        policy(resources=["pods/exec"]),
        policy(apiGroups=["apps"], resources=["statefulsets"]),
        policy(apiGroups=["apps"], resources=["deployments"], operations=["UPDATE"]),
        [webhook(namespaceSelector={"matchLabels": {"team": "b"}})],
        [webhook(objectSelector={"matchLabels": {"app": "api"}})],
    ],
)
def test_what_is_not_asked_is_not_told(objects: list[Object]) -> None:
    """A policy that is not bound, one that only warns, other requests, other namespaces and labels."""
    assert not notes(*objects)


def test_a_template_that_runs_was_admitted() -> None:
    """Only what changes goes through admission again."""
    there = running(web(2), ["a1", "b1"])
    assert not notes(*there, *policy())
    changed = web(2, pod={"nodeSelector": {"kubernetes.io/hostname": "a1"}})
    assert notes(*there, *policy(), new=changed)
