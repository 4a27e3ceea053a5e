"""Evictions alone, led by cordons: kept nodes are closed until the replacements of a wave have landed."""

from __future__ import annotations

import numpy as np
import pytest

from models import Cluster
from planner import consolidate
from planner.consolidate.certain_moves import SafeMove
from planner.consolidate.wave_order import with_cordons
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MoveStep, OnNodes
from planner.landing.landing import Landing
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem
from planner.proof import consolidation_effort as effort
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import cluster, node
from tests.planner.consolidate.drawn import crowded
from tests.planner.consolidate.test_plan import ANY, carried_out, owned, planned


def equal_nodes(number: int = 10, cpu: str = "4") -> Cluster:
    """Equal nodes with a pod each of three workloads: eight of ten have room for all."""
    nodes = [node(f"n{one:02}", cpu=cpu) for one in range(number)]
    return cluster(*nodes, *(owned(f"{app}-{one}", f"n{one:02}") for one in range(number) for app in "abc"))


def together(plan: ConsolidationPlan) -> list[list[MoveStep]]:
    """The steps of every wave."""
    waves: dict[int, list[MoveStep]] = {}
    for step in plan.steps:
        waves.setdefault(step.wave, []).append(step)
    return [*waves.values()]


def test_cordons_lead_replacements_where_kube_scheduler_would_not_put_them() -> None:
    """Each replacement could land on eight equal nodes, and lands on the only one that is open."""
    found = equal_nodes()
    plan = consolidate(found, time_limit=5)
    assert (len(plan.removed), plan.cost.bound) == (2, plan.cost.after)
    assert "cordoned" in {step.landing for step in plan.steps}
    gone = {row.node for row in plan.removed}
    for seed in range(5):
        end = {item.key: item.node_name for item in carried_out(found, plan, seed).pods}
        assert gone.isdisjoint(end.values())
        assert {step.pod: step.node for step in plan.steps}.items() <= end.items()


def test_pods_that_come_to_one_node_share_a_wave() -> None:
    """Three workloads: a wave has up to three pods, one of each, and one list of nodes to cordon."""
    plan = consolidate(equal_nodes(6, "6"), time_limit=5)
    assert max(map(len, together(plan))) > 1
    assert len(together(plan)) < len(plan.steps)


@pytest.mark.parametrize("seed", seeds.given_and_fresh(31))
def test_no_wave_cordons_a_node_that_it_needs(seed: int | None) -> None:
    """The steps of a wave that cordon name the same nodes: kept ones, none of which a step comes to."""
    seed = seeds.fresh() if seed is None else seed
    cordons = list[tuple[str, ...]]()
    # One plan in ten has none.
    for case in (crowded(seed + number) for number in seeds.until(3, cordons)):
        plan = planned(case)
        kept = {row.node for row in plan.kept}
        for wave in together(plan):
            named = {step.cordon for step in wave if step.landing == "cordoned"}
            assert len(named) <= 1, case
            assert {*sum(named, ())} <= kept - {step.node for step in wave}, case
            assert all(bool(step.cordon) == (step.landing == "cordoned") for step in wave), case
            cordons += named
    assert cordons, seed


def test_no_cordon_where_scores_lead_there() -> None:
    """Alone in its wave a replacement comes to the emptiest node by itself, to another one by a cordon."""
    found = cluster(node("go"), node("full"), node("free"), owned("a-0", "go"), owned("b-0", "full", cpu="3"))
    trial = TrialCluster(Problem(cordon(found, "go")))
    index, pods = trial.problem.nodes.index, trial.problem.pod_index
    landings = []
    for name in ("free", "full"):
        move = Move(pods["default/a-0"], index["go"], index[name])
        only = np.arange(trial.problem.nodes.size) == move.target
        planned_there = Landing(move, "cordoned", only, OnNodes(nodes=(name,)))
        waves = with_cordons(trial, [[SafeMove(planned_there, alone=False)]])
        landings += [(one.kind, one.cordon) for one in waves[0]]
    assert landings == [("scores", ()), ("cordoned", (index["free"],))]


def test_what_tolerates_a_cordon_is_not_led_by_one() -> None:
    """A pod that tolerates cordons could land on closed nodes: it stays, and its node with it."""
    nodes = [node(f"n{one}", cpu="4") for one in range(4)]
    pods = [owned(f"{app}-{one}", f"n{one}") for one in range(4) for app in "ab"]
    plan = consolidate(cluster(*nodes, *pods, owned("c-0", "n0", tolerations=ANY)), time_limit=3)
    assert plan.steps
    assert "n0" in {row.node for row in plan.kept}
    assert "default/c-0" not in {step.pod for step in plan.steps}


def test_no_cordons_where_very_many_nodes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of thousands of nodes for each move helps nobody: scores lead, or the node stays."""
    monkeypatch.setattr(effort, "EMPTYING_CORDONED", 7)
    plan = consolidate(equal_nodes(), time_limit=10)
    assert not [step for step in plan.steps if step.cordon]
    assert any(note.startswith("--pin saves") for note in plan.notes)


@pytest.mark.parametrize("seed", seeds.given_and_fresh(32))
def test_nodes_that_were_to_go_stay_closed_until_all_waves_are_over(
    monkeypatch: pytest.MonkeyPatch, seed: int | None
) -> None:
    """Open, their room would change where replacements land: with them closed all land as promised."""
    monkeypatch.setattr(effort, "EMPTYING_CORDONED", 0)
    seed = seeds.fresh() if seed is None else seed
    # One plan in three gives a node back: thirty without are no coincidence.
    for case in map(crowded, range(seed, seed + 30)):
        plan = planned(case)
        if plan.cordoned_meanwhile:
            kept = {row.node for row in plan.kept}
            assert kept >= {*plan.cordoned_meanwhile}
            for draw in range(3):
                end = carried_out(case.cluster(), plan, draw)
                assert {*plan.cordoned_meanwhile}.isdisjoint(
                    now.node_name
                    for was, now in zip(case.cluster().pods, end.pods, strict=True)
                    if was != now
                )
            return
    pytest.fail("no plan gave a node back")
