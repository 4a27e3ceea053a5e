"""Pods that were resized in place: what replaces them is made from the template."""

from typing import Any

import pytest

from models import Cluster
from models.sharing.kept import kept
from planner import capacity, consolidate, drain, rebalance, rollout, survive
from planner.eviction.controllers import Controllers
from planner.eviction.replacements import DIFFERS, RESIZED
from planner.problem.problem import Problem
from tests.builders import ZONE, Object, cluster, node, replica, revision, scaled, spread

NODES = [node("a1", zone="a"), node("b1", zone="b"), node("c1", zone="c")]
PLACES = ("a1", "b1", "c1")


def container(cpu: str) -> Object:
    """The container of all pods here."""
    return {"name": "main", "resources": {"requests": {"cpu": cpu}}}


def deployed(now: str = "2", asked: str = "3", generation: int = 2, **words: Any) -> list[Object]:
    """Three replicas of a Deployment, a node each, that request `now` where the template has `asked`."""
    found = scaled("Deployment", "web", 3, containers=[container(asked)], **words)
    owner = revision(found)
    return [found, owner, *(running(owner, place, now, generation) for place in PLACES)]


def running(owner: Object, on: str, cpu: str, generation: int) -> Object:
    """A pod of the ReplicaSet that requests so much now."""
    made = replica(owner, f"web-{on}", on, generation=generation)
    spec = {**made["spec"], "containers": [container(cpu)], "schedulingGates": []}
    return {**made, "spec": spec}


def notes(found: Cluster) -> list[str]:
    """What is said about resized pods."""
    return [note for note in found.notes if "resized in place" in note]


def test_replacements_request_what_the_template_has() -> None:
    """3 cpu fit on no node beside a pod of 2; nothing goes, fits or survives as if they were 2."""
    found = cluster(*NODES, *deployed())
    (note,) = notes(found)
    assert "Deployment default/web were resized in place" in note
    assert "(web-a1: main requests 2 of cpu instead of 3)" in note
    assert drain(found, ["c1"]).after.pending == 1
    assert survive(found, ZONE).failures == 3
    new = scaled("Deployment", "web", 3, containers=[container("3")], priorityClassName="")
    assert not rollout(found, Cluster.from_objects([new], partial=True), restart=True, replays=0).completes
    assert [row.more for row in capacity(found).workloads] == [0]
    plan = consolidate(found)
    assert not plan.removed
    assert {row.reason for row in plan.kept if row.pod} == {f"holds a pod {RESIZED}"}


def test_a_resize_up_does_not_take_more_room_than_the_template_asks_for() -> None:
    """Three pods of 4 cpu fill three nodes; two of the template's 2 cpu fit on one."""
    found = cluster(*NODES, node("a2", zone="a"), *deployed("4", "2"))
    assert [row.more for row in capacity(found).workloads] == [2]
    (step,) = drain(found, ["c1"]).steps
    assert [row.lands for row in step.evictions] == ["a2"]


def test_moves_leave_resized_pods_alone() -> None:
    """What is moved is as large as before, and the next pod would not be."""
    web = spread()
    objects = deployed(spread=[web])
    for item in objects[2:]:
        item["spec"] |= {"nodeName": "a1", "topologySpreadConstraints": [web]}
    found = cluster(node("a1", zone="a", cpu="9"), *NODES[1:], *objects)
    plan = rebalance(found)
    assert (plan.steps, plan.stays) == ((), {RESIZED: 3})
    fresh = [{**item, "metadata": {**item["metadata"], "generation": 1}} for item in objects]
    assert rebalance(cluster(node("a1", zone="a", cpu="9"), *NODES[1:], *fresh)).steps


@pytest.mark.parametrize(("generation", "gates"), [(0, 0), (1, 0), (2, 1), (3, 2)])
def test_what_is_no_resize(generation: int, gates: int) -> None:
    """Pods that are as they were made, but for the template's gates, show what admission does."""
    named = [{"name": f"example.com/{number}"} for number in range(gates)]
    found = cluster(*NODES, *deployed(generation=generation, schedulingGates=named))
    assert not notes(found)
    assert any("not as their template has them" in note for note in found.notes)


def test_pods_that_were_not_resized_show_what_admission_does() -> None:
    """Also where the youngest pod was resized, and whatever the order."""
    deployment, owner, *_ = deployed()
    made = [running(owner, "a1", "1500m", 1), running(owner, "b1", "2", 2)]
    made[1]["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    for pods in (made, made[::-1]):
        found = cluster(*NODES, deployment, owner, *pods)
        (new,) = [pod for pod in found.pods if not pod.node_name]
        assert new.spec.containers[0].resources.requests == {"cpu": 1500 * 10**6}
        (note,) = notes(found)
        assert "main requests 2 of cpu instead of 1500m" in note
        problem = Problem(found)
        reasons = {pod.name: Controllers(problem).why_not(n) for n, pod in enumerate(problem.pods)}
        assert (reasons["web-a1"], reasons["web-b1"]) == ("", RESIZED)


def test_a_snapshot_keeps_the_generation_of_pods() -> None:
    """It is all that tells a resize afterwards."""
    *_, pod = deployed()
    assert kept(pod)["metadata"]["generation"] == 2


def test_a_changed_pod_does_not_hide_what_a_limit_range_does_to_the_others() -> None:
    """An ephemeral container raised its generation; the next pods of all request what the LimitRange says."""
    plain = {"name": "main", "resources": {"requests": {"memory": "1Gi"}}}
    found = scaled("Deployment", "web", 3, containers=[plain])
    owner = revision(found)
    pods = [replica(owner, f"web-{n}", "a1", generation=2 if n == 0 else 1) for n in range(3)]
    for item in pods:
        item["spec"]["containers"] = [plain]
    limits = {"type": "Container", "defaultRequest": {"cpu": "5"}}
    metadata = {"name": "l", "creationTimestamp": "2030-01-01T00:00:00Z"}
    later = {"kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limits]}}
    problem = Problem(cluster(*NODES, found, owner, *pods, later))
    controllers = Controllers(problem)
    assert {controllers.why_not(problem.pod_index[f"default/web-{n}"]) for n in range(3)} == {DIFFERS}
