"""The order of moves where room is scarce."""

from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem
from planner.waves.scarce_room import LargestFirst
from tests.builders import cluster, node, pod, spread


def ordered(*planned: tuple[str, str, str]) -> list[list[str]]:
    """The pods of every group of moves; those whose names begin with b are big."""
    found = cluster(
        *(node(name, zone=name[0]) for name in ("x0", "x1", "y0", "y1")),
        *(
            pod(name, source, cpu="2" if name[0] == "b" else "250m", app=name, spread=[spread(app=name)])
            for name, source, _ in planned
        ),
    )
    problem = Problem(found)
    trial, at = TrialCluster(problem), problem.nodes.index
    pods = {pod.name: number for number, pod in enumerate(problem.pods)}
    moves = [Move(pods[name], at[source], at[target]) for name, source, target in planned]
    groups = LargestFirst(trial, moves).groups(moves, moves)
    return [[problem.pods[move.pod].name for move in group] for group in groups if group]


def test_small_ones_wait_for_large_ones_to_their_domain() -> None:
    """Where as many large pods leave a domain as come to it, small ones take no room from them."""
    assert ordered(("s", "x0", "y0"), ("b", "x1", "y1")) == [["b"]]
    assert ordered(("s", "x0", "y0"), ("b", "x1", "y1"), ("b2", "y0", "x1"))[0] == ["b", "b2"]


def test_a_pod_that_stays_in_its_domain_goes_first() -> None:
    """Fewer nodes serve it than serve pods that come to the domain."""
    assert ordered(("comes", "x0", "y0"), ("stays", "y0", "y1")) == [["stays", "comes"]]
