"""Nodes that are added: like one that there is, but fresh, and in another zone where that is asked for."""

from models import Cluster
from planner import check, simulate
from planner.whatif import add_nodes
from tests.builders import (
    HOST,
    ZONE,
    cluster,
    csi_node,
    node,
    pod,
    replica,
    scaled,
    spread,
)

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
MIRROR = {"kubernetes.io/config.mirror": "x"}


def test_new_nodes_are_like_the_old_one_but_fresh() -> None:
    """Same room, labels and drivers; a name and hostname of their own; neither cordoned nor sick."""
    sick = node("a1", "a", taints=["gpu:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"], cpu="7")
    sick["status"]["images"] = [{"names": ["web:1"], "sizeBytes": 1}]
    sick["spec"]["unschedulable"] = True
    drivers = csi_node("a1", "disk", 3)
    found = add_nodes(cluster(sick, node("a1-1"), drivers, pod("p")), 2, "a1", {"pool": "big"})
    assert [item.name for item in found.nodes] == ["a1", "a1-1", "a1-2", "a1-3"]
    first = found.nodes[2]
    assert first.metadata.labels == {HOST: "a1-2", ZONE: "a", "pool": "big"}
    assert [item.key for item in first.spec.taints] == ["gpu"]
    assert not first.spec.unschedulable
    assert (first.status.allocatable, first.status.images) == (found.nodes[0].status.allocatable, ())
    assert [(item.name, len(item.spec.drivers)) for item in found.csi_nodes] == [
        ("a1", 1),
        ("a1-2", 1),
        ("a1-3", 1),
    ]


def test_new_nodes_may_open_a_zone() -> None:
    """A domain without a pod: the constraint counts it, and the waiting pod goes there."""
    rows = [spread(minDomains=2)]
    there = pod("web", on="a1", owner="ReplicaSet/web", app="web", spread=rows)
    snapshot = cluster(node("a1", "a"), there, pod("next", app="web", spread=rows))
    assert simulate(snapshot).decisions[0].node is None
    found = add_nodes(snapshot, 1, "a1", {ZONE: "b"})
    assert simulate(found).decisions[0].node == "a1-1"
    (row, _) = check(found).constraints
    assert row.domains == {"a": 1, "b": 0}


def test_new_nodes_get_their_daemons() -> None:
    """A DaemonSet's pods take room on new nodes as on the old ones."""
    daemon = scaled("DaemonSet", "agent", 0, cpu="3")
    snapshot = cluster(node("a1"), daemon, replica(daemon, "agent-x", "a1"), pod("large", cpu="2"))
    found = add_nodes(snapshot, 1, "a1")
    decisions = {decision.pod: decision.node for decision in simulate(found).decisions}
    assert decisions == {"default/large": "a1-1", "default/agent-1": None}


def test_a_node_may_be_like_one_that_is_not_there() -> None:
    """A Node of its own is a pattern as well."""
    pattern = Cluster.from_objects([node("big", "c", cpu="64")]).nodes[0]
    found = add_nodes(cluster(node("a1")), 1, pattern)
    assert [item.name for item in found.nodes] == ["a1", "big-1"]
    assert found.nodes[1].status.allocatable["cpu"] == pattern.status.allocatable["cpu"]


def test_new_nodes_keep_the_taints_that_say_what_they_are_for() -> None:
    """Nodes like a Windows node of GKE had lost its taint; those about to go kept theirs."""
    taints = ["node.kubernetes.io/os=windows:NoSchedule", "ToBeDeletedByClusterAutoscaler=1:NoSchedule"]
    found = add_nodes(cluster(node("w", taints=taints), pod("p")), 1, "w")
    assert [item.key for item in found.nodes[1].spec.taints] == ["node.kubernetes.io/os"]


def test_new_nodes_are_in_another_zone_for_drivers_too() -> None:
    """With another zone a node kept topology.gke.io/zone, and could reach the volumes of its old one."""
    driver, region = "topology.gke.io/zone", "topology.kubernetes.io/region"
    pattern = node("a1", "eu-a", labels={driver: "eu-a", region: "eu", "pool": "eu-a"})
    found = add_nodes(cluster(pattern, pod("p")), 1, "a1", {ZONE: "eu-b"}).nodes[1]
    expected = {HOST: "a1-1", ZONE: "eu-b", driver: "eu-b", region: "eu", "pool": "eu-a"}
    assert found.metadata.labels == expected
    kept = add_nodes(cluster(pattern, pod("p")), 1, "a1", {ZONE: "eu-b", driver: "eu-c"}).nodes[1]
    assert kept.metadata.labels == expected | {driver: "eu-c"}
