"""Rollouts where a node is lost, or closed to new pods: no kubelet ends or starts pods on a lost one."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster
from planner import rollout
from planner.documents.rollout import WorkloadRollout
from tests.builders import Object, node
from tests.planner.simulation.rollout.running import manifests, running, web, zones

LOST = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
EVERYWHERE: Object = {"pod": {"tolerations": [{"operator": "Exists"}]}}
SURGING: Object = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
STAYS = (
    "web-2 does not end: node c1 has the taint node.kubernetes.io/unreachable: no kubelet ends pods there, "
    "so a deleted pod stays Terminating until the node is back or deleted"
)


def rolled_out(kind: str, **words: Any) -> WorkloadRollout:
    """What becomes of a workload with a pod in each of three zones, the third of them on a lost node."""
    before, after = (web(3, kind=kind, cpu=cpu, constraints=[], **words) for cpu in ("100m", "200m"))
    nodes = [*zones("ab"), node("c1", zone="c", taints=LOST)]
    objects = running(before, ["a1", "b1", "c1"], *nodes)
    (there,) = (item for item in objects if item["spec"].get("nodeName") == "c1")
    there["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return rollout(Cluster.from_objects(objects), manifests(after), replays=4).workloads[0]


@pytest.mark.parametrize("words", [{}, EVERYWHERE])
def test_a_daemon_set_waits_for_the_pod_of_a_lost_node(words: Object) -> None:
    """All was said to complete. It deletes the pod there first, which stays, and that is all it may lack."""
    row = rolled_out("DaemonSet", **words)
    assert (row.completes, row.message) == (False, STAYS)
    assert (row.steps[-1].new, row.least_ready) == (0, 2)


def test_a_daemon_set_that_may_lack_more_goes_on_elsewhere() -> None:
    """Where it makes no pod on the lost node, all that it makes are there in the end."""
    row = rolled_out("DaemonSet", updateStrategy={"rollingUpdate": {"maxUnavailable": 2}})
    assert (row.completes, row.steps[-1].new, row.least_ready) == (True, 2, 1)


def test_no_pod_starts_on_a_lost_node() -> None:
    """With maxSurge the new pod gets the node, and was taken to become ready."""
    row = rolled_out("DaemonSet", **EVERYWHERE, **SURGING)
    assert (row.completes, row.steps[-1].new) == (False, 3)
    assert "does not start: node c1 has the taint node.kubernetes.io/unreachable" in row.message


def test_a_stateful_set_waits_for_the_name_of_a_lost_pod() -> None:
    """Its successor has the same name, and cannot be made."""
    row = rolled_out("StatefulSet", podManagementPolicy="Parallel")
    assert (row.completes, row.message) == (False, STAYS)


@pytest.mark.parametrize(("strategy", "completes"), [("Recreate", False), ("RollingUpdate", True)])
def test_a_deployment_waits_only_where_old_pods_have_to_end(strategy: str, completes: bool) -> None:
    """Recreate makes no pod before all old ones have ended."""
    assert rolled_out("Deployment", strategy={"type": strategy}).completes is completes


def test_a_daemon_set_leaves_a_pod_of_the_newest_revision_on_a_closed_node() -> None:
    """Nothing is rolled out, and the pod was deleted for a taint that came later."""
    item = web(3, kind="DaemonSet", constraints=[])
    nodes = [*zones("ab"), node("c1", zone="c", taints=["dedicated=x:NoSchedule"])]
    objects = running(item, ["a1", "b1", "c1"], *nodes)
    row = rollout(Cluster.from_objects(objects), manifests(item), replays=4).workloads[0]
    assert (row.completes, row.steps) == (True, ())
