"""Clusters that a model of all nodes repairs, or proves beyond repair, because it asks for an order, too."""

import pytest

from models import Cluster
from planner import rebalance
from planner.documents.move_plan import MovePlan
from planner.proof import move_effort as effort
from tests.builders import HOST, cluster, node, pod, spread
from tests.planner.rebalance.test_recordings import wrong_in

WEB = {"app": "web", "owner": "ReplicaSet/web", "cpu": "1"}


@pytest.fixture(autouse=True, params=["models", "everything"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With models alone, and with an exhaustive search after them."""
    if request.param == "models":
        monkeypatch.setattr(effort, "EXHAUSTED_NODES", 0)
        monkeypatch.setattr(effort, "SMALL_PREVIEW_WORK", 0)


def stages(plan: MovePlan) -> dict[str, tuple[int, int | None, bool]]:
    """Every stage's value and bound, and whether it is proved."""
    return {stage.name: (stage.value, stage.bound, stage.proved) for stage in plan.objective}


def test_a_domain_that_cannot_spare_a_pod_gets_another_one_first() -> None:
    """What went wrong: b1 has two pods of a zone that must not lose one, and 1 too many was left."""
    both = [spread(), spread(HOST)]
    given = cluster(
        *(node(f"{zone}{number}", zone=zone) for zone, size in (("a", 3), ("b", 2), ("c", 2))
          for number in range(size)),
        *(pod(f"web-{number}", on, spread=both, **WEB)
          for number, on in enumerate(("a0", "a1", "a2", "b1", "b1", "c0", "c1"))),
    )  # fmt: skip
    plan = rebalance(given)
    assert stages(plan)["hardExcess"] == (0, 0, True)
    assert len(plan.steps) == 2
    assert [step.source[0] for step in plan.steps] == ["a", "b"]
    assert wrong_in(given, plan) == []


def lopsided_racks(*, filtered: bool = True) -> Cluster:
    """Four pods in one rack, another rack that admits none, and a node without a rack for three."""
    taints = ["gpu:NoSchedule"]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "PodTopologySpread"}]}}}],
    }
    return cluster(
        node("r0", labels={"rack": "a"}),
        node("r1", labels={"rack": "b"}, taints=taints),
        node("r2"),
        *(pod(f"web-{number}", "r0", spread=[spread("rack")], **WEB) for number in range(4)),
        *([] if filtered else [config]),
    )


def test_no_pod_comes_to_a_node_without_the_label_of_its_constraint() -> None:
    """What went wrong: models took pods there, so that 3 too many were left and the bound was 0."""
    plan = rebalance(lopsided_racks())
    assert stages(plan)["hardExcess"] == (3, 3, True)
    assert (plan.status, plan.steps) == ("Optimal", ())


def test_a_scheduler_that_does_not_ask_lets_them_come() -> None:
    """Without the filter nothing keeps the pods out, and no such bound is claimed."""
    plan = rebalance(lopsided_racks(filtered=False))
    assert stages(plan)["hardExcess"] == (0, 0, True)
    assert len(plan.steps) == 3


def test_no_pod_comes_to_a_domain_that_stays_too_full() -> None:
    """What went wrong: models evened out the nodes of a zone that no pod may come back to."""
    both = [spread(), spread(HOST)]
    given = cluster(
        node("a0", zone="a"),
        node("a1", zone="a"),
        node("b0", zone="b", taints=["gpu:NoSchedule"]),
        *(pod(f"web-{number}", "a0", spread=both, **WEB) for number in range(4)),
    )
    plan = rebalance(given)
    # Three too many in the zone, and as many on the node: the replacement of any pod stays pending.
    assert stages(plan)["hardExcess"] == (6, 6, True)
    assert (plan.status, plan.steps) == ("Optimal", ())
    assert {stage.name: stage.assumes for stage in plan.objective}["hardExcess"] == ("NothingWorse",)
