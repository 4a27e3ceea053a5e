"""Tiny batches, whose every sequence is gone through: against the filters, and against what others found."""

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from models import Cluster
from planner import solve
from planner.batch.every_sequence import EverySequence
from planner.batch.move_incumbent import HardExcessLimit
from planner.batch.pending import Pending
from planner.batch.positions import Positions
from planner.documents.plan import MOVES, PlacementPlan
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from tests import seeds
from tests.planner.batch.enumeration import most_pods
from tests.tiny import tiny

DATA = Path(__file__).parents[2] / "data" / "proofs" / "tiny.jsonl.gz"


def recorded() -> list[Any]:
    """The cases about `solve`, each with its name as the test's; a quick run takes every third."""
    with gzip.open(DATA, "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["command"].startswith("solve")]
    return [
        pytest.param(case, id=case["name"], marks=[pytest.mark.long] * (number % 3 > 0))
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", recorded())
def test_the_truth_is_reached_and_proved(case: dict[str, Any]) -> None:
    """What went wrong: plans that were not the best were called so, and others were missed."""
    plan = solve(Cluster.from_objects(case["cluster"]["items"]), allow_moves="moves" in case["command"])
    gone = sum(step.action == "evict" for step in plan.steps)
    bound = sum(step.action == "bind" for step in plan.steps)
    assert {"placed": bound - gone, "evictions": gone} == case["truth"]
    first = any("EvictionsFirst" in stage.assumes for stage in plan.objective if stage.name != MOVES)
    assert (plan.status, plan.cut) == ("ConditionallyOptimal" if first else "Optimal", False)
    assert plan.objective[-1].name != MOVES or plan.objective[-1].proved


@pytest.mark.parametrize("turn", range(seeds.tries(5)))
def test_a_position_knows_what_the_filters_say(number: int) -> None:
    """On a walk of random binds, the nodes that accept a template are those that its filters accept."""
    pending = Pending(Problem(Cluster.from_objects(tiny(number))), moves=True)
    positions, draw, now = Positions(pending), Random(number), 0
    left = list(positions.wanted)
    while any(left):
        positions.stand(now)
        answers = {}
        for rank, name in enumerate(positions.templates):
            framework = pending.framework(name)
            mask = framework.feasible(framework.plan(pending.template(name))).mask
            answers[rank] = mask.nonzero()[0].tolist()
            if left[rank]:
                assert positions.accepting(rank, now) == answers[rank]
        choices = [(rank, node) for rank, nodes in answers.items() for node in nodes if left[rank]]
        if not choices:
            break
        rank, node = draw.choice(choices)
        left[rank] -= 1
        now += positions.one(rank, node)
    positions.leave()


@pytest.mark.parametrize("turn", range(seeds.tries(4)))
def test_sequences_are_all_gone_through(number: int) -> None:
    """Without any bound to go by, the best is what trying every order with the filters themselves finds."""
    found = Cluster.from_objects(tiny(number, nodes=4, pods=6))
    pending = Pending(Problem(found))
    search = EverySequence(pending, Meter.of(60.0))
    nothing = pending.placed(Counter())
    assert search.run(nothing, pending.placed({(t, 0): n for t, n in pending.wanted.items()}))
    best = pending.placed(search.best.binds) if search.best else nothing
    assert best == most_pods(found)


def truth(found: Cluster) -> tuple[int, ...]:
    """The most pods per priority and the fewest evictions for them, as a negative number; without models."""
    pending = Pending(Problem(found), moves=True)
    search = EverySequence(pending, Meter.of(60.0), HardExcessLimit(pending).is_no_worse)
    running = Counter({step: len(pods) for step, pods in pending.running.items()})
    all_pods = pending.placed({(t, 0): n for t, n in pending.wanted.items()})
    assert search.run(pending.placed(running), all_pods)
    if search.best is None:
        return (*pending.placed(running), 0)
    there = running - search.best.evictions + Counter(search.best.binds)
    return (*pending.placed(there), -sum(search.best.evictions.values()))


def worth(plan: PlacementPlan) -> tuple[int, ...]:
    """The values of the stages, so that more is better."""
    return (*(stage.value for stage in plan.objective[:-1]), -plan.objective[-1].value)


@pytest.mark.parametrize("turn", range(seeds.tries(6)))
def test_moves_on_a_tiny_cluster_are_the_best_there_are(number: int) -> None:
    """Nothing is missed, all is proved, and no priority has fewer pods than without moves."""
    found = Cluster.from_objects(tiny(number))
    plan = solve(found, allow_moves=True)
    assert worth(plan) == truth(found)
    assert all(stage.proved for stage in plan.objective)


@pytest.mark.parametrize("turn", range(seeds.tries(6)))
def test_a_tiny_batch_is_placed_as_well_as_can_be(number: int) -> None:
    """The plan is the best of all orders, and proved."""
    found = Cluster.from_objects(tiny(number))
    plan = solve(found)
    stages = [stage for stage in plan.objective if stage.name.startswith("podsPlaced/")]
    pending = Pending(Problem(found))
    search = EverySequence(pending, Meter.of(60.0))
    placed = tuple(stage.value for stage in stages)
    assert search.run(placed, pending.placed({(t, 0): n for t, n in pending.wanted.items()}))
    assert search.best is None
    assert plan.status == "Optimal"
