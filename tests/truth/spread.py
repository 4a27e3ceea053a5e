"""Topology spread in a tiny cluster: what filters refuse, the rows of `check`, and what soft rules ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.truth import manifests
from tests.truth.digits import Counted, Digits, Domains, Kind, Reading
from tests.truth.manifests import HARD, Object


@dataclass(frozen=True)
class Row:
    """A hard or soft spread constraint of one workload, and how much it has too much."""

    name: str
    namespace: str
    #: Kind, in small letters, and name.
    owner: tuple[str, str]
    hard: bool
    #: Whether some pod that was not told to stop carries it.
    live: bool
    excess: Reading
    skew: Reading


class Spread:
    """The constraints of all kinds."""

    def __init__(self, tiny: Digits) -> None:
        self._tiny = tiny

    def _constraints(self, kind: Kind, hard: bool) -> list[Object]:
        return [item for item in self._tiny.constraints(kind) if (item["whenUnsatisfiable"] == HARD) == hard]

    def _eligible(self, kind: Kind, constraint: Object, keys: Sequence[str]) -> list[int]:
        """The nodes that count for a constraint."""
        taints = constraint.get("nodeTaintsPolicy", "Ignore") == "Honor"
        choice = constraint.get("nodeAffinityPolicy", "Honor") == "Honor"
        return [
            place
            for place, node in enumerate(self._tiny.nodes)
            if all(key in (node["metadata"].get("labels") or {}) for key in keys)
            and not (choice and not manifests.chosen(kind.pod, node))
            and not (taints and not manifests.taints_tolerated(kind.pod, node))
        ]

    def _counted(self, kind: Kind, selector: Object | None) -> Counted:
        """The live pods of the kind's namespace that a selector picks; an empty one counts none."""
        nothing = manifests.requirements(selector) in (None, "[]")

        def counted(number: int) -> bool:
            other = self._tiny.kinds[number]
            live = manifests.is_live(other.pod) and other.namespace == kind.namespace
            return live and not nothing and manifests.selects(selector, other.labels)

        return counted

    def checks(self, number: int, *, in_the_end: bool = False) -> Iterator[Reading]:
        """The nodes that constraints leave one more pod of a kind, or those that are as they should be."""
        kind = self._tiny.kinds[number]
        hard = self._constraints(kind, True)
        keys = [item["topologyKey"] for item in hard]
        for constraint in hard:
            selector = manifests.narrowed(constraint, kind.labels)
            values = self._tiny.values(constraint["topologyKey"])
            counting = self._tiny.values(constraint["topologyKey"], self._eligible(kind, constraint, keys))
            first, names = self._tiny.sums(self._counted(kind, selector), counting)
            itself = int(manifests.selects(selector, kind.labels))
            most = constraint["maxSkew"] - (0 if in_the_end else itself)
            few = len(names) < (constraint.get("minDomains") or 1)

            def judge(
                counts: list[int],
                names: list[str] = names,
                values: Domains = values,
                most: int = most,
                few: bool = few,
            ) -> int:
                least = 0 if few else min(counts)
                here = dict(zip(names, counts, strict=True))
                return sum(
                    1 << node
                    for node, value in enumerate(values)
                    if value is not None and here.get(value, 0) - least <= most
                )

            yield self._tiny.reading(first, len(names), judge)

    def rows(self) -> Iterator[Row]:
        found: dict[str, tuple[Kind, Object, list[str], list[int]]] = {}
        for number, kind in enumerate(self._tiny.kinds):
            for hard in (True, False):
                constraints = self._constraints(kind, hard)
                keys = [item["topologyKey"] for item in constraints]
                for item in constraints:
                    identity = self._identity(kind, item, keys, self._tiny.workload(kind.pod))
                    found.setdefault(identity, (kind, item, keys, []))[3].append(number)
        for identity, (kind, item, keys, carriers) in found.items():
            yield self._row(identity, kind, item, keys, carriers)

    def _identity(self, kind: Kind, item: Object, keys: Sequence[str], owner: str) -> str:
        """Equal for the same constraint of the same workload over the same pods and nodes."""
        choice, taints = item.get("nodeAffinityPolicy", "Honor"), item.get("nodeTaintsPolicy", "Ignore")
        missing = [key for key in sorted(set(keys)) if None in self._tiny.values(key)]
        return manifests.spelled(
            [
                [kind.namespace, owner],
                [item["topologyKey"], item["whenUnsatisfiable"], item["maxSkew"], item.get("minDomains")],
                manifests.requirements(manifests.narrowed(item, kind.labels)),
                [choice, taints, sorted(set(keys)) if missing else []],
                self._eligible(kind, item, keys),
            ]
        )

    def _row(
        self, identity: str, kind: Kind, item: Object, keys: Sequence[str], carriers: Sequence[int]
    ) -> Row:
        selector = manifests.narrowed(item, kind.labels)
        counting = self._tiny.values(item["topologyKey"], self._eligible(kind, item, keys))
        one = self._tiny.sums(self._counted(kind, selector), counting)
        live = {number for number in carriers if manifests.is_live(self._tiny.kinds[number].pod)}
        other = self._tiny.sums(lambda number: number in live, self._tiny.values(item["topologyKey"]))
        few = len(one[1]) < (item.get("minDomains") or 1)
        most = item["maxSkew"]

        def least(counts: list[int]) -> int:
            return 0 if few or not counts else min(counts)

        def excess(parts: Sequence[list[int]]) -> int:
            counts, held = parts
            here = dict(zip(one[1], counts, strict=True))
            return sum(
                max(0, here.get(name, 0) - least(counts) - most)
                for name, pods in zip(other[1], held, strict=True)
                if pods
            )

        def skew(counts: list[int]) -> int:
            return max(counts, default=least(counts)) - least(counts)

        owned, _, name = self._tiny.workload(kind.pod).partition("/")
        return Row(
            identity,
            kind.namespace,
            (owned.lower(), name),
            item["whenUnsatisfiable"] == HARD,
            bool(live),
            self._tiny.several((one, other), excess),
            self._tiny.reading(one[0], len(one[1]), skew),
        )

    def soft_rules(self, batch: Sequence[int]) -> list[tuple[Reading, Reading]]:
        """The excess over all domains and the skew of every soft constraint of some kinds, each once."""
        found: dict[str, tuple[Reading, Reading]] = {}
        for number in batch:
            kind = self._tiny.kinds[number]
            if not self._tiny.profile(kind).has("PodTopologySpread"):
                continue
            constraints = self._constraints(kind, False)
            keys = [item["topologyKey"] for item in constraints]
            for item in constraints:
                found.setdefault(self._identity(kind, item, keys, ""), self._soft(kind, item, keys))
        return list(found.values())

    def _soft(self, kind: Kind, item: Object, keys: Sequence[str]) -> tuple[Reading, Reading]:
        selector = manifests.narrowed(item, kind.labels)
        counting = self._tiny.values(item["topologyKey"], self._eligible(kind, item, keys))
        first, names = self._tiny.sums(self._counted(kind, selector), counting)
        most = item["maxSkew"]
        return (
            self._tiny.reading(
                first, len(names), lambda c: sum(max(0, n - min(c) - most) for n in c) if c else 0
            ),
            self._tiny.reading(first, len(names), lambda c: max(c) - min(c) if c else 0),
        )
