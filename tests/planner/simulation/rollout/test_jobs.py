"""Jobs in a rollout: their pods end, others follow, and pods that wait for their room get it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from models import Cluster
from planner import whatif
from planner.simulation.rollout.draw import begin
from planner.simulation.rollout.prepare import prepare
from tests.builders import ZONE, Object, node, pod
from tests.planner.simulation.rollout.running import applied, manifests, running, web, zones


def job(parallelism: int, cpu: str = "1", **spec: Any) -> Object:
    """A Job `sums` in namespace shop."""
    item = web(0, cpu=cpu, kind="Job", constraints=[])
    item |= {"apiVersion": "batch/v1", "metadata": {"name": "sums", "namespace": "shop"}}
    item["spec"] = {"parallelism": parallelism, "template": item["spec"]["template"], **spec}
    item["spec"]["template"]["metadata"]["labels"] = {"app": "sums"}
    return item


@pytest.mark.parametrize(
    ("spec", "pods"),
    [({"completions": 7}, 7), ({"completions": 3}, 3), ({}, 3), ({"completions": 4, "suspend": True}, 0)],
)
def test_pods_follow_until_enough_have_succeeded(spec: dict[str, Any], pods: int) -> None:
    """Two nodes have room for two at a time: the third waits and gets its turn; each counts where it ran."""
    found = applied([node("a1", zone="a", cpu="1"), node("b1", zone="b", cpu="1")], job(3, **spec))
    assert found.completes
    row = found.workloads[0]
    assert {sum(end.domains[ZONE].values()) for end in row.ends} == {pods}


def test_one_that_fits_nowhere_stops() -> None:
    """Its pods never run, so they never end."""
    found = applied([node("a1", zone="a")], job(1, cpu="9"))
    assert (found.completes, found.replays.completed) == (False, 0)
    assert "Insufficient cpu" in found.workloads[0].message


def test_without_completions_the_first_that_succeeds_is_followed_by_nobody() -> None:
    """A work queue: all that are under way run on to their end, and no more are made."""
    found = applied([node("a1", zone="a", cpu="2")], job(2, completions=None))
    assert found.completes
    assert [end.domains for end in found.workloads[0].ends] == [{ZONE: {"a": 2}}]


def test_a_long_job_is_cut_short() -> None:
    """A million completions would fill the same room a million times: ten turns over it are played."""
    found = applied([node("a1", zone="a")], job(2, completions=1_000_000), replays=0)
    assert found.completes
    assert found.workloads[0].ends[0].domains == {ZONE: {"a": 20}}


def under_way(item: Object, succeeded: int) -> list[Object]:
    """A Job of which one pod runs on node a1, and so many have succeeded."""
    item["metadata"]["uid"] = "job"
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "sums", "uid": "job", "controller": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "sums-1",
            "namespace": "shop",
            "labels": {"app": "sums"},
            "ownerReferences": [reference],
        },
        "spec": {**item["spec"]["template"]["spec"], "nodeName": "a1"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    return [{**item, "status": {"succeeded": succeeded}}, pod]


def test_whoever_waits_gets_the_room_of_a_job_that_has_ended() -> None:
    """Beside the Job there is no room for the new pod; it comes when the Job is done, in every draw."""
    item = job(1)
    objects = [*running(web(1, constraints=[]), ["a1"], *zones("a")), *under_way(item, 0)]
    new = web(1, cpu="3500m", constraints=[], strategy={"type": "Recreate"})
    assert applied(objects, new, item).completes
    beside = applied(objects, new)
    assert (beside.completes, beside.replays.completed) == (False, 0)


def test_pods_of_a_job_that_run_already_end_too() -> None:
    """So many have succeeded, one runs: as many more are made as are missing then."""
    item = job(2, completions=5)
    found = applied([node("a1", zone="a"), *under_way(item, 1)], item)
    assert found.completes
    assert found.workloads[0].ends[0].domains == {ZONE: {"a": 4}}


def test_a_job_that_falls_in_parallelism_takes_the_youngest_whatever_deletion_costs_say() -> None:
    """The Job controller sorts by ActivePods, which knows no deletion cost; a rollout gave up by cost, and
    called times that are alike on a logarithmic scale equal."""
    item = job(3, completions=9)
    owner, older = under_way(item, 0)
    older["metadata"] |= {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-9"}, "uid": "1"}
    pods = []
    for number, minute in enumerate(("00", "10", "20")):
        since = f"2026-01-01T00:{minute}:00Z"
        pod = copy.deepcopy(older)
        pod["metadata"] |= {"name": f"sums-{number}", "uid": str(number), "creationTimestamp": since}
        pod["status"]["conditions"][0]["lastTransitionTime"] = since
        pods.append(pod)
    pods[2]["metadata"]["annotations"] = {}
    machine = node("a1", zone="a")
    machine["metadata"]["creationTimestamp"] = "2026-01-01T03:00:00Z"
    there = Cluster.from_objects([machine, owner, *pods])
    begun = begin(prepare(there, manifests(job(1, completions=9))), None, preemption=True)
    problem = begun.simulation.problem
    due = begun.runs[0].due(begun.simulation)  # type: ignore[attr-defined]
    assert [problem.pods[pod].name for pod in due.gone] == ["sums-2", "sums-1"]
    assert {pod.name for pod in whatif.scale(there, "Job/sums.shop", 1).pods} == {"sums-0"}


@pytest.mark.parametrize("completions", [3, None])
def test_a_job_with_parallelism_0_has_no_active_pods_and_does_not_complete(completions: int | None) -> None:
    """One with completions was called complete, one without was called stopped; both only make no pods."""
    found = applied([node("a1", zone="a"), pod("other", on="a1")], job(0, completions=completions))
    note = "Job shop/sums has parallelism 0: it has no active pods, and does not complete while that is so"
    assert (found.completes, found.notes) == (True, (note,))
    assert [end.domains for end in found.workloads[0].ends] == [{ZONE: {"a": 0}}]


def test_a_running_job_with_parallelism_0_takes_its_pods_away() -> None:
    """The pod that runs is deleted, and has not succeeded."""
    found = applied([node("a1", zone="a"), *under_way(job(1, completions=5), 1)], job(0, completions=5))
    assert found.completes
    assert {sum(end.domains[ZONE].values()) for end in found.workloads[0].ends} <= {0, 1}
    assert "does not complete" in found.notes[0]
