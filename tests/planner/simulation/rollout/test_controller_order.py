"""Single syncs of controllers in states that a rollout rarely gets to."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import PodRun
from planner.simulation.rollout.draw import begin, play
from planner.simulation.rollout.prepare import prepare
from tests.builders import Object, node
from tests.planner.simulation.rollout.running import daemons, manifests, running, web, zones


def turn_of(objects: list[Object], item: Object) -> tuple[ClusterSimulation, Any]:
    """The cluster before anything has happened, and the controller of the item."""
    draw = begin(prepare(Cluster.from_objects(objects), manifests(item)), None, preemption=True)
    (run,) = draw.runs
    assert isinstance(run, PodRun)
    return draw.simulation, run


def without_pod(objects: list[Object], name: str) -> list[Object]:
    """All but one pod."""
    return [item for item in objects if item["metadata"]["name"] != name]


def sick(objects: list[Object], *names: str) -> list[Object]:
    """These pods run and are not ready."""
    for item in objects:
        if item["metadata"]["name"] in names:
            item["status"]["conditions"][0]["status"] = "False"
    return objects


def test_on_delete_whoever_comes_again_is_new() -> None:
    """OnDelete keeps pods as they are; one that was lost came back in the old revision, which no pod does."""
    on_delete: dict[str, Any] = {"kind": "StatefulSet", "updateStrategy": {"type": "OnDelete"}}
    objects = running(web(2, **on_delete), ["a1", "b1"], *zones("ab"))
    simulation, run = turn_of(objects, web(2, cpu="200m", **on_delete))
    assert not run.due(simulation)
    lost = run.old[1]
    simulation.delete(lost)
    simulation.end(simulation.doubles[lost])
    assert run.due(simulation).made == [run.new[1]] != [lost]


@pytest.mark.parametrize(
    ("not_ready", "gone"), [((), [3]), ((3,), [3]), ((2,), [3]), ((2, 3), []), ((1,), [])]
)
def test_who_goes_first_of_an_ordered_set(not_ready: tuple[int, ...], gone: list[int]) -> None:
    """The highest; kube waits where it is not ready and a lower one that is to go is not, either."""
    objects = running(web(4, kind="StatefulSet"), ["a1", "b1", "a1", "b1"], *zones("ab"))
    simulation, run = turn_of(sick(objects, *(f"web-{n}" for n in not_ready)), web(2, kind="StatefulSet"))
    assert run.due(simulation).gone == [run.old[number] for number in gone]


def test_a_parallel_set_shrinks_and_updates_in_one_turn() -> None:
    """The surplus pod goes, and the highest of those that stay is replaced in the same sync."""
    parallel: dict[str, Any] = {"kind": "StatefulSet", "podManagementPolicy": "Parallel"}
    objects = running(web(4, **parallel), ["a1", "b1", "a1", "b1"], *zones("ab"))
    simulation, run = turn_of(objects, web(2, cpu="200m", **parallel))
    assert run.due(simulation).gone == [run.old[3], run.old[2], run.old[1]]


def test_with_surge_a_sick_pod_gets_a_new_one_beside_it() -> None:
    """It was deleted first, as without surge; kube makes the new one, and then the old one goes at once."""
    objects = sick(running(daemons("100m"), ["a1", "b1", "c1"], *zones("abc")), "web-0", "web-1")
    simulation, run = turn_of(objects, daemons("200m", maxSurge=1))
    due = run.due(simulation)
    assert (due.made, due.gone) == ([run.new[node] for node in ("a1", "b1", "c1")], [])
    for pod in due.made:
        simulation.create(pod)
    due = run.due(simulation)
    assert (due.made, due.gone) == ([], [run.old["a1"], run.old["b1"]])


def test_with_surge_nobody_waits_for_a_pod_that_leaves() -> None:
    """A node whose pod was told to go gets the next one at once; without surge when it has ended."""
    for rolling, made in (({"maxSurge": 1}, 1), ({"maxUnavailable": 1}, 0)):
        objects = running(daemons("100m"), ["a1"], *zones("a"))
        simulation, run = turn_of(objects, daemons("200m", **rolling))
        simulation.delete(run.old["a1"])
        assert len(run.due(simulation).made) == made


@pytest.mark.parametrize(
    ("not_ready", "gone"),
    [((), {"b1", "c1"}), (("web-1",), {"b1", "c1"}), (("web-0",), {"b1"}), (("web-0", "web-2"), {"c1"})],
)
def test_with_surge_pods_go_where_none_follows(not_ready: tuple[str, ...], gone: set[str]) -> None:
    """They stayed for ever; kube takes at once what it can spare, with an available pod for a node served."""
    nodes = [node("a1"), node("b1", taints=["gpu:NoSchedule"]), node("c1", taints=["gpu:NoSchedule"])]
    objects = sick(running(daemons("100m"), ["a1", "b1", "c1"], *nodes), *not_ready)
    simulation, run = turn_of(objects, daemons("200m", maxSurge=1))
    due = run.due(simulation)
    assert {name for name, pod in run.old.items() if pod in due.gone} == gone
    assert due.made == [run.new["a1"]]


@pytest.mark.parametrize(("grace", "place"), [(30, "b1"), (0, "a1")])
def test_without_a_grace_period_a_pod_frees_its_room_at_once(grace: int, place: str) -> None:
    """The API server removes it in the same moment: a pod made then may follow it on its node."""
    spec: dict[str, Any] = {
        "strategy": {"rollingUpdate": {"maxSurge": 0}},
        "pod": {"terminationGracePeriodSeconds": grace},
    }
    objects = running(web(1, cpu="3", **spec), ["a1"], *zones("ab"))
    new = web(1, cpu="3100m", **spec)
    draw = play(prepare(Cluster.from_objects(objects), manifests(new)), None, preemption=True)
    (number,) = draw.simulation.scheduler.state.node_of[draw.simulation.alive]
    assert draw.simulation.problem.nodes.names[number] == place
