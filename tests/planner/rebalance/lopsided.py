"""Clusters like the nine recorded ones, drawn afresh: after a scale-down, full, after an outage, mixed."""

from __future__ import annotations

import random
from typing import Any

from models import Cluster
from tests import seeds
from tests.builders import HARD, HOST, SOFT, ZONE, cluster, node, pod, spread

Object = dict[str, Any]
KINDS = ("rebalance", "tight", "outage", "mixed")


def lopsided(seed: int, kind: str, *, soft_alone: bool = False, small: bool = False) -> Cluster:
    """A cluster whose spread is violated: some 20 nodes and up to 350 pods, or a third of that."""
    draw = random.Random(f"{kind} {seed}")
    zones = 3
    count = draw.randint(9, 15) if kind == "mixed" else draw.choice((15, 18, 20))
    apps = draw.randint(3, 6) if kind == "mixed" else draw.randint(10, 26)
    if small:
        count, apps = max(zones * 2, count // 2), max(3, apps // 3)
    made = [_app(draw, number, soft_alone=soft_alone) for number in range(apps)]
    constraint = sum(size * replicas for size, replicas, _ in made)
    fill = {"rebalance": 0.65, "tight": 0.8, "outage": 0.55, "mixed": 0.4}[kind]
    cpu = max(2_000, int(constraint / count / fill))
    free = [cpu] * count
    pods: list[Object] = []
    for number, (size, replicas, constraints) in enumerate(made):
        weights = [draw.choice((2, 2, 2, 3)) for _ in range(zones)]
        if kind == "outage":
            weights[0] = 0
        pods += _pods(draw, number, size, replicas, constraints, weights, free)
    if kind == "tight":
        pods += _filling(draw, free, zones)
    nodes = [_node(draw, number, number % zones, cpu, kind) for number in range(count)]
    return cluster(*nodes, *pods)


def drawn(seed: int, kind: str, *, soft_alone: bool = False) -> Cluster:
    """A small one in a quick run, a whole one in a long run."""
    return lopsided(seed, kind, soft_alone=soft_alone, small=seeds.EFFORT == 1)


def _app(draw: random.Random, number: int, *, soft_alone: bool) -> tuple[int, int, list[Object]]:
    """The request of a workload's pods in milli-cpu, how many there are, and their constraints."""
    when = SOFT if soft_alone else HARD
    constraints = [spread(app=f"a{number}", skew=draw.choice((1, 1, 2)), when=when)]
    if draw.random() < 0.5:
        by_host = when if draw.random() < 0.5 else SOFT
        constraints.append(spread(HOST, app=f"a{number}", skew=draw.choice((1, 2)), when=by_host))
    return draw.choice((100, 250, 500, 1000)), draw.randint(3, 20), constraints


def _pods(  # noqa: PLR0913, PLR0917 - what replicas are made of
    draw: random.Random,
    number: int,
    size: int,
    replicas: int,
    constraints: list[Object],
    weights: list[int],
    free: list[int],
) -> list[Object]:
    """Replicas on nodes with room, more of them in some zones than in others."""
    found: list[Object] = []
    for replica in range(replicas):
        roomy = [n for n in range(len(free)) if free[n] >= size and weights[n % len(weights)]]
        if roomy:
            place = draw.choices(roomy, [weights[n % len(weights)] for n in roomy])[0]
            free[place] -= size
            words = {"owner": f"ReplicaSet/a{number}", "app": f"a{number}", "spread": constraints}
            found.append(pod(f"a{number}-{replica:02}", f"n{place:02}", cpu=f"{size}m", **words))
    return found


def _filling(draw: random.Random, free: list[int], zones: int) -> list[Object]:
    """Other pods, without constraints, that leave one zone next to no room."""
    full, found = draw.randrange(zones), list[Object]()
    for place in range(len(free)):
        while place % zones == full and free[place] >= 250:
            free[place] -= 250
            words = {"owner": "ReplicaSet/batch", "app": "batch"}
            found.append(pod(f"batch-{len(found):03}", f"n{place:02}", cpu="250m", **words))
    return found


def _node(draw: random.Random, number: int, zone: int, cpu: int, kind: str) -> Object:
    made = node(f"n{number:02}", zone=f"z{zone}", cpu=f"{cpu}m")
    made["metadata"]["labels"][ZONE] = f"z{zone}"
    if kind == "mixed":
        made["metadata"]["labels"]["pool"] = draw.choice("ab")
    return made
