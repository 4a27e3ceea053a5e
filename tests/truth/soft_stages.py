"""The softer stages of `solve`, as the documentation words them, for any state of a tiny cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from tests.truth import manifests
from tests.truth.digits import Kind, Reading, State
from tests.truth.manifests import PREFERRED, Object
from tests.truth.tiny_cluster import TinyCluster

_SHARED = ("cpu", "memory")


class SoftStages:
    """What each stage counts. To be made before the first state is built, as it adds digits."""

    def __init__(self, tiny: TinyCluster) -> None:
        self._tiny = tiny
        self._batch = [number for number, kind in enumerate(tiny.kinds) if kind.waiting]
        self._rules = tiny.soft_rules(self._batch)
        self._room = [
            {name: manifests.amount(str(text)) for name, text in node["status"]["allocatable"].items()}
            for node in tiny.nodes
        ]
        self._asked = [manifests.asks(kind.pod) for kind in tiny.kinds]
        self._affinities = [self._affinity(number) for number in self._batch]
        self.stages: dict[str, Callable[[State], int]] = {
            "softSpreadExcess": lambda state: sum(excess(state) for excess, _ in self._rules),
            "softSpreadSkew": lambda state: sum(skew(state) for _, skew in self._rules),
            "preferredAffinity": self.preferred,
            "fullestNodePercent": self.fullest,
            "nodesUsed": self.used,
        }

    def fullest(self, state: State) -> int:
        """How full the fullest node is, of cpu or memory, in whole percent."""
        most = Fraction(0)
        for node, room in enumerate(self._room):
            for name in _SHARED:
                used = sum(
                    self._tiny.count(state, kind, node) * asked.get(name, 0)
                    for kind, asked in enumerate(self._asked)
                )
                if used and room.get(name, 0):
                    most = max(most, Fraction(100 * used, room[name]))
        return -int(-most // 1)

    def used(self, state: State) -> int:
        """Nodes with any pod but those of DaemonSets and static ones."""
        heavy = [n for n, kind in enumerate(self._tiny.kinds) if not _is_tied(kind)]
        return sum(
            any(self._tiny.count(state, n, node) for n in heavy) for node in range(len(self._tiny.names))
        )

    def preferred(self, state: State) -> int:
        """The weights of the terms that pods of the batch have met, where their profile has the plugin."""
        total = 0
        for number, terms in zip(self._batch, self._affinities, strict=True):
            for node in range(len(self._tiny.names)):
                came = self._tiny.count(state, number, node) - len(
                    self._tiny.kinds[number].running.get(node, ())
                )
                if came:
                    total += came * sum(weight * met(state, node) for weight, met in terms)
        return total

    def _affinity(self, number: int) -> list[tuple[int, Callable[[State, int], int]]]:
        kind = self._tiny.kinds[number]
        profile = self._tiny.profile(kind)
        found: list[tuple[int, Callable[[State, int], int]]] = []
        if profile.has("NodeAffinity"):
            found += self._node_terms(kind)
        if profile.has("InterPodAffinity"):
            found += self._pod_terms(number, "podAffinity", 1)
            found += self._pod_terms(number, "podAntiAffinity", -1)
        return found

    def _node_terms(self, kind: Kind) -> Iterator[tuple[int, Callable[[State, int], int]]]:
        for term in manifests.affinity(kind.pod, "nodeAffinity").get(PREFERRED) or ():
            rule = {"nodeSelectorTerms": [term["preference"]]}
            pod: Object = {"spec": {"affinity": {"nodeAffinity": {manifests.REQUIRED: rule}}}}
            nodes = [manifests.chosen(pod, node) for node in self._tiny.nodes]
            yield term["weight"], _listed(nodes)

    def _pod_terms(
        self, number: int, affinity: str, sign: int
    ) -> Iterator[tuple[int, Callable[[State, int], int]]]:
        kind = self._tiny.kinds[number]
        for term in manifests.affinity(kind.pod, affinity).get(PREFERRED) or ():
            yield (
                sign * term["weight"],
                self._met(number, self._tiny.peers_of(number, term["podAffinityTerm"])),
            )

    def _met(self, number: int, affinity_peers: tuple[Reading, bool]) -> Callable[[State, int], int]:
        """Whether another pod that a term means is in the node's domain."""
        reading, itself = affinity_peers

        def met(state: State, node: int) -> int:
            without = state - self._tiny.delta[number][node] if itself else state
            return reading(without) >> node & 1

        return met


def _is_tied(kind: Kind) -> bool:
    owner = manifests.controller(kind.pod)
    return owner is not None and owner["kind"] in ("DaemonSet", "Node")


def _listed(nodes: list[bool]) -> Callable[[State, int], int]:
    """1 on these nodes, whatever is there."""
    return lambda _, node: int(nodes[node])
