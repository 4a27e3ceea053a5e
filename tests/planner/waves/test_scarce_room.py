"""The order for next to full clusters: its plans hold in every order, and need few pins."""

import numpy as np
import pytest

from planner import rebalance
from planner.eviction.budgets import Budgets
from planner.moves.trial_cluster import EvictionTimeline, TrialCluster
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.waves.candidates import Candidates, WaveRules
from planner.waves.scarce_room import ScarceRoom
from planner.waves.wave_planner import fill_waves
from tests import seeds
from tests.builders import HARD, HOST, Object, cluster, node, pod, spread
from tests.planner.rebalance.lopsided import drawn, lopsided
from tests.planner.rebalance.test_recordings import wrong_in
from tests.planner.waves.test_orders import moves_of


@pytest.fixture(autouse=True)
def every_cluster_is_large_and_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan small clusters, of which every path can be replayed, in the way kept for large full clusters."""
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    monkeypatch.setattr(effort, "SCARCE_MOVES", -1)


@pytest.mark.parametrize("kind", seeds.at_first(1, ["tight", "mixed"]))
def test_every_plan_holds_wherever_replacements_land(kind: str) -> None:
    """Fresh clusters: random replays of the plan all end as the document says."""
    for seed in seeds.seeds(1):
        given = drawn(seed, kind)
        plan = rebalance(given, time_limit=5)
        assert plan.after.hard_excess <= plan.before.hard_excess
        assert plan.after.pending == 0
        assert wrong_in(given, plan, orders=seeds.tries(7)) == []


def test_exchanges_through_a_single_gap_need_no_pin() -> None:
    """Two full zones, one gap: each replacement fills it, and its pod leaves the next one."""
    pods = list[Object]()
    for number in range(8):
        for app, home in (("a", "01"), ("b", "23")):
            words = {"app": app, "owner": f"ReplicaSet/{app}", "cpu": "1"}
            constraints = [spread(app=app), spread(HOST, app=app, skew=8, when=HARD)]
            pods.append(pod(f"{app}{number}", f"n{home[number % 2]}", spread=constraints, **words))
    nodes = [node(f"n{n}", zone="xxyy"[n], cpu="5" if n == 3 else "4") for n in range(4)]
    given = cluster(*nodes, *pods)
    plan = rebalance(given, time_limit=5)
    assert (plan.before.hard_excess, plan.after.hard_excess) == (14, 0)
    assert {step.landing for step in plan.steps} == {"filters"}
    assert wrong_in(given, plan, orders=seeds.tries(13)) == []


def test_moves_that_depend_on_no_other_share_a_wave() -> None:
    """What went wrong: each of 222 moves of 1,500 nodes 99 % full had a wave of its own, not 121 waves."""
    given = lopsided(4, "tight", small=True)
    plan = rebalance(given, time_limit=5)
    assert (len(plan.steps), plan.after.hard_excess) == (16, 0)
    assert plan.steps[-1].wave <= 12
    assert wrong_in(given, plan, orders=seeds.tries(13)) == []


def test_a_move_refused_for_its_scores_is_judged_again_where_no_other_is_left() -> None:
    """What went wrong: it stayed refused when another pod had taken the node that scored higher.

    a0 is to go to zone y.  The filters leave zone z as well, where z1 has more free until b0 has come there:
    that changes no count of a's, and no room in zone y.
    """
    homes = {"b": "x1 x1 x2 y1 y1 z1", "a": "x1 x1 x2 x2 y1 y1 z1 z1"}
    pods = [
        pod(f"{app}{n}", on, app=app, owner=f"ReplicaSet/{app}", cpu=cpu, spread=[spread(app=app)])
        for app, cpu in (("b", "1"), ("a", "2"))
        for n, on in enumerate(homes[app].split())
    ]
    nodes = [node(name, zone=name[0], cpu="16") for name in ("x1", "x2", "y1", "z1")]
    small = [node(name, zone=name[0], cpu="100m") for name in ("y2", "z2")]
    problem = Problem(cluster(*nodes, *small, *pods, pod("other", "z1", cpu="500m")))
    moves = moves_of(problem, ("b0", "x1", "z1"), ("a0", "x1", "y1"))
    rules = WaveRules(Budgets(problem), np.ones(len(problem.pods), np.int64))
    timeline = EvictionTimeline.of(TrialCluster(problem), moves)
    waves, left = fill_waves(ScarceRoom(Candidates(timeline, moves, rules), moves), moves, lambda: False)
    landed = [(problem.pods[one.move.pod].name, one.kind) for wave in waves for one in wave]
    assert (landed, left) == ([("b0", "filters"), ("a0", "scores")], [])


@pytest.mark.long
def test_what_was_found_is_planned_when_the_time_is_over() -> None:
    """What went wrong: a search that took all the time ended with no moves at all."""
    given = lopsided(3, "rebalance")
    plan = rebalance(given, time_limit=0.01)
    assert len(plan.steps) > 5
    assert plan.after.hard_excess < plan.before.hard_excess
    assert wrong_in(given, plan, orders=20) == []
