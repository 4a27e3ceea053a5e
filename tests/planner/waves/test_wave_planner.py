"""The attempts that follow each other when waves are planned."""

import math
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from models import Cluster
from planner import rebalance
from planner.eviction.budgets import Budgets
from planner.landing.landing import PinPolicy, pinnable
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.waves.candidates import WaveRules
from planner.waves.wave_planner import CertainFirst, WaveOrder, WavePlan, WavePlanner
from tests.planner.rebalance.lopsided import lopsided


def test_unscheduled_moves_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A move that was left over is among the first of the next attempt."""
    firsts = list[set[int]]()

    def planned(
        planner: WavePlanner,
        timeline: EvictionTimeline,
        order: WaveOrder,
        moves: Sequence[Move],
        is_over: Callable[[], bool],
    ) -> WavePlan:
        firsts.append({*order._candidates.first} if isinstance(order, CertainFirst) else set())
        return WavePlan((), moves[:1], (1, 0))

    monkeypatch.setattr(WavePlanner, "_filled", planned)
    rebalance(lopsided(5006, "tight"), time_limit=20)
    assert (firsts[0], firsts[1] == set()) == (set(), False)


@pytest.mark.long
def test_one_move_a_wave_is_planned_when_the_time_is_over() -> None:
    """What waves of several moves leave over was left, although one after the other could move."""
    given = lopsided(5002, "outage")
    problem = Problem(given)
    stopped = threading.Event()
    stopped.set()
    moves = planned_moves(given, problem)
    rules = WaveRules(
        Budgets(problem), np.ones(len(problem.pods), np.int64), pin_policy=PinPolicy(pinnable(problem))
    )
    planner = WavePlanner(TrialCluster(problem), rules, Meter(math.inf, Clock(60, stopped)))
    assert planner.meter.over()
    found = planner.one_move_a_wave(moves)
    assert moves
    assert [len(wave) for wave in found.waves] == [1] * (len(moves) - len(found.left))
    assert len(found.left) < len(moves) / 2


def planned_moves(given: Cluster, problem: Problem) -> list[Move]:
    """The moves of a plan, in its order."""
    index, names = problem.pod_index, problem.nodes.index
    steps = rebalance(given, time_limit=20).steps
    return [Move(index[step.pod], names[step.source or ""], names[step.node or ""]) for step in steps]


@pytest.mark.long
def test_filters_lead_where_nodes_are_too_many_to_be_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """All were pinned to one node each there, 579 of 581 moves of 20,000 nodes, though few need a pin."""
    given = lopsided(5002, "outage")
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    scored = [step.landing for step in rebalance(given).steps]
    monkeypatch.setattr(effort, "SCORED", 0)
    unscored = [step.landing for step in rebalance(given).steps]
    assert len(unscored) == len(scored)
    assert "scores" not in unscored
    assert unscored.count("pinned") < len(unscored) / 4
