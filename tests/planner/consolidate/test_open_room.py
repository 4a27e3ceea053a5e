"""Whether a pod finds a node wherever others land: held against every way in which these can land."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from models import Cluster
from planner.consolidate.open_landings import OpenRoom
from planner.consolidate.open_templates import OpenTemplates
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from tests import seeds
from tests.builders import cluster, node, pod

_Amounts = tuple[int, int]


def drawn(chance: random.Random) -> tuple[list[_Amounts], list[_Amounts]]:
    """What two to four nodes have of cpu and memory, and what up to six pods request."""
    nodes = [(chance.randint(3, 9), chance.randint(3, 9)) for _ in range(chance.randint(2, 4))]
    sizes = [(chance.randint(1, 4), chance.randint(1, 4)) for _ in range(chance.randint(1, 3))]
    return nodes, [chance.choice(sizes) for _ in range(chance.randint(2, 6))]


def given(nodes: Sequence[_Amounts], pods: Sequence[_Amounts]) -> Cluster:
    """The nodes, and one with all pods that is to go."""
    kept = [node(f"n{number}", cpu=cpu, memory=memory) for number, (cpu, memory) in enumerate(nodes)]
    moving = (
        pod(f"p{number}", "goes", cpu=cpu, memory=memory, owner=f"ReplicaSet/{cpu}-{memory}")
        for number, (cpu, memory) in enumerate(pods)
    )
    return cluster(*kept, node("goes", cpu=99, memory=99, cordoned=True), *moving)


def enough(found: Cluster) -> Iterator[bool]:
    """By pod whether it finds a node wherever the others land."""
    trial = TrialCluster(Problem(found))
    removed = trial.problem.nodes.only(trial.problem.nodes.index["goes"])
    pods = range(len(trial.problem.pods))
    templates = OpenTemplates(trial, removed, pods)
    room = OpenRoom(trial, templates)
    number = np.bincount([trial.template(one) for one in pods], minlength=len(trial.problem.templates))
    for one in pods:
        template = trial.template(one)
        yield templates.of(template) is not None and room.is_enough(template, None, number, number)


def closed(nodes: Sequence[_Amounts], others: Sequence[_Amounts], wanted: _Amounts) -> bool:
    """Whether others can land so that no node has room for a pod, some of them perhaps nowhere yet."""
    for places in product(range(len(nodes) + 1), repeat=len(others)):
        free = [list(one) for one in nodes]
        for place, taken in zip(places, others, strict=True):
            if place < len(nodes):
                free[place] = [left - amount for left, amount in zip(free[place], taken, strict=True)]
        if min(map(min, free)) >= 0 and not any(
            all(left >= amount for left, amount in zip(one, wanted, strict=True)) for one in free
        ):
            return True
    return False


def test_no_way_to_land_closes_all_nodes_to_a_pod_that_is_said_to_find_one() -> None:
    """Fresh nodes and pods of two resources."""
    chance, said = random.Random(seeds.fresh()), 0
    for _ in range(60 * seeds.EFFORT):
        nodes, pods = drawn(chance)
        for number, (finds, wanted) in enumerate(zip(enough(given(nodes, pods)), pods, strict=True)):
            if finds:
                others = [*pods[:number], *pods[number + 1 :]]
                assert not closed(nodes, others, wanted), (nodes, pods, wanted)
            said += finds
    assert said


def test_a_pod_counts_by_the_resource_of_which_it_takes_the_largest_part() -> None:
    """Four others have enough of each resource to fill three nodes, and each of them fills one node alone."""
    nodes, pods = [(8, 8)] * 4, [(4, 4)] * 5
    assert all(enough(given(nodes, pods)))
