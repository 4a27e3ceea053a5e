"""What a plan says about a search that was ended before its end."""

from planner import solve
from tests.builders import cluster, node, pod


def test_of_pods_that_are_all_placed_no_more_are_looked_for() -> None:
    """What went wrong: the note said that more time may find more pods, beside a plan that has all."""
    items = [node("n1"), node("n2"), *(pod(f"web-{number}", cpu="1") for number in range(3))]
    plan = solve(cluster(*items), time_limit=0)
    assert [(stage.value, stage.proved) for stage in plan.objective[:1]] == [(3, True)]
    (note,) = plan.notes
    assert note.startswith("cut short while looking for better nodes for these pods:")
