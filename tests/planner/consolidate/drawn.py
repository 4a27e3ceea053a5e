"""Tiny clusters drawn from a seed, and the truth about them: every placement tried by rules written out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

from models import Cluster
from tests.builders import HOST, ZONE, Object, node, pod, spread, term


@dataclass(frozen=True, slots=True)
class Replica:
    """A pod: its workload, its cpu and its node; one of a DaemonSet or without controller stays."""

    app: str
    cpu: int
    on: int
    stays: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """Nodes with their zones, cpu and prices; workloads with a spread over zones, or one pod a node."""

    zones: Sequence[str]
    cpu: Sequence[int]
    prices: Sequence[int]
    pods: Sequence[Replica]
    spread: frozenset[str]
    apart: frozenset[str]

    def cluster(self, **more: object) -> Cluster:
        """The cluster; `more` are words for every spread constraint."""
        return Cluster.from_objects([*self._nodes(), *self._pods(**more)])

    def _nodes(self) -> Iterator[Object]:
        for number, (zone, cpu) in enumerate(zip(self.zones, self.cpu, strict=True)):
            yield node(f"n{number}", zone, cpu=str(cpu), labels={"type": f"t{self.prices[number]}"})

    def _pods(self, **more: object) -> Iterator[Object]:
        for number, one in enumerate(self.pods):
            words: Object = {} if one.stays else {"owner": f"ReplicaSet/{one.app}"}
            if one.app in self.spread:
                words["spread"] = [spread(ZONE, 1, one.app, **more)]
            if one.app in self.apart:
                words["apart"] = [term(HOST, one.app)]
            yield pod(f"{one.app}-{number}", f"n{one.on}", app=one.app, cpu=str(one.cpu), **words)

    def holds(self, nodes: Sequence[int]) -> bool:
        """Whether the rules hold with every pod on its node."""
        used: Counter[int] = Counter()
        for one, place in zip(self.pods, nodes, strict=True):
            used[place] += one.cpu
        if any(amount > self.cpu[place] for place, amount in used.items()):
            return False
        return all(self._is_spread(app, nodes) for app in self.spread) and all(
            most == 1 for app in self.apart for most in self._of(app, nodes).values()
        )

    def _of(self, app: str, nodes: Sequence[int]) -> Counter[int]:
        return Counter(place for one, place in zip(self.pods, nodes, strict=True) if one.app == app)

    def _is_spread(self, app: str, nodes: Sequence[int]) -> bool:
        found = dict.fromkeys(self.zones, 0)
        for place, number in self._of(app, nodes).items():
            found[self.zones[place]] += number
        return max(found.values()) - min(found.values()) <= 1

    def least(self, reserve: int = 0) -> tuple[int, int]:
        """The least cost of nodes that hold all pods, and the fewest moves at that cost.

        `reserve` thousandths of the cpu of the nodes that are kept stay free.
        """
        found = []
        before, needed = [one.on for one in self.pods], 1000 * sum(one.cpu for one in self.pods)
        every = range(len(self.zones))
        for nodes in product(*([one.on] if one.stays else every for one in self.pods)):
            if self.holds(nodes):
                moves = sum(a != b for a, b in zip(before, nodes, strict=True))
                empty = [node for node in every if node not in nodes]
                for more in chain.from_iterable(combinations(empty, n) for n in range(len(empty) + 1)):
                    kept = {*nodes, *more}
                    if needed <= (1000 - reserve) * sum(self.cpu[node] for node in kept):
                        found.append((sum(self.prices[node] for node in kept), moves))
                    if not reserve:
                        break
        return min(found)


def drawn(seed: int) -> Drawn | None:
    """A cluster whose rules hold to begin with; None where those that are drawn do not."""
    chance = random.Random(seed)
    nodes = chance.randint(2, 5)
    zones = ["a", "b", *(chance.choice("abc") for _ in range(nodes - 2))]
    cpu = [chance.choice([4, 8]) for _ in range(nodes)]
    apps = "uvw"[: chance.randint(1, 3)]
    sizes = {app: chance.randint(1, 3) for app in apps}
    pods = []
    for _ in range(chance.randint(2, 6)):
        app = chance.choice(apps)
        pods.append(Replica(app, sizes[app], chance.randrange(nodes), chance.random() < 0.1))
    found = Drawn(
        zones,
        cpu,
        [chance.choice([1, amount // 2]) for amount in cpu],
        pods,
        frozenset(app for app in apps if chance.random() < 0.4),
        frozenset(app for app in apps if chance.random() < 0.3),
    )
    return found if found.holds([one.on for one in pods]) else None


def cases(first: int, number: int) -> Iterator[Drawn]:
    """So many clusters, from the first seed on."""
    seed = first
    while number:
        found = drawn(seed)
        seed += 1
        if found is not None:
            number -= 1
            yield found


def crowded(seed: int) -> Drawn:
    """Eight nodes with some twenty pods whose rules hold to begin with."""
    chance = random.Random(seed)
    cpu = [chance.choice([4, 8]) for _ in range(8)]
    found = Drawn("aabbccab", cpu, [1] * 8, (), frozenset("u"), frozenset("v"))
    for app in "uvwxuvwxuvwxuvwxuvwxuvwx":
        more = (*found.pods, Replica(app, 1 + "uvwx".index(app) % 3, chance.randrange(8), stays=False))
        grown = replace(found, pods=more)
        if grown.holds([one.on for one in more]):
            found = grown
    return found
