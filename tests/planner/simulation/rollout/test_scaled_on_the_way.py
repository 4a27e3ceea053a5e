"""Deployments that are scaled or paused in the middle of a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster
from planner import rollout
from planner.documents.rollout import WorkloadRollout
from tests.builders import Object, reference, replica
from tests.planner.simulation.rollout.running import manifests, web, zones

SURGE: Any = {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}


def half_way(wanted: int, old: int, new: int, *, ready: bool, known: int | None = None) -> list[Object]:
    """A Deployment and its ReplicaSets, sized when `known` replicas were wanted; are the new pods ready?"""
    item = web(wanted, cpu="200m", constraints=[], strategy=SURGE)
    item["metadata"] |= {"uid": "owner"}
    found, known = [*zones("ab", cpu="32"), item], wanted if known is None else known
    for name, cpu, replicas, are_ready in (("old", "100m", old, True), ("new", "200m", new, ready)):
        labels = {"app": "web", "pod-template-hash": name}
        template = web(0, cpu=cpu, constraints=[])["spec"]["template"] | {"metadata": {"labels": labels}}
        sized = {"desired-replicas": str(known), "max-replicas": str(2 * known)}
        owner: Object = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"web-{name}",
                "namespace": "shop",
                "uid": name,
                "creationTimestamp": f"2026-01-0{1 if name == 'old' else 2}T00:00:00Z",
                "labels": labels,
                "annotations": {f"deployment.kubernetes.io/{key}": text for key, text in sized.items()},
                "ownerReferences": [reference(item)],
            },
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }
        said = [{"type": "Ready", "status": str(are_ready)}]
        pods = [
            replica(owner, f"web-{name}-{number}", "a1", phase="Running", conditions=said)
            for number in range(replicas)
        ]
        found += [owner, *pods]
    return found


def applied(objects: list[Object], replicas: int, **spec: Any) -> WorkloadRollout:
    """What becomes of the Deployment of these objects."""
    item = web(replicas, cpu="200m", constraints=[], strategy=SURGE, **spec)
    return rollout(Cluster.from_objects(objects), manifests(item), replays=2).workloads[0]


@pytest.mark.parametrize("paused", [False, True])
def test_old_pods_stay_while_as_many_new_ones_as_wanted_are_not_ready(paused: bool) -> None:
    """Three are ready, two come that are wanted from now on: all ready pods were told to go at once."""
    row = applied(half_way(3, 3, 2, ready=False), 2, paused=paused)
    assert [(step.old, step.new) for step in row.steps] == [(2, 2)]
    assert (row.completes, row.least_ready) == (paused, 2)


def test_paused_when_all_new_pods_have_been_made_nothing_goes() -> None:
    """The new ReplicaSet has its size and not one ready pod."""
    row = applied(half_way(2, 2, 2, ready=False), 2, paused=True)
    assert (row.steps, row.least_ready) == ((), 2)


def test_paused_when_all_new_pods_are_available_old_ones_go() -> None:
    """The new ReplicaSet has what is wanted, and its annotation says so, too."""
    row = applied(half_way(2, 2, 2, ready=True), 2, paused=True)
    assert ([(step.old, step.new) for step in row.steps], row.completes) == ([(0, 2)], True)


def test_a_new_replica_set_sized_for_another_number_is_not_saturated() -> None:
    """Two of five were there when two became what is wanted: both shrink, and then the old one goes."""
    row = applied(half_way(5, 5, 2, ready=True), 2, paused=True)
    assert [(step.old, step.new) for step in row.steps] == [(2, 2), (0, 2)]
