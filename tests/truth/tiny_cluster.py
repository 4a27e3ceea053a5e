"""A tiny cluster as the scheduler and `check` see it: where pods may go, and what is too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from tests.truth import manifests
from tests.truth.affinity import Affinity
from tests.truth.digits import Digits, Nodes, Reading, State
from tests.truth.manifests import Object
from tests.truth.search_profiles import Profile
from tests.truth.spread import Spread


class TinyCluster(Digits):
    """The compiled cluster."""

    def __init__(self, objects: Iterable[Object]) -> None:
        super().__init__(objects)
        self._spread, self._affinity = Spread(self), Affinity(self)
        #: For every kind what nodes, room and ports say, and what required (anti-)affinity says.
        self.alone: list[list[Reading]] = []
        self.apart: list[list[Reading]] = []
        self.fits = [self._checks(kind) for kind in range(len(self.kinds))]
        self.rows = list(self._spread.rows())
        self.affinity_peers = list(self._affinity.affinity_peers())

    def feasible(self, state: State, kind: int) -> Nodes:
        """The nodes that all filters leave a pod of the kind."""
        nodes = self.every
        for check in self.fits[kind]:
            nodes &= check(state)
            if not nodes:
                return 0
        return nodes

    def excess(self, state: State) -> tuple[int, ...]:
        """What each hard constraint has too much."""
        return tuple(row.excess(state) for row in self.rows if row.hard)

    def _checks(self, number: int) -> list[Reading]:
        kind = self.kinds[number]
        profile = self.profile(kind)
        static = sum(
            self._may_be_on(profile, kind.pod, node) << place for place, node in enumerate(self.nodes)
        )
        first = Reading(0, 0, lambda _: static)
        alone = [first, *self._rooms(number, first)]
        spread = [*self._spread.checks(number)] if profile.runs("PodTopologySpread") else []
        near = [*self._affinity.checks(number)] if profile.runs("InterPodAffinity") else []
        self.alone.append(alone)
        self.apart.append(near)
        return [*alone, *spread, *near]

    @cached_property
    def alone_in_the_end(self) -> list[list[Reading]]:
        """What nodes, room and ports say in a final state, also of a profile that does not ask."""
        return [
            [first, *self._rooms(number, first, always=True)] for number, (first, *_) in enumerate(self.alone)
        ]

    def spread_in_the_end(self, number: int) -> list[Reading]:
        """The nodes whose domains do not hold too many for a kind once all is placed."""
        runs = self.profile(self.kinds[number]).runs("PodTopologySpread")
        return [*self._spread.checks(number, in_the_end=True)] if runs else []

    @staticmethod
    def _may_be_on(profile: Profile, pod: Object, node: Object) -> bool:
        """What a node and a pod say about each other, whatever else is there."""
        return (
            not (profile.runs("NodeUnschedulable") and manifests.is_closed(pod, node))
            and not (profile.runs("TaintToleration") and not manifests.taints_tolerated(pod, node))
            and not (
                profile.runs("NodeAffinity")
                and not (manifests.chosen(pod, node) and manifests.matches(profile.added, node))
            )
        )

    def excluded_in_the_end(self, number: int) -> list[Reading]:
        """The nodes without pods that a kind's anti-affinity excludes, where its profile asks for that."""
        kind = self.kinds[number]
        if not manifests.is_live(kind.pod) or not self.profile(kind).runs("InterPodAffinity"):
            return []
        return [*self._affinity.excluded(number)]

    def _rooms(self, number: int, static: Reading, *, always: bool = False) -> Iterator[Reading]:
        """What every node says that a kind may be on."""
        kind = self.kinds[number]
        profile, open_ = self.profile(kind), static(0)
        fit, ports = always or profile.runs("NodeResourcesFit"), always or profile.runs("NodePorts")
        wanted = {n: a for n, a in self._asked[number].items() if fit and not profile.ignores(n)}
        clashing = [ports and manifests.ports_clash(kind.pod, other.pod) for other in self.kinds]
        for node in range(len(self.nodes)):
            if open_ >> node & 1:
                yield self._room(node, wanted, clashing, fit=fit)

    @cached_property
    def _asked(self) -> list[dict[str, int]]:
        """What a pod of each kind requests."""
        return [manifests.asks(kind.pod) for kind in self.kinds]

    @cached_property
    def _allocatable(self) -> list[dict[str, int]]:
        """What each node has."""
        return [
            {name: manifests.amount(str(text)) for name, text in node["status"]["allocatable"].items()}
            for node in self.nodes
        ]

    def _room(self, node: int, wanted: dict[str, int], clashing: Sequence[bool], *, fit: bool) -> Reading:
        """All nodes, less this one when the pod has no room or no port there."""
        room, asked = self._allocatable[node], self._asked

        def judge(counts: list[int]) -> int:
            full = fit and 1000 * (sum(counts) + 1) > room.get("pods", 0)
            clash = any(count and other for count, other in zip(counts, clashing, strict=True))
            short = any(
                amount
                and amount + sum(n * a.get(name, 0) for n, a in zip(counts, asked, strict=True))
                > room.get(name, 0)
                for name, amount in wanted.items()
            )
            return self.every & ~(1 << node) if full or clash or short else self.every

        return self.reading(node * len(self.kinds), len(self.kinds), judge)

    def lacking(self, state: State) -> frozenset[tuple[int, int]]:
        """The kinds and nodes where a pod is without the peers it needs."""
        return frozenset(
            (kind, node)
            for kind, reading in self.affinity_peers
            for node in range(len(self.nodes))
            if self.count(state, kind, node) and not reading(state) >> node & 1
        )

    def soft_rules(self, batch: Sequence[int]) -> list[tuple[Reading, Reading]]:
        """The excess over all domains and the skew of every soft constraint of some kinds, each once."""
        return self._spread.soft_rules(batch)

    def peers_of(self, number: int, term: Object) -> tuple[Reading, bool]:
        """The nodes in whose domain there is a pod that a term means, and whether it means the pod itself."""
        return self._affinity.peers_of(number, term)
