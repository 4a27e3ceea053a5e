"""Scheduling gates as if they were open."""

from planner import simulate
from planner.whatif import open_gates
from tests.builders import cluster, node, pod


def test_held_pods_are_pending_like_all_others() -> None:
    """They get a node, and nothing else is changed; the cluster that was given stays as it is."""
    held = pod("held")
    held["spec"]["schedulingGates"] = [{"name": "example.com/batch"}]
    given = cluster(node("n1"), held, pod("free"))
    opened = open_gates(given)
    assert {item.pod: item.node for item in simulate(given).decisions} == {
        "default/free": "n1",
        "default/held": None,
    }
    assert all(item.node == "n1" for item in simulate(opened).decisions)
    assert opened.pods[1] is given.pods[1]
