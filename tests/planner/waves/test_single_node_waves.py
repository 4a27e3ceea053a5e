"""Waves whose replacements may each land on one node."""

import numpy as np
import pytest

from planner.eviction.budgets import Budgets
from planner.moves.pin_policy import PinPolicy, pinnable
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.waves.open_waves import WaveRules
from planner.waves.single_node_waves import SingleNodeWaves
from tests.builders import cluster, node, pod
from tests.planner.waves.test_open_waves import moves_of


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
    rules = WaveRules(Budgets(problem), costs, max_unavailable=most, pin_policy=policy)
    waves = SingleNodeWaves(EvictionTimeline(problem, moves, TrialCluster(problem)), moves, rules)
    assert list(waves.plan_waves(lambda: False)) == []
    assert [len(wave) for wave in waves.waves] == [most] * (2 // most)
