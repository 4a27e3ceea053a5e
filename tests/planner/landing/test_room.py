"""Room that is certain is there, wherever uncertain replacements have landed."""

from __future__ import annotations

import random
from itertools import product

import numpy as np

from planner.landing.room import Replacement, UncertainReplacement, WaveRoom
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.problem import Problem
from tests import seeds
from tests.builders import cluster, node, pod


def _ways(capacities: list[int], sizes: list[int], allowed: list[list[int]]) -> list[tuple[int, ...]]:
    """All ways to place the pods on their allowed nodes."""
    found = []
    for way in product(*allowed):
        loads = np.bincount(way, weights=sizes, minlength=len(capacities))
        if (loads <= capacities).all():
            found.append(way)
    return found


def _trial(capacities: list[int], sizes: list[int]) -> TrialCluster:
    """Nodes with these numbers of cores, and pending pods that request these."""
    nodes = [node(f"n{number}", cpu=str(cores)) for number, cores in enumerate(capacities)]
    pods = [pod(f"p{number}", cpu=str(cores)) for number, cores in enumerate(sizes)]
    return TrialCluster(Problem(cluster(*nodes, *pods)))


def _landed(trial: TrialCluster, pod: int, place: int, allowed: list[int]) -> UncertainReplacement:
    """A pod on `place`, which may as well be on any allowed node."""
    trial.state.bind(pod, place)
    mask = trial.problem.nodes.none.copy()
    mask[allowed] = True
    return UncertainReplacement(trial.template(pod), mask, pod, place)


def test_room_for_certain_is_there_in_every_way() -> None:
    """Some uncertain replacements also close the node that they are on, as pods over maxSkew do."""
    seed = seeds.fresh()
    draw, said = random.Random(seed), 0
    for attempt in range(seeds.tries(250)):
        capacities = [draw.randint(1, 6) for _ in range(draw.randint(2, 5))]
        sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 4))]
        every = range(len(capacities))
        allowed = [draw.sample(every, draw.randint(1, len(capacities))) for _ in sizes]
        ways = _ways(capacities, sizes, allowed)
        if not ways:
            continue
        wanted = draw.randint(1, 3)
        trial = _trial(capacities, [*sizes, wanted])
        room = WaveRoom(trial)
        for number, place in enumerate(draw.choice(ways)):
            room.add(_landed(trial, number, place, allowed[number]))
        template = trial.template(len(sizes))
        free = room.free()
        good = [n for n in draw.sample(every, draw.randint(1, len(capacities))) if capacities[n] >= wanted]
        shutting = draw.sample(range(len(sizes)), draw.randint(0, len(sizes)))
        coupled_moves = [room.uncertain_pods[n] for n in shutting if set(allowed[n]) & set(good)]
        every_node, move = trial.problem.nodes.every, Move(len(sizes), 0, 0)
        need = Replacement(move, template, every_node, every_node, free, room_alone=True)
        if room.has_places(need, np.array(good, np.intp), np.ones(len(good), np.int64), coupled_moves):
            said += 1
            for way in ways:
                loads = np.bincount(way, weights=sizes, minlength=len(capacities))
                shut = {way[n] for n in shutting}
                left = [n for n in good if n not in shut and capacities[n] - loads[n] >= wanted]
                assert left, (seed, attempt, capacities, sizes, allowed, wanted, good, shutting, way)
    assert said > 20, seed


def test_pods_that_fill_all_their_nodes_leave_the_same_room_in_every_placement() -> None:
    """Replacements that are resolved take as much of every node in any other placement."""
    seed = seeds.fresh()
    draw, static = random.Random(seed), list[int]()
    for attempt in seeds.until(180, static, 21):
        capacities = [draw.randint(1, 5) for _ in range(draw.randint(2, 4))]
        sizes = [draw.choice((1, 1, 2, 2, 3)) for _ in range(draw.randint(1, 5))]
        every = range(len(capacities))
        allowed = [draw.choice(([*every], draw.sample(every, 2))) for _ in sizes]
        ways = _ways(capacities, sizes, allowed)
        if not ways:
            continue
        trial = _trial(capacities, sizes)
        room, ample = WaveRoom(trial), [trial.problem.nodes.every] * len(trial.problem.resources)
        for number, place in enumerate(draw.choice(ways)):
            room.add(_landed(trial, number, place, allowed[number]))
            room.resolve(room.uncertain_pods[-1], ample)
        open_yet = {uncertain.pod for uncertain in room.uncertain_pods}
        pods = [uncertain.pod for uncertain in room.elsewhere if uncertain.pod not in open_yet]
        static += pods
        loads = {
            tuple(np.bincount([way[n] for n in pods], [sizes[n] for n in pods], len(capacities)))
            for way in ways
            if pods
        }
        assert len(loads) <= 1, (seed, attempt, capacities, sizes, allowed)
    assert len(static) > 20, seed
