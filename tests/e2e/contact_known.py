"""Stories made by hand, one for each thing that an audit saw go wrong on a real control plane."""

from __future__ import annotations

from typing import Any

from tests.e2e.contact_stories import (
    COUPLED,
    GRACE_SECONDS,
    Filler,
    Story,
    Unready,
    apart,
    job,
    workload_of,
)
from tests.e2e.control_plane import Manifest
from tests.e2e.manifests import HOSTNAME, ZONE, node, spread


def stories() -> dict[str, Story]:
    """By name."""
    return {
        "a Job without retries": _late_zone(job("sums", 4, "none", _words("sums"), _linger(1))),
        "a Job with retries": _late_zone(job("sums", 4, "retries", _words("sums"), _linger(1)), "--jobs"),
        "a Job with a policy": _late_zone(job("sums", 4, "policy", _words("sums"), _linger(1)), "--jobs"),
        "a first pod that is not ready": _waiting(),
        "a replacement that could preempt": _preempting(),
        "all of the grace period": _late_zone(workload_of("web", 4, _words("web"), _linger(GRACE_SECONDS))),
    }


def _words(name: str, **more: Any) -> dict[str, Any]:
    grace = {"terminationGracePeriodSeconds": GRACE_SECONDS}
    return {"cpu": "200m", "topologySpreadConstraints": [spread(name)], **grace, **more}


def _linger(seconds: int) -> dict[str, str]:
    return {"stand-in/linger": str(seconds)}


def _story(early: list[Manifest], late: list[Manifest], *workloads: Manifest, **more: Any) -> Story:
    given: dict[str, Any] = {"budgets": (), "shrunk": (), "fillers": (), "unready": (), "held": ()}
    given |= {"command": ("rebalance",), **more}
    return Story(seed=-1, early=tuple(early), late=tuple(late), workloads=workloads, **given)


def _late_zone(subject: Manifest, *flags: str) -> Story:
    """Two zones at first, and a Deployment beside the subject, which is mended in any case."""
    beside = workload_of("beside", 4, _words("beside"), _linger(2))
    early, late = [node("a1"), node("a2")], [node("b1", zone="b"), node("b2", zone="b")]
    return _story(early, late, subject, beside, command=("rebalance", *flags))


def _waiting() -> Story:
    """Of an OrderedReady StatefulSet nothing is made again as long as its first pod is not ready."""
    found = workload_of("db", 4, _words("db"), _linger(1), kind="StatefulSet")
    found["spec"]["podManagementPolicy"] = "OrderedReady"
    return _story(
        [node("a1"), node("a2")], [node("b1", zone="b")], found, unready=(Unready("db-0", movable=False),)
    )


def _preempting() -> Story:
    """While the old pod ends no node is open to the replacement, but a full one in another zone would be."""
    constraint = {**spread("", HOSTNAME), "labelSelector": {"matchLabels": COUPLED}}
    words = {
        "cpu": "200m",
        "topologySpreadConstraints": [constraint],
        "affinity": apart({"app": "web"}, ZONE),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "priorityClassName": "high",
    }
    web = workload_of("web", 2, words, _linger(3))
    beside = workload_of("beside", 1, {"cpu": "200m", "nodeSelector": {HOSTNAME: "a1"}}, {})
    for item in (web, beside):
        item["spec"]["template"]["metadata"]["labels"].update(COUPLED)
    low = {"cpu": "900m", "priorityClassName": "low", "nodeSelector": {ZONE: "c"}}
    filler = Filler(workload_of("filler", 0, low, {}), 900, 1.0, "c")
    early, late = [node("a1"), node("b1", zone="b")], [node("a2"), node("c1", zone="c", cpu="1")]
    return _story(early, late, web, beside, fillers=(filler,))
