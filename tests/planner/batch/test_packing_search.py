"""Packings of full nodes: every pattern is found, covers decide, fillings fit, and alike nodes come home."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from planner.batch.packing.covers import PackingPatterns, PatternRoom
from planner.batch.packing.filling import Filling, best_fit, kept_on_current_node
from planner.batch.packing.vectors import Units
from planner.cpsat.cover import Alike, CoverModel, PackingKind
from planner.proof.meter import Meter
from tests import seeds
from tests.strategies import relaxed

#: A few kinds of pods with what they want of two resources, and how many there are.
KINDS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(1, 3), st.integers(0, 1)),
    min_size=1,
    max_size=4,
)


def _most(wanted: np.ndarray, pods: list[int], free: tuple[int, ...]) -> tuple[int, ...]:
    fits = [min([f // w for f, w in zip(free, row, strict=True) if w]) for row in wanted.tolist()]
    return tuple(map(min, pods, fits))


@settings(max_examples=seeds.tries(100))
@given(
    KINDS, st.tuples(st.integers(1, 25), st.integers(1, 25)), st.tuples(st.integers(0, 9), st.integers(0, 9))
)
def test_every_pattern_of_a_node_is_found(
    kinds: list[tuple[int, int, int, int]], free: tuple[int, int], waste: tuple[int, int]
) -> None:
    """Those, and no others: all numbers of all kinds are tried out beside."""
    wanted = np.array([kind[:2] for kind in kinds], np.int64) * np.array([1, 1000])
    room = (free[0], free[1] * 1000)
    most = _most(wanted, [kind[2] for kind in kinds], room)
    may = (waste[0], waste[1] * 1000)
    found = PackingPatterns(wanted, Meter.of(60.0)).of(PatternRoom(room, may, most))
    expected = set()
    for numbers in product(*(range(n + 1) for n in most)):
        left = np.array(room) - np.array(numbers) @ wanted
        if ((left >= 0) & ((left <= np.array(may)) | ~wanted.any(axis=0))).all():
            expected.add(tuple((kind, n) for kind, n in enumerate(numbers) if n))
    if found is None:
        assert not any(most)
    else:
        assert len(found) == len(set(found))
        assert set(found) == expected


def _can_be_packed(
    kinds: list[tuple[int, int, int, int]], nodes: int, free: tuple[int, int], least: dict[int, int]
) -> bool:
    """The same asked of a plain model: a number for every kind and node."""
    cp = cp_model.CpModel()
    x = [[cp.new_int_var(0, kind[2], "") for _ in range(nodes)] for kind in kinds]
    for row, kind in zip(x, kinds, strict=True):
        cp.add(sum(row) <= kind[2])
    for node, resource in product(range(nodes), range(2)):
        load = sum(row[node] * kind[resource] for row, kind in zip(x, kinds, strict=True))
        cp.add(load <= free[resource])
    for priority, pods in least.items():
        placed = [number for row, kind in zip(x, kinds, strict=True) if kind[3] == priority for number in row]
        cp.add(sum(placed) >= pods)
    return cp_model.CpSolver().solve(cp) == cp_model.OPTIMAL


@relaxed
@given(KINDS, st.integers(1, 3), st.tuples(st.integers(4, 20), st.integers(4, 20)), st.data())
def test_covers_decide_as_a_plain_model(
    kinds: list[tuple[int, int, int, int]], nodes: int, free: tuple[int, int], data: st.DataObject
) -> None:
    """Whether so many pods of each priority can be packed has one answer, however it is asked."""
    wanted = np.array([kind[:2] for kind in kinds], np.int64)
    pods = [kind[2] for kind in kinds]
    most = _most(wanted, pods, free)
    rooms = [np.full(nodes, number, np.int64) for number in most]
    asked = [
        PackingKind(n, kind[3], row, room)
        for n, kind, row, room in zip(pods, kinds, wanted, rooms, strict=True)
    ]
    every = Counter[int]()
    for number, (*_, priority) in zip(pods, kinds, strict=True):
        every[priority] += number
    least = {priority: data.draw(st.integers(0, number)) for priority, number in every.items()}
    all_free = np.repeat(np.array(free)[:, np.newaxis], nodes, axis=1)
    smallest = {
        priority: np.sort(
            [
                row
                for kind, row in zip(kinds, wanted, strict=True)
                if kind[3] == priority
                for _ in range(kind[2])
            ],
            axis=0,
        )[:number].sum(axis=0)
        for priority, number in least.items()
    }
    waste = tuple((all_free.sum(axis=1) - sum(smallest.values())).tolist())
    patterns = PackingPatterns(wanted, Meter.of(60.0)).of(PatternRoom(free, waste, most))
    if patterns is None:
        return
    group = Alike(tuple(range(nodes)), np.array(free), patterns)
    by_cover = CoverModel([group], asked, least).solve(Meter.of(60.0), 10.0)
    assert by_cover is not None
    assert (by_cover is not False) == _can_be_packed(kinds, nodes, free, least)
    if isinstance(by_cover, dict):
        load, placed, used = np.zeros_like(all_free), Counter[int](), Counter[int]()
        for (kind, node), number in by_cover.items():
            load[:, node] += wanted[kind] * number
            placed[kinds[kind][3]] += number
            used[kind] += number
        assert (load <= all_free).all()
        assert all(used[kind] <= number for kind, number in enumerate(pods))
        assert all(placed[priority] >= number for priority, number in least.items())


class _Pods(Units):
    """Pods that may go anywhere, each of a kind of its own."""

    def __init__(self, wanted: np.ndarray, free: np.ndarray, current: np.ndarray | None = None) -> None:
        self.of = np.arange(len(wanted))
        self.current = np.full(len(wanted), -1, np.intp) if current is None else current
        self.wanted, self.free = wanted, free
        self.priority = np.zeros(len(wanted), np.int64)
        self.allowed = np.ones((len(wanted), len(free)), np.bool_)
        self._measure()


@pytest.mark.parametrize("seed", range(3))
def test_a_filling_fits(seed: int) -> None:
    """So many pods have a place, and no node carries more than it has."""
    draw = np.random.default_rng(seed)
    wanted = draw.integers(100, 1000, (48, 2)).astype(np.float64)
    free = np.repeat(np.ceil(wanted.sum(axis=0) / 12 / 0.97)[np.newaxis], 12, axis=0)
    vectors, meter = _Pods(wanted, free), Meter.of(600.0)
    tries = (Filling(vectors, meter, number).place({0: 47}) for number in range(20))
    at = next((found for found in tries if found is not None), None)
    assert at is not None
    load = np.zeros((13, 2))
    np.add.at(load, at, wanted)
    assert (load[:12] <= free).all()
    assert (at < 12).sum() == 47
    again = Meter.of(600.0)
    assert any(
        found is not None and (found == at).all()
        for found in (Filling(vectors, again, number).place({0: 47}) for number in range(20))
    )


@settings(max_examples=seeds.tries(100))
@given(st.integers(0, 2**32 - 1))
def test_the_best_fit_of_up_to_two_is_the_best(seed: int) -> None:
    """All of those are looked at, and what is found fits."""
    draw = np.random.default_rng(seed)
    wanted = draw.integers(1, 50, (int(draw.integers(1, 8)), 2)).astype(np.float64)
    room, weight = draw.integers(0, 90, 2).astype(np.float64), np.array([1.0, 0.5])
    free, chosen, _ = best_fit(wanted, room, weight, 90.0, 1_000)
    assert (wanted[chosen].sum(axis=0) <= room).all()
    assert free == pytest.approx((room - wanted[chosen].sum(axis=0)) @ weight)
    pairs = [[], *([a] for a in range(len(wanted))), *([a, b] for a in range(len(wanted)) for b in range(a))]
    left = [room - wanted[pods].sum(axis=0) for pods in pairs]
    assert free <= min(float(rest @ weight) for rest in left if (rest >= 0).all())


def test_alike_nodes_exchange_their_pods() -> None:
    """Where two loads stand on each other's node, all pods come home; another node keeps its own."""
    wanted = np.array([[1.0], [1.0], [1.0], [2.0]])
    free = np.array([[2.0], [2.0], [9.0]])
    vectors = _Pods(wanted, free, np.array([0, 0, 1, 2]))
    assert kept_on_current_node(vectors, np.array([1, 1, 0, 2])).tolist() == [0, 0, 1, 2]
    assert kept_on_current_node(vectors, np.array([1, 1, 3, 0])).tolist() == [0, 0, 3, 1]
