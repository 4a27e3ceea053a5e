"""Rollouts of DaemonSets on a real cluster: on nodes that get no new pod, and of pods that have no node."""

from __future__ import annotations

import json
from typing import Any

from models import Cluster
from planner.documents.rollout import WorkloadRollout
from planner.simulation.rollout import rollout
from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import node, workload

_KINDS = "daemonsets,nodes,pods,namespaces"
_SURGING: Manifest = {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}


def daemons(cpu: str, strategy: Manifest, **spec: Any) -> Manifest:
    """A DaemonSet `agent`."""
    item = workload("agent", 0, kind="DaemonSet", cpu=cpu, **spec)
    del item["spec"]["replicas"]
    item["spec"]["updateStrategy"] = strategy
    return item


def applied(live: ControlPlane, item: Manifest) -> None:
    """Apply a manifest."""
    live.kubectl("apply", "-f", "-", given=json.dumps(item))


def foreseen(live: ControlPlane, item: Manifest) -> WorkloadRollout:
    """What is said of it before it is applied."""
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    cluster, new = Cluster.from_objects(dump["items"]), Cluster.from_objects([item], partial=True)
    return rollout(cluster, new, fixes=False).workloads[0]


def requests(live: ControlPlane) -> list[tuple[str, bool]]:
    """What each pod asks for, and whether it has a node."""
    return sorted(
        (pod["spec"]["containers"][0]["resources"]["requests"]["cpu"], "nodeName" in pod["spec"])
        for pod in live.pods()
    )


def test_with_surge_pods_go_where_none_follows(live: ControlPlane) -> None:
    """The new template does not tolerate a taint: all pods there go at once, which was taken to be none."""
    taint = {"key": "gpu", "value": "x", "effect": "NoSchedule"}
    live.create(node("a1"), node("b1", taints=[taint]), node("b2", taints=[taint]))
    applied(live, daemons("100m", _SURGING, tolerations=[{"operator": "Exists"}]))
    live.at_rest(3)
    after = daemons("100m", _SURGING, schedulingGates=[{"name": "example.com/later"}])
    row = foreseen(live, after)
    applied(live, after)
    wait_for("only the pods of a1", lambda: len(live.pods()) == 2)
    static(live)
    assert requests(live) == [("100m", False), ("100m", True)]
    assert (row.completes, row.least_ready, row.steps[-1].old, row.steps[-1].new) == (False, 1, 1, 1)


def test_pods_without_a_node_are_left_alone_with_on_delete(live: ControlPlane) -> None:
    """They were taken to be replaced, with requests that fit."""
    live.create(*(node(name, cpu="1") for name in ("a1", "a2", "a3")), node("a4", cpu="4"))
    on_delete: Manifest = {"type": "OnDelete"}
    applied(live, daemons("2", on_delete))
    wait_for("four pods", lambda: len(live.pods()) == 4)
    static(live)
    after = daemons("500m", on_delete)
    row = foreseen(live, after)
    applied(live, after)
    static(live)
    assert requests(live) == [*[("2", False)] * 3, ("2", True)]
    assert (row.completes, row.steps) == (False, ())


def test_a_rollout_with_surge_that_is_stuck_is_mended(live: ControlPlane) -> None:
    """Pods that found no room beside the old ones go, and others come that do."""
    live.create(node("a1", cpu="2"), node("a2", cpu="2"))
    applied(live, daemons("1", _SURGING))
    live.at_rest(2)
    applied(live, daemons("1500m", _SURGING))
    wait_for("pods that wait", lambda: requests(live).count(("1500m", False)) == 2)
    after = daemons("900m", _SURGING)
    row = foreseen(live, after)
    applied(live, after)
    wait_for("the new pods", lambda: requests(live) == [("900m", True)] * 2)
    live.at_rest(2)
    static(live)
    assert requests(live) == [("900m", True)] * 2
    assert (row.completes, row.least_ready) == (True, 2)
