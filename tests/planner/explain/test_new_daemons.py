"""Fixes that add or change nodes are made, DaemonSets put their pods there first, and the pod has a node."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from models import Cluster
from models.controllers.reconcile import reconcile
from models.objects.node import Node
from planner import explain, simulate
from planner.documents.explanation import Fix
from tests import seeds
from tests.builders import Object, cluster, node, pod, scaled, tolerate
from tests.planner.explain.asking import only, summaries

_OF_NODES = {"AddNode", "RemoveTaint", "LabelNode"}


def test_a_fix_of_nodes_leaves_room_for_daemon_pods() -> None:
    """Random small clusters: taints, labels or want of room keep DaemonSets away from some nodes."""
    tried = 0
    for seed in seeds.seeds(20):
        draw = random.Random(seed)
        running = _with_nodes_chosen(cluster(*_there(draw)))
        waiting = cluster(*map(_manifest, running.nodes), _waiting(draw)).pods
        found = explain(replace(running, pods=(*running.pods, *waiting))).items
        own = next((item for item in found if item.pod == "default/new"), None)
        for fix in () if own is None else (*own.fixes, *own.risky):
            if {change.action for change in fix.changes} <= _OF_NODES:
                changed = _with_nodes_chosen(reconcile(replace(running, nodes=_nodes(running, fix))))
                played = simulate(replace(changed, pods=(*changed.pods, *waiting)))
                (decision,) = (one for one in played.decisions if one.pod == "default/new")
                assert decision.node, f"seed {seed}: {[change.summary for change in fix.changes]}"
                tried += 1
    assert tried


@pytest.mark.parametrize(
    ("daemon", "told"),
    [
        ({}, "one more node like a, without taint gpu, with 5 cpu"),
        ({"node_selector": {"gpu": "yes"}}, "one more node like a, without taint gpu"),
        ({"tolerations": [tolerate("gpu")]}, "one more node like a, without taint gpu, with 5 cpu"),
    ],
)
def test_daemon_pods_come_that_the_node_it_is_like_has_not(daemon: dict[str, Any], told: str) -> None:
    """What went wrong: a taint, or no room, kept them from that node, and so they were forgotten."""
    agent = scaled("DaemonSet", "agent", 1, cpu="500m", **daemon)
    full = pod("full", on="a", cpu="4", tolerations=[tolerate("gpu")])
    found = explain(cluster(node("a", taints=["gpu:NoSchedule"]), full, agent, pod("new", cpu="4"))).items
    assert told in summaries(next(item for item in found if item.pod == "default/new"))


@pytest.mark.parametrize(("cpu", "helps"), [("4", False), ("3500m", True)])
def test_daemon_pods_come_to_a_node_without_its_taint(cpu: str, helps: bool) -> None:
    """What went wrong: with the taint gone there was room for the pod and none for those of DaemonSets."""
    agent = scaled("DaemonSet", "agent", 1, cpu="500m")
    found = only(node("a", taints=["gpu:NoSchedule"]), agent, pod("new", cpu=cpu))
    assert ("take gpu:NoSchedule off node a" in summaries(found)) == helps


def test_a_daemon_pod_that_waits_for_a_node_comes_to_it_once() -> None:
    """A second one was taken to come without the taint: it kept out what comes before the first."""
    tainted = node("a", cpu="500m", taints=["gpu:NoSchedule"])
    agent = scaled("DaemonSet", "agent", 1, cpu="100m")
    only_here = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    waits = pod("waits", app="agent", cpu="100m", owner=agent, only_on=only_here)
    first = pod("first", cpu="500m", priority=10, never="Never")
    found = explain(cluster(tainted, agent, waits, first)).items
    helps = {item.pod: "take gpu:NoSchedule off node a" in summaries(item) for item in found}
    assert helps == {"default/first": True, "default/waits": False}


def _there(draw: random.Random) -> list[Object]:
    """Nodes, DaemonSets, and pods that fill some of the nodes."""
    nodes, full = [], []
    for number in range(draw.randint(1, 3)):
        taints = ["team:NoSchedule"] if draw.random() < 0.5 else []
        labels = {"disk": "ssd"} if draw.random() < 0.5 else {}
        nodes.append(node(f"n{number}", cpu=draw.choice("234"), taints=taints, labels=labels))
        if draw.random() < 0.6:
            full.append(pod(f"full-{number}", on=f"n{number}", cpu=draw.choice(("1", "1900m", "2"))))
    daemons = []
    for number in range(draw.randint(1, 2)):
        words: dict[str, Any] = {"tolerations": [tolerate("team")]} if draw.random() < 0.3 else {}
        words |= {"node_selector": {"disk": "ssd"}} if draw.random() < 0.3 else {}
        daemons.append(scaled("DaemonSet", f"agent-{number}", 1, cpu=draw.choice(("100m", "500m")), **words))
    return [*nodes, *full, *daemons]


def _waiting(draw: random.Random) -> Object:
    words: dict[str, Any] = {"node_selector": {"disk": "ssd"}} if draw.random() < 0.4 else {}
    return pod("new", cpu=draw.choice(("1500m", "2", "3", "3600m", "4")), **words)


def _with_nodes_chosen(found: Cluster) -> Cluster:
    """The cluster with its pods where the scheduler puts them."""
    node_of = {decision.pod: decision.node for decision in simulate(found).decisions if decision.node}
    pods = (pod.on(place) if (place := node_of.get(pod.key)) else pod for pod in found.pods)
    return replace(found, pods=tuple(pods))


def _manifest(found: Node) -> Object:
    return {"apiVersion": "v1", "kind": "Node", **found.model_dump(mode="json", by_alias=True)}


def _nodes(running: Cluster, fix: Fix) -> tuple[Node, ...]:
    """The nodes as the fragments of the changes have them."""
    found = {item.name: _manifest(item) for item in running.nodes}
    for change in fix.changes:
        name, patch = change.target.partition("/")[2], change.patch or {}
        old = found.get(name, node(name))
        labels = {**old["metadata"]["labels"], **patch.get("metadata", {}).get("labels", {})}
        found[name] = {
            **old,
            "metadata": {**old["metadata"], "labels": labels},
            "spec": {**old["spec"], **patch.get("spec", {})},
            "status": {**old["status"], **patch.get("status", {})},
        }
    return cluster(*found.values()).nodes
