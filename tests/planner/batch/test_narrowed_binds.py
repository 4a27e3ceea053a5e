"""Binds that only come about as long as the pod may run on other nodes as well."""

from typing import Any

import pytest

from cli.output.views.scripts import placing
from models import Cluster, InputError
from planner import solve
from planner.batch.narrowed_binds import refused_when_narrowed
from planner.whatif import open_gates
from tests.builders import cluster, node, pod, profile, scheduler, spread


def _held(**constraint: Any) -> Cluster:
    """One `web` pod in each of two zones, and a third one behind a gate."""
    rule = spread(**{"minDomains": 2, **constraint})
    return cluster(
        node("a1", zone="a"),
        node("b1", zone="b"),
        pod("w1", "a1", app="web"),
        pod("w2", "b1", app="web"),
        pod("new", app="web", spread=[rule], schedulingGates=[{"name": "planner/hold"}]),
    )


def test_a_pod_that_sees_one_domain_has_too_few_of_them() -> None:
    """Where both zones count the minimum is 1 and the pod fits; where one does it is 0."""
    found = _held()
    plan = solve(open_gates(found))
    assert [step.pod for step in plan.steps] == ["default/new"]
    assert [*refused_when_narrowed(open_gates(found), plan.steps)] == [*plan.steps]
    with pytest.raises(InputError, match="fewer domains than minDomains"):
        placing.lines(plan, found, "planner solve --gated")


@pytest.mark.parametrize("constraint", [{"nodeAffinityPolicy": "Ignore"}, {"minDomains": 1}, {"maxSkew": 2}])
def test_other_constraints_let_the_pod_in(constraint: dict[str, Any]) -> None:
    """Where affinity does not count, one domain is enough, or one more pod is not too many."""
    found = _held(**constraint)
    plan = solve(open_gates(found))
    assert [*refused_when_narrowed(open_gates(found), plan.steps)] == []
    assert any("open_gate" in line for line in placing.lines(plan, found, "planner solve --gated"))


def test_a_profile_without_node_affinity_heeds_no_narrowing() -> None:
    """Its pod would come to any node, so no script leads it to one."""
    off = {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}
    found = cluster(
        scheduler(profile("free", off)),
        node("a1", zone="a"),
        node("b1", zone="b"),
        pod("new", scheduler="free", schedulingGates=[{"name": "planner/hold"}]),
    )
    plan = solve(open_gates(found))
    assert [*refused_when_narrowed(open_gates(found), plan.steps)] == [*plan.steps] != []
    with pytest.raises(InputError, match="scheduler profile runs without NodeAffinity"):
        placing.lines(plan, found, "planner solve --gated")
