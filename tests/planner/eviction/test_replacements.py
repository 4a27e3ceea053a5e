"""Pods whose replacement the API server would not create stay where they are."""

from dataclasses import replace
from typing import Any

import pytest

from planner import consolidate, drain, rebalance
from planner.eviction.controllers import GATED
from tests import builders
from tests.builders import HARD, ZONE, cluster, node, pod

Object = dict[str, Any]


def quota(**hard: str) -> Object:
    """A ResourceQuota of requests.cpu, or of other things by their names."""
    named = {"requests.cpu" if key == "cpu" else key: amount for key, amount in hard.items()}
    return builders.quota(named)


def limits(**item: Any) -> Object:
    """A LimitRange for containers."""
    return {
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "Container", **item}]},
    }


def lopsided(*objects: Object, told: str = "", kind: str = "ReplicaSet", **words: Any) -> Any:
    """Four pods of 1 cpu in zone a, none in zone b, under a hard constraint.

    `told` is what the API server said when their controller last tried to make one.
    """
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": HARD,
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    named: Object = {key: words[key] for key in ("runtimeClassName", "serviceAccountName") if key in words}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container], "topologySpreadConstraints": spread, **named},
    }
    owner = {**builders.workload(kind, "web"), "metadata": {"name": "web"}}
    owner["spec"] |= {"replicas": 4, "template": template}
    if told:
        failed = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": told}
        owner["status"] = {"conditions": [failed]}
    pods = [pod(f"web-{n}", on="a1", app="web", cpu="1", spread=spread, **words) for n in range(4)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [{"kind": kind, "name": "web", "controller": True}]
    return cluster(node("a1", zone="a"), node("b1", zone="b"), owner, *pods, *objects)


def another(replicas: int) -> Object:
    """A second ReplicaSet in the namespace."""
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    labels = {"matchLabels": {"app": "other"}}
    template = {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [container]}}
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "other"},
        "spec": {"replicas": replicas, "selector": labels, "template": template},
    }


@pytest.mark.parametrize(
    ("rules", "moves"),
    [
        ([], 2),
        ([quota(cpu="4")], 2),
        ([quota(cpu="3")], 0),
        ([quota(pods="4")], 2),
        ([quota(pods="3")], 0),
        ([quota(**{"limits.memory": "8Gi"})], 0),
        ([quota(cpu="4"), another(1)], 0),
        ([quota(cpu="5"), another(1)], 2),
        ([limits(defaultRequest={"cpu": "2"})], 2),
        ([limits(defaultRequest={"memory": "1Gi"})], 0),
        ([limits(max={"cpu": "500m"})], 0),
    ],
)
def test_no_pod_is_evicted_that_might_not_come_back_as_it_was(rules: list[Object], moves: int) -> None:
    """Usage above hard, a quota that others wait for, names that lack, defaults and bounds that are new."""
    plan = rebalance(lopsided(*rules), time_limit=5)
    assert len(plan.steps) == moves


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_no_pod_is_evicted_whose_controller_was_refused_the_last_one(kind: str) -> None:
    """A policy that is newer than the pods shows there alone, and only where a pod was missing."""
    told = 'pods "web-x" is forbidden: by us'
    assert len(rebalance(lopsided(kind=kind), time_limit=5).steps) == 2
    assert rebalance(lopsided(told=told, kind=kind), time_limit=5).steps == ()


@pytest.mark.parametrize(
    ("there", "line"),
    [
        (lopsided(limits(max={"cpu": "500m"})), "must be less than or equal to cpu limit of 500m"),
        *(
            (lopsided(told='pods "web-x" is forbidden: by us', kind=kind), "not created: forbidden: by us")
            for kind in ("ReplicaSet", "ReplicationController")
        ),
    ],
    ids=["LimitRange", "ReplicaSet", "ReplicationController"],
)
def test_a_drain_tells_which_pods_are_not_made_again(there: Any, line: str) -> None:
    """They were said to land on the other node."""
    plan = drain(there, ["a1"])
    assert {row.lands for step in plan.steps for row in step.evictions} == {None}
    assert plan.after.pending == 4
    assert [reason.pods for reason in plan.pending] == [4]
    assert line in plan.pending[0].message


@pytest.mark.parametrize(("kinds", "moves"), [(["priorityclasses"], 0), ([], 2)])
def test_no_pod_is_evicted_whose_priority_class_is_gone(kinds: list[str], moves: int) -> None:
    """Its priority is its own, but the next one would be refused where all classes are known."""
    origin = {"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "kinds": kinds}
    running: dict[str, Any] = {"priorityClassName": "gone", "priority": 5, "created": "2026-01-01T00:00:00Z"}
    assert len(rebalance(lopsided(origin, **running), time_limit=5).steps) == moves


@pytest.mark.parametrize("name", ["runtimeClassName", "serviceAccountName"])
@pytest.mark.parametrize(("known", "moves"), [(True, 0), (False, 2)])
def test_no_pod_goes_whose_runtime_class_or_account_is_gone(name: str, known: bool, moves: int) -> None:
    """It runs, but the API server would refuse the next one; drain tells it, too, where all are known."""
    kinds = ["runtimeclasses", "serviceaccounts"] if known else []
    origin = {"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "kinds": kinds}
    words: dict[str, Any] = {name: "gone", "created": "2026-01-01T00:00:00Z"}
    there = lopsided(origin, **words)
    assert len(rebalance(there, time_limit=5).steps) == moves
    assert any("not created" in reason.message for reason in drain(there, ["a1"]).pending) == known


def test_pods_that_are_not_created_take_no_room() -> None:
    """Only those that wait for a node are counted, one in the singular."""
    waiting = [pod(f"new-{n}", namespace="more") for n in range(2)]
    for number, words in ((0, ""), (1, "1 pod is pending"), (2, "2 pods are pending")):
        there = lopsided(quota(pods="4"), another(3), *waiting[:number])
        rebalanced = [
            note
            for note in rebalance(there, time_limit=5).notes
            if "place them" in note or "place it" in note
        ]
        consolidated = [
            note
            for note in consolidate(there, time_limit=5).notes
            if "place them" in note or "place it" in note
        ]
        assert [note.split(" and may take")[0] for note in consolidated] == ([words] if words else [])
        assert [f"pending pods ({number}) may take" in note for note in rebalanced] == [True] * bool(number)


def test_pods_whose_template_has_a_gate_stay() -> None:
    """It was taken from those that run; whether anybody takes it from the next ones, nothing says."""
    found = lopsided()
    (owner,) = found.replica_sets
    assert rebalance(found).steps
    gated = {"schedulingGates": [{"name": "example.com/wait"}]}
    plain = owner.spec.template
    assert plain is not None
    spec = type(plain.spec).model_validate({**plain.spec.model_dump(by_alias=True), **gated})
    template = plain.model_copy(update={"spec": spec})
    changed = owner.model_copy(update={"spec": owner.spec.model_copy(update={"template": template})})
    plan = rebalance(replace(found, replica_sets=(changed,)))
    assert (plan.steps, plan.stays) == ((), {GATED: 4})
