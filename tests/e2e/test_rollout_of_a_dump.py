"""A dump applied on a real control plane: ReplicaSets, pods and nodes in it change nothing of a rollout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.documents.rollout import Rollout
from tests.e2e.consolidations import per_domain
from tests.e2e.control_plane import PATIENCE_SECONDS, ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import ZONE, node, spread, workload

_KINDS = "deployments,replicasets,pods,nodes"
_APPS = {"web": 4, "api": 3}


def test_a_dump_with_another_image(live: ControlPlane, tmp_path: Path) -> None:
    """The Deployment whose image differs rolls out, the other stays: every pod is where one draw said."""
    _running(live)
    dump = _dump(live)
    for item in dump["items"]:
        if (item["kind"], item["metadata"]["name"]) == ("Deployment", "web"):
            item["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    foreseen = _foreseen(live, tmp_path, dump)
    before = _uids(live)
    # What is gone when its turn comes cannot be made again, as the API server has changed its constraint.
    live.run("kubectl", "apply", "-f", "-", given=json.dumps(dump))
    _assert_as_foreseen(live, foreseen)
    after = _uids(live)
    assert not before["web"] & after["web"]
    assert before["api"] == after["api"]
    assert {p["spec"]["containers"][0]["image"] for p in live.pods(labels="app=web")} == {"other"}


def test_a_dump_restarted(live: ControlPlane, tmp_path: Path) -> None:
    """Every pod is made anew, and every Deployment completes."""
    _running(live)
    foreseen = _foreseen(live, tmp_path, _dump(live), "--restart")
    before = _uids(live)
    live.kubectl("rollout", "restart", *(f"deployment/{app}" for app in _APPS))
    _assert_as_foreseen(live, foreseen)
    after = _uids(live)
    assert not any(before[app] & after[app] for app in _APPS)


def test_an_older_dump(live: ControlPlane, tmp_path: Path) -> None:
    """Replicas and template are again what they were, whatever the ReplicaSets are in the dump."""
    _running(live)
    dump = _dump(live, "deployments,replicasets")
    live.kubectl("set", "image", "deployment/web", "c=other")
    live.kubectl("scale", "deployment/web", "--replicas=6")
    wait_for("six others", lambda: _has(live, "web", 6, "other"))
    static(live)
    foreseen = _foreseen(live, tmp_path, dump)
    live.kubectl("apply", "-f", "-", given=json.dumps(dump))
    _assert_as_foreseen(live, foreseen)
    assert _has(live, "web", 4, "none")


def _running(live: ControlPlane) -> None:
    """Two Deployments over three zones; one has been rolled out before, and has a ReplicaSet without pods."""
    live.create(*(node(f"{zone}{n}", zone=zone) for zone in "abc" for n in (1, 2)))
    for app, many in _APPS.items():
        by_revision = spread(app) | {"matchLabelKeys": ["pod-template-hash"]}
        live.create(workload(app, many, by_revision, cpu="500m"))
    live.at_rest(sum(_APPS.values()))
    live.kubectl("set", "image", "deployment/api", "c=newer")
    wait_for("the newer ones", lambda: _has(live, "api", 3, "newer"))
    static(live)


def _has(live: ControlPlane, app: str, many: int, image: str) -> bool:
    """Whether all there is of an app are so many ready pods with this image."""
    pods = live.pods(labels=f"app={app}")
    images = {item["spec"]["containers"][0]["image"] for item in pods}
    return len(pods) == many and images == {image} and all(map(is_ready, pods))


def _dump(live: ControlPlane, kinds: str = _KINDS) -> dict[str, Any]:
    """As kubectl prints it, without the versions that refuse what has changed meanwhile."""
    found: dict[str, Any] = json.loads(live.kubectl("get", kinds, "-o", "json"))
    for item in found["items"]:
        del item["metadata"]["resourceVersion"]
    return found


def _foreseen(live: ControlPlane, folder: Path, dump: Manifest, *words: str) -> Rollout:
    path = folder / "dump.json"
    path.write_text(json.dumps(dump))
    ended = live.planner("rollout", "-f", str(path), *words, "--replays", "100", "-o", "json")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    found = Rollout.model_validate_json(ended.stdout)
    assert "3 ReplicaSets are left to their Deployments: their manifests are not applied" in found.notes
    return found


def _assert_as_foreseen(live: ControlPlane, foreseen: Rollout) -> None:
    for app in _APPS:
        live.kubectl("rollout", "status", f"deployment/{app}", f"--timeout={PATIENCE_SECONDS}s")
    static(live)
    assert {row.workload for row in foreseen.workloads} == {f"Deployment/{app}" for app in _APPS}
    for row in foreseen.workloads:
        app = row.workload.partition("/")[2]
        assert row.completes
        assert dict(per_domain(live, app)) in [dict(end.domains[ZONE]) for end in row.ends]


def _uids(live: ControlPlane) -> dict[str, set[str]]:
    return {app: {p["metadata"]["uid"] for p in live.pods(labels=f"app={app}")} for app in _APPS}
