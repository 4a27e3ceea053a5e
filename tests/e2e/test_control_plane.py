"""The control plane itself: what every story relies on."""

from pathlib import Path

from models import Cluster
from tests.e2e.control_plane import ControlPlane, claimed, running, wait_for
from tests.e2e.manifests import ZONE, budget, node, spread, workload
from tests.e2e.shared import SharedControlPlane


def test_pods_are_scheduled_and_the_planner_reads_them(live: ControlPlane) -> None:
    """From manifests to running pods, and to an answer of the planner about the live cluster."""
    live.create(node("a1"), node("b1", zone="b"), workload("web", 4, spread("web")))
    zones = {"a1": "a", "b1": "b"}
    placed = sorted(zones[pod["spec"]["nodeName"]] for pod in live.at_rest(4))
    checked = live.planner("check")
    assert placed == ["a", "a", "b", "b"]
    assert (checked.returncode, checked.stderr) == (0, "")
    assert ZONE.rpartition("/")[2] in checked.stdout


def test_nothing_stays_behind(tmp_path: Path) -> None:
    """When a test ends, whatever its end, every program of its control plane has ended."""
    try:
        with running(tmp_path) as live:
            pids = [
                int(line.split()[0]) for line in (live.kubeconfig.parent / "pids").read_text().splitlines()
            ]
            raise RuntimeError("a test that fails")
    except RuntimeError:
        pass
    assert len(pids) >= 5
    wait_for("end of all programs", lambda: not any(_runs(pid) for pid in pids))
    assert not live.kubeconfig.exists()


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_nothing_of_a_story_is_there_in_the_next(tmp_path: Path) -> None:
    """Pods, controllers and nodes are deleted; after a quota the next story gets another control plane."""
    with SharedControlPlane(tmp_path) as shared:
        first = shared.given(tmp_path)
        first.create(node("a1"), node("a2"), workload("web", 3), workload("db", 1, kind="StatefulSet"))
        first.create(budget("web", maxUnavailable=1))
        first.at_rest(4)
        second = shared.given(tmp_path)
        assert second.kubeconfig == first.kubeconfig
        assert second.get("nodes,pods,deployments,replicasets,statefulsets,poddisruptionbudgets") == []
        hard = {"kind": "ResourceQuota", "apiVersion": "v1", "spec": {"hard": {"pods": "3"}}}
        second.create({**hard, "metadata": {"name": "few", "namespace": "default"}})
        third = shared.given(tmp_path)
        assert third.kubeconfig != second.kubeconfig
        assert third.get("resourcequotas") == []
    assert not third.kubeconfig.exists()


def test_ports_are_claimed_before_programs_take_them() -> None:
    """Of two tests that look for ports at the same time one has to take others."""
    first = claimed(1)
    assert first is not None
    with first:
        assert claimed(1) is None
    again = claimed(1)
    assert again is not None
    again.close()


def test_a_snapshot_knows_its_cluster(live: ControlPlane, tmp_path: Path) -> None:
    """The uid of the real kube-system, the context, the kubeconfig and the version are in it."""
    live.create(node("a1"))
    file = tmp_path / "snapshot.json"
    assert live.planner("snapshot", "-o", str(file)).returncode == 0
    cluster = Cluster.load(file)
    [kube_system] = live.get("namespaces", fields="metadata.name=kube-system")
    assert cluster.origin is not None
    assert cluster.uid == cluster.origin.cluster == kube_system["metadata"]["uid"]
    assert (cluster.origin.context, cluster.origin.kubeconfig) == ("local", str(live.kubeconfig))
    assert cluster.origin.server_version.startswith("v1.36.")
