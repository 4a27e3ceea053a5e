"""Room for the loss of a zone on a real control plane: what is kept for it is enough, and is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planner.consolidate.loss import UNSURVIVED
from tests.e2e.consolidations import consolidation, finish
from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, spread, workload

#: Which app has a pod on which nodes.
_PLACES: Mapping[str, Sequence[str]] = {
    "api": ("n0", "n1", "n5"),
    "jobs": ("n2", "n9"),
    "queue": ("n0", "n3", "n5", "n6"),
    "web": ("n0", "n1", "n2", "n4", "n6", "n7", "n8"),
}


def test_what_is_given_back_for_the_loss_of_a_zone(live: ControlPlane, tmp_path: Path) -> None:
    """The loss that would leave pods over without a node leaves none with it, and does when it goes, too."""
    pods = _placed(live)
    plan = consolidation(live, tmp_path, "--survive", ZONE)
    given_back = [name for name, (_, why) in plan.reasons.items() if why == UNSURVIVED]
    assert given_back
    finish(live, plan, pods)
    assert live.planner("check", "--survive", ZONE).returncode == 0
    name, zone = next((name, zone) for name in given_back for zone in _unsurvived(live, name))
    _lose(live, f"{ZONE}={zone}")
    live.at_rest(pods)
    _lose(live, f"{HOSTNAME}={name}")
    assert _left_over(live, pods)


def _placed(live: ControlPlane) -> int:
    """Ten nodes in three zones, and pods on them, which their ReplicaSets adopt; returns how many pods."""
    cpu = {2: "8"}
    live.create(*(node(f"n{n}", zone="abc"[n % 3], cpu=cpu.get(n, "4")) for n in range(10)))
    apps = (
        _replicas("api", "900m", spread("api", HOSTNAME)),
        _replicas("jobs", "800m", spread("jobs")),
        _replicas("queue", "1700m", spread("queue", HOSTNAME)),
        _replicas("web", "700m"),
    )
    live.create(*(pod for app in apps for pod in _pods(app)))
    pods = sum(map(len, _PLACES.values()))
    live.at_rest(pods)
    live.create(*apps, *(budget(app, maxUnavailable=1) for app in _PLACES))
    wait_for("adoption", lambda: all("ownerReferences" in p["metadata"] for p in live.get("pods")))
    live.at_rest(pods)
    return pods


def _replicas(app: str, cpu: str, *constraints: Manifest) -> Manifest:
    return workload(app, len(_PLACES[app]), *constraints, kind="ReplicaSet", cpu=cpu)


def _pods(app: Manifest) -> Iterator[Manifest]:
    name, template = app["metadata"]["name"], app["spec"]["template"]
    for number, place in enumerate(_PLACES[name]):
        meta = {"name": f"{name}-{number}", "namespace": "default", **template["metadata"]}
        spec = {**template["spec"], "nodeName": place}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _unsurvived(live: ControlPlane, name: str) -> list[str]:
    """The zones whose loss leaves pods over without a node."""
    asked = ("check", "--survive", ZONE, "--remove-node", name, "-o", "json")
    found = json.loads(live.planner(*asked).stdout)
    return [loss["domain"] for loss in found["domains"] if not loss["ok"]]


def _lose(live: ControlPlane, label: str) -> None:
    """Nodes go, and what was on them, as it does when a machine is gone for good."""
    lost = {item["metadata"]["name"] for item in live.get("nodes", labels=label)}
    gone = [item["metadata"]["name"] for item in live.get("pods") if item["spec"].get("nodeName") in lost]
    live.kubectl("delete", "node", *lost)
    live.kubectl("delete", "pod", "--force", "--ignore-not-found", *gone)


def _left_over(live: ControlPlane, pods: int) -> list[str]:
    """The pods that find no node when all that find one run."""

    wait_for("all pods", lambda: len(live.pods()) == pods)
    static(live)
    return [item["metadata"]["name"] for item in live.get("pods") if not is_ready(item)]
