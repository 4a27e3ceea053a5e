"""Workloads of Argo Rollouts and OpenKruise on a real API server, which knows them by their definitions."""

from __future__ import annotations

import json
from pathlib import Path

from models import Cluster
from tests.e2e.control_plane import PATIENCE_SECONDS, ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, spread, workload

KRUISE = "apps.kruise.io"


def definition(group: str, version: str, kind: str) -> Manifest:
    """A CustomResourceDefinition that takes every field, with the subresource that kubectl scales by."""
    plural = f"{kind.lower()}s"
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    # The API server looks at these two fields when it scales.
    counted = {"type": "object", "properties": {"replicas": {"type": "integer"}}} | schema
    properties = {"spec": counted, "status": counted}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                    "subresources": {"status": {}, "scale": scale},
                }
            ],
        },
    }


def owned(live: ControlPlane, item: Manifest, kind: str) -> Manifest:
    """The reference to an object that the API server has."""
    found = json.loads(live.kubectl("get", kind, item["metadata"]["name"], "--output", "json"))
    named = {key: found["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "controller": True, **named}


def installed(live: ControlPlane, *definitions: Manifest) -> None:
    """The definitions, once the API server serves them."""
    live.create(*definitions)
    for item in definitions:
        name = item["metadata"]["name"]
        live.kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={PATIENCE_SECONDS}s")

        def listed(name: str = name) -> bool:
            return live.run("kubectl", "get", name).returncode == 0

        wait_for(name, listed)


def test_a_rollout_is_read_from_a_live_cluster(live: ControlPlane, tmp_path: Path) -> None:
    """Its ReplicaSet is the controller manager's: what that lacks comes; a scale-down is found for it."""
    installed(live, definition("argoproj.io", "v1alpha1", "Rollout"))
    web = workload("web", 4, spread("web")) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    live.create(node("a1"), node("b1", zone="b"), web)
    made = workload("web", 4, spread("web"), kind="ReplicaSet")
    made["metadata"] |= {"name": "web-r1", "ownerReferences": [owned(live, web, "rollouts.argoproj.io")]}
    live.create(made)
    live.at_rest(4)
    file = tmp_path / "snapshot.json"
    ended = live.planner("snapshot", "-o", str(file))
    assert (ended.returncode, ended.stderr) == (0, "")
    found = Cluster.load(file)
    assert [item.kind for item in found.deployments] == ["Rollout"]
    assert len(found.pods) == 4
    checked = live.planner("check")
    assert (checked.returncode, "Rollout/web" in checked.stdout) == (0, True)
    script = live.planner("scale-down", "rollout/web=2", "-o", "script").stdout
    path = tmp_path / "script.sh"
    path.write_text(script)
    tried = live.run("sh", str(path), "--dry-run")
    assert tried.returncode == 0, tried.stderr
    assert "rollout.argoproj.io/web scaled (server dry run)" in tried.stdout


def test_both_stateful_sets_are_told_apart(live: ControlPlane, tmp_path: Path) -> None:
    """kubectl takes the kind alone for the built-in one; the script names the group."""
    installed(live, definition(KRUISE, "v1beta1", "StatefulSet"), definition(KRUISE, "v1alpha1", "CloneSet"))
    db = workload("db", 2, kind="StatefulSet") | {"apiVersion": f"{KRUISE}/v1beta1"}
    db["spec"]["reserveOrdinals"] = [1]
    web = workload("web", 2) | {"apiVersion": f"{KRUISE}/v1alpha1", "kind": "CloneSet"}
    live.create(node("a1"), db, web)
    found = json.loads(live.planner("simulate", "-o", "json").stdout)
    named = sorted(item["pod"] for item in found["decisions"])
    assert named == ["default/db-0", "default/db-2", "default/web-1", "default/web-2"]
    path = tmp_path / "script.sh"
    path.write_text(live.planner("scale-down", "sts/db=1", "-o", "script").stdout)
    assert "scale default statefulset.apps.kruise.io/db 2 1" in path.read_text()
