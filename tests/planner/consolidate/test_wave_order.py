"""How many replicas of a workload a wave of a consolidation moves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from models import Cluster
from planner import consolidate
from tests.builders import HOST, ZONE, budget, cluster, node, pod, spread, term
from tests.planner.consolidate.replay import failure


def owned(number: int, app: str = "web", **words: Any) -> dict[str, Any]:
    """A replica on the node that goes."""
    return pod(f"{app}-{number}", "goes", app=app, cpu="1", owner=f"ReplicaSet/{app}", **words)


def waves(found: Cluster, app: str = "web", most: int = 2, **options: Any) -> list[int]:
    """How many replicas of a workload move in each wave that has any."""
    plan = consolidate(found, max_unavailable=most, prices=PRICES, price_label=HOST, **options)
    assert [row.node for row in plan.removed] == ["goes"]
    for seed in range(3):
        assert failure(found, plan, seed) is None
    counted = Counter(step.wave for step in plan.steps if f"/{app}-" in step.pod)
    return [counted[wave] for wave in sorted(counted)]


PRICES = {"goes": 9, "stays": 1, "stays-too": 1}
NODES = (node("goes", "a"), node("stays", "a", cpu="32"), pod("bare", "stays"))
BUDGET = budget("web", "web", 2)
BOTH = (*NODES, node("stays-too", "a", cpu="32"), pod("bare-too", "stays-too"))


@pytest.mark.parametrize(("most", "expected"), [(1, [1] * 5), (2, [2, 2, 1]), (8, [5])])
@pytest.mark.parametrize("pins", [False, True])
def test_a_wave_moves_as_many_as_may_be_down(most: int, expected: list[int], pins: bool) -> None:
    """Nothing asks about the replicas."""
    assert waves(cluster(*NODES, *map(owned, range(5))), most=most, pins=pins) == expected


@pytest.mark.parametrize("words", [{"spread": [spread(ZONE, 9)]}, {"near": [term(ZONE)]}])
def test_replicas_that_ask_about_each_other_move_one_by_one(words: dict[str, Any]) -> None:
    """What a constraint or an affinity counts is known only where one of its pods is away at a time."""
    keeps = pod("web-9", "stays", app="web", owner="ReplicaSet/web")
    found = cluster(*NODES, keeps, *(owned(number, **words) for number in range(3)))
    assert waves(found, most=3) == [1, 1, 1]


def test_replicas_that_others_ask_about_move_one_by_one() -> None:
    """The other workload is to be near them."""
    other = owned(0, "db", near=[term(ZONE)])
    keeps = pod("web-9", "stays", app="web", owner="ReplicaSet/web")
    found = cluster(*NODES, keeps, other, *map(owned, range(3)))
    assert waves(found, most=3) == [1, 1, 1]


def test_a_budget_allows_fewer() -> None:
    """Of three that may be down a budget allows two."""
    assert waves(cluster(*NODES, BUDGET, *map(owned, range(5))), most=3) == [2, 2, 1]


def test_those_that_other_nodes_are_cordoned_for_share_a_wave_where_they_land_alike() -> None:
    """Two nodes stay, and kube-scheduler could choose either: a wave has replicas that come to one."""
    found = cluster(*BOTH, *map(owned, range(4)))
    assert max(waves(found, most=4)) > 1
