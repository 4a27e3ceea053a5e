"""How far ScheduleAnyway constraints are from even: the excess over maxSkew, and the skew itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.constraints.pod_topology_spread.rule import Rule
from planner.problem.nodes import Mask

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts


class Unevenness(NamedTuple):
    """Summed over constraints: pods above what maxSkew allows, and fullest less emptiest domain."""

    excess: Any
    skew: Any


def unevenness(rules: Iterable[Rule]) -> Unevenness:
    """What it is now."""
    excess = skew = 0
    for rule in rules:
        sums = rule.counts.sums()[rule.counts.domains]
        if sums.size:
            above = sums - sums.min()
            excess += int(np.maximum(above - rule.constraint.max_skew, 0).sum())
            skew += int(above.max())
    return Unevenness(excess, skew)


def express(x: Counts, rules: Iterable[Rule]) -> Unevenness:
    """What it will be, in the solver's terms; at least what is written, and equal where that is minimised.

    Constraints whose domains the cells do not tell apart are left out.
    """
    excess: list[Any] = []
    skew: list[Any] = []
    for rule in rules:
        counts = _counts(x, rule)
        if counts:
            coming = sum(x.batch.wanted.get(number, 0) for number in rule.tally.members)
            most = int(rule.counts.sums().max()) + coming
            low, high = (x.integer(0, most, f"{end}_of_{rule.column.key}") for end in ("low", "high"))
            skew.append(high - low)
            for count in counts:
                over = x.integer(0, most, f"over_{rule.column.key}")
                x.require(low <= count)
                x.require(high >= count)
                x.require(over >= count - low - rule.constraint.max_skew)
                excess.append(over)
    return Unevenness(sum(excess), sum(skew))


def require_even(x: Counts, rules: Iterable[Rule]) -> None:
    """As if ScheduleAnyway were DoNotSchedule at the end: nothing above maxSkew."""
    for rule in rules:
        counts = _counts(x, rule)
        if counts:
            low = x.integer(0, rule.ceiling(x.batch.wanted), f"low_of_{rule.column.key}")
            for count in counts:
                x.require(low <= count)
                x.require(count <= low + rule.constraint.max_skew)


def least_skew(rules: Iterable[Rule], coming: Mapping[int, int], places: Mapping[int, Mask]) -> int:
    """What the skew is at least when so many pods of each template have come to some of their places."""
    return sum(_stays_uneven(rule, coming, places) for rule in rules)


def _stays_uneven(rule: Rule, coming: Mapping[int, int], places: Mapping[int, Mask]) -> bool:
    """Whether the pods cannot be shared out evenly; not known if some may come where none are counted."""
    sums = rule.counts.sums()[rule.counts.domains]
    members = [number for number in rule.tally.members if number in coming]
    if not sums.size or any((places[number] & ~rule.counts.eligible).any() for number in members):
        return False
    return (int(sums.sum()) + sum(coming[number] for number in members)) % len(sums) > 0


def _counts(x: Counts, rule: Rule) -> list[Any]:
    """The pods of every domain."""
    domains = x.domains(rule.column)
    if domains is None or not x.cells.tells(rule.counts.eligible):
        return []
    matched = {number: 1 for number in rule.tally.members if number in x.batch.wanted}
    sums = rule.counts.sums()
    return [
        int(sums[code]) + x.total(matched, x.within(domains[code], rule.counts.eligible))
        for code in np.flatnonzero(rule.counts.domains).tolist()
    ]
