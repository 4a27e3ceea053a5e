"""Topology keys and resources that no node has, but one much like it."""

import pytest

from planner.explain.misspelled import likely_key
from tests.builders import HOST, ZONE, node, pod, spread
from tests.planner.explain.asking import only, summaries


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("topology.kubernetes.io/zones", ZONE),
        ("topolgy.kubernetes.io/zone", ZONE),
        ("zone", ZONE),
        ("hostname", HOST),
        ("topology.kubernetes.io/rack", ""),
        ("example.com/zone", ""),
    ],
)
def test_the_key_that_was_meant(key: str, meant: str) -> None:
    """One part of it is as some node has it, and the other one alike, or the prefix is missing."""
    assert likely_key(key, {ZONE, HOST, "topology.kubernetes.io/region", "pool"}) == meant


def test_a_topology_key_that_no_node_has_is_corrected() -> None:
    """The first fix was ScheduleAnyway, with which the constraint does nothing at all."""
    nodes = node("a1", zone="a"), node("b1", zone="b")
    found = only(*nodes, pod("new", app="web", spread=[spread("zone")]))
    assert summaries(found)[0] == f"did you mean {ZONE}? No node has the label zone"
    (change,) = found.fixes[0].changes
    assert change.patch is not None
    replaced, constraint = change.patch["spec"]["topologySpreadConstraints"]
    assert (replaced, constraint["topologyKey"]) == ({"$patch": "replace"}, ZONE)
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"


def test_a_key_that_some_node_has_is_no_typing_error() -> None:
    """There nodes without the label are left out on purpose."""
    nodes = node("a1", zone="a", cpu="1"), node("b1", labels={"topology.kubernetes.io/zonal": "b"})
    found = only(*nodes, pod("new", app="web", cpu="2", spread=[spread()]))
    assert not [text for text in summaries(found) if text.startswith("did you mean")]


def test_a_resource_that_no_node_has_is_corrected() -> None:
    """The first fix was one more node with such devices, which no machine has."""
    nodes = node("a1", room={"nvidia.com/gpu": "1"}), node("b1")
    found = only(*nodes, pod("new", requests={"nvidia.com/gpus": "1"}))
    assert summaries(found)[0] == "did you mean nvidia.com/gpu? No node has nvidia.com/gpus"
    (change,) = found.fixes[0].changes
    assert change.patch is not None
    (container,) = change.patch["spec"]["containers"]
    assert container["resources"]["requests"] == {"nvidia.com/gpu": "1", "nvidia.com/gpus": None}


def test_a_resource_that_only_limits_ask_for_is_corrected() -> None:
    """Devices are asked for by limits alone, and of such pods only requests were looked at."""
    nodes = node("a1", room={"nvidia.com/gpu": "1"}), node("b1")
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpus": "1"}}}
    found = only(*nodes, pod("new", containers=[container]))
    assert summaries(found)[0] == "did you mean nvidia.com/gpu? No node has nvidia.com/gpus"
    (change,) = found.fixes[0].changes
    assert change.patch is not None
    (changed,) = change.patch["spec"]["containers"]
    assert changed["resources"] == {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpus": None}}


def test_a_resource_of_another_name_is_no_typing_error() -> None:
    """Of devices in parts some nodes have one part, and others another."""
    nodes = node("a1", room={"nvidia.com/mig-1g.5gb": "1"}), node("b1")
    for name in ("nvidia.com/mig-2g.10gb", "amd.com/gpu", "nvidia.com/gpu"):
        found = only(*nodes, pod("new", requests={name: "1"}))
        assert not any(line.startswith("did you mean") for line in summaries(found))
