"""Pods whose replacement the API server would not create stay where they are."""

from typing import Any

import pytest

from planner import consolidate, rebalance
from tests.builders import HARD, ZONE, cluster, node, pod

Object = dict[str, Any]


def quota(**hard: str) -> Object:
    """A ResourceQuota of requests.cpu, or of other things by their names."""
    named = {"requests.cpu" if key == "cpu" else key: amount for key, amount in hard.items()}
    return {"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": named}}


def limits(**item: Any) -> Object:
    """A LimitRange for containers."""
    return {
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "Container", **item}]},
    }


def lopsided(*objects: Object, **words: Any) -> Any:
    """Four pods of 1 cpu in zone a, none in zone b, under a hard constraint."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": HARD,
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container], "topologySpreadConstraints": spread},
    }
    owner = {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    pods = [pod(f"web-{n}", on="a1", app="web", cpu="1", spread=spread, **words) for n in range(4)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web", "controller": True}]
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


@pytest.mark.parametrize(("kinds", "moves"), [(["priorityclasses"], 0), ([], 2)])
def test_no_pod_is_evicted_whose_priority_class_is_gone(kinds: list[str], moves: int) -> None:
    """Its priority is its own, but the next one would be refused where all classes are known."""
    origin = {"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "kinds": kinds}
    running = {"priorityClassName": "gone", "priority": 5, "created": "2026-01-01T00:00:00Z"}
    assert len(rebalance(lopsided(origin, **running), time_limit=5).steps) == moves


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
