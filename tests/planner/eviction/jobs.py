"""Jobs as the API server prints them, and their pods."""

from __future__ import annotations

from typing import Any

from tests.builders import ZONE, Object, pod, spread

IGNORES = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
FAILS = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def on_exit(action: str, operator: str, *codes: int) -> Object:
    """A rule about exit codes."""
    return {"action": action, "onExitCodes": {"operator": operator, "values": [*codes]}}


def policy(*rules: Object) -> Object:
    """A podFailurePolicy."""
    return {"podFailurePolicy": {"rules": [*rules]}}


def job(name: str = "sums", parallelism: int = 3, status: Object | None = None, **spec: Any) -> Object:
    """A Job without a pod template, so that no missing pods are made for it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"parallelism": parallelism, "completions": parallelism, **spec},
        "status": status or {},
    }


def of_job(name: str, on: str, owner: str = "sums", **words: Any) -> Object:
    """A running pod of a Job, spread over zones with the others."""
    more = {"app": "web", "cpu": "100m", "spread": [spread(ZONE)], **words}
    return pod(name, on, owner=f"Job/{owner}", **more)
