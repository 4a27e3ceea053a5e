"""The given clusters after a scale-down, beside what autoscalers and Karpenter make of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from models import Cluster
from planner import consolidate
from planner.documents.consolidation import ConsolidationPlan

_DATA = Path(__file__).parents[2] / "data" / "consolidate"
#: Per hour, by the type that a node's label names.
PRICES = {
    "m5.2xlarge": 0.384,
    "m5.4xlarge": 0.768,
    "c5.4xlarge": 0.68,
    "r5.4xlarge": 1.008,
    "m5.8xlarge": 1.536,
}
#: Costs are sums of thousandths.
ROUNDING = 1e-6


def recorded(kind: str, quick: int | None = None) -> list[Any]:
    """The clusters of a kind, each with the least cost that Karpenter's deletions or an autoscaler reach.

    A quick run takes only so many, the first ones.
    """
    rows = map(json.loads, (_DATA / "karpenter.jsonl").read_text().splitlines())
    theirs = {row["name"]: row["deleteOnly"]["cost"] for row in rows}
    with gzip.open(_DATA / f"{kind}.jsonl.gz", "rt") as lines:
        cases = [json.loads(line) for line in lines]
    for case in cases:
        case["reached"] = min(case["greedy"]["cost"], theirs[case["name"]])
    long = len(cases) if quick is None else quick
    return [
        pytest.param(case, id=case["name"], marks=[pytest.mark.long] * (number >= long))
        for number, case in enumerate(cases)
    ]


def planned(case: dict[str, Any], *, pins: bool) -> ConsolidationPlan:
    """The plan of half a minute, of which these clusters need a half at most."""
    cluster = Cluster.from_objects(case["cluster"]["items"])
    return consolidate(cluster, prices=PRICES, pins=pins, time_limit=30)


@pytest.mark.parametrize("pins", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", recorded("tiny", 6))
def test_the_cost_of_six_nodes_is_proved(case: dict[str, Any], pins: bool) -> None:
    """Nor is it above what others reach; no constraint of these clusters keeps a set from being emptied."""
    plan = planned(case, pins=pins)
    assert plan.objective[0].proved
    assert plan.cost.after <= case["reached"] + ROUNDING


@pytest.mark.long
@pytest.mark.parametrize("case", recorded("small"))
def test_thirty_nodes_cost_no_more_than_others_reach(case: dict[str, Any]) -> None:
    """And a third of the gap between the autoscaler and the bound is closed on each, 80 % in sum.

    Once pods of StatefulSets that no controller had numbered kept nodes, and made others pending: plans cost
    more than the autoscaler's, and 36 % of the gap was closed.
    """
    plan, greedy = planned(case, pins=False), case["greedy"]["cost"]
    assert plan.cost.after <= case["reached"] + ROUNDING
    assert plan.cost.after <= greedy - (greedy - case["bound"]) / 3 + ROUNDING
