"""Rollouts of DaemonSets of which pods have no node, or of which a node has two pods."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.daemon_set import DaemonSetRun
from planner.simulation.rollout.draw import begin
from planner.simulation.rollout.prepare import prepare
from tests.builders import Object, replica
from tests.planner.simulation.rollout.running import manifests, running, web, zones


def daemons(cpu: str, **strategy: Any) -> Object:
    """A DaemonSet `web`."""
    return web(0, cpu=cpu, kind="DaemonSet", constraints=[], updateStrategy=strategy)


def waiting(item: Object, *nodes: str) -> list[Object]:
    """A pod of it for each of these nodes, none of which has room."""
    found = []
    owner = item["metadata"] | {"uid": "owner"}
    for place in nodes:
        only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [place]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}}
        pod = replica(item | {"metadata": owner}, f"web-for-{place}")
        pod["spec"]["affinity"] = {"nodeAffinity": required}
        found.append(pod)
    return found


def begun(objects: list[Object], item: Object) -> tuple[ClusterSimulation, DaemonSetRun]:
    """The cluster before anything has happened, and the controller of the DaemonSet."""
    draw = begin(prepare(Cluster.from_objects(objects), manifests(item)), None, preemption=True)
    (run,) = draw.runs
    assert isinstance(run, DaemonSetRun)
    return draw.simulation, run


def names(simulation: ClusterSimulation, pods: list[int]) -> set[str]:
    """The names of some pods."""
    return {simulation.problem.pods[pod].name for pod in pods}


@pytest.mark.parametrize(
    ("strategy", "gone"),
    [({"type": "OnDelete"}, set()), ({"rollingUpdate": {}}, {"web-for-b1", "web-for-c1"})],
)
def test_pods_without_a_node_are_those_of_the_nodes_that_they_wait_for(
    strategy: Object, gone: set[str]
) -> None:
    """One was deleted as if its node were not served, though OnDelete leaves it; the others stayed."""
    old = daemons("100m", **strategy)
    objects = [*running(old, ["a1"], *zones("abc")), *waiting(old, "b1", "c1")]
    simulation, run = begun(objects, daemons("200m", **strategy))
    due = run.due(simulation)
    assert (due.made, names(simulation, due.gone)) == ([], gone)


def test_a_rollout_that_is_stuck_is_replaced_by_another() -> None:
    """Of the pods that waited all but one were not known, and waited on beside those of the new revision."""
    old = daemons("100m", rollingUpdate={"maxSurge": 2})
    objects = [*running(old, ["a1", "b1"], *zones("ab")), *waiting(old, "a1", "b1")]
    simulation, run = begun(objects, daemons("200m", rollingUpdate={"maxSurge": 2}))
    due = run.due(simulation)
    assert names(simulation, due.gone) == {"web-for-a1", "web-for-b1"}
    for _ in due.carried_out(simulation):
        pass
    assert names(simulation, [*run.old.values()]) == {"web-0", "web-1"}
    assert run.sizes(simulation) == (2, 2)
