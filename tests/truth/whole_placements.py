"""Final states that hold, and orders of binds: the most pods of either, with every way gone through.

A final state holds when each pod that came, taken away, would be let in once more where it was, when the
claims that wait can all have volumes of their own, when no node attaches more than it can, or than before,
and when no anti-affinity of pods that ran before is broken that was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.truth import manifests
from tests.truth.claimed_volumes import Bindings, of
from tests.truth.manifest_filters import ManifestFilters, Places, Value

Steps = tuple[tuple[str, str], ...]
#: Filters that may accept what they refused when other pods have come.
_MAY_BE_MENDED = frozenset({"PodTopologySpread", "InterPodAffinity"})


@dataclass
class Most:
    """The most pods, the highest priority first, and how."""

    value: Value
    steps: Steps = ()
    complete: bool = True
    seen: int = 0


class WholePlacements(ManifestFilters):
    """A cluster, asked about whole placements."""

    def fault(self, came: Places) -> str:
        """Why a final state does not hold in which these pods came to these nodes; empty where it does."""
        places = {**self.start, **came}
        for key, node in came.items():
            if found := self.refusal(key, node, places, final=True):
                return f"{key}: {found}"
        return self._too_many_volumes(came) or next(self._newly_excluded(places), "")

    def _too_many_volumes(self, came: Places) -> str:
        """What only gets worse with each pod that comes: volumes that claims lack, and that nodes attach."""
        if not self.volumes.serve([(self.pods[key], node) for key, node in came.items()]):
            return "there are too few volumes"
        for (node, driver), most in self.volumes.limits.items():
            before, after = (
                {one for key, place in places.items() if place == node for one in self._attached(key, driver)}
                for places in (self.start, {**self.start, **came})
            )
            if len(after) > max(most, len(before)):
                return f"{node} attaches too many"
        return ""

    def _attached(self, key: str, driver: str) -> set[tuple[str, str]]:
        return of(driver, self.volumes.attached(self.pods[key]))

    def _newly_excluded(self, places: Places) -> Iterator[str]:
        for key, node in self.start.items():
            pod = self.pods[key]
            if manifests.is_live(pod) and self.profile(pod).runs("InterPodAffinity"):
                before, after = (
                    self.excluded(pod, node, {name: place for name, place in where.items() if name != key})
                    for where in (self.start, places)
                )
                if any(now and not then for then, now in zip(before, after, strict=True)):
                    yield f"{key} is beside what it excludes"

    def most_final(self, limit: int) -> Most:
        """The most pods of a state that stands; what more pods only make worse is not gone on with."""
        best = Most(self.value(()))
        self._place(sorted(self.waiting, key=lambda key: -self.priority(key)), {}, best, limit)
        return best

    def _place(self, order: Sequence[str], came: dict[str, str], best: Most, limit: int) -> None:
        best.seen += 1
        best.complete = best.complete and best.seen <= limit
        value = self.value((*came, *order))
        if value <= best.value or not best.complete:
            return
        if not order:
            if not self.fault(came):
                best.value, best.steps = value, tuple(came.items())
            return
        key, *rest = order
        for node in self.nodes:
            found = self.refusal(key, node, {**self.start, **came}, final=True)
            came[key] = node
            if (not found or found in _MAY_BE_MENDED) and not self._too_many_volumes(came):
                self._place(rest, came, best, limit)
            del came[key]
        self._place(rest, came, best, limit)

    def replay(self, steps: Sequence[tuple[str, str]]) -> str:
        """The first bind of an order that is refused at its turn, and by what."""
        places, bindings = dict(self.start), Bindings()
        for key, node in steps:
            if found := self.refusal(key, node, places, bindings):
                return f"{key} on {node}: {found}"
            bindings = self.volumes.bound(self.pods[key], node, bindings)
            places[key] = node
        return ""

    def most_in_turn(self, limit: int) -> Most:
        """The most pods that any order of binds leads to."""
        best = Most(self.value(()))
        self._bind((), Bindings(), best, set(), limit)
        return best

    def _bind(self, steps: Steps, bindings: Bindings, best: Most, seen: set[object], limit: int) -> None:
        came = dict(steps)
        key = frozenset(steps), frozenset(bindings.volumes.items()), frozenset(bindings.nodes.items())
        if key in seen:
            return
        seen.add(key)
        best.complete = best.complete and len(seen) <= limit
        if (value := self.value(came)) > best.value:
            best.value, best.steps = value, steps
        left = [pod for pod in self.waiting if pod not in came]
        if not best.complete or self.value((*came, *left)) <= best.value:
            return
        places = {**self.start, **came}
        for pod in left:
            for node in self.nodes:
                if not self.refusal(pod, node, places, bindings):
                    more = self.volumes.bound(self.pods[pod], node, bindings)
                    self._bind((*steps, (pod, node)), more, best, seen, limit)
