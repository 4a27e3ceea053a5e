"""The search itself: it finds the truths that are given, and its filters are the planner's."""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import Cluster
from planner import solve
from planner.documents.plan import Objective
from tests import builders, seeds
from tests.truth.agreement import Walk
from tests.truth.findings import compare
from tests.truth.generator import draw
from tests.truth.manifests import Object
from tests.truth.moving import Moving
from tests.truth.placing import Placing
from tests.truth.tiny_cluster import TinyCluster

GIVEN = Path(__file__).parent.parent / "data" / "proofs" / "tiny.jsonl.gz"


def given(command: str) -> Iterator[Object]:
    """The given cases of a command."""
    with gzip.open(GIVEN, "rt") as file:
        yield from (case for case in map(json.loads, file) if case["command"] == command)


def test_given_truths_of_moves_are_found() -> None:
    """The most pods that run after evictions and binds, and the fewest evictions for that."""
    cases = list(given("solve --allow-moves"))
    for case in cases:
        placed = Placing(TinyCluster(case["cluster"]["items"]), moves=True).run()
        assert placed.complete
        assert {"placed": placed.gained, "evictions": placed.evictions} == case["truth"], case["name"]
    assert len(cases) == 144


def test_given_truths_of_rebalance_are_found() -> None:
    """The given truth looks no further than the plan that was claimed; up to there it is the same."""
    cases = list(given("rebalance"))
    for case in cases:
        moved = Moving(TinyCluster(case["cluster"]["items"])).run()
        curve = moved.curve[: case["claimed"]["moves"] + 1]
        found = {"excess": curve[-1], "moves": curve.index(curve[-1])}
        assert found == case["truth"], case["name"]
        assert moved.complete
        assert moved.excess <= case["truth"]["excess"]
    assert len(cases) == 59


@pytest.mark.parametrize(("policy", "evictions"), [("Parallel", 2), ("OrderedReady", 1)])
def test_of_a_set_in_order_one_pod_at_a_time(policy: str, evictions: int) -> None:
    """Two pods of a Parallel one may be evicted together, as `solve --allow-moves` does."""
    owner = builders.scaled("StatefulSet", "db", 2, cpu="1")
    owner["spec"]["podManagementPolicy"] = policy
    objects = [builders.node("a", cpu="1"), builders.node("b", cpu="1"), owner]
    objects += [
        builders.pod(f"db-{n}", on, app="db", cpu="1", owner="StatefulSet/db") for n, on in enumerate("ab")
    ]
    objects += [builders.pod(f"web-{number}", cpu="1", priority=100) for number in range(2)]
    truth = Placing(TinyCluster(objects), moves=True).run()
    assert (truth.evictions, truth.value[0]) == (evictions, evictions)
    plan = solve(Cluster.from_objects(objects), allow_moves=True)
    assert sum(step.action == "evict" for step in plan.steps) == evictions


def test_filters_agree_with_the_planner() -> None:
    """On random walks through fresh clusters both accept the same nodes, and count the same excess."""
    for number in seeds.seeds(16):
        walk = Walk(draw(number).objects, number)
        differences = list(walk.differences(10))
        assert not differences, f"seed {number}: {differences}"


def test_every_state_is_seen() -> None:
    """The most pods are found by plain trial of every order as well."""
    for number in seeds.seeds(10):
        tiny = TinyCluster(draw(number, "solve").objects)
        search = Placing(tiny, moves=False)
        best = search.value(tiny.start)[0]
        chance = random.Random(number)
        for _ in range(40):
            state = tiny.start
            while True:
                ways = [
                    (kind, node)
                    for kind in search.value(state)[1]
                    for node in range(len(tiny.names))
                    if tiny.feasible(state, kind) >> node & 1
                ]
                if not ways:
                    break
                kind, node = chance.choice(ways)
                state += tiny.delta[kind][node]
            best = max(best, search.value(state)[0])
        assert search.run().value >= best, f"seed {number}"


@pytest.mark.parametrize(
    ("value", "bound", "proved", "truth", "fault"),
    [
        (3, 3, True, 4, "false"),
        (3, 3, False, 4, "bound"),
        (3, 4, False, 4, "missed"),
        (3, 3, True, 2, "beyond"),
        (3, 3, True, 3, ""),
    ],
)
def test_wrong_claims_are_noticed(value: int, bound: int, proved: bool, truth: int, fault: str) -> None:
    """Each kind of wrong claim has its name; what is right has none."""
    stage = Objective(name="podsPlaced/0", value=value, bound=bound, proved=proved)
    found = [finding.fault for finding in compare([stage], [value], [truth], ())]
    assert found == ([fault] if fault else [])
