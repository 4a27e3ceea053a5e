"""A consolidation carried out on a real control plane: nodes emptied and deleted, every pod running."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.builders import REQUIRED
from tests.e2e.consolidations import (
    PRICES,
    TYPE,
    assert_emptied,
    at_home,
    by_wave,
    consolidation,
    delete_nodes,
    finish,
    half_empty,
    old_pool,
    per_domain,
    price_list,
    skew,
    thirty_nodes,
)
from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, pod, spread, workload
from tests.e2e.stories import carried_out


@pytest.mark.parametrize(("seed", "words"), [(1, ("--pin",)), (2, ()), (3, ("--pin",))])
def test_nodes_are_emptied_and_deleted(
    live: ControlPlane, tmp_path: Path, seed: int, words: tuple[str, ...]
) -> None:
    """From the dry run to the last node that is deleted: budgets hold, nothing is broken, every pod runs."""
    pods = half_empty(live, seed)
    finish(live, consolidation(live, tmp_path, *words), pods)
    assert max(skew(per_domain(live, app)) for app in ("web", "api")) <= 1


@pytest.mark.parametrize("words", [(), ("--pin",)])
def test_thirty_nodes_with_prices(live: ControlPlane, tmp_path: Path, words: tuple[str, ...]) -> None:
    """What is left costs what the document says, spread holds, and nodes are kept for the pods it names."""
    pods = thirty_nodes(live)
    (alone,) = live.pods(labels="app=alone")
    plan = consolidation(live, tmp_path, "--prices", price_list(tmp_path), "--keep", "n29", *words)
    assert plan.reasons["n29"] == (None, "named by --keep")
    assert plan.reasons["n16"] == ("default/bare", "holds a pod without a controller")
    assert plan.reasons["n4"] == (
        f"default/{alone['metadata']['name']}",
        "holds a pod under a PodDisruptionBudget that allows no eviction",
    )
    assert any(step["landing"] == "pinned" for step in plan.document["steps"]) == bool(words)
    finish(live, plan, pods)
    types = [item["metadata"]["labels"][TYPE] for item in live.get("nodes")]
    assert sum(PRICES[name] for name in types) == pytest.approx(plan.document["cost"]["after"])
    assert max(skew(per_domain(live, app)) for app in ("web", "api", "db")) <= 1
    assert skew(per_domain(live, "web", HOSTNAME)) <= 2


def test_several_replicas_of_a_workload_in_a_wave(live: ControlPlane, tmp_path: Path) -> None:
    """Two waves of three that nothing asks about, which go at the same time; of the others one a wave."""
    live.create(node("n1", labels={TYPE: "small"}), node("n2", cpu="16", labels={TYPE: "large"}))
    live.create(workload("web", 6, cpu="500m", nodeSelector={TYPE: "small"}))
    live.create(workload("api", 2, spread("api"), cpu="500m", nodeSelector={TYPE: "small"}))
    live.at_rest(8)
    live.kubectl("label", "node", "n2", f"{TYPE}=small", "--overwrite")
    plan = consolidation(live, tmp_path, "--nodes", "n1", "--max-unavailable", "3")
    counted = [Counter(step["pod"].split("/")[1][:3] for step in wave) for wave in by_wave(plan)]
    assert counted == [{"web": 3, "api": 1}, {"web": 3, "api": 1}]
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    lines = ended.stdout.splitlines()
    landed = [number for number, line in enumerate(lines) if "/web-" in line and "landed" in line]
    evicted = [number for number, line in enumerate(lines) if "evicted default/web-" in line]
    assert evicted[2] < landed[0]
    delete_nodes(live, plan, 8, ended)


def test_any_zone_may_be_lost_afterwards(live: ControlPlane, tmp_path: Path) -> None:
    """With --survive: when the zone with most pods is lost, too, all of them run in the other two.

    What is promised is one draw of kube-scheduler's ties; the reserve is for all others.
    """
    pods = thirty_nodes(live)
    words = ("--prices", price_list(tmp_path), "--survive", ZONE, "--reserve", "15%")
    finish(live, consolidation(live, tmp_path, *words), pods)
    live.kubectl("delete", "pod", "bare")  # nothing makes it again
    live.kubectl("delete", "deployment", "alone")  # it may run on n4 only
    at_home(live, pods - 2)
    zone, _ = max((per_domain(live, "web") + per_domain(live, "api")).items(), key=lambda item: item[1])
    lost = {item["metadata"]["name"] for item in live.get("nodes", labels=f"{ZONE}={zone}")}
    gone = [p["metadata"]["name"] for p in live.get("pods") if p["spec"].get("nodeName") in lost]
    live.kubectl("delete", "node", *lost)
    live.kubectl("delete", "pod", "--force", "--ignore-not-found", *gone)
    assert not {p["spec"]["nodeName"] for p in at_home(live, pods - 2)} & lost


def test_an_empty_zone_counts_until_its_node_is_deleted(live: ControlPlane, tmp_path: Path) -> None:
    """The document names the zone; replicas that are added wait for its cordoned node to be deleted."""
    live.create(*(node(f"{zone}{n}", zone=zone, labels={TYPE: "small"}) for zone in "ab" for n in (1, 2)))
    live.create(workload("web", 2, spread("web"), cpu="500m"), budget("web", maxUnavailable=1))
    live.create(workload("side", 3, cpu="500m"))
    live.at_rest(5)
    live.create(node("c1", zone="c", labels={TYPE: "large"}))
    plan = consolidation(live, tmp_path, "--prices", price_list(tmp_path, {"small": 1, "large": 5}))
    assert plan.document["domainsLost"] == [{"key": ZONE, "domain": "c"}]
    assert (len(plan.reasons), plan.document["cost"]["after"]) == (2, 2)
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    live.kubectl("scale", "deployment/web", "--replicas=4", "-n", "default")
    wait_for("two pods that wait", lambda: _waiting(live, "web") == 2)
    delete_nodes(live, plan, 7, ended)
    assert per_domain(live, "web") == {"a": 2, "b": 2}


def test_replacements_land_where_the_scheduler_likes_on_a_large_cluster(
    live: ControlPlane, tmp_path: Path
) -> None:
    """More nodes are kept than are cordoned for a replacement: none is led anywhere, and all find a node.

    Several pods are away at once that a constraint over zones counts.
    """
    apps = old_pool(live, 6, away=3)
    plan = consolidation(live, tmp_path, "--nodes", "pool=old", "--max-unavailable", "3")
    assert len(plan.document["removed"]) == 30
    waves = Counter((step["wave"], step["workload"]) for step in plan.document["steps"])
    counted = tuple(apps[1::2])
    assert max(number for (_, owner), number in waves.items() if owner.endswith(counted)) > 1
    assert {step["landing"] for step in plan.document["steps"]} == {"filters"}
    assert all("labels" in step["lands"] for step in plan.document["steps"])
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, 540, ended)
    assert max(skew(per_domain(live, app)) for app in counted) <= 1


def test_a_pod_that_waited_takes_the_place(live: ControlPlane, tmp_path: Path) -> None:
    """One of the same ReplicaSet comes first, and the replacement waits in its stead: as many are placed."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    live.create(node("n1"), workload("web", 3, affinity={"podAntiAffinity": {REQUIRED: [term]}}))
    wait_for("two pods that wait", lambda: _waiting(live, "web") == 2)
    live.create(node("n2"), pod("bare", nodeName="n2"))
    plan = consolidation(live, tmp_path)
    assert [(step["from"], step["node"]) for step in plan.document["steps"]] == [("n1", "n2")]
    ended = carried_out(live, plan.script, TIMEOUT="30")
    assert_emptied(live, plan, ended)
    wait_for("two pods that wait", lambda: _waiting(live, "web") == 2)


def _waiting(live: ControlPlane, app: str) -> int:
    """How many pods of an app the scheduler has found no node for."""
    found = (c for item in live.pods(labels=f"app={app}") for c in item["status"].get("conditions", ()))
    return sum(c.get("reason") == "Unschedulable" for c in found)
