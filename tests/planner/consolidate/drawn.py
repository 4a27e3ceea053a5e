"""Tiny clusters drawn from a seed, and the truth about them: every placement tried by rules written out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, combinations, product

from models import Cluster
from tests.builders import HOST, ZONE, Object, node, pod, spread, term

#: How a pod of one workload ends, beside the zone that it moved to.
_STAYED, _EVICTED = "stayed", "evicted"


@cache
def ends_of(pods: tuple[tuple[str, bool], ...], zones: str) -> frozenset[tuple[str, ...]]:
    """How a workload may end that spreads over zones: for every pod, that it stayed, or the zone it came to.

    Each pod has a zone, and may move or not.  Any number may be evicted, at any time; a pod is bound where
    the zone then has at most one more than the emptiest.
    """
    first = (_STAYED,) * len(pods)
    seen, waiting = {first}, [first]
    while waiting:
        ends = waiting.pop()
        placed = Counter(zone if end == _STAYED else end for end, (zone, _) in zip(ends, pods, strict=True))
        least = min(placed[zone] for zone in zones)
        for number, end in enumerate(ends):
            if end == _EVICTED:
                after = [zone for zone in zones if placed[zone] + 1 - least <= 1]
            else:
                after = [] if pods[number][1] else [_EVICTED]
            for changed in after:
                further = (*ends[:number], changed, *ends[number + 1 :])
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
    return frozenset(ends for ends in seen if _EVICTED not in ends)


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
        return self._has_room(nodes) and not any(self.excess(app, nodes) for app in self.spread)

    def could_end(self, nodes: Sequence[int]) -> bool:
        """Whether evictions and binds that kube-scheduler allows could lead to every pod on its node.

        What there is too much of in a zone to begin with may stay, but no more comes there.
        """
        return self._has_room(nodes) and all(self._could_spread(app, nodes) for app in self.spread)

    def _has_room(self, nodes: Sequence[int]) -> bool:
        used: Counter[int] = Counter()
        for one, place in zip(self.pods, nodes, strict=True):
            used[place] += one.cpu
        return all(amount <= self.cpu[place] for place, amount in used.items()) and all(
            most == 1 for app in self.apart for most in self._of(app, nodes).values()
        )

    def _could_spread(self, app: str, nodes: Sequence[int]) -> bool:
        allowed = self.excess(app, [one.on for one in self.pods])
        if not allowed:
            return not self.excess(app, nodes)
        own = [(one, place) for one, place in zip(self.pods, nodes, strict=True) if one.app == app]
        ends = tuple(_STAYED if place == one.on else self.zones[place] for one, place in own)
        before = tuple((self.zones[one.on], one.stays) for one, _ in own)
        return self.excess(app, nodes) <= allowed and ends in ends_of(before, "".join(sorted({*self.zones})))

    def _of(self, app: str, nodes: Sequence[int]) -> Counter[int]:
        return Counter(place for one, place in zip(self.pods, nodes, strict=True) if one.app == app)

    def excess(self, app: str, nodes: Sequence[int]) -> int:
        """The pods of a workload that are too many for its constraint over zones."""
        found = dict.fromkeys(self.zones, 0)
        for place, number in self._of(app, nodes).items():
            found[self.zones[place]] += number
        return sum(max(0, number - min(found.values()) - 1) for number in found.values())

    @property
    def is_lopsided(self) -> bool:
        """Whether there are too many pods in a zone to begin with."""
        return any(self.excess(app, [one.on for one in self.pods]) for app in self.spread)

    def least(self, reserve: int = 0, most_moves: int | None = None) -> tuple[int, int]:
        """The least cost of nodes that hold all pods after so many moves, and the fewest moves at that cost.

        `reserve` thousandths of the cpu of the nodes that are kept stay free.
        """
        found = []
        before, needed = [one.on for one in self.pods], 1000 * sum(one.cpu for one in self.pods)
        every = range(len(self.zones))
        for nodes in product(*([one.on] if one.stays else every for one in self.pods)):
            moves = sum(a != b for a, b in zip(before, nodes, strict=True))
            if (most_moves is None or moves <= most_moves) and self.could_end(nodes):
                empty = [node for node in every if node not in nodes]
                for more in chain.from_iterable(combinations(empty, n) for n in range(len(empty) + 1)):
                    kept = {*nodes, *more}
                    if needed <= (1000 - reserve) * sum(self.cpu[node] for node in kept):
                        found.append((sum(self.prices[node] for node in kept), moves))
                    if not reserve:
                        break
        return min(found)


def drawn(seed: int) -> Drawn | None:
    """A cluster whose rules hold to begin with, spread maybe not; None where those that are drawn do not."""
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
    return found if found.could_end([one.on for one in pods]) else None


def cases(first: int, number: int, *, lopsided: bool = False) -> Iterator[Drawn]:
    """So many clusters, from the first seed on; `lopsided` ones may have too many pods in a zone."""
    seed = first
    while number:
        found = drawn(seed)
        seed += 1
        if found is not None and (lopsided or not found.is_lopsided):
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
