"""Documents in a few figures, and which of them are worse."""

from planner import explain, simulate
from planner.fleet.summary import badness, figures
from tests.builders import cluster, node
from tests.planner.audit.test_contradicted import pending


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


def test_workloads_that_do_not_survive_are_counted_once() -> None:
    """What went wrong: of two namespaces with a web one counted, and with two keys each workload twice."""
    rows = [{"namespace": name, "workload": "Deployment/web", "ok": False} for name in ("shop", "shop-next")]
    losses = [
        {"workloads": rows, "pending": [{"pods": 2}], "failingDraws": None},
        {"workloads": rows[:1], "pending": [], "failingDraws": None},
    ]
    one = {"kind": "Survival", "domains": losses, "failures": 3}
    assert figures(one) == {"failures": 3, "workloads": 2, "pending": 2, "failingDraws": None}
    both = {"kind": "SurvivalList", "items": [one, one]}
    assert figures(both) == {"failures": 6, "workloads": 2, "pending": 2, "failingDraws": None}


def test_autoscalers_that_were_not_looked_at_are_not_counted() -> None:
    """What went wrong: without --autoscalers `sweep capacity` said that 0 could not be at their maximum."""
    document = {"kind": "Capacity", "sets": None, "workloads": [{"more": 3, "fewest": 2}], "autoscalers": []}
    assert figures(document)["autoscalersPending"] is None
    rows = [{"pending": 50, "failingDraws": None}, {"pending": 0, "failingDraws": 2}]
    looked_at = figures({**document, "autoscalers": rows})
    assert (looked_at["autoscalersPending"], looked_at["failingDraws"]) == (1, 2)


def test_copies_beside_autoscalers_that_cannot_be_at_their_maximum() -> None:
    """What went wrong: with --set only the copies were told, and exit code 1 had no reason."""
    rows, sets = [{"pending": 2, "failingDraws": None}], {"more": 3, "fewest": 2}
    document = {"kind": "Capacity", "sets": sets, "workloads": [], "autoscalers": rows}
    assert figures(document) == {"copies": 2, "autoscalersPending": 1, "failingDraws": None}
    assert figures({**document, "autoscalers": []})["autoscalersPending"] is None


def test_what_is_well_only_as_ties_go_is_counted() -> None:
    """What went wrong: a row of a sweep was well, and its document said that other ties refute it."""
    losses: list[dict[str, object]]
    losses = [{"workloads": [], "pending": [], "failingDraws": draws} for draws in (None, 3, 1)]
    found = figures({"kind": "Survival", "domains": losses, "failures": 0})
    assert found["failingDraws"] == 4
    rows = [{"more": 3, "fewest": None}, {"more": 4, "fewest": 1}]
    document = {"kind": "Capacity", "sets": None, "workloads": rows, "autoscalers": []}
    assert figures(document)["leastMore"] == 1


def test_a_line_that_is_not_explained_is_a_figure() -> None:
    """What went wrong: pod and node are well, and no figure of the row told why its exit code is 1."""
    found = cluster(node("n1"), pending("0/1 nodes are available: 1 Insufficient cpu."))
    simulation, explanation = (
        figures(command(found).model_dump(by_alias=True)) for command in (simulate, explain)
    )
    assert simulation == {"pending": 0, "contradicted": 1, "placed": 1}
    assert explanation == {"pending": 0, "withoutFix": 0, "contradicted": 1}
