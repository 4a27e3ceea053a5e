"""Moves one after the other, as the scheduler would make them."""

from dataclasses import replace

from models import Cluster
from planner.eviction.budgets import Budgets
from planner.eviction.protections import HARD as HARD_KIND
from planner.eviction.protections import SOFT as SOFT_KIND
from planner.eviction.protections import protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.rebalance.plan import rebalance
from planner.rebalance.search.evaluation import Evaluator
from planner.rebalance.search.greedy import FewMoves, repaired_one_by_one
from planner.rebalance.search.search import find_moves
from tests.builders import HARD, SOFT, Object, cluster, node, pod, spread


def web(app: str, when: str, nodes: list[str]) -> list[Object]:
    """Replicas on these nodes, with a constraint over zones."""
    rules = {"app": app, "owner": f"ReplicaSet/{app}", "spread": [spread(app=app, when=when)]}
    return [pod(f"{app}-{number}", on=name, **rules) for number, name in enumerate(nodes)]


def test_soft_constraints_take_no_moves_from_hard_ones() -> None:
    """With --soft --max-moves 20 soft ones took all moves; then only hard ones were repaired."""
    nodes = [node(f"{zone}{number}", zone=zone) for zone in "abc" for number in range(2)]
    soft = web("first", SOFT, ["a0", "a1"] * 6)
    snapshot = cluster(*nodes, *soft, *web("later", HARD, ["a0", "a1", "a0"]))
    problem = Problem(snapshot)
    rules = replace(protections_of(snapshot), kinds=frozenset((HARD_KIND, SOFT_KIND)))
    movable = Movable(problem, rules, Budgets(problem))
    for most, soft_excess in ((2, 11), (4, 8)):
        it = Evaluator(TrialCluster(problem), movable, rules, Meter.of(10), most)
        _, values = repaired_one_by_one(it, it.of(()))
        assert (values["moves"], values["hardExcess"], values["softExcess"]) == (most, 0, soft_excess)


def one_far_off(*others: str) -> Cluster:
    """Workloads with a pod too many, and one of which every move repairs three."""
    nodes = [node(f"{zone}{number}", zone=zone) for zone in "abc" for number in range(2)]
    pods = [pod for app in others for pod in web(app, HARD, ["a0", "a1"])]
    return cluster(*nodes, *pods, *web("far", HARD, ["a0", "a1", "b0", "b1"] * 2))


def test_few_moves_are_put_to_the_best_use_before_any_model_is_asked() -> None:
    """What went wrong: each broken constraint got a move in turn; 25 moves for 100 nodes left 11, not 4."""
    snapshot = one_far_off("first", "second")
    problem = Problem(snapshot)
    rules = protections_of(snapshot)
    movable = Movable(problem, rules, Budgets(problem))
    it = Evaluator(TrialCluster(problem), movable, rules, Meter(0.0, Clock(60)), 2)
    found = find_moves(it)
    assert (found.values["moves"], found.values["hardExcess"]) == (2, 2)


def test_a_pod_moves_on_only_from_where_it_came_to() -> None:
    """What went wrong: its second move was made, and counted, where the first one had found no room."""
    nodes = [node("a0", zone="a", cpu="4"), node("a1", zone="a", cpu="1"), node("b0", zone="b", cpu="4")]
    words = {"app": "far", "owner": "ReplicaSet/far", "spread": [spread(app="far", when=HARD)]}
    far = [pod(f"far-{number}", on="a0", cpu="1", **words) for number in range(3)]
    snapshot = cluster(*nodes, *far, pod("full", on="a1", cpu="1", owner="ReplicaSet/full"))
    problem = Problem(snapshot)
    rules = protections_of(snapshot)
    it = Evaluator(TrialCluster(problem), Movable(problem, rules, Budgets(problem)), rules, Meter.of(10))
    moves, values = FewMoves.of(it, [Move(0, 0, 1), Move(0, 1, 2)]).at_most(2)
    assert (*moves, values["hardExcess"]) == (2,)


def test_a_curve_has_all_its_points_when_the_time_for_the_search_is_over() -> None:
    """What went wrong: it ended where a search for so many moves did."""
    plan = rebalance(one_far_off("first", "second"), curve=True, time_limit=0.001, clock=Clock(60))
    assert [(point.moves, point.hard_excess) for point in plan.curve] == [
        (0, 8),
        (1, 5),
        (2, 2),
        (3, 1),
        (4, 0),
    ]
