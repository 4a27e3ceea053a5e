"""Inter-pod affinity in a tiny cluster: what filters refuse, and which pods need peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.truth import manifests
from tests.truth.digits import Counted, Digits, Kind, Reading
from tests.truth.manifests import REQUIRED, Object


class Affinity:
    """The affinity terms of all kinds."""

    def __init__(self, tiny: Digits) -> None:
        self._tiny = tiny

    def _means(self, owner: Kind, term: Object, other: Kind) -> bool:
        """Whether an affinity term of one kind means another."""
        named, chosen = term.get("namespaces") or [], term.get("namespaceSelector")
        place = other.namespace
        if chosen is None:
            inside = place in named if named else place == owner.namespace
        else:
            labels = self._tiny.namespaces.get(place, {"kubernetes.io/metadata.name": place})
            inside = place in named or manifests.selects(chosen, labels)
        selector = self._narrowed_term(owner, term)
        return inside and manifests.selects(selector, other.labels)

    @staticmethod
    def _narrowed_term(owner: Kind, term: Object) -> Object | None:
        """The selector of a term with matchLabelKeys and mismatchLabelKeys."""
        selector: Object | None = term.get("labelSelector")
        if selector is None:
            return None
        more = [
            {"key": key, "operator": operator, "values": [owner.labels[key]]}
            for field_name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(field_name) or ()
            if key in owner.labels
        ]
        return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or []), *more]}

    def excluded(self, number: int) -> Iterator[Reading]:
        """The nodes in whose domain no pod is that the kind's own anti-affinity excludes."""
        kind = self._tiny.kinds[number]
        for term in manifests.affinity(kind.pod, "podAntiAffinity").get(REQUIRED) or ():
            meant = {n for n, other in enumerate(self._tiny.kinds) if self._means(kind, term, other)}
            yield self._shunned(meant.__contains__, term["topologyKey"])

    def checks(self, number: int) -> Iterator[Reading]:
        kind = self._tiny.kinds[number]
        yield from self.excluded(number)
        for place, other in enumerate(self._tiny.kinds):
            for term in manifests.affinity(other.pod, "podAntiAffinity").get(REQUIRED) or ():
                if self._means(other, term, kind):
                    yield self._shunned({place}.__contains__, term["topologyKey"])
        terms = manifests.affinity(kind.pod, "podAffinity").get(REQUIRED) or ()
        if terms:
            yield from self._near(kind, terms)

    def _shunned(self, counted: Counted, key: str) -> Reading:
        values = self._tiny.values(key)
        first, names = self._tiny.sums(counted, values)

        def judge(counts: list[int]) -> int:
            taken = {name for name, count in zip(names, counts, strict=True) if count}
            return sum(1 << node for node, value in enumerate(values) if value not in taken)

        return self._tiny.reading(first, len(names), judge)

    def _near(self, kind: Kind, terms: Sequence[Object]) -> Iterator[Reading]:
        """Each term's domain holds a pod that all terms mean, or there is none of them and it starts."""
        keys = [term["topologyKey"] for term in terms]
        starts = all(self._means(kind, term, kind) for term in terms)
        labelled = sum(
            1 << node
            for node in range(len(self._tiny.nodes))
            if all(self._tiny.values(key)[node] is not None for key in keys)
        )

        runs = [self._tiny.sums(self._meant(kind, terms), self._tiny.values(key)) for key in keys]
        all_values = [self._tiny.values(key) for key in keys]

        def judge(parts: Sequence[list[int]]) -> int:
            found, none = labelled, True
            for (_, names), counts, values in zip(runs, parts, all_values, strict=True):
                there = {name for name, count in zip(names, counts, strict=True) if count}
                none = none and not there
                found &= sum(1 << node for node, value in enumerate(values) if value in there)
            return labelled if none and starts else found

        yield self._tiny.several(runs, judge)

    def _meant(self, kind: Kind, terms: Sequence[Object]) -> Counted:
        """Whether all terms of one kind mean another, by its number."""
        return lambda number: all(self._means(kind, term, self._tiny.kinds[number]) for term in terms)

    def affinity_peers(self) -> Iterator[tuple[int, Reading]]:
        """For every kind that needs affinity peers, the nodes where it has it, itself included."""
        for number, kind in enumerate(self._tiny.kinds):
            terms = manifests.affinity(kind.pod, "podAffinity").get(REQUIRED) or ()
            if terms:
                for reading in self._accompanied(kind, terms):
                    yield number, reading

    def _accompanied(self, kind: Kind, terms: Sequence[Object]) -> Iterator[Reading]:
        for term in terms:
            yield self._shared_domain(self._meant(kind, terms), term["topologyKey"])

    def _shared_domain(self, counted: Counted, key: str) -> Reading:
        """The nodes in whose domain one of the counted pods is."""
        values = self._tiny.values(key)
        first, names = self._tiny.sums(counted, values)

        def judge(counts: list[int]) -> int:
            there = {name for name, count in zip(names, counts, strict=True) if count}
            return sum(1 << node for node, value in enumerate(values) if value in there)

        return self._tiny.reading(first, len(names), judge)

    def peers_of(self, number: int, term: Object) -> tuple[Reading, bool]:
        """The nodes in whose domain there is a pod that a term means, and whether it means the pod itself."""
        kind = self._tiny.kinds[number]
        meant = {n for n, other in enumerate(self._tiny.kinds) if self._means(kind, term, other)}
        return self._shared_domain(meant.__contains__, term["topologyKey"]), number in meant
