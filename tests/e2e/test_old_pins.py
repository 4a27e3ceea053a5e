"""Pods that keep the pin of a plan carried out before: later plans move them as the template lets them."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.consolidations import assert_emptied, consolidation, delete_nodes
from tests.e2e.control_plane import ControlPlane, Manifest
from tests.e2e.manifests import node, spread, workload
from tests.e2e.stories import carried_out, evictions, planned, too_many

_COST = "controller.kubernetes.io/pod-deletion-cost"


def test_pods_that_were_pinned_move_again(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: a pod that a move had pinned kept its node from every later plan.

    A rebalance pins a pod of x and one of y to a1 to make room on c1.  When zone a has too many of x, the
    pinned one leaves it; then a1 is emptied.
    """
    _full_zone(live)
    ended = carried_out(live, planned(live, tmp_path, "rebalance"))
    assert (ended.returncode, ended.stderr, too_many(live)) == (0, "", 0)
    pinned = [pod for pod in live.get("pods") if "affinity" in pod["spec"]]
    assert [(pod["metadata"]["labels"]["app"], pod["spec"]["nodeName"]) for pod in pinned] == [
        ("x", "a1"),
        ("y", "a1"),
    ]
    _too_many_in_zone_a(live, pinned[0])
    before = live.get("pods")
    ended = carried_out(live, planned(live, tmp_path, "rebalance"))
    assert (ended.returncode, ended.stderr, too_many(live)) == (0, "", 0)
    assert evictions(live, before) == 1
    assert _nodes(live, "x")[:4] == ["a2", "a2", "b1", "c2"]
    assert _nodes(live, "y") == ["a1", "b1"]
    plan = consolidation(live, tmp_path, "--nodes", "a1", "--pin")
    assert plan.going == {"a1"}
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, 10, ended)


def _full_zone(live: ControlPlane) -> None:
    """Three pods of web in two zones, and the only node of a third, on which x and y take the room."""
    live.create(node("a1", cpu="3500m"), node("b1", zone="b", cpu="2250m"))
    live.create(workload("web", 3, spread("web"), cpu="1250m"))
    live.at_rest(3)
    live.kubectl("cordon", "a1", "b1")
    live.create(node("c1", zone="c", cpu="1500m"))
    live.create(workload("x", 1, spread("x", skew=2), cpu="500m"), workload("y", 1, cpu="500m"))
    live.at_rest(5)
    _open_only(live, "b1")
    live.kubectl("scale", "deployment", "x", "y", "--replicas=2")
    live.at_rest(7)
    live.kubectl("uncordon", "a1", "c1")
    assert _nodes(live, "x") == _nodes(live, "y") == ["b1", "c1"]


def _too_many_in_zone_a(live: ControlPlane, first_to_go: Manifest) -> None:
    """Zones a, b and c have three pods of x, one and one, when there comes a zone without any."""
    live.create(node("a2"), node("c2", zone="c"))
    for name, replicas in (("c2", 3), ("a2", 5)):
        _open_only(live, name)
        live.kubectl("scale", "deployment", "x", f"--replicas={replicas}")
        live.at_rest(5 + replicas)
    live.kubectl("uncordon", "a1", "b1", "c1", "c2")
    live.create(node("d1", zone="d"))
    live.kubectl("annotate", "pod", first_to_go["metadata"]["name"], f"{_COST}=-10")


def _open_only(live: ControlPlane, name: str) -> None:
    live.kubectl("cordon", *(item["metadata"]["name"] for item in live.get("nodes")))
    live.kubectl("uncordon", name)


def _nodes(live: ControlPlane, app: str) -> list[str]:
    return sorted(pod["spec"]["nodeName"] for pod in live.pods(labels=f"app={app}"))
