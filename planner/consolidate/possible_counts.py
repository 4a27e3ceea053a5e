"""What a constraint may count after evictions, each pod being replaced before the next one of them goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

from planner.moves.constraint_counts import TrackedConstraint
from planner.proof import consolidation_effort as effort

#: The pods in each domain of a constraint.
_Pods = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PossibleCounts:
    """All counts of a constraint that may be the case, with each the same number of pods too many.

    `staying` are the pods of each domain that were not evicted; `admitted` has for each template the sets of
    domains of which one has to have room for its pods.
    """

    constraint: TrackedConstraint
    staying: _Pods
    reached: frozenset[_Pods]
    admitted: Mapping[int, frozenset[frozenset[int]]]

    @classmethod
    def of(cls, constraint: TrackedConstraint) -> PossibleCounts:
        """What it counts now."""
        now: _Pods = tuple(constraint.rule.counts.sums().tolist())
        return cls(constraint, now, frozenset((now,)), {})

    def landed_at_most(self, domain: int) -> int:
        """How many of the evicted pods may have come to a domain."""
        return max(pods[domain] for pods in self.reached) - self.staying[domain]

    def after(self, template: int, left: int, open_domains: Sequence[int]) -> PossibleCounts | None:
        """The same when one more pod has left a domain, -1 for none, and landed in one that is open to it.

        None where nothing may admit it, the constraint may be worse then, or it is not certain how much is
        too much.
        """
        reached, admitted = set[_Pods](), set[frozenset[int]]()
        for pods in self.reached:
            gone = _with(pods, left, -1)
            admits = [domain for domain in open_domains if gone[domain] + 1 <= self._allowed(gone)]
            reached.update(_with(gone, domain, 1) for domain in admits)
            admitted.add(frozenset(admits))
        too_many = {self._too_many(pods) for pods in reached}
        before = self._too_many(next(iter(self.reached)))
        if not all(admitted) or len(too_many) > 1 or len(reached) > effort.OPEN_COUNTS:
            return None
        if any(now > most for now, most in zip(*too_many, before, strict=True)):
            return None
        known = self.admitted.get(template, frozenset())
        return replace(
            self,
            staying=_with(self.staying, left, -1),
            reached=frozenset(reached),
            admitted={**self.admitted, template: known | admitted},
        )

    def _allowed(self, pods: _Pods) -> int:
        minimum = 0 if self.constraint.rule.few_domains else min(self._counted(pods))
        return minimum + self.constraint.max_skew

    def _too_many(self, pods: _Pods) -> tuple[int, int]:
        """The pods too many, and the domains with too many."""
        allowed = self._allowed(pods)
        over = [number - allowed for number in self._counted(pods) if number > allowed]
        return sum(over), len(over)

    def _counted(self, pods: _Pods) -> Iterator[int]:
        """The pods of the domains that have eligible nodes."""
        return compress(pods, self.constraint.rule.counts.domains.tolist())


def _with(pods: _Pods, domain: int, more: int) -> _Pods:
    return pods if domain < 0 else (*pods[:domain], pods[domain] + more, *pods[domain + 1 :])
