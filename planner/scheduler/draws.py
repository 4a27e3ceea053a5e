"""What a seed decides: which of the feasible nodes are found, in which order, and which of the best is taken.

kube-scheduler stops filtering when it has found enough feasible nodes: all of them below 100 nodes, else
`percentageOfNodesToScore` per cent and at least 100; without a percentage 50 - nodes / 125, at least 5.
Nodes stand round-robin by zone, in the order in which they came; a pod's search begins where the one
before it stopped.

What a snapshot does not tell is drawn.  A scheduler that has bound nothing yet stands at the beginning of
the nodes in the order of their creation; any other one stands anywhere, and its order depends on when it
was started.  Sixteen workers take runs of nodes one after the other; now and then one is held up in the
middle of its run while the others go on, and the rest of that run is then not looked at in time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from models.objects.base import FAR_AHEAD
from models.objects.node import Node
from planner.problem.nodes import Codes, Feasible, Mask
from planner.problem.problem import Problem
from planner.scheduler.framework import Framework, Plan
from planner.scheduler.profile import percentage_of, profiles_of

_LEAST = 100
_LEAST_PERCENT = 5
_WORKERS = 16
#: In 600 searches over 300 nodes that kube-scheduler 1.36.2 wrote down, on two busy cores, the order was
#: that of the nodes in 42 of 100; in 27 a worker was held up somewhere in the very first run, in 31 one in a
#: later run, or several went on side by side.  How often depends on the machine: in 375 runs without that
#: writing, on two cores with little else to do, the pods by zone are as if 85 searches of 100 were disturbed,
#: a quarter of them in the first run; in 300 on busy cores, as if 55 were, half of them in the first.
_HELD_UP = 0.85
_IN_THE_FIRST = 0.25
_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")


def enough(nodes: int, percentage: int | None) -> int:
    """After how many feasible nodes the program stops to look for more."""
    if nodes < _LEAST:
        return nodes
    percent = percentage or max(_LEAST_PERCENT, 50 - nodes // 125)
    return max(_LEAST, nodes * percent // 100)


class Sampling:
    """One run's searches, each from where the last one stopped."""

    def __init__(self, problem: Problem, draw: random.Random) -> None:
        self._draw = draw
        nodes = problem.nodes.nodes
        self._order = list(range(len(nodes)))
        self._start = 0
        if (problem.node_of >= 0).any():
            draw.shuffle(self._order)
            self._start = draw.randrange(max(1, len(nodes)))
        else:
            self._order.sort(key=lambda node: nodes[node].metadata.creation_timestamp or FAR_AHEAD)
        self._ring = np.array(zone_by_zone(nodes, self._order) * 2, np.intp)

    def found(self, feasible: Mask, among: Mask | None, wanted: int) -> Codes:
        """The feasible nodes that the search finds, in the order found; `among` are the only ones it asks."""
        size = len(self._order)
        asked = self._ring[self._start : self._start + size]
        if among is not None:
            asked = asked[among[asked]]
        asked = self._as_workers_ask(asked, _end(feasible[asked], wanted))
        hits = np.flatnonzero(feasible[asked])
        end = _end(feasible[asked], wanted)
        self._start = (self._start + end) % max(1, size)
        return asked[hits[:wanted]]

    def _as_workers_ask(self, asked: Codes, end: int) -> Codes:
        """The nodes with the rest of a run at the end, where a worker was held up while others went on."""
        if len(asked) <= _WORKERS or self._draw.random() >= _HELD_UP:
            return asked
        run = run_length(len(asked))
        first = 0
        if self._draw.random() >= _IN_THE_FIRST:
            first = run * self._draw.randrange(math.ceil(end / run))
        stop = first + self._draw.randrange(run)
        rest = min(first + run, len(asked))
        return np.concatenate((asked[:stop], asked[rest:], asked[stop:rest]))


def _end(fits: Mask, wanted: int) -> int:
    """How many nodes are asked until enough are found, and one more, which does not count."""
    hits = np.flatnonzero(fits)
    return int(hits[wanted]) if len(hits) > wanted else len(fits)


def run_length(nodes: int) -> int:
    """How many nodes a worker takes at a time."""
    return max(1, min(math.isqrt(nodes), nodes // _WORKERS + 1))


def zone_by_zone(nodes: Sequence[Node], order: Iterable[int]) -> list[int]:
    """The nodes taken from their zones round-robin; zones in the order of their first node."""
    zones: dict[tuple[str, str], list[int]] = {}
    for node in order:
        labels = nodes[node].metadata.labels
        key = _first(labels, _REGIONS), _first(labels, _ZONES)
        zones.setdefault(key, []).append(node)
    rounds = max(map(len, zones.values()), default=0)
    return [zone[turn] for turn in range(rounds) for zone in zones.values() if turn < len(zone)]


def _first(labels: dict[str, str], keys: Sequence[str]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


@cache
def on_top(size: int) -> Codes:
    """For every place in a list of so many, when it is on top of a heap made of equals.

    Since Kubernetes 1.35 the nodes found are made a heap by their scores.  The root stays unless a child
    is better, and the left child goes before the right one: of equals, the first on the way down wins.
    """
    turns = np.zeros(size, np.intp)
    open_places = [0] if size else []
    turn = 0
    while open_places:
        place = open_places.pop()
        turns[place] = turn
        turn += 1
        open_places.extend(child for child in (2 * place + 2, 2 * place + 1) if child < size)
    turns.setflags(write=False)
    return turns


@dataclass(frozen=True, slots=True)
class Competitors:
    """The nodes that compete for a pod; in the order found, where the program looked at a part of all."""

    feasible: Feasible
    order: Codes | None = None


class Draws:
    """One run of the program, drawn from a seed."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._draw = random.Random(seed)
        self._size = problem.nodes.size
        self._sampling = Sampling(problem, self._draw)
        self._takes_first = problem.behaviour.first_found_wins

    def find(self, framework: Framework, plan: Plan, feasible: Feasible) -> Competitors:
        """Those of the feasible nodes that the program finds before it has enough."""
        asked = self._size if plan.named is None else int(np.count_nonzero(plan.named))
        wanted = enough(asked, framework.profile.percentage) if framework.profile.scores else 1
        if wanted >= asked or not feasible.count:
            return Competitors(feasible)
        order = self._sampling.found(feasible.mask, plan.named, wanted)
        return Competitors(Feasible(framework.problem.nodes.mask_of(order)), order)

    def pick(self, framework: Framework, plan: Plan, found: Competitors) -> int:
        """One of the nodes with the highest total.

        Among all nodes each has the same chance: which one comes first depends on a history that no snapshot
        has.  Among a part the order found decides since Kubernetes 1.35.
        """
        if found.feasible.count == 1:
            return int(found.feasible.mask.argmax())
        totals = framework.totals(plan, found.feasible)
        order = np.flatnonzero(found.feasible.mask) if found.order is None else found.order
        best = totals[order] == totals[order].max()
        if found.order is None or not self._takes_first:
            among: list[int] = order[best].tolist()
            return self._draw.choice(among)
        turns = on_top(len(order))
        return int(order[best][turns[best].argmin()])


def sampled(problem: Problem) -> int | None:
    """After how many feasible nodes the program stops looking for more; None where it looks at all."""
    config, size = problem.cluster.scheduler_config, problem.nodes.size
    fewest = min(enough(size, percentage_of(profile, config)) for profile in profiles_of(config).values())
    return fewest if fewest < size else None
