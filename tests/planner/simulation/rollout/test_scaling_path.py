"""Scaling in time: which pods go when a workload shrinks, where others land, what is left lopsided."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster, InputError
from planner.documents.rollout import Trajectory
from planner.simulation.rollout import trajectory
from tests.builders import ZONE, Object
from tests.planner.simulation.rollout.running import running, web, zones


def played(objects: list[Object], **courses: list[int]) -> Trajectory:
    """The courses of `kind=[...]` of `web`."""
    named = {f"{kind}/web.shop": numbers for kind, numbers in courses.items()}
    return trajectory(Cluster.from_objects(objects), named)


def test_a_night_of_an_autoscaler() -> None:
    """Shrunk, the ranking of the ReplicaSet may leave a zone empty; grown again, the filter levels it."""
    objects = running(web(9), ["a1", "b1", "c1"] * 3, *zones("abc"))
    found = played(objects, deployment=[9, 3, 9])
    steps = found.courses[0].steps
    assert [step.replicas for step in steps] == [9, 3, 9]
    assert {step.completed for step in steps} == {found.runs}
    assert [sum(end.runs for end in step.ends) for step in steps] == [found.runs] * 3
    assert steps[0].lopsided == 0
    assert steps[0].ends[0].domains == {ZONE: {"a": 3, "b": 3, "c": 3}}
    assert 0 < steps[1].lopsided < found.runs
    assert all(sum(end.domains[ZONE].values()) == 3 for end in steps[1].ends)


def test_what_is_left_lopsided_is_counted() -> None:
    """A rebalance is needed as often as the last number leaves a constraint with too many."""
    objects = running(web(9), ["a1", "b1", "c1"] * 3, *zones("abc"))
    found = played(objects, deployment=[3])
    assert found.rebalance == found.courses[0].steps[-1].lopsided > 0


def test_no_room_says_why() -> None:
    """More than the nodes hold: they stay pending with the scheduler's line, and come back from it."""
    objects = running(web(2, cpu="2"), ["a1", "b1"], *zones("ab"))
    found = played(objects, deployment=[6, 2])
    steps = found.courses[0].steps
    assert [step.completed for step in steps] == [0, found.runs]
    assert "Insufficient cpu" in steps[0].message


def test_stateful_sets_go_and_come_by_number() -> None:
    """The lowest stay, so the spread after shrinking is the same in every run."""
    objects = running(web(4, kind="StatefulSet"), ["a1", "b1", "a1", "b1"], *zones("ab"))
    found = played(objects, statefulset=[4, 2, 4])
    (end,) = found.courses[0].steps[1].ends
    assert end.domains == {ZONE: {"a": 1, "b": 1}}
    assert found.rebalance == 0


@pytest.mark.parametrize(
    ("kind", "message"), [("deploymnt", "expected KIND/NAME"), ("daemonset", "there is no DaemonSet")]
)
def test_what_has_no_number_is_an_error(kind: str, message: str) -> None:
    """Misspelt, or a pod on every node."""
    objects: list[Any] = running(web(2), ["a1", "b1"], *zones("ab"))
    with pytest.raises(InputError, match=message):
        played(objects, **{kind: [1, 2]})
