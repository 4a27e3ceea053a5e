"""What kube-scheduler says of pending pods, beside what is found here."""

from typing import Any

import pytest

from planner import explain, simulate
from tests.builders import cluster, node, pod

Object = dict[str, Any]
CREATED = "2026-01-01T00:00:00Z"
TAINTS = "2 node(s) had untolerated taint {a: b}"


def pending(line: str, **words: Any) -> Object:
    """A pod that kube-scheduler has said this of."""
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": line}
    return pod("p", created=CREATED, conditions=[told], **words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: x.", {}),
        (f"0/2 nodes are available: {TAINTS}. preemption: 0/2 nodes are available.", {"cpu": "9"}),
    ],
)
def test_a_line_that_is_not_explained_is_told(line: str, words: dict[str, str]) -> None:
    """Also where the pod would be placed: that is no good answer then."""
    found = cluster(node("n1"), node("n2"), pending(line, **words))
    simulation, explanation = simulate(found), explain(found)
    (item,) = simulation.contradicted
    assert (item.pods, item.example, item.message) == (1, "default/p", line)
    assert explanation.contradicted == simulation.contradicted
    assert any("another configuration" in note for note in simulation.notes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available.", {"cpu": "9"}),
        (
            "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
            {"cpu": "9", "memory": "99Gi"},
        ),
        ("0/3 nodes are available: 3 Insufficient cpu.", {}),
        ("0/2 nodes are available: 2 Insufficient cpu.", {"nominated": "n1"}),
        ("", {}),
    ],
)
def test_a_line_that_is_explained_is_not(line: str, words: dict[str, str]) -> None:
    """Nor one about another number of nodes, nor that of a pod that waits for its victims."""
    found = cluster(node("n1", memory="8Gi"), node("n2", cpu="99"), pending(line, **words))
    if words.get("cpu") == "9" and "memory" not in words:
        found = cluster(node("n1"), node("n2"), pending(line, **words))
    assert not simulate(found).contradicted


def test_a_node_promised_to_another_pod_contradicts_nothing() -> None:
    """What went wrong: the line counted the promised room, as `explain` does, and was said to be wrong."""
    line = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"
    promised = pod("first", cpu="2", nominated="n1", priority=5, created=CREATED)
    there = pod("old", "n1", cpu="1", gone=True)
    assert not simulate(cluster(node("n1", cpu="2"), there, promised, pending(line, cpu="1"))).contradicted


def test_releases_name_taints_differently() -> None:
    """Some by name, some together."""
    nodes = [node(name, taints=["a=b:NoSchedule"]) for name in ("n1", "n2")]
    for line in (TAINTS, "2 node(s) had untolerated taint(s)"):
        found = cluster(*nodes, pending(f"0/2 nodes are available: {line}."))
        assert not simulate(found).contradicted


@pytest.mark.parametrize(
    ("reasons", "contradicts"),
    [
        ("1 node(s) were unschedulable, 2 cannot allocate all claims", 0),
        ("1 cannot allocate all claims, 1 node(s) were unschedulable, 1 timed out", 0),
        ("3 Insufficient cpu", 1),
    ],
)
def test_nothing_contradicts_what_is_left_undecided(reasons: str, contradicts: int) -> None:
    """All devices are in use, which is not judged here: that was told to be another configuration."""
    line = f"0/3 nodes are available: {reasons}. preemption: x."
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    meta = {"name": "gpu", "namespace": "default", "uid": "c"}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    nodes = [node("n1"), node("n2"), node("n3", cordoned=True)]
    uses = [{"name": "g", "resourceClaimName": "gpu"}]
    found = simulate(cluster(*nodes, kind, claim, pending(line, resourceClaims=uses)))
    assert "2 undecided: ResourceClaim default/gpu is not allocated yet" in found.decisions[0].message
    assert len(found.contradicted) == contradicts
