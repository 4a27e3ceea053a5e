"""Sampling with a seed: how many nodes are looked at, which, and which wins a tie among them."""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from models import Cluster
from planner import compare, simulate
from planner.problem.problem import Problem
from planner.scheduler.draws import Sampling, enough, on_top, run_length, zone_by_zone
from tests import seeds
from tests.builders import Object, node, pod, profile, scheduler


@pytest.mark.parametrize(
    ("nodes", "percentage", "wanted"),
    [
        (1, None, 1),
        (99, 5, 99),
        (100, None, 100),
        (300, None, 144),
        (300, 0, 144),
        (1_000, 30, 300),
        (1_000, 5, 100),
        (5_000, None, 500),
        (6_000, None, 300),
        (5_000, 100, 5_000),
    ],
)
def test_so_many_feasible_nodes_are_enough(nodes: int, percentage: int | None, wanted: int) -> None:
    """50 per cent less one for every 125 nodes, at least 5 per cent, at least 100 nodes."""
    assert enough(nodes, percentage) == wanted


def machines(number: int, *more: Object, zones: str = "abc") -> Cluster:
    """A cluster of alike nodes, zones in turn."""
    nodes = [node(f"n{index:03}", zone=zones[index % len(zones)]) for index in range(number)]
    return Cluster.from_objects([*nodes, *more])


@pytest.mark.parametrize(
    ("config", "looked_at"),
    [
        ([], 144),
        ([scheduler(profile(), percentageOfNodesToScore=50)], 150),
        ([scheduler({**profile(), "percentageOfNodesToScore": 40}, percentageOfNodesToScore=50)], 120),
        ([scheduler(profile(), percentageOfNodesToScore=100)], 300),
    ],
)
def test_with_a_seed_a_part_of_the_nodes_is_scored(config: list[Object], looked_at: int) -> None:
    """The profile's own percentage goes before the configuration's; without a seed all are scored."""
    snapshot = machines(300, pod("p"), *config)
    [sampled] = simulate(snapshot, seed=1, verbose=True).decisions
    [whole] = simulate(snapshot, verbose=True).decisions
    assert len(sampled.totals or {}) == looked_at
    assert len(whole.totals or {}) == 300


def test_zones_take_turns_in_the_order_of_their_first_node() -> None:
    """A zone that has no node left is passed over; nodes without a zone are one of their own."""
    cluster = Cluster.from_objects(
        [node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b"), node("x"), node("b2", "b")]
    )
    names = [found.name for found in cluster.nodes]
    found = zone_by_zone(cluster.nodes, [names.index(name) for name in ("b2", "a1", "a2", "x", "a3", "b1")])
    assert [names[place] for place in found] == ["b2", "a1", "x", "b1", "a2", "a3"]


def test_a_search_begins_where_the_last_one_stopped() -> None:
    """Every node is found once before any is found again, where no node is refused for good."""
    problem = Problem(machines(300))
    draws = Sampling(problem, random.Random(1))
    every = np.ones(300, np.bool_)
    times = Counter(node for _ in range(25) for node in draws.found(every, None, 144).tolist())
    assert set(times) == set(range(300))
    assert max(times.values()) - min(times.values()) <= 25 - 144 * 25 // 300
    assert times.total() == 25 * 144


def test_nodes_that_refuse_are_passed_over_but_looked_at() -> None:
    """With every other node refusing, a search goes twice as far; with too few feasible ones it sees all."""
    problem = Problem(machines(300))
    half = np.arange(300) % 2 == 0
    draws = Sampling(problem, random.Random(1))
    assert half[draws.found(half, None, 100)].all()
    assert 199 <= draws._start <= 201
    assert len(draws.found(half, None, 160)) == 150


def test_a_scheduler_that_has_bound_pods_may_stand_anywhere() -> None:
    """On a cluster that is in use the first node found is another with another seed; on a fresh one it is
    nearly always the same."""
    every = np.ones(150, np.bool_)
    for running, fewest, most in (([], 1, 20), ([pod("r", "n000")], 60, 150)):
        problem = Problem(machines(150, *running))
        first = {int(Sampling(problem, random.Random(n)).found(every, None, 100)[0]) for n in range(150)}
        assert fewest <= len(first) <= most


def test_ties_are_drawn_up_to_1_34_and_go_to_the_first_found_since() -> None:
    """On a fresh cluster of 150 equal nodes, over 60 seeds: mostly another one, or the same few."""
    items = [node(f"n{index:03}", zone="abc"[index % 3]) for index in range(150)]
    drawn, first = (
        {simulate(cluster, seed=seed).decisions[0].node for seed in range(60)}
        for cluster in (Cluster.from_objects([*items, pod("p")], kubernetes=v) for v in ("1.34", "1.35"))
    )
    assert len(drawn) > 30
    assert len(first) < 15


def test_notes_say_that_nodes_were_sampled_and_how_far_that_matters() -> None:
    """Only with a seed, and only where not all nodes are looked at."""
    pods = [pod(f"p{number}", cpu="100m") for number in range(5)]
    large, small = machines(120, *pods), machines(20, *pods)
    [note] = simulate(large, seed=3).notes
    assert "100 feasible nodes of 120" in note
    [_, moved, of] = [int(word) for word in note.replace(":", "").split() if word.isdigit()][-3:]
    whole = {decision.pod: decision.node for decision in simulate(large).decisions}
    apart = [item for item in simulate(large, seed=3).decisions if item.node != whole[item.pod]]
    assert (moved, of) == (len(apart), 5)
    assert simulate(large).notes == simulate(small, seed=3).notes == ()
    [replays] = [note for note in compare(large, replays=2, time_limit=5).notes if "replays" in note]
    assert "2 replays, each looking at 100 feasible nodes of 120" in replays
    [one] = [note for note in compare(large, replays=1, time_limit=5).notes if "replay" in note]
    assert one == "1 replay, looking at 100 feasible nodes of 120 for a pod, as kube-scheduler does"


def heap_top(scores: Sequence[int]) -> int:
    """The place of the root after container/heap's Init, larger scores first: the textbook's sifting."""
    heap = list(range(len(scores)))
    for start in reversed(range(len(heap) // 2)):
        parent = start
        while 2 * parent + 1 < len(heap):
            child = 2 * parent + 1
            if child + 1 < len(heap) and scores[heap[child + 1]] > scores[heap[child]]:
                child += 1
            if scores[heap[child]] <= scores[heap[parent]]:
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            parent = child
    return heap[0]


def test_the_best_that_comes_to_the_top_of_the_heap_wins() -> None:
    """`on_top` says of any scores which of the best the root is."""
    draw = random.Random(seeds.fresh())
    for size in range(1, 200):
        scores = [draw.randrange(draw.choice((1, 2, 3, 50))) for _ in range(size)]
        best = [place for place, score in enumerate(scores) if score == max(scores)]
        assert min(best, key=on_top(size).tolist().__getitem__) == heap_top(scores), scores


@pytest.mark.parametrize(("nodes", "length"), [(300, 17), (100, 7), (5_000, 70), (16, 2)])
def test_workers_take_runs_of_nodes(nodes: int, length: int) -> None:
    """The square root, but no more than leaves something for each of the sixteen."""
    assert run_length(nodes) == length
