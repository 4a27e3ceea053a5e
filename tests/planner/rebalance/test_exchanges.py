"""Exchanges of replicas in a full cluster: who leaves decides who has room."""

from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections, protections_of
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.rebalance.exchanges import Exchanges
from planner.rebalance.greedy import Greedy
from planner.rebalance.movable import Movable
from planner.rebalance.trial_cluster import TrialCluster
from tests.builders import Object, cluster, node, pod, spread


def replica(app: str, number: int, on: str, cpu: str) -> Object:
    """A replica of a workload with a hard zone constraint."""
    words = {"spread": [spread(app=app)], "owner": f"ReplicaSet/{app}", "app": app}
    return pod(f"{app}-{number}", on, cpu=cpu, **words)


def exchanged(*objects: Object, protections: Protections | None = None) -> tuple[list[tuple[str, str]], int]:
    """Every move as pod and target, and what is still too much after them."""
    found = cluster(*objects)
    problem = Problem(found)
    board, rules = TrialCluster(problem), protections or protections_of(found)
    movable = Movable(problem, rules, Budgets(problem))
    exchanges = Exchanges(board, movable, Greedy(board, movable, rules), Meter.of(60))
    moves = exchanges.mend(board.ledger.broken(rules.kinds))
    names = problem.nodes.names
    return [(problem.pods[m.pod].name, names[m.target]) for m in moves], board.ledger.excess(hard=True)


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


def test_no_bystander_moves() -> None:
    """Where no gap can be made by the broken workloads alone, the rest is left to others."""
    objects = [item for item in lopsided() if item["metadata"]["name"] not in ("api-0", "api-1", "api-2")]
    filler = [pod(f"z{number}", f"b{number}", cpu="2", owner=f"ReplicaSet/z{number}") for number in (0, 1)]
    assert exchanged(*objects, *filler) == ([], 2)


def test_an_exchange_keeps_to_a_policys_limits() -> None:
    """What a policy does not let go stays."""
    assert exchanged(*lopsided(), protections=Protections(most_per_namespace=0)) == ([], 4)
