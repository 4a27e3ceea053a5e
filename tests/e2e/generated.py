"""Generated cases one after the other on one control plane: wait until nothing changes, and clear it."""

from __future__ import annotations

from typing import Any

from tests.e2e.control_plane import ControlPlane, is_ready, wait_for

#: Nothing has changed for so long: what was under way has ended.
_QUIET_SECONDS = 2.0
_CLEARED = (
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "poddisruptionbudgets",
    "nodes",
    "resourcequotas",
    "limitranges",
)


def static(live: ControlPlane) -> None:
    """Wait until nothing has changed for a while."""
    live.unchanged(lambda: _state(live), seconds=_QUIET_SECONDS)


def _state(live: ControlPlane) -> Any:
    pods = sorted((p["metadata"]["name"], p["spec"].get("nodeName"), is_ready(p)) for p in live.get("pods"))
    sets = sorted((r["metadata"]["name"], r["spec"]["replicas"]) for r in live.get("replicasets"))
    return pods, sets


def cleared(live: ControlPlane) -> None:
    """Delete what cases create, and wait until the pods are gone."""
    for kind in _CLEARED:
        live.kubectl("delete", kind, "--all", "--wait=true")
    wait_for("no pods", lambda: not live.get("pods"))
