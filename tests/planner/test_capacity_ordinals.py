"""How many more replicas of a StatefulSet find a node, where pods have the names of some."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from models import Cluster
from planner import capacity
from tests import seeds
from tests.builders import HOST, cluster, node, pod, scaled, spread, term
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import left_over, ordinals_taken


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("gone", [True, False])
@nothing_drawn()
def test_replicas_whose_name_is_taken_are_counted(gone: bool, parallel: bool) -> None:
    """What went wrong: pods that were placed were counted, and st-2 is none while its old pod ends."""
    base = {**scaled("StatefulSet", "st", 0), "status": {}}
    if parallel:
        base["spec"]["podManagementPolicy"] = "Parallel"
    old = pod("st-2", "n0", app="st", owner="StatefulSet/st", gone=gone)
    found = cluster(node("n0", pods="4"), base, old)
    (row,) = capacity(found, best=True).workloads
    assert not left_over(found, row, row.more)
    assert left_over(found, row, row.more + 1)
    assert row.best is row.bound is None


@pytest.mark.parametrize("number", seeds.given_and_fresh(140, 401, 3740557832))
@nothing_drawn()
def test_more_replicas_of_a_stateful_set_are_exact(number: int | None) -> None:
    """Also with pods of higher or lower ordinals that end, run or have failed, and others of such names."""
    for seed in [number] if number is not None else seeds.seeds(10):
        found = Cluster.from_objects(ordinals_taken(seed))
        (row,) = capacity(found).workloads
        assert not row.more or not left_over(found, row, row.more), seed
        assert left_over(found, row, row.more + 1), seed


@pytest.mark.parametrize("rule", ["spread", "apart"])
def test_rules_over_the_numbers_of_pods_tell_replicas_apart(rule: str) -> None:
    """What went wrong: all replicas were counted with the number of the first one, and kept out others."""
    ours = {"matchLabelKeys": ["apps.kubernetes.io/pod-index"]}
    rules: dict[str, Any] = {"spread": [spread(HOST, 1, "st", **ours)], "apart": [term(HOST, "st", **ours)]}
    nodes = [node(f"n{number}", cpu=str(2 + number)) for number in range(3)]
    found = cluster(*nodes, scaled("StatefulSet", "st", 0, cpu="1", **{rule: rules[rule]}))
    (row,) = capacity(found).workloads
    assert (row.more, row.limited_by) == (2 + 3 + 4, ("NodeResourcesFit",))


def test_no_more_names_are_made_than_there_are_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: those of 200,000 replicas, once for each draw, where a single one was taken."""
    made: list[int] = []
    walk = sys.modules["planner.capacity.walk"]
    name_of = walk.name_of

    def counted(workload: object, ordinal: int) -> str:
        made.append(ordinal)
        return str(name_of(workload, ordinal))

    monkeypatch.setattr(walk, "name_of", counted)
    taken = pod("st-2", "n0", app="st", owner="StatefulSet/st", gone=False)
    capacity(cluster(node("n0", pods="4"), {**scaled("StatefulSet", "st", 0), "status": {}}, taken))
    assert len(made) < 2_000
