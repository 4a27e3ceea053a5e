"""Waves whose replacements may land on any of several nodes."""

import numpy as np
import pytest

from planner.audit.replicas_down import ReplicaLimit
from planner.eviction.budgets import Budgets
from planner.landing.coupled_constraints import coupled_constraints
from planner.landing.landing import Considered, LandingPreferences, PinPolicy, pinnable
from planner.landing.wave_landings import WaveLandings
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.problem import Problem
from planner.waves.candidates import Candidates, WaveRules
from planner.waves.wave_planner import CertainFirst, fill_waves
from tests.builders import ZONE, cluster, node, pod, spread


def moves_of(problem: Problem, *planned: tuple[str, str, str]) -> list[Move]:
    """Moves of pods from a node to another, all by their names."""
    pods, at = {pod.name: number for number, pod in enumerate(problem.pods)}, problem.nodes.index
    return [Move(pods[name], at[source], at[target]) for name, source, target in planned]


@pytest.mark.parametrize(
    ("in_order", "expected"), [(False, [["w0", "x"], ["w1"]]), (True, [["w0"], ["w1", "x"]])]
)
def test_a_later_move_takes_no_planned_room_where_the_order_is_kept(
    in_order: bool, expected: list[list[str]]
) -> None:
    """Two replicas go to two gaps, one after the other, and another pod to the room that the first leaves."""
    found = cluster(
        *(node(name, cpu="2") for name in ("s0", "s1", "s2", "gap0", "gap1")),
        pod("w0", "s0", cpu="2", owner="ReplicaSet/w", app="w"),
        pod("w1", "s1", cpu="2", owner="ReplicaSet/w", app="w"),
        pod("x", "s2", cpu="2", owner="ReplicaSet/x", app="x"),
    )
    problem = Problem(found)
    moves = moves_of(problem, ("w0", "s0", "gap0"), ("w1", "s1", "gap1"), ("x", "s2", "s0"))
    rules = WaveRules(
        Budgets(problem), np.ones(len(problem.pods), np.int64), pin_policy=PinPolicy(pinnable(problem))
    )
    timeline = EvictionTimeline.of(TrialCluster(problem), moves)
    order = CertainFirst(Candidates(timeline, moves, rules), in_order=in_order)
    waves, left = fill_waves(order, moves, lambda: False)
    assert [[problem.pods[landing.move.pod].name for landing in wave] for wave in waves] == expected
    assert list(left) == []


def landed(app: str) -> list[list[str]]:
    """Where two pods whose constraint counts `app`, then one that needs a whole node of zone a, may land."""
    words = {"app": "w", "owner": "ReplicaSet/w", "spread": [spread(app=app)]}
    found = cluster(
        *(node(f"{zone}{number}", zone=zone) for zone in "ab" for number in range(2)),
        *(node(f"c{number}", zone="c", cpu="16") for number in range(2)),
        *(pod(f"w{number}", f"c{number // 2}", cpu="2", **words) for number in range(4)),
        *(pod(f"there-{zone}", f"{zone}0", cpu="100m", **words) for zone in "ab"),
        *(pod(f"other{number}", "c1", cpu="100m", app="other") for number in range(2)),
        pod("big", "c0", cpu="3", owner="ReplicaSet/big", nodeSelector={ZONE: "a"}),
    )
    problem = Problem(found)
    moves = moves_of(problem, ("w0", "c0", "a1"), ("w2", "c1", "b1"), ("big", "c0", "a0"))
    stage = EvictionTimeline.of(TrialCluster(problem), moves)
    left = [problem.nodes.index["c0"], problem.nodes.index["c1"]]
    sources = {stage.trial.template(move.pod): left for move in moves}
    landings = WaveLandings(
        stage,
        coupled_constraints(stage.trial, sources, lambda constraint: constraint.hard),
        LandingPreferences(),
    )
    may_land = list[list[str]]()
    for move in moves:
        (landing,) = landings.judge([move], [problem.nodes.none.copy()], Considered(pins=False))
        if landing is not None:
            landings.commit([landing])
            may_land.append([problem.nodes.names[node] for node in np.flatnonzero(landing.nodes)])
    return may_land


def test_pods_that_are_not_counted_may_all_be_in_one_domain() -> None:
    """No count tells where pods are that a constraint does not count: both may be on the nodes of zone a."""
    either = ["a0", "a1", "b0", "b1"]
    assert landed("other") == [either, either]


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_of_a_workload_are_away_than_may_be(most: int) -> None:
    """Two replicas with room for both: one wave where two may be unavailable, else two."""
    found = cluster(
        *(node(name, cpu="2") for name in ("s0", "s1", "gap0", "gap1")),
        *(pod(f"w{n}", f"s{n}", cpu="2", owner="ReplicaSet/w", app="w") for n in range(2)),
    )
    problem = Problem(found)
    moves = moves_of(problem, ("w0", "s0", "gap0"), ("w1", "s1", "gap1"))
    costs, policy = np.ones(len(problem.pods), np.int64), PinPolicy(pinnable(problem))
    rules = WaveRules(Budgets(problem), costs, ReplicaLimit(most), policy)
    timeline = EvictionTimeline.of(TrialCluster(problem), moves)
    waves, left = fill_waves(CertainFirst(Candidates(timeline, moves, rules)), moves, lambda: False)
    assert list(left) == []
    assert [len(wave) for wave in waves] == [most] * (2 // most)
