"""A ServiceAccount with the ClusterRole of packaging/kubernetes does all that is promised, and no more."""

import json
from pathlib import Path

import pytest

from models import Cluster
from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import node, spread, workload

RIGHTS = Path(__file__).parents[2] / "packaging" / "kubernetes" / "rbac.yaml"


@pytest.fixture
def limited(live: ControlPlane, tmp_path: Path) -> Path:
    """The kubeconfig of the ServiceAccount, in a cluster with a workload on two zones."""
    live.create(node("a1"), node("b1", zone="b"), workload("web", 4, spread("web")))
    live.at_rest(4)
    live.kubectl("apply", "-f", str(RIGHTS))
    token = live.kubectl("create", "token", "planner", "--namespace", "planner").strip()
    config = json.loads(live.kubectl("config", "view", "--raw", "--output", "json"))
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    path = tmp_path / "limited"
    path.write_text(json.dumps(config))

    def allowed() -> bool:
        asked = live.run("kubectl", "--kubeconfig", str(path), "auth", "can-i", "list", "pods", "-A")
        return asked.stdout.strip() == "yes"

    wait_for("the rights", allowed)
    return path


def test_the_planner_works_with_the_least_rights(live: ControlPlane, limited: Path, tmp_path: Path) -> None:
    """`check`, `snapshot` and `rebalance`, without a note about what may not be listed."""
    for command in (("check", "--metrics", str(tmp_path / "metrics")), ("rebalance",)):
        ended = live.planner(*command, "--kubeconfig", str(limited))
        assert (ended.returncode, ended.stderr) == (0, ""), command
    assert "planner_spread_skew{" in (tmp_path / "metrics").read_text()
    file = tmp_path / "snapshot.json"
    assert live.planner("snapshot", "-o", str(file), "--kubeconfig", str(limited)).stderr == ""
    found = Cluster.load(file)
    assert len(found.pods) == 4
    (kube_system,) = live.get("namespaces", fields="metadata.name=kube-system")
    assert found.uid == kube_system["metadata"]["uid"]


def test_it_may_do_nothing_else(live: ControlPlane, limited: Path) -> None:
    """Neither read secrets and config maps, nor get or watch what it lists, nor change anything."""

    def may(*question: str) -> bool:
        asked = live.run("kubectl", "--kubeconfig", str(limited), "auth", "can-i", *question, "-A")
        return asked.stdout.strip() == "yes"

    for verb, kind in [
        ("list", "secrets"),
        ("list", "configmaps"),
        ("get", "pods"),
        ("watch", "pods"),
        ("delete", "pods"),
        ("create", "pods/eviction"),
        ("patch", "nodes"),
        ("update", "deployments.apps"),
    ]:
        assert not may(verb, kind), (verb, kind)
    assert may("list", "nodes")


def test_without_a_right_its_name_is_told(live: ControlPlane, limited: Path) -> None:
    """Every rule of the role is needed: with one less the planner says what it lacks."""
    role = json.loads(live.kubectl("get", "clusterrole", "planner", "--output", "json"))
    kept = [rule for rule in role["rules"] if rule["apiGroups"] != ["policy"]]
    live.kubectl("patch", "clusterrole", "planner", "--type", "merge", "-p", json.dumps({"rules": kept}))

    def told() -> str:
        return live.planner("check", "--kubeconfig", str(limited)).stderr

    assert (
        wait_for("a note", told) == "note: poddisruptionbudgets are left out: this user may not list them\n"
    )
