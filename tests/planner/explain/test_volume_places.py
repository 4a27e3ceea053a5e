"""Where the volumes of a pending pod are: `didn't match PersistentVolume's node affinity` does not say."""

import pytest

from planner.simulation.survive import survive
from tests.builders import HOST, ZONE, Object, claim, cluster, labelled, node, pod, volume
from tests.planner.explain.asking import only, summaries

DRIVER = "topology.ebs.csi.aws.com/zone"


def _using(*claims: str) -> Object:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return pod("db-0", volumes=volumes)


def test_a_volume_in_a_zone_without_nodes_is_named() -> None:
    """`explain` named the plugin and its nodes, and neither the claim nor the zone that its volume is in."""
    found = only(node("a", "a"), node("b", "b"), volume("pv", ["d"]), claim("data", "pv"), _using("data"))
    (place,) = found.volumes
    assert (place.claim, place.volume, place.where, place.nodes) == ("data", "pv", f"{ZONE}=d", 0)


def test_only_volumes_that_keep_the_pod_from_a_node_are_named() -> None:
    """One that every node reaches has no part in it."""
    volumes = volume("near", ["b"]), volume("far"), claim("near", "near"), claim("far", "far")
    nodes = node("a", "a"), node("b", "b", cordoned=True)
    found = only(*nodes, *volumes, _using("far", "near"))
    assert [(place.claim, place.where, place.nodes) for place in found.volumes] == [("near", f"{ZONE}=b", 1)]


def test_every_term_of_a_volume_is_told() -> None:
    """Terms are alternatives; what is not one value is spelled as in the manifest."""
    terms = [labelled(ZONE, "In", "d", "e"), labelled("disk", "Exists")]
    there = volume("pv", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    found = only(node("a", "a"), there, claim("data", "pv"), _using("data"))
    assert found.volumes[0].where == f"{ZONE} in (d,e) or disk"


def test_a_new_node_goes_to_the_zone_of_the_volume() -> None:
    """Where no node reaches the volume one more node in its zone does; no change was said to help."""
    there = node("a", "a", labels={DRIVER: "a"})
    terms = [labelled(DRIVER, "In", "d")]
    far = volume("pv", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    found = only(there, far, claim("data", "pv"), _using("data"))
    assert summaries(found) == [f"one more node like a, with label {DRIVER}=d, with label {ZONE}=d"]
    assert found.fixes[0].node == "a-2"


@pytest.mark.parametrize("key", [HOST, "topology.topolvm.io/node"])
def test_no_new_node_has_the_disk_of_another(key: str) -> None:
    """A local volume is gone with its node: one more node of that name does not bring it back."""
    terms = [labelled(key, "In", "gone")]
    local = volume("pv", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert not summaries(only(node("a", "a"), local, claim("data", "pv"), _using("data")))


def test_no_new_node_is_in_a_zone_that_is_lost() -> None:
    """`check --survive` tells of a volume in the lost zone that nothing is known to help."""
    nodes = node("a", "a"), node("b", "b")
    running = pod("db-0", on="a", owner="ReplicaSet/db", volumes=_using("data")["spec"]["volumes"])
    loss = survive(cluster(*nodes, volume("pv", ["a"]), claim("data", "pv"), running), ZONE)
    assert [lost.fix for lost in loss.domains[0].pending] == [None]
