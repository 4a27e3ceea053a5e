"""`planner compare --afresh`: all pods placed again from nothing, by both, beside where they are today."""

from __future__ import annotations

from collections import Counter

import pytest

from models import Cluster
from planner import compare, simulate
from planner.documents.columns import ComparedColumn
from planner.problem.problem import Problem
from planner.whatif.pods import afresh
from tests import seeds
from tests.builders import ZONE, cluster, node, pod, spread
from tests.tiny import tiny


def named(columns: tuple[ComparedColumn, ...], name: str) -> ComparedColumn:
    """The column of a way without draws."""
    return next(column for column in columns if column.name == name and column.rank is None)


def worth(column: ComparedColumn) -> tuple[int, ...]:
    """What makes a placement better: pods of each priority, the highest first."""
    return tuple(count.placed for count in column.by_priority)


@pytest.mark.parametrize("number", seeds.given_and_fresh(3, 8))
def test_no_run_of_kube_scheduler_is_better_than_the_optimum(number: int | None) -> None:
    """Whatever is drawn, and however soon the search is cut: by pods, nor by soft spread."""
    for seed in [number] if number is not None else seeds.seeds(5):
        found = Cluster.from_objects(tiny(seed))
        for limit in (30.0, 0.0):
            columns = compare(found, afresh=True, replays=8, time_limit=limit).columns
            best = named(columns, "optimum")
            assert all(worth(best) >= worth(column) for column in columns if column.name == "kubeScheduler")
            equal = [c for c in columns if c.name == "kubeScheduler" and worth(c) == worth(best)]
            assert all(best.soft_excess <= column.soft_excess for column in equal)


@pytest.mark.parametrize("number", seeds.given_and_fresh(5))
def test_kube_schedulers_column_is_simulate_of_the_same_queue(number: int | None) -> None:
    """The same pods on the same nodes as `simulate` has them, without preemption, by name and by seed."""
    for seed in [number] if number is not None else seeds.seeds(5):
        found = Cluster.from_objects(tiny(seed))
        queue = afresh(Problem(found))
        for column in compare(found, afresh=True, replays=3).columns:
            if column.name == "kubeScheduler":
                decisions = simulate(queue, preemption=False, seed=column.seed).decisions
                assert column.placed == sum(decision.node is not None for decision in decisions)
                assert column.nodes_used == len(
                    {d.node for d in decisions if d.node}
                    | {pod.node_name for pod in queue.pods if pod.node_name}
                )


def test_todays_column_is_the_cluster_as_it_runs() -> None:
    """What is wrong today is counted with the pods where they are, and how far each way is from it."""
    zones = [node("a1", zone="a"), node("b1", zone="b"), node("c1", zone="c")]
    web = [
        pod(f"web-{n}", on="a1", owner="ReplicaSet/web", app="web", spread=[spread(ZONE, 1, "web")])
        for n in range(3)
    ]
    columns = compare(cluster(*zones, *web), afresh=True).columns
    now, kube, best = (named(columns, name) for name in ("now", "kubeScheduler", "optimum"))
    assert (now.placed, now.hard_excess, now.elsewhere) == (3, 2, 0)
    assert [(c.placed, c.hard_excess, c.elsewhere) for c in (kube, best)] == [(3, 0, 2), (3, 0, 2)]


def test_what_no_controller_makes_again_stays() -> None:
    """Bare pods, pods of DaemonSets and terminating ones keep their nodes; a note counts them."""
    found = cluster(
        node("a1"),
        pod("bare", on="a1"),
        pod("log", on="a1", owner="DaemonSet/log"),
        pod("web-0", on="a1", owner="ReplicaSet/web"),
        pod("web-1", on="a1", owner="ReplicaSet/web", gone=True),
    )
    waiting = Counter(not item.node_name for item in afresh(Problem(found)).pods)
    assert waiting == {True: 1, False: 3}
    comparison = compare(found, afresh=True)
    assert named(comparison.columns, "optimum").pods == 1
    assert any("no controller makes again" in note for note in comparison.notes)
    # What went wrong: `1 running pod that belong to their nodes`.
    assert "1 running pod of DaemonSets, or static: left where they are" in comparison.notes


def test_descheduler_is_a_column_where_it_is_asked_for() -> None:
    """It starts from today, and its draws are in the document."""
    zones = [node("a1", zone="a"), node("b1", zone="b")]
    web = [
        pod(f"web-{n}", on="a1", owner="ReplicaSet/web", app="web", spread=[spread(ZONE, 1, "web")])
        for n in range(4)
    ]
    comparison = compare(cluster(*zones, *web), afresh=True, columns=["descheduler"], replays=2)
    ranks = [column.rank for column in comparison.columns if column.name == "descheduler"]
    assert ranks == [None, "worst", "median", "best"]
    assert named(comparison.columns, "descheduler").hard_excess == 0
    assert Counter(draw.name for draw in comparison.draws) == {"kubeScheduler": 2, "descheduler": 2}
