"""Repair where there is next to no room: gaps that travel, and pods that are ejected."""

from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections, protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.rebalance.search.chains import EjectionChains
from planner.rebalance.search.evaluation import Evaluator
from tests.builders import Object, cluster, node, pod, spread


def web(number: int, on: str, cpu: str = "2") -> Object:
    """A replica with a hard zone constraint."""
    return pod(f"w{number}", on, spread=[spread()], cpu=cpu, owner="ReplicaSet/web", app="web")


def other(name: str, on: str, cpu: str) -> Object:
    """A pod of a workload of its own that may run anywhere."""
    return pod(name, on, cpu=cpu, owner=f"ReplicaSet/{name}", app=name)


def repaired(
    *objects: Object, most: int = 99, protections: Protections | None = None
) -> tuple[list[tuple[str, str, str]], int]:
    """Every move as pod, source and target, and the hard excess after them."""
    found = cluster(*objects)
    problem = Problem(found)
    trial, rules = TrialCluster(problem), protections or protections_of(found)
    movable = Movable(problem, rules, Budgets(problem))
    moves = EjectionChains(Evaluator(trial, movable, rules, Meter.of(60), most)).repair()
    return [_spelled(problem, move) for move in moves], trial.ledger.excess(hard=True)


def _spelled(problem: Problem, move: Move) -> tuple[str, str, str]:
    names = problem.nodes.names
    return problem.pods[move.pod].name, names[move.source], names[move.target]


def test_the_tightest_gap_is_taken() -> None:
    """The large gap is kept for pods that need it."""
    moves, left = repaired(
        node("a", zone="a", cpu="6"),
        *(web(n, "a") for n in range(3)),
        node("b1", zone="b", cpu="8"),
        node("b2", zone="b", cpu="2"),
    )
    assert (moves, left) == ([("w0", "a", "b2")], 0)


def test_several_pods_are_ejected_from_a_node_together() -> None:
    """Two pods of 1 cpu leave so that one of 2 fits; each goes to the gap of its size."""
    moves, left = repaired(
        node("a", zone="a", cpu="6"),
        *(web(n, "a") for n in range(3)),
        node("b", zone="b", cpu="2"),
        other("x", "b", "1"),
        other("y", "b", "1"),
        *(node(name, zone="a", cpu="1") for name in ("c", "d")),
    )
    assert left == 0
    assert sorted(name for name, source, _ in moves[:2] if source == "b") == ["x", "y"]
    assert {target for _, _, target in moves[:2]} == {"c", "d"}
    assert moves[2:] == [("w0", "a", "b")]


def test_the_gap_that_a_pod_leaves_is_the_next_ones() -> None:
    """One gap in a full cluster serves two workloads that are lopsided the other way round."""
    left_behind = [
        pod(f"v{n}", "b", spread=[spread(app="v")], cpu="2", owner="ReplicaSet/v", app="v") for n in range(3)
    ]
    moves, left = repaired(
        node("a", zone="a", cpu="6"),
        *(web(n, "a") for n in range(3)),
        node("b", zone="b", cpu="8"),
        *left_behind,
    )
    assert (moves, left) == ([("w0", "a", "b"), ("v0", "b", "a")], 0)


def test_nothing_happens_where_no_pod_can_go_anywhere() -> None:
    """Without a single gap no pod moves, and the excess remains."""
    moves, left = repaired(
        node("a", zone="a", cpu="6"),
        *(web(n, "a") for n in range(3)),
        node("b", zone="b", cpu="2"),
        other("x", "b", "2"),
    )
    assert (moves, left) == ([], 2)


def two_in_the_way() -> list[Object]:
    """All web pods in one zone, and in the other two pods that take their room and fit elsewhere."""
    return [
        node("a", zone="a", cpu="6"),
        *(web(n, "a") for n in range(3)),
        node("b", zone="b", cpu="2"),
        other("x", "b", "1"),
        other("y", "b", "1"),
        *(node(name, zone="a", cpu="1") for name in ("c", "d")),
    ]


def test_a_chain_is_made_whole_or_not_at_all() -> None:
    """With two moves allowed, the three that would be needed are not begun."""
    assert repaired(*two_in_the_way(), most=2) == ([], 2)
    assert repaired(*two_in_the_way(), most=3)[1] == 0


def test_ejected_pods_count_against_the_limit_of_a_node() -> None:
    """A policy that lets one pod of a node go does not let two pods be ejected from it."""
    assert repaired(*two_in_the_way(), protections=Protections(most_per_node=1)) == ([], 2)
    assert repaired(*two_in_the_way(), protections=Protections(most_per_node=2))[1] == 0
