"""`capacity --survive`: the least over all domains that may be lost."""

from __future__ import annotations

import sys
import threading

import pytest

from models import Cluster
from planner import capacity
from planner.capacity.drawn import CapacityDraws
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif import remove_nodes
from tests import seeds
from tests.builders import (
    HOST,
    ZONE,
    cluster,
    node,
    scaled,
)
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import (
    web,
    workloads,
)


def test_where_enough_fit_without_a_node_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first of six nodes, and the one with less left, are worth fifty replicas placed one by one.

    Each replica was placed without every node: of 100 nodes and 40 workloads that took 30 s, and takes 14.
    """
    placed: list[int] = []
    decide = Scheduler.decide

    def counted(scheduler: Scheduler, pod: int) -> SchedulingDecision:
        placed.append(pod)
        return decide(scheduler, pod)

    nodes = [node(f"n{number}", cpu="60" if number == 3 else "40", pods="200") for number in range(6)]
    found = cluster(*nodes, scaled("ReplicaSet", "web", 0, cpu="1"))
    monkeypatch.setattr(Scheduler, "decide", counted)
    with monkeypatch.context() as patch:
        patch.setattr(CapacityDraws, "fewest_replicas", lambda *_: {})
        (row,) = capacity(found, survive=HOST).workloads
    assert (row.more, row.lost) == (200, "n3")
    assert len(placed) == 2 * (50 + 1) + 4 * 1


@pytest.mark.parametrize("number", seeds.given_and_fresh(9))
@nothing_drawn()
def test_with_any_domain_lost_it_is_the_least(number: int | None) -> None:
    """For every workload the least of what is left without each zone."""
    for seed in [number] if number is not None else seeds.seeds(3):
        found = Cluster.from_objects(workloads(seed))
        zones = sorted({n.metadata.labels[ZONE] for n in found.nodes if ZONE in n.metadata.labels})
        if not zones:
            continue
        without = {zone: capacity(remove_nodes(found, f"{ZONE}={zone}")).workloads for zone in zones}
        for row in capacity(found, survive=ZONE).workloads:
            more = {
                z: next(r.more for r in rows if r.workload == row.workload) for z, rows in without.items()
            }
            assert row.more == min(more.values())
            assert row.lost is not None
            assert more[row.lost] == row.more


@pytest.mark.parametrize("number", seeds.given_and_fresh(4))
@nothing_drawn()
def test_the_best_with_a_domain_lost_is_that_of_the_rest(number: int | None) -> None:
    """In the cluster that is left without the domain that is named."""
    for seed in [number] if number is not None else seeds.seeds(2):
        found = Cluster.from_objects(workloads(seed))
        if not any(ZONE in n.metadata.labels for n in found.nodes):
            continue
        for row in capacity(found, survive=ZONE, best=True, time_limit=60).workloads:
            left = remove_nodes(found, f"{ZONE}={row.lost}")
            rest = capacity(left, best=True, time_limit=60).workloads
            same = next(other for other in rest if other.workload == row.workload)
            assert (row.more, row.best, row.bound) == (same.more, same.best, same.bound)


def test_after_a_stop_no_domain_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: after Ctrl-C the cluster without each of hundreds of nodes was still compiled."""
    stop, compiled = threading.Event(), list[Cluster]()
    stop.set()
    module = sys.modules["planner.capacity.capacity"]

    def noted(one: Cluster) -> Problem:
        compiled.append(one)
        return Problem(one)

    monkeypatch.setattr(module, "Problem", noted)
    found = capacity(cluster(node("a1"), node("b1"), web(1)), survive=HOST, stop_event=stop)
    assert (found.cut, found.workloads, len(compiled)) == (True, (), 1)
