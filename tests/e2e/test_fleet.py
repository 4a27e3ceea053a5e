"""`planner fleet` and `planner sweep` with a real API server: contexts, an Indexed Job without kubelets."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import ZONE, node, spread, workload

PACKAGING = Path(__file__).parents[2] / "packaging" / "kubernetes"


def test_a_context_is_answered_as_the_command_alone(live: ControlPlane) -> None:
    """The document of the live cluster, beside a context that is not known."""
    live.create(*(node(f"n{zone}", zone=zone) for zone in "abc"), workload("web", 3, spread("web")))
    live.at_rest(3)
    context = live.kubectl("config", "current-context").strip()
    asked = live.command(
        "fleet", "check", "--survive", ZONE, "--contexts", f"{context},unknown", "-o", "json"
    )
    fleet = live.run(*asked)
    rows = {row["cluster"]: row for row in json.loads(fleet.stdout)["rows"]}
    alone = live.run(*live.command("check", "--survive", ZONE, "-o", "json"))
    assert fleet.returncode == 3
    assert rows[context]["document"] == json.loads(alone.stdout)
    assert rows[context]["exitCode"] == alone.returncode
    assert "unknown" in rows["unknown"]["error"]


def test_a_sweep_of_the_live_cluster(live: ControlPlane) -> None:
    """From so many replicas on pods stay pending, and on the cluster they do."""
    live.create(*(node(f"n{zone}", zone=zone, cpu="1") for zone in "abc"), workload("web", 3, cpu="300m"))
    live.at_rest(3)
    asked = live.command("sweep", "simulate", "--vary", "scale=deploy/web.default=1..15", "-o", "json")
    rows = json.loads(live.run(*asked).stdout)["rows"]
    failing = min(int(row["scenario"].rpartition("=")[2]) for row in rows if row["exitCode"])
    live.kubectl("scale", "deployment/web", f"--replicas={failing}", "-n", "default")

    def refused() -> bool:
        pods = live.pods(labels="app=web")
        waiting = [
            pod for pod in pods if not pod["spec"].get("nodeName") and pod.get("status", {}).get("conditions")
        ]
        return len(pods) == failing and len(waiting) == 1

    assert wait_for("one pod too many", refused)


def test_the_indexed_job_is_taken_and_has_ten_pods(live: ControlPlane) -> None:
    """Its pods have indexes and pass the strictest Pod Security level; no kubelet is there to run them."""
    (job,) = yaml.safe_load_all((PACKAGING / "fleet-job.yaml").read_text())
    namespace: Manifest = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "planner", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    live.create(namespace, job)

    def indexes() -> list[str] | None:
        pods = json.loads(live.kubectl("get", "pods", "-n", "planner", "-o", "json"))["items"]
        found = [pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods]
        return sorted(found, key=int) if len(found) == job["spec"]["completions"] else None

    assert wait_for("the pods of the Job", indexes) == [str(number) for number in range(10)]
