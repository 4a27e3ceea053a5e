"""Bounds of plans with moves: each holds only for what its stages before it reach."""

import pytest

from planner import check, solve
from planner.batch.move_incumbent import MoveIncumbent
from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.batch.steps import Action
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from tests.builders import HOST, Object, budget, cluster, node, pod, spread


def incumbent(*objects: Object) -> tuple[MoveIncumbent, Problem]:
    """An incumbent that has seen no plan."""
    problem = Problem(cluster(*objects))
    return MoveIncumbent(Pending(problem, moves=True), [], Meter.of(5), None), problem


def test_a_later_bound_goes_with_the_bound_before_it() -> None:
    """What went wrong: no pods of the lower priority beside 4 of the higher was kept where 3 are the most."""
    high = (pod(f"a{number}", cpu="2", priority=10) for number in range(4))
    found, _ = incumbent(node("n0", cpu="6"), *high, *(pod(f"b{number}", cpu="1") for number in range(6)))
    found.tighten({"podsPlaced/10": 4, "podsPlaced/0": 0})
    assert found.bounds == (4, 0)
    found.tighten({"podsPlaced/10": 3})
    assert found.bounds == (3, 6)


def test_the_least_moves_go_with_the_pods_that_they_were_proved_for() -> None:
    """What went wrong: a better plan with fewer pods of a lower priority was said to need a move."""
    found, problem = incumbent(
        node("n0", cpu="4"),
        node("n1", cpu="4"),
        pod("fixed", on="n1", cpu="2"),
        pod("r", on="n0", cpu="2", owner="ReplicaSet/r", priority=5),
        pod("low", cpu="4"),
        pod("high", cpu="2", priority=10),
    )
    template = {item.name: int(problem.template_of[number]) for number, item in enumerate(problem.pods)}
    found.offer(Arrangement({(template["low"], 0): 1, (template["r"], 1): 1}, {}))
    assert found.moves() == 1
    found.needs_moves(1)
    found.offer_unmoved([Action(problem.pod_index["default/high"], 0, None)])
    moves = [stage for stage in found.moved().stages if stage.name == "moves"]
    assert [(stage.value, stage.proved) for stage in moves] == [(0, False)]


@pytest.mark.parametrize(
    "free", [{"phase": "Pending"}, {"conditions": [{"type": "Ready", "status": "False"}]}], ids=str
)
def test_a_pod_that_no_budget_counts_may_go_beside_its_siblings(free: Object) -> None:
    """What went wrong: what a budget allows was asked of all replicas, the one that is starting, too."""
    web: Object = {"app": "web", "cpu": "2", "owner": "ReplicaSet/web"}
    web["tolerations"] = [{"operator": "Exists"}]
    rules = budget("b", "web", 1)
    rules["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    third = pod("web-2", on="n2", **web)
    third["status"] = {**third.get("status", {}), **free}
    plan = solve(
        cluster(
            *(node(f"n{number}") for number in range(3)),
            node("n3", taints=["only=web:NoSchedule"]),
            rules,
            pod("web-0", on="n0", **web),
            pod("web-1", on="n1", **web),
            third,
            *(pod(f"big-{number}", cpu="4") for number in range(2)),
        ),
        allow_moves=True,
    )
    assert [(stage.name, stage.value, stage.proved) for stage in plan.objective] == [
        ("podsPlaced/0", 5, True),
        ("moves", 2, True),
    ]


def test_bare_pods_are_one_workload_whatever_their_health() -> None:
    """What went wrong: where a budget covers them, one that is not ready was a workload of its own."""
    bare = [pod(f"p{number}", on="n0", app="p", spread=[spread(HOST, 1, "p")]) for number in range(3)]
    bare[0]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = cluster(node("n0"), node("n1"), *bare)
    guarded = cluster(node("n0"), node("n1"), *bare, budget("b", "p", 1))
    assert check(guarded).constraints == check(found).constraints
