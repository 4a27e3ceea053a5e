"""Deployments that are scaled, paused or resumed on the way, and what counts as no change at all."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster
from planner import rollout
from planner.documents.rollout import WorkloadRollout
from planner.simulation.rollout.restart import as_they_run
from tests.builders import Object, pod, reference, replica
from tests.planner.simulation.rollout.running import manifests, running, web, zones

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


@pytest.mark.parametrize("resumed", [True, False])
def test_a_deployment_that_is_resumed_is_not_applied_as_it_runs(resumed: bool) -> None:
    """What keeps it from rolling out now did not before: the answer was that its manifest changes nothing."""
    paused = web(2, cpu="99", constraints=[], paused=True)
    objects = running(paused, ["a1", "b1"], *zones("ab"))
    objects[3]["spec"]["template"]["spec"] = web(2, constraints=[])["spec"]["template"]["spec"]
    item = web(2, cpu="99", constraints=[], paused=not resumed)
    found = rollout(Cluster.from_objects(objects), manifests(item), replays=1, fixes=False)
    assert (found.completes, found.workloads[0].as_before) == (not resumed, False)
    assert any("the template is the one that runs" in note for note in found.notes) is not resumed


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({}, {"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}}, True),
        ({}, {"strategy": {"rollingUpdate": {"maxSurge": 1}}}, False),
        ({}, {"strategy": {"type": "Recreate"}}, False),
        ({}, {"minReadySeconds": 5}, False),
        ({}, {"progressDeadlineSeconds": 5}, True),
        ({"kind": "StatefulSet"}, {"updateStrategy": {"rollingUpdate": {"partition": 0}}}, True),
        ({"kind": "StatefulSet"}, {"updateStrategy": {"rollingUpdate": {"partition": 1}}}, False),
        ({"kind": "StatefulSet"}, {"updateStrategy": {"type": "OnDelete"}}, False),
        ({"kind": "DaemonSet"}, {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}, True),
        ({"kind": "DaemonSet"}, {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}, False),
    ],
)
def test_what_counts_as_applied_as_it_runs(before: Object, after: Object, same: bool) -> None:
    """Whatever its controller goes by; what the API server sets where it is left out is no change."""
    there = Cluster.from_objects(running(web(2, **before), ["a1", "b1"], *zones("ab")))
    assert bool(as_they_run(there, manifests(web(2, **before, **after)))) is same


def test_what_is_not_followed_is_noted() -> None:
    """The Jobs of a CronJob, and a pod by itself."""
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "shop"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {}}}},
    }
    alone = pod("alone", namespace="shop", nodeSelector={"no": "where"})
    found = rollout(Cluster.from_objects(zones("ab")), manifests(web(1), cron, alone), replays=2)
    assert found.completes
    assert [note for note in found.notes if "alone" in note or "nightly" in note] == [
        "CronJob shop/nightly: the Jobs that it will start are not played",
        "Pod shop/alone takes room if it finds a node: simulate tells whether it does",
    ]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_manifest_without_replicas_keeps_their_number(kind: str, number: int) -> None:
    """As one has it whose number an autoscaler sets: nothing is scaled to one."""
    nodes = ["a1", "b1", "a1"][:number]
    there = running(web(number, kind=kind), nodes, *zones("ab"))
    changed = web(1, cpu="200m", kind=kind)
    del changed["spec"]["replicas"]
    found = rollout(Cluster.from_objects(there), manifests(changed), replays=2)
    (end,) = {sum(end.domains["topology.kubernetes.io/zone"].values()) for end in found.workloads[0].ends}
    assert end == number
    noted = [note for note in found.notes if "names no replicas" in note]
    assert noted == [
        f"{kind} shop/web names no replicas: the {number} that it has stay; if it was applied with a number "
        "before, kubectl makes that 1"
    ]
    changed["spec"]["replicas"] = 1
    assert not [
        note for note in rollout(Cluster.from_objects(there), manifests(changed)).notes if "names" in note
    ]


def test_a_paused_deployment_stays_paused() -> None:
    """Somebody has paused it, and the manifest says nothing of that."""
    there = running(web(2, paused=True), ["a1", "b1"], *zones("ab"))
    found = rollout(Cluster.from_objects(there), manifests(web(2, cpu="200m")), replays=2)
    assert "Deployment shop/web is paused: it is only scaled, and no template is rolled out" in found.notes
    assert not [note for note in found.notes if "names no replicas" in note]
    resumed = rollout(Cluster.from_objects(there), manifests(web(2, cpu="200m", paused=False)), replays=2)
    assert not [note for note in resumed.notes if "is paused" in note]
