"""Documents in a few figures, and which of them are worse."""

from planner.fleet.summary import badness, figures


def test_pods_without_a_node_are_worse_than_soft_excess() -> None:
    """What went wrong: a plan with one pod too many for a soft constraint stood above one with 8 pending."""
    soft, pending = (
        figures({"kind": "MovePlan", "steps": [], "status": "Optimal", "after": after})
        for after in (
            {"hardExcess": 0, "softExcess": 1, "pending": 4},
            {"hardExcess": 0, "softExcess": 0, "pending": 8},
        )
    )
    assert badness(pending) > badness(soft)
