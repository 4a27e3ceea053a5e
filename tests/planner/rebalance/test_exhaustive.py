"""Tiny clusters: what is proved, and that nothing is missed."""

from typing import Any

import pytest

from planner import rebalance
from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections, protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator
from planner.rebalance.search.exhaustive import Exhaustive, Placements
from tests.builders import HOST, Object, cluster, labelled, node, pod, spread

HUGE = {"hardExcess": 99, "softExcess": 99, "moves": 99, "disruption": 99}


def tried_out(
    *objects: Object, protections: Protections | None = None, most: int | None = None, seconds: float = 60
) -> Exhaustive:
    """An exhaustive search without known moves, which has come to its end unless it had no time."""
    found = cluster(*objects)
    problem = Problem(found)
    rules, meter = protections or protections_of(found), Meter.of(seconds)
    it = Evaluator(TrialCluster(problem), Movable(problem, rules, Budgets(problem)), rules, meter, most)
    search = Exhaustive(Placements(it), it, HUGE)
    assert search.run(meter) is (seconds > 0)
    return search


def replica(name: str, on: str, owner: str = "new", **words: Any) -> Object:
    """A pod of 1 cpu with a controller."""
    return pod(name, on, app="web", cpu="1", owner=f"ReplicaSet/{owner}", **words)


def test_old_replicas_without_the_constraint_are_no_surplus() -> None:
    """What went wrong: five old replicas and one new one were "4 moves, proved"; the new one moves."""
    plan = rebalance(
        cluster(
            *(node(f"n{number}", zone="ab"[number > 1]) for number in range(4)),
            *(replica(f"old-{number}", "n0" if number % 2 else "n1", "old") for number in range(5)),
            replica("new", "n0", spread=[spread()]),
        )
    )
    stages = {stage.name: stage for stage in plan.objective}
    assert plan.before.hard_excess == 5
    assert [step.pod for step in plan.steps] == ["default/new"]
    assert (plan.status, stages["moves"].value, stages["moves"].bound) == ("Optimal", 1, 1)


def test_a_carrier_on_a_node_that_does_not_count_may_leave_its_domain() -> None:
    """What went wrong: the models counted it in the domain, but not that it could leave."""
    plan = rebalance(
        cluster(
            node("n0", zone="a"),
            node("n1", zone="a", labels={"disk": "ssd"}),
            node("n2", zone="b", labels={"disk": "ssd"}),
            *(replica(f"old-{number}", "n1", "old") for number in range(4)),
            replica("new", "n0", spread=[spread()], only_on=[labelled("disk", "Exists")]),
        )
    )
    assert plan.status == "Optimal"
    assert [(step.pod, step.node) for step in plan.steps] == [("default/new", "n2")]


def test_another_pod_is_ejected_first() -> None:
    """Two moves, the one that makes room first."""
    found = tried_out(
        node("a", zone="a"),
        *(replica(f"w{number}", "a", spread=[spread()]) for number in range(3)),
        node("b", zone="b", cpu="1"),
        pod("x", "b", app="x", cpu="1", owner="ReplicaSet/x"),
    ).found
    assert found is not None
    moves, values = found
    assert [move.source for move in moves] == [1, 0]
    assert values["hardExcess"] == 0


@pytest.mark.parametrize(
    ("limits", "excess"),
    [
        (Protections(), 0),
        (Protections(most_per_node=1), 1),
        (Protections(most_per_namespace=1), 1),
        (Protections(most_per_namespace=0), 3),
    ],
)
def test_the_limits_of_a_policy_are_kept(limits: Protections, excess: int) -> None:
    """So many evictions from a node, or of a namespace, and no more."""
    objects = (
        *(node(f"n{number}", zone="ab"[number]) for number in range(2)),
        *(replica(f"w{number}", "n0", spread=[spread()]) for number in range(4)),
    )
    found = tried_out(*objects, protections=limits)
    assert found.values["hardExcess"] == excess


def test_without_work_left_nothing_is_complete() -> None:
    """A search that was ended proves nothing."""
    objects = (
        *(node(f"n{number}", zone="ab"[number]) for number in range(2)),
        *(replica(f"w{number}", "n0", spread=[spread()]) for number in range(4)),
    )
    tried_out(*objects, seconds=0)


def test_so_many_moves_at_most() -> None:
    """What one move achieves is proved for one move."""
    objects = (
        *(node(f"n{number}", zone="ab"[number]) for number in range(2)),
        *(replica(f"w{number}", "n0", spread=[spread()]) for number in range(4)),
    )
    found = tried_out(*objects, most=1)
    assert (found.values["hardExcess"], found.values["moves"]) == (1, 1)


def test_the_work_is_looked_at_within_a_placement() -> None:
    """What went wrong: a short preview tried all moves from one placement of 300 nodes, for minutes."""
    nodes = [node(f"n{number:02}") for number in range(20)]
    pods = [
        pod(
            f"{app}-{number}",
            f"n{number // 9:02}",
            app=app,
            cpu="100m",
            owner=f"ReplicaSet/{app}",
            spread=[key],
        )
        for app, key in ((app, spread(HOST, app=app)) for app in "abc")
        for number in range(20)
    ]
    problem = Problem(cluster(*nodes, *pods))
    rules, meter = protections_of(problem.cluster), Meter.of(60)
    it = Evaluator(TrialCluster(problem), Movable(problem, rules, Budgets(problem)), rules, meter)
    placements = Placements(it)
    assert not Exhaustive(placements, it, HUGE).run(meter.step(0.01))
    assert placements.looked_at < 100
