"""Exchanges of replicas in a full cluster: the pods that leave decide which pods have room."""

import random

import pytest

from planner import rebalance
from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections, protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator
from planner.rebalance.search.exchanges import Exchanges
from tests import seeds
from tests.builders import Object, cluster, node, pod, spread
from tests.planner.rebalance.test_recordings import wrong_in


def replica(app: str, number: int, on: str, cpu: str) -> Object:
    """A replica of a workload with a hard zone constraint."""
    words = {"spread": [spread(app=app)], "owner": f"ReplicaSet/{app}", "app": app}
    return pod(f"{app}-{number}", on, cpu=cpu, **words)


def exchanged(*objects: Object, protections: Protections | None = None) -> tuple[list[tuple[str, str]], int]:
    """Every move as pod and target, and the hard excess after them."""
    found = cluster(*objects)
    problem = Problem(found)
    trial, rules = TrialCluster(problem), protections or protections_of(found)
    movable = Movable(problem, rules, Budgets(problem))
    moves = Exchanges(Evaluator(trial, movable, rules, Meter.of(60))).repair()
    names = problem.nodes.names
    return [(problem.pods[m.pod].name, names[m.target]) for m in moves], trial.ledger.excess(hard=True)


def lopsided() -> list[Object]:
    """Two zones of four full nodes; web has three too many in a, api in b, and one small gap is in b."""
    return [
        *(node(f"a{number}", zone="a", cpu="2") for number in range(4)),
        *(node(f"b{number}", zone="b", cpu="2") for number in range(4)),
        *(replica("web", number, f"a{number}", "2") for number in range(3)),
        replica("api", 0, "b0", "1"),
        replica("api", 1, "b1", "1"),
        replica("api", 2, "b1", "1"),
        *(pod(f"x{number}", f"b{number}", cpu="2", owner=f"ReplicaSet/x{number}") for number in (2, 3)),
        pod("y", "a3", cpu="1", owner="ReplicaSet/y"),
    ]


def test_the_replica_whose_gap_is_large_enough_leaves() -> None:
    """Of three replicas the one beside a gap goes: what it leaves is room for a pod of twice its size."""
    moves, left = exchanged(*lopsided())
    assert (moves[0], moves[1][1], left) == (("api-0", "a3"), "b0", 0)


def test_no_other_pod_is_ejected() -> None:
    """Where no gap can be made by the broken workloads alone, the rest is left to others."""
    objects = [item for item in lopsided() if item["metadata"]["name"] not in ("api-0", "api-1", "api-2")]
    filler = [pod(f"z{number}", f"b{number}", cpu="2", owner=f"ReplicaSet/z{number}") for number in (0, 1)]
    assert exchanged(*objects, *filler) == ([], 2)


def test_an_exchange_keeps_to_a_policys_limits() -> None:
    """Pods that a policy does not allow to be evicted stay."""
    assert exchanged(*lopsided(), protections=Protections(most_per_namespace=0)) == ([], 4)


def tight(seed: int) -> list[Object]:
    """Nine to 24 nodes in three zones, next to full, with lopsided workloads of several sizes."""
    draw = random.Random(seed)
    count, cpu, part = draw.choice((9, 12, 18, 24)), draw.choice((8, 10, 16)), draw.choice((0.9, 0.95))
    left = [cpu] * count
    kinds = [
        (
            f"w{number}",
            draw.choice((1, 1, 2, 3, 4)),
            draw.random() < 0.6,
            [draw.random() + 0.2 for _ in "abc"],
        )
        for number in range(draw.randint(3, 8))
    ]
    pods: list[Object] = []
    for _ in range(2000):
        app, size, spreads, weights = draw.choice(kinds)
        zone = draw.choices(range(3), weights)[0]
        fits = [number for number in range(zone, count, 3) if left[number] >= size]
        if fits and sum(left) > (1 - part) * count * cpu:
            chosen = draw.choice(fits)
            left[chosen] -= size
            words = {"spread": [spread(app=app)]} if spreads else {}
            name, on = f"p{len(pods)}", f"n{chosen}"
            pods.append(pod(name, on, cpu=str(size), owner=f"ReplicaSet/{app}", app=app, **words))
    return [*(node(f"n{number}", zone="abc"[number % 3], cpu=str(cpu)) for number in range(count)), *pods]


def test_small_clusters_without_room_are_repaired() -> None:
    """What went wrong: the model's final state had no order, and what chains could repair was left broken."""
    for seed in seeds.seeds(1):
        found = cluster(*tight(seed))
        plan = rebalance(found, time_limit=30)
        assert wrong_in(found, plan) == []
        assert plan.after.hard_excess <= plan.before.hard_excess
        stages = {stage.name: stage for stage in plan.objective}
        assert not stages["moves"].proved or stages["hardExcess"].proved


@pytest.mark.parametrize("seed", [pytest.param(7, marks=pytest.mark.long), 18])
def test_chains_come_before_the_exact_model(seed: int) -> None:
    """What went wrong: five and three pods stayed too many, where chains repair everything."""
    assert rebalance(cluster(*tight(seed)), time_limit=60).after.hard_excess == 0


@pytest.mark.parametrize("seed", [100, None])
def test_no_plan_has_more_moves_than_allowed(seed: int | None) -> None:
    """What went wrong: exchanges went on beyond the limit, and left less than was proved to be possible."""
    found = cluster(*tight(seeds.fresh() if seed is None else seed))
    for most in (1, 2):
        plan = rebalance(found, max_moves=most, time_limit=5)
        assert len(plan.steps) <= most
        assert wrong_in(found, plan) == []
