"""What a constraint may count after evictions, of which one or several at a time are under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, repeat

from models.errors import InternalError
from planner.moves.constraint_counts import TrackedConstraint
from planner.proof import consolidation_effort as effort

#: The pods in each domain of a constraint.
_Pods = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CountedMove:
    """A pod of a template leaves a domain, -1 for none, and lands in one of those open to the template."""

    template: int
    left: int
    open_domains: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What moves may lead to: all counts at their end, and the domains that admit a pod when it lands.

    `admitted` has for each template sets of domains of which one has to have room.
    """

    ends: frozenset[_Pods]
    admitted: Mapping[int, frozenset[frozenset[int]]]


@dataclass(frozen=True, slots=True)
class PossibleCounts:
    """All counts of a constraint that may be the case, with each the same number of pods too many.

    `staying` are the pods of each domain that were not evicted; `admitted` has for each template the sets of
    domains of which one has to have room for its pods.
    """

    limit: _Limit
    staying: _Pods
    reached: frozenset[_Pods]
    admitted: Mapping[int, frozenset[frozenset[int]]]

    @classmethod
    def of(cls, constraint: TrackedConstraint) -> PossibleCounts:
        """What it counts now."""
        now: _Pods = tuple(constraint.rule.counts.sums().tolist())
        domains = tuple(constraint.rule.counts.domains.tolist())
        limit = _Limit(constraint.max_skew, domains, constraint.rule.few_domains)
        return cls(limit, now, frozenset((now,)), {})

    def landed_at_most(self, domain: int) -> int:
        """How many of the evicted pods may have come to a domain."""
        return max(pods[domain] for pods in self.reached) - self.staying[domain]

    def after(self, move: CountedMove) -> PossibleCounts | None:
        """The same after one more move.

        None where nothing may admit the pod, the constraint may be worse then, or it is not certain how much
        is too much.
        """
        found = self.outcomes((move,))
        if found is None or len(found.ends) > effort.OPEN_COUNTS:
            return None
        too_many = {self.limit.too_many(pods) for pods in found.ends}
        before = self.limit.too_many(next(iter(self.reached)))
        if len(too_many) > 1 or any(now > most for now, most in zip(*too_many, before, strict=True)):
            return None
        known = self.admitted.get(move.template, frozenset())
        return replace(
            self,
            staying=_with(self.staying, move.left, -1),
            reached=found.ends,
            admitted={**self.admitted, move.template: known | found.admitted[move.template]},
        )

    def outcomes(self, moves: Sequence[CountedMove]) -> Outcomes | None:
        """What these moves may lead to, whichever pod leaves or lands next.

        None where a pod may be admitted nowhere, or there are too many ways.
        """
        kinds = sorted({(move.template, move.open_domains) for move in moves})
        leaving = Counter((move.left, kinds.index((move.template, move.open_domains))) for move in moves)
        # Where the minimum counts, as many more pods in each domain change nothing.
        more = 0 if self.limit.few_domains else min(map(self.limit.fewest, self.reached))
        starts = frozenset(_plus(pods, -more) for pods in self.reached)
        open_domains = tuple(domains for _, domains in kinds)
        found = _ways(self.limit, starts, tuple(sorted(leaving.items())), open_domains)
        if found is None:
            return None
        ends, admitted = found
        by_template = zip((template for template, _ in kinds), admitted, strict=True)
        return Outcomes(frozenset(_plus(pods, more) for pods in ends), dict(by_template))


@dataclass(frozen=True, slots=True)
class _Limit:
    """How many more pods than the fewest a domain may have; those in `domains` have eligible nodes."""

    max_skew: int
    domains: tuple[bool, ...]
    few_domains: bool

    def fewest(self, pods: _Pods) -> int:
        return min(compress(pods, self.domains))

    def allowed(self, pods: _Pods) -> int:
        return self.max_skew + (0 if self.few_domains else self.fewest(pods))

    def too_many(self, pods: _Pods) -> tuple[int, int]:
        """The pods too many, and the domains with too many."""
        allowed = self.allowed(pods)
        over = [number - allowed for number in compress(pods, self.domains) if number > allowed]
        return sum(over), len(over)


@lru_cache(effort.OPEN_WAYS_KEPT)
def _ways(
    limit: _Limit,
    starts: frozenset[_Pods],
    leaving: tuple[tuple[tuple[int, int], int], ...],
    open_domains: tuple[tuple[int, ...], ...],
) -> tuple[frozenset[_Pods], tuple[frozenset[frozenset[int]], ...]] | None:
    """All counts that moves end with, and by kind the sets of domains that admit one of its pods.

    None where a pod may be admitted nowhere, or there are too many ways.  `leaving` has the number of pods by
    the domain that they leave and their kind; `open_domains` has for each kind where its pods may land.
    """
    there, away = tuple(number for _, number in leaving), (0,) * len(open_domains)
    waiting = [(pods, there, away) for pods in starts]
    seen, ends = {*waiting}, set[_Pods]()
    admitted: list[set[frozenset[int]]] = [set() for _ in open_domains]
    while waiting:
        pods, there, away = waiting.pop()
        following = [
            (_with(pods, domain, -1), _with(there, number, -1), _with(away, kind, 1))
            for number, ((domain, kind), _) in enumerate(leaving)
            if there[number]
        ]
        allowed = limit.allowed(pods)
        for kind, domains in enumerate(open_domains):
            if away[kind]:
                admits = frozenset(domain for domain in domains if pods[domain] < allowed)
                if not admits:
                    return None
                admitted[kind].add(admits)
                fewer = _with(away, kind, -1)
                following += [(_with(pods, domain, 1), there, fewer) for domain in admits]
        if not following:
            ends.add(pods)
        fresh = {*following} - seen
        seen |= fresh
        waiting += fresh
        if len(seen) > effort.OPEN_WAYS:
            return None
    return frozenset(ends), tuple(map(frozenset, admitted))


def _plus(pods: _Pods, more: int) -> _Pods:
    return tuple(number + more for number in pods)


def _with(pods: _Pods, place: int, more: int) -> _Pods:
    return pods if place < 0 else (*pods[:place], pods[place] + more, *pods[place + 1 :])


def simultaneous(
    start: PossibleCounts,
    moves: Sequence[CountedMove],
    most: int,
    roomy: Mapping[int, Collection[int]],
) -> Iterator[int]:
    """For each of some moves in a row the number of the set that may be under way at once; `most` at most.

    From what is counted at the start the moves hold one after the other.  Those of a set lead to the same
    counts whatever is under way with them, and each pod is admitted to a domain that is `roomy` for its
    template.
    """
    first, number, before = 0, 0, start
    while first < len(moves):
        one_by_one = [*_after_each(before, moves[first : first + most])]
        size = len(one_by_one)
        while size > 1 and not _holds(before, moves[first : first + size], one_by_one[size - 1], roomy):
            size //= 2
        yield from repeat(number, size)
        first, number, before = first + size, number + 1, one_by_one[size - 1]


def _after_each(before: PossibleCounts, moves: Sequence[CountedMove]) -> Iterator[PossibleCounts]:
    for move in moves:
        after = before.after(move)
        if after is None:
            raise InternalError("a move no longer holds that held before")
        yield after
        before = after


def _holds(
    before: PossibleCounts,
    moves: Sequence[CountedMove],
    after: PossibleCounts,
    roomy: Mapping[int, Collection[int]],
) -> bool:
    """Whether moves under way at once lead to nothing that they do not lead to one after the other."""
    found = before.outcomes(moves)
    return (
        found is not None
        and found.ends <= after.reached
        and all(
            not domains.isdisjoint(roomy[template])
            for template, several in found.admitted.items()
            for domains in several
        )
    )
