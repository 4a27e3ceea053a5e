"""`planner check --survive` foretells what becomes of a real workload when its node is lost."""

from __future__ import annotations

import json

from tests.builders import REQUIRED, term
from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import ZONE, node, workload

RACK = "example.com/rack"


def _two_of_three(live: ControlPlane) -> set[str]:
    """The nodes of two pods, once there is a third one, and that has none; else nothing."""
    pods = live.pods()
    nodes = {pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]}
    return nodes if (len(pods), len(nodes)) == (3, 2) else set()


def test_a_replica_that_waited_takes_the_place_of_a_lost_one(live: ControlPlane) -> None:
    """A replica for each of two racks, and a third that waits: it comes to the other node of the rack."""
    racks = {"a": "1", "b": "1", "c": "2"}
    apart = {"podAntiAffinity": {REQUIRED: [term(RACK, "web")]}}
    live.create(*(node(name, zone=name, labels={RACK: rack}) for name, rack in racks.items()))
    live.create(workload("web", 3, affinity=apart))
    (lost,) = wait_for("two pods with a node", lambda: _two_of_three(live)) - {"c"}
    told = json.loads(live.planner("check", "--survive", ZONE, "-o", "json").stdout)
    (loss,) = (found for found in told["domains"] if found["domain"] == lost)
    (row,) = loss["workloads"]
    assert (loss["ok"], row["lost"], row["replaced"], row["pending"]) == (True, 1, 1, 0)
    (pod,) = live.pods(fields=f"spec.nodeName={lost}")
    live.kubectl("delete", "node", lost)
    live.kubectl("delete", "pod", pod["metadata"]["name"], "--force")
    wait_for("a pod in its place", lambda: _two_of_three(live) == racks.keys() - {lost})
