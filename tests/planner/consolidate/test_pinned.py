"""Consolidations with `pins`: every landing is certain, and whole nodes are emptied one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from models.collector import old_left_alone
from planner import consolidate
from planner.consolidate.emptying import Emptying
from planner.consolidate.layout import Layout, SiteCounts
from planner.consolidate.setting import ConsolidationQuestion, Setting
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MoveStep
from planner.problem.problem import Problem
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import HOST, ZONE, budget, cluster, node, pod, spread, term
from tests.planner.consolidate.replay import failure
from tests.planner.consolidate.test_plan import drawn_until, owned, planned


def waves(plan: ConsolidationPlan) -> list[set[str]]:
    """The pods of every wave."""
    last = max((step.wave for step in plan.steps), default=0)
    return [{step.pod for step in plan.steps if step.wave == wave} for wave in range(1, last + 1)]


@pytest.mark.parametrize("seed", seeds.given_and_fresh(21))
@pytest.mark.parametrize("pins", [False, True])
def test_every_order_and_every_tie_empties_the_nodes(seed: int | None, pins: bool) -> None:
    """Drawn orders, ties, and ends of old pods: nothing pending, no constraint worse, the nodes empty."""
    seed, steps = seeds.fresh() if seed is None else seed, list[MoveStep]()
    for _, case in drawn_until(seed, steps, 3, lopsided=True):
        plan = planned(case, time_limit=4, pins=pins)
        steps += plan.steps
        assert [failure(case.cluster(), plan, draw) for draw in range(3)] == [None] * 3, (case, plan.steps)
    assert len(steps) >= 3


def test_a_plan_that_is_tampered_with_fails_its_replay() -> None:
    """What is replayed can fail: a landing on another node, and a node that is not empty."""
    found = cluster(node("n1"), node("n2"), owned("web-1", "n1"), owned("web-2", "n2"), owned("web-3", "n2"))
    plan = consolidate(found, pins=True)
    (step,) = plan.steps
    assert failure(found, plan, 1) is None
    elsewhere = step.model_copy(update={"lands": step.lands.model_copy(update={"nodes": ("n1",)})})
    assert failure(found, plan.model_copy(update={"steps": (elsewhere,)}), 1) is not None
    assert failure(found, plan.model_copy(update={"steps": ()}), 1) == "a node is not empty"


def test_pods_of_stateful_sets_are_led_by_cordons() -> None:
    """They cannot be pinned: without the cordon of n3, the emptiest, the last big pod has no node."""
    big = {"cpu": "6"}
    found = cluster(
        *(node(f"n{number}", cpu="8") for number in range(1, 5)),
        pod("db-0", "n1", app="db", cpu="2", owner="StatefulSet/db"),
        owned("fill-1", "n2", **big),
        owned("fill-2", "n3", cpu="2"),
        owned("big-1", "n4", **big),
    )
    plan = consolidate(found, pins=True)
    assert len(plan.removed) == 2
    assert plan.status == "Optimal"


@pytest.mark.parametrize(
    ("owner", "near", "moves"), [("ReplicaSet", "db", 1), ("ReplicaSet", "web", 0), ("StatefulSet", "web", 1)]
)
def test_a_pod_that_its_own_affinity_keeps_out_stays(owner: str, near: str, moves: int) -> None:
    """As long as the old pod ends, the new one has to be near it, and its end wakes no scheduler.

    A pod that comes after the end, as of a StatefulSet, is the first of its kind.
    """
    web = pod("web-0", "n1", app="web", owner=f"{owner}/web", near=[term(HOST, near)])
    plan = consolidate(cluster(node("n1"), node("n2"), web, pod("bare", "n2", app="db")), pins=True)
    assert len(plan.steps) == moves


def test_a_spread_may_be_worse_until_the_replacement_is_there() -> None:
    """The zone with the fewest replicas moves one of them: until it has landed the others have too many."""
    pods = [owned(f"web-{number}", on, spread=[spread(ZONE)]) for number, on in enumerate(("a1", "b1", "b1"))]
    nodes = (node("a1", "a"), node("a2", "a", cpu="4"), node("b1", "b"))
    plan = consolidate(cluster(*nodes, *pods, pod("bare", "a2", cpu="1")))
    assert [row.node for row in plan.removed] == ["a1"]
    assert [(step.source, step.node) for step in plan.steps] == [("a1", "a2")]


def test_a_budget_holds_in_every_wave() -> None:
    """One disruption at a time: every replica has a wave of its own."""
    pods = [owned(f"web-{number}", "n1") for number in range(3)]
    found = cluster(node("n1"), node("n2"), *pods, budget("web", "web", 1), pod("bare", "n2"))
    plan = consolidate(found, pins=True)
    assert [row.node for row in plan.removed] == ["n1"]
    assert [len(wave) for wave in waves(plan)] == [1, 1, 1]


def test_many_nodes_are_cordoned_at_once_as_one_by_one() -> None:
    """The copy with several cordons is the one that single cordons lead to."""
    found = cluster(*(node(f"n{number}") for number in range(5)))
    names = ["n3", "n1"]
    expected = found
    for name in names:
        expected = cordon(expected, name)
    assert Problem(cordon(found, *names)).cluster == Problem(expected).cluster


def test_a_layout_is_carried_out_when_the_time_is_over() -> None:
    """Nodes whose pods have all moved as planned were given back, for want of time to look at them."""
    found = cluster(node("n1"), node("n2"), owned("web-1", "n1"), owned("web-2", "n2"), owned("web-3", "n2"))
    setting = Setting.of(ConsolidationQuestion(found), {})
    before = setting.before
    removed = before.removed.copy()
    present = before.counts
    counts = SiteCounts.of(2, present.templates, np.ones_like(present.nodes), present.numbers)
    removed[0] = True
    over = Meter(0, Clock(0))
    emptying = Emptying(setting, over, pins=True)
    with old_left_alone():
        emptied = emptying.of(Layout(counts, removed))
    assert emptied.removed.tolist() == [True, False]
    assert emptied.moves == 1
