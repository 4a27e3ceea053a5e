"""`planner.capacity` under ResourceQuotas: what they admit, without a simulation for each workload."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from models import Cluster
from planner import capacity
from planner.problem.problem import Problem
from tests import seeds
from tests.builders import LONG_AGO, cluster, node, pod, quota, replica, scaled
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import left_over, under_quotas

WALK = sys.modules["planner.capacity.walk"]


@pytest.mark.parametrize("number", seeds.given_and_fresh(16))
@nothing_drawn()
def test_room_in_quotas_is_what_simulations_find(number: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All workloads in one state, and of each what its quotas admit at most, as when each is scaled alone."""
    for seed in [number] if number is not None else seeds.seeds(5):
        found = Cluster.from_objects(under_quotas(seed))
        rows = capacity(found).workloads
        with monkeypatch.context() as patch:
            patch.setattr(WALK, "is_plain", lambda *_: False)
            assert rows == capacity(found).workloads, f"seed {seed}"


def test_workloads_under_quotas_are_not_simulated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: where every namespace has a quota the cluster was compiled for each try of each."""
    compiled = list[Cluster]()

    def noted(one: Cluster, *more: Any) -> Problem:
        compiled.append(one)
        return Problem(one, *more)

    monkeypatch.setattr(WALK, "Problem", noted)
    several = [scaled("ReplicaSet", f"w{number}", 0, cpu="1") for number in range(4)]
    limited = [quota({"pods": "3"}, "few"), quota({"requests.cpu": "9"}, "most")]
    with nothing_drawn():
        rows = capacity(cluster(node("n1", cpu="8"), *several, *limited)).workloads
    line = "not created: forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3"
    assert [(row.more, row.message) for row in rows] == [(3, line)] * 4
    assert len(compiled) == 1


def test_pods_that_wait_are_asked_for_before_replicas_to_come() -> None:
    """What is refused today stays so, and takes nothing from others: w0 would have fitted, had w1 no pod."""
    limited = quota({"requests.cpu": "4"})
    several = [scaled("ReplicaSet", "w0", 1, cpu="3"), scaled("ReplicaSet", "w1", 1, cpu="2")]
    rows = capacity(cluster(node("n1", cpu="16"), *several, limited)).workloads
    assert [(row.workload, row.more, row.limited_by) for row in rows] == [
        ("ReplicaSet/w0", 0, ("ResourceQuota",)),
        ("ReplicaSet/w1", 0, ("ResourceQuota",)),
    ]


def test_replicas_that_are_asked_for_before_a_pod_that_waits_leave_it_its_place() -> None:
    """What went wrong: of 50 replicas tried at once 11 took the quota of db-1: 7 were said to fit, not 3."""
    database = scaled("StatefulSet", "db", 2, cpu="4")
    unready = replica(database, "db-0", "n1", conditions=[{"type": "Ready", "status": "False"}])
    web = scaled("ReplicaSet", "web", 0, cpu="1")
    found = cluster(node("n1", cpu="11"), database, unready, web, quota({"pods": "12"}))
    row = next(row for row in capacity(found).workloads if row.workload == "ReplicaSet/web")
    assert row.more == 3
    assert not left_over(found, row, row.more)
    assert [decision.message for decision in left_over(found, row, row.more + 1)] == [row.message]


def test_the_best_has_no_more_than_quotas_admit() -> None:
    """What went wrong: a pod that waits behind was left out of `best`, and of its quota: 2, not 0."""
    behind = pod("behind", cpu="2", priority=-1, created=LONG_AGO)
    found = cluster(node("n1", cpu="8"), behind, scaled("ReplicaSet", "web", 0, cpu="1"), quota({"cpu": "2"}))
    (row,) = capacity(found, best=True).workloads
    assert (row.more, row.best, row.bound) == (0, 0, 0)
