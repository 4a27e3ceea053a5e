"""The best victims of a scale-down: every choice that controllers can be made to take is tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

from tests.truth import manifests
from tests.truth.digits import State
from tests.truth.manifests import Object, key_of
from tests.truth.spread import Row
from tests.truth.tiny_cluster import TinyCluster

LIMIT = 50_000
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_STEERED = ("ReplicaSet", "ReplicationController", "Deployment")


@dataclass(frozen=True)
class Removed:
    """The best victims, and what they leave."""

    victims: tuple[str, ...]
    worth: tuple[int, int, int, int]


@dataclass(frozen=True)
class _Group:
    """Pods of one controller: those that go in any case, and so many of others."""

    forced: tuple[str, ...]
    open: tuple[str, ...]
    going: int


class Removing:
    """The choice for some workloads together."""

    def __init__(self, tiny: TinyCluster, replicas: Mapping[str, int], taken: Sequence[str]) -> None:
        """`taken` are the victims that the controllers choose: what each has to give up is read off them."""
        self._tiny = tiny
        self._taken = set(taken)
        self._pods = {key_of(pod): pod for pod in tiny.pods}
        self._mine: set[int] = set()
        self._groups = [self._group(name, keep) for name, keep in replicas.items()]
        self._kind_of: dict[str, int] = {}
        self._node_of: dict[str, int] = {}
        for number, kind in enumerate(tiny.kinds):
            for node, names in kind.running.items():
                self._kind_of |= dict.fromkeys(names, number)
                self._node_of |= dict.fromkeys(names, node)
        self._rows = self._own_rows(replicas)

    def _group(self, name: str, keep: int) -> _Group:
        kind, _, rest = name.partition("/")
        own, _, space = rest.partition(".")
        pods = [
            pod
            for pod in self._tiny.pods
            if manifests.is_live(pod)
            and pod["metadata"]["namespace"] == space
            and (owner := manifests.controller(pod)) is not None
            and (owner["kind"].lower(), owner["name"]) == (kind, own)
        ]
        keys = [key_of(pod) for pod in pods]
        going = sum(key in self._taken for key in keys)
        steered = any(kind == name.lower() for name in _STEERED)
        if not going or not steered:
            return _Group((), tuple(keys), going)
        last = sorted(map(tier, pods))[going - 1]
        forced = tuple(key for key, pod in zip(keys, pods, strict=True) if tier(pod) < last)
        alike = tuple(key for key, pod in zip(keys, pods, strict=True) if tier(pod) == last)
        return _Group(forced, alike, going - len(forced))

    def _own_rows(self, replicas: Mapping[str, int]) -> list[Row]:
        """The constraints of the live pods of the workloads that are scaled."""
        asked = set()
        for name in replicas:
            kind, _, rest = name.partition("/")
            own, _, space = rest.partition(".")
            asked.add((space, kind, own))
        return [row for row in self._tiny.rows if row.live and (row.namespace, *row.owner) in asked]

    def worth(self, victims: Collection[str]) -> tuple[int, int, int, int]:
        """Hard excess, soft excess, skew, and how many of them the controllers take anyhow."""
        state = self._without(victims)
        hard = sum(row.excess(state) for row in self._rows if row.hard)
        soft = sum(row.excess(state) for row in self._rows if not row.hard)
        return hard, soft, sum(row.skew(state) for row in self._rows), len(self._taken & set(victims))

    def _without(self, victims: Collection[str]) -> State:
        tiny = self._tiny
        gone = (pod for pod in victims if pod in self._node_of)
        return tiny.start - sum(tiny.delta[self._kind_of[pod]][self._node_of[pod]] for pod in gone)

    def is_possible(self, victims: Collection[str]) -> bool:
        """Whether deletion costs can lead to these victims."""
        chosen = set(victims)
        for group in self._groups:
            if not set(group.forced) <= chosen or len(chosen & set(group.open)) != group.going:
                return False
        return len(chosen) == sum(len(group.forced) + group.going for group in self._groups)

    def run(self) -> Removed | None:
        """The best of all choices; None where there are too many."""
        if prod(comb(len(group.open), group.going) for group in self._groups) > LIMIT:
            return None
        best: Removed | None = None
        for victims in self._choices():
            hard, soft, skew, shared = self.worth(victims)
            worth = (hard, soft, skew, -shared)
            if best is None or worth < (*best.worth[:3], -best.worth[3]):
                best = Removed(victims, (hard, soft, skew, shared))
        return best

    def _choices(self) -> Iterator[tuple[str, ...]]:
        forced = tuple(name for group in self._groups for name in group.forced)
        for chosen in product(*(combinations(group.open, group.going) for group in self._groups)):
            yield (*forced, *(name for part in chosen for name in part))


def tier(pod: Object) -> tuple[bool, int, bool]:
    """What controllers look at before the deletion cost: a node, the phase, readiness."""
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return bool(pod["spec"].get("nodeName")), _PHASES[pod["status"]["phase"]], ready
