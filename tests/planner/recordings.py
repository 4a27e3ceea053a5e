"""Nine clusters on which Descheduler and kube-scheduler were run, and Descheduler's own table."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]
_RECORDED = Path(__file__).parents[1] / "data" / "rebalance" / "rebalance.jsonl.gz"
_UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream" / "descheduler_topology_spread.json"


def recorded() -> list[Case]:
    """The nine clusters."""
    return [json.loads(line) for line in gzip.decompress(_RECORDED.read_bytes()).splitlines()]


def upstream() -> list[Any]:
    """The cases of Descheduler's table, or one that is skipped when there is no such file."""
    if not _UPSTREAM.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason="no upstream table here"))]
    # The restated table has the name of a Go constant where its value belongs.
    text = _UPSTREAM.read_text().replace("appsv1.DefaultDeploymentUniqueLabelKey", "pod-template-hash")
    return [pytest.param(case, id=case["name"]) for case in json.loads(text)]


def policy_of(case: Case) -> Case:
    """The policy that the case's arguments amount to."""
    args = {key[0].lower() + key[1:]: value for key, value in case["args"].items()}
    if "namespaces" in args:
        args["namespaces"] = {key.lower(): value for key, value in args["namespaces"].items()}
    config = [
        {"name": "RemovePodsViolatingTopologySpreadConstraint", "args": args},
        {"name": "DefaultEvictor", "args": {"nodeFit": case["nodeFit"]}},
    ]
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [{"name": "spread", "pluginConfig": config}],
    }
