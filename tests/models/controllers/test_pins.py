"""Running pods that an earlier move has pinned, told from those that a webhook narrows."""

from typing import Any

import pytest

from models import Cluster
from models.objects.affinity import REQUIRED, NodeAffinity
from tests.builders import (
    ZONE,
    Object,
    admitted_template,
    cluster,
    labelled,
    node,
    pod,
    replica,
    scaled,
    term,
    workload,
)

_NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
_ZONED = labelled(ZONE, "In", "a")
_EARLY, _LATE, _LATER = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))
_ADMISSION = ("mutatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
_ALL_KNOWN = {"apiVersion": "planner/v1alpha1", "kind": "SnapshotOrigin", "kinds": [*_ADMISSION]}
_WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "w"},
    "webhooks": [{"rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}]}],
}


def made(owner: Object, number: int, terms: list[Object] | None = None, created: str = _EARLY) -> Object:
    """A pod on n1 that a controller made, pinned to these terms."""
    found = replica(owner, f"{owner['metadata']['name']}-{number}", "n1", created=created)
    if terms:
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        found["spec"]["affinity"] = {**found["spec"].get("affinity", {}), **affinity}
    return found


def _elsewhere() -> Object:
    """What no pin asks for."""
    return {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}


@pytest.mark.parametrize("changes", [False, True])
def test_what_the_api_server_said_comes_first(changes: bool) -> None:
    """It was asked about a pod of the template, and narrowed it or not."""
    owner = web()
    sent, admitted = (pod("web", owner=owner, cpu="1") for _ in range(2))
    if changes:
        admitted["spec"]["affinity"] = made(owner, 0, [_ZONED])["spec"]["affinity"]
    tried = admitted_template("ReplicaSet", "web", sent, admitted)
    pods = [made(owner, 0, [_NAMED]), made(owner, 1)]
    assert pins(cluster(node("n1", "a"), owner, *pods, tried)) == [changes, False]


def pins(found: Cluster) -> list[bool]:
    """For every pod in order whether it still has a node affinity of its own."""
    templates = {item.name: item.spec.template.spec for item in found.replica_sets if item.spec.template}
    owners = [item.metadata.controller for item in found.pods]
    expected = [templates[owner.name].node_affinity if owner else None for owner in owners]  # type: ignore[union-attr]
    return [item.spec.node_affinity != own for item, own in zip(found.pods, expected, strict=True)]


def web(number: int = 2, **words: Any) -> Object:
    """A ReplicaSet."""
    return scaled("ReplicaSet", "web", number, **words)


def test_a_pod_with_the_name_of_a_node_beside_one_without_is_pinned() -> None:
    """Its next pod has the template's affinity; what else its affinity says is its own."""
    owner = web(apart=[term(ZONE, "other")])
    found = cluster(node("n1", "a"), owner, made(owner, 0, [_NAMED], _LATE), made(owner, 1))
    assert pins(found) == [False, False]
    assert found.pods[0].spec.affinity == found.pods[1].spec.affinity != None  # noqa: E711


def test_pods_that_are_all_narrowed_alike_may_be_so_by_a_webhook() -> None:
    """The next one would be, too."""
    owner = web()
    assert pins(cluster(node("n1"), owner, *(made(owner, n, [_NAMED]) for n in range(2)))) == [True, True]


@pytest.mark.parametrize("youngest", [_EARLY, _LATER])
def test_a_zone_is_a_pin_only_where_webhooks_are_known(youngest: str) -> None:
    """Some narrow a part of the pods of a template; the youngest need not be of it."""
    owner = web()
    objects = [owner, made(owner, 0, [_ZONED], _LATE), made(owner, 1, created=youngest)]
    assert pins(cluster(node("n1", "a"), *objects)) == [True, False]
    assert pins(cluster(node("n1", "a"), *objects, _ALL_KNOWN)) == [False, False]


@pytest.mark.parametrize("first", [_ZONED, _NAMED])
@pytest.mark.parametrize("again", [_ZONED, labelled(ZONE, "In", "b"), _elsewhere()])
def test_another_pod_that_is_narrowed_may_be_the_work_of_a_webhook(first: Object, again: Object) -> None:
    """It may not have been reached once, or be new: the first pod was taken for pinned all the same."""
    owner = web(3)
    pods = [made(owner, 0, [first]), made(owner, 1, created=_LATE), made(owner, 2, [again], _LATER)]
    assert pins(cluster(node("n1", "a"), owner, *pods)) == [True, False, True]


def test_nothing_narrows_pods_where_no_webhook_is_asked_about_them() -> None:
    """A live cluster tells all of them; one that is asked leaves all open."""
    owner = web(1)
    objects = [node("n1", "a"), owner, made(owner, 0, [_ZONED])]
    assert pins(cluster(*objects, _ALL_KNOWN)) == [False]
    assert pins(cluster(*objects, _ALL_KNOWN, _WEBHOOK)) == [True]
    assert pins(cluster(*objects)) == [True]


@pytest.mark.parametrize(
    ("terms", "stays"),
    [
        ([{**labelled("disk", "In", "ssd"), **_NAMED}], False),
        ([labelled("disk", "In", "ssd") | _elsewhere()], True),
        ([_NAMED], True),
        ([labelled("disk", "In", "ssd", "hdd"), _NAMED], True),
        ([labelled("disk", "In", "ssd") | _NAMED, labelled("disk", "In", "ssd")], True),
    ],
)
def test_a_pin_adds_to_every_term_of_the_template(terms: list[Object], stays: bool) -> None:
    """What is another affinity altogether is no pin: somebody has changed the template, or changes pods."""
    owner = web(only_on=[labelled("disk", "In", "ssd")])
    found = cluster(
        node("n1", labels={"disk": "ssd"}), owner, made(owner, 0, terms), made(owner, 1), _ALL_KNOWN
    )
    assert pins(found) == [stays, False]


def test_a_pod_is_not_widened_while_its_template_is_pinned() -> None:
    """The script that pinned the template has not come to its end."""
    owner = web(only_on=[_NAMED])
    loose = made(owner, 1)
    del loose["spec"]["affinity"]
    assert pins(cluster(node("n1"), owner, made(owner, 0), loose, _ALL_KNOWN)) == [False, True]


def test_controllers_whose_templates_are_not_pinned() -> None:
    """A StatefulSet rolls a changed template out; pods without a controller or a template stay so."""
    owner = scaled("StatefulSet", "web", 2)
    pods = [made(owner, 0, [_NAMED]), made(owner, 1)]
    stranger = pod("s", "n1", owner=workload("ReplicaSet", "s"), only_on=[_NAMED])
    found = cluster(node("n1"), owner, *pods, stranger, pod("bare", "n1", only_on=[_NAMED]), _ALL_KNOWN)
    assert [item.spec.node_affinity is not None for item in found.pods] == [True, False, True, True]


def test_pods_with_a_node_each_are_told_apart_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one was compared with all others: 2,000 pods of one ReplicaSet took half a minute to read."""
    compared, equal = list[None](), NodeAffinity.__eq__

    def counted(one: NodeAffinity, other: object) -> bool:
        compared.append(None)
        return equal(one, other)

    owner, number = web(101), 100
    names = [_NAMED["matchFields"][0] | {"values": [f"n{at}"]} for at in range(number)]
    pods = [made(owner, at, [{"matchFields": [name]}]) for at, name in enumerate(names)]
    monkeypatch.setattr(NodeAffinity, "__eq__", counted)
    found = cluster(node("n1", "a"), owner, *pods, made(owner, number))
    assert len(compared) <= 2 * number
    monkeypatch.undo()
    assert not any(pins(found))
