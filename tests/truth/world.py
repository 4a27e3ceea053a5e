"""A tiny cluster as the scheduler and `check` see it: where pods may go, and what is too much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.truth import manifests
from tests.truth.affinity import Affinity
from tests.truth.digits import Digits, Nodes, Reading, State
from tests.truth.manifests import Object
from tests.truth.spread import Spread


class World(Digits):
    """The compiled cluster."""

    def __init__(self, objects: Iterable[Object]) -> None:
        super().__init__(objects)
        self._spread, self._affinity = Spread(self), Affinity(self)
        self.fits = [self._checks(kind) for kind in range(len(self.kinds))]
        self.rows = list(self._spread.rows())
        self.company = list(self._affinity.company())

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
        static = sum(self._may_be_on(kind.pod, node) << place for place, node in enumerate(self.nodes))
        checks = [Reading(0, 0, lambda _: static)]
        checks += [self._room(number, node) for node in range(len(self.nodes)) if static >> node & 1]
        if self.schedulers.asks(kind.pod, "PodTopologySpread"):
            checks += self._spread.checks(number)
        if self.schedulers.asks(kind.pod, "InterPodAffinity"):
            checks += self._affinity.checks(number)
        return checks

    def _may_be_on(self, pod: Object, node: Object) -> bool:
        """What a node and a pod say about each other, whoever else is there."""
        says = {
            "NodeUnschedulable": manifests.is_open(pod, node),
            "TaintToleration": manifests.taints_tolerated(pod, node),
            "NodeAffinity": manifests.chosen(pod, node) and self.schedulers.adds(pod, node),
        }
        return all(fits or not self.schedulers.asks(pod, plugin) for plugin, fits in says.items())

    def _room(self, number: int, node: int) -> Reading:
        """All nodes, less this one when the pod has no room or no port there."""
        kind, here = self.kinds[number], self.nodes[node]
        room = {name: manifests.amount(str(text)) for name, text in here["status"]["allocatable"].items()}
        wanted = manifests.asks(kind.pod)
        asked = [manifests.asks(other.pod) for other in self.kinds]
        clashing = [manifests.ports_clash(kind.pod, other.pod) for other in self.kinds]
        wanted = {name: more for name, more in wanted.items() if not self.schedulers.ignores(kind.pod, name)}
        fit, ports = (self.schedulers.asks(kind.pod, name) for name in ("NodeResourcesFit", "NodePorts"))

        def judge(counts: list[int]) -> int:
            full = 1000 * (sum(counts) + 1) > room.get("pods", 0)
            clash = any(count and other for count, other in zip(counts, clashing, strict=True))
            short = any(
                amount
                and amount + sum(n * a.get(name, 0) for n, a in zip(counts, asked, strict=True))
                > room.get(name, 0)
                for name, amount in wanted.items()
            )
            refused = (fit and (full or short)) or (ports and clash)
            return self.every & ~(1 << node) if refused else self.every

        return self.reading(node * len(self.kinds), len(self.kinds), judge)

    def lacking(self, state: State) -> frozenset[tuple[int, int]]:
        """The kinds and nodes where somebody is without the company it needs."""
        return frozenset(
            (kind, node)
            for kind, reading in self.company
            for node in range(len(self.nodes))
            if self.count(state, kind, node) and not reading(state) >> node & 1
        )

    def soft_rules(self, batch: Sequence[int]) -> list[tuple[Reading, Reading]]:
        """The excess over all domains and the skew of every soft constraint of some kinds, each once."""
        return self._spread.wishes(batch)

    def company_of(self, number: int, term: Object) -> tuple[Reading, bool]:
        """The nodes in whose domain somebody is whom a term means, and whether it means the pod itself."""
        return self._affinity.company_of(number, term)
