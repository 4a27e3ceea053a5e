"""Moves one after the other, as the scheduler would make them."""

from dataclasses import replace

from planner.eviction.budgets import Budgets
from planner.eviction.protections import HARD as HARD_KIND
from planner.eviction.protections import SOFT as SOFT_KIND
from planner.eviction.protections import protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator
from planner.rebalance.search.greedy import repaired_one_by_one
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
