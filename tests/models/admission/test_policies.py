"""Webhooks and policies that are newer than pods: whether the next ones are let in, no pod shows."""

from typing import Any

import pytest

from models import Cluster
from tests.builders import Object, admitted_template
from tests.planner.simulation.rollout.running import running, web, zones
from tests.planner.simulation.rollout.test_unevaluated import NAMESPACE, policy, webhook

BEFORE, AFTER = "2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z"


def notes(*objects: Object, created: str = AFTER, **more: Any) -> list[str]:
    """What is said of a Deployment whose pods were made between these times."""
    there = running(web(2), ["a1", "b1"], *zones("ab"))
    for item in there:
        if item["kind"] == "Pod":
            item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    for item in objects:
        item["metadata"] = {**item["metadata"], "creationTimestamp": created}
    found = Cluster.from_objects([*there, NAMESPACE, *objects, *more.values()])
    return [note for note in found.notes if "not evaluated here" in note]


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        (
            [webhook()],
            "ValidatingWebhookConfiguration w is newer than the pods of Deployment shop/web, and may ",
        ),
        (
            [webhook("Mutating")],
            "may change or refuse the next ones: not evaluated here, --server-dry-run asks",
        ),
        (
            policy(),
            "ValidatingAdmissionPolicy p is newer than the pods of Deployment shop/web, and may refuse ",
        ),
        (
            policy("Mutating"),
            "MutatingAdmissionPolicy p is newer than the pods of Deployment shop/web, and may",
        ),
    ],
)
def test_one_that_is_newer_than_the_pods_is_told(objects: list[Object], says: str) -> None:
    """With every command, as what is moved has to be let in again; an older one has let them in before."""
    (note,) = notes(*objects)
    assert says in note
    assert notes(*objects, created=BEFORE) == []


def test_a_binding_may_be_what_is_new() -> None:
    """The policy was there, and not in force."""
    bound = policy()
    for item, created in zip(bound, (BEFORE, AFTER), strict=True):
        item["metadata"]["creationTimestamp"] = created
    there = running(web(2), ["a1", "b1"], *zones("ab"))
    found = Cluster.from_objects([*there, NAMESPACE, *bound])
    assert any("ValidatingAdmissionPolicy p is newer" in note for note in found.notes)


@pytest.mark.parametrize(
    "objects",
    [
        [webhook(namespaceSelector={"matchLabels": {"team": "other"}})],
        [webhook(objectSelector={"matchLabels": {"app": "other"}})],
        policy(apiGroups=["apps"], resources=["deployments"]),
        policy(actions=("Warn",)),
        policy()[:1],
    ],
)
def test_one_that_is_not_asked_about_these_pods_is_not_told(objects: list[Object]) -> None:
    """Another namespace, other pods, other objects; one that only warns, or is not bound."""
    assert notes(*objects) == []


def test_what_the_api_server_was_asked_is_known() -> None:
    """`--server-dry-run` brought its answer along."""
    sent = {"metadata": {"name": "x", "namespace": "shop"}, "spec": {"containers": [{"name": "main"}]}}
    tried = admitted_template("Deployment", "web", sent, sent)
    assert notes(webhook(), tried=tried) == []
