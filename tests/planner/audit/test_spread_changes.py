"""The domains that documents list before and after: all of a few, and of thousands those that change."""

import random
from collections import Counter

import pytest

from models import Cluster
from planner import check, diff, drain, simulate
from planner.documents.plan import SpreadChange
from tests import seeds
from tests.builders import HOST, ZONE, Object, node, pod, spread


def made(nodes: int, **places: str) -> Cluster:
    """So many nodes in two zones, and replicas that are counted by node, by zone, and one that stays."""
    asked = [spread(HOST), spread(ZONE, max_skew=9)]
    replicas = [
        pod(name, on, app="web", owner="ReplicaSet/web", cpu="1", spread=asked) for name, on in places.items()
    ]
    stays = pod("stays", "n7", app="alone", owner="ReplicaSet/alone", spread=[spread(HOST, 1, "alone")])
    objects: list[Object] = [node(f"n{number}", "ab"[number % 2]) for number in range(nodes)]
    return Cluster.from_objects([*objects, *replicas, stays])


@pytest.mark.parametrize(("nodes", "listed"), [(1_000, 1_000), (1_001, 2)])
def test_of_a_drain_only_what_changes(nodes: int, listed: int) -> None:
    """The constraint of the pod that stays is not listed; of many nodes only the two that change."""
    plan = drain(made(nodes, one="n0", two="n2"), ["n0"])
    (lands,) = (row.lands for step in plan.steps for row in step.evictions)
    rows = {row.topology_key: row for row in plan.spread}
    assert {row.workload for row in plan.spread} == {"ReplicaSet/web"}
    assert (len(rows[HOST].before), len(rows[HOST].after)) == (listed, listed)
    assert (rows[HOST].before["n0"], rows[HOST].after["n0"]) == (1, 0)
    assert lands is not None
    assert (rows[HOST].before[lands], rows[HOST].after[lands]) == (0, 1)
    assert rows[HOST].unlisted == nodes - listed


def test_of_a_simulation_all_constraints() -> None:
    """One that nothing changes has no domains, and the same skew."""
    rows = simulate(made(1_001, one="", two="n2")).spread
    found = {(row.workload, row.topology_key): row for row in rows}
    assert len(_changed(found["ReplicaSet/web", HOST])) == len(found["ReplicaSet/web", HOST].after) == 1
    alone = found["ReplicaSet/alone", HOST]
    assert (alone.before, alone.after, alone.unlisted) == ({}, {}, 1_001)
    assert (alone.skew_before, alone.skew_after) == (1, 1)
    assert set(found["ReplicaSet/web", ZONE].after) == {"a", "b"}


def test_of_two_snapshots_what_differs() -> None:
    """Also a node that is on one side only."""
    before, after = made(1_001, one="n0", two="n2"), made(1_002, one="n0", two="n4")
    (row,) = (row for row in diff(before, after).spread if row.workload == "ReplicaSet/web")
    assert (row.before, row.after) == ({"n2": 1, "n4": 0}, {"n1001": 0, "n2": 0, "n4": 1})
    assert row.unlisted == 999


def test_what_is_not_listed_is_as_before() -> None:
    """Counted pod by pod, on fresh places of forty replicas before and after."""
    for seed in seeds.seeds(2):
        chance = random.Random(seed)
        names = [f"web{number}" for number in range(40)]
        places = [{name: f"n{chance.randrange(1_100)}" for name in names} for _ in range(2)]
        places[1] |= {name: places[0][name] for name in names if chance.random() < 0.5}
        (row,) = (
            row
            for row in diff(*(made(1_100, **where) for where in places)).spread
            if HOST in row.topology_key
        )
        counts = [Counter(where.values()) for where in places]
        changed = {
            f"n{number}" for number in range(1_100) if counts[0][f"n{number}"] != counts[1][f"n{number}"]
        }
        assert row.before.keys() == row.after.keys() == changed
        assert all(
            (row.before[name], row.after[name]) == (counts[0][name], counts[1][name]) for name in changed
        )
        assert row.unlisted == 1_100 - len(changed)


def test_a_report_lists_all() -> None:
    """What `check` says of a constraint is the same however many domains there are."""
    row = next(row for row in check(made(1_001, one="n0")).constraints if row.topology_key == HOST)
    assert len(row.domains) == 1_001


def _changed(row: SpreadChange) -> list[str]:
    return [name for name in row.after if row.after[name] != row.before[name]]
