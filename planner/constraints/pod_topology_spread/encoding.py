"""Spread constraints in the solver's terms.

For incoming pods, when all is placed: in every domain to which a pod with the constraint came,
`matching pods - global minimum <= maxSkew`.  In a final state a pod on a node that is not counted, as it
can be where a profile leaves out NodeAffinity or TaintToleration, is one more.

For incoming pods, when each pod is bound, whatever the order: counts only grow, so when the last pod with
the constraint comes to a domain, at least the matching pods that it found there and the batch's pods
with the same constraint are counted, and the global minimum is at most the final one.  That is
necessary, not sufficient; whether an order exists is found out by looking for one.

With moves counts fall, too.  As long as no constraint may have pods too many in the end that changes nothing;
where one may, as it has them already, the pods that stay in a domain and those with the constraint that end
there are there when the last one with it comes, and the global minimum is then at most the largest that it
can ever be.  Pods that are counted and do not have the constraint may come later.

Running pods that stay are not constrained in a domain to which no pod with the constraint comes: at a
bind the scheduler does not check them either.

ScheduleAnyway constraints forbid nothing: how far they are from even is a goal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.constraints.pod_topology_spread.rule import Rule

if TYPE_CHECKING:
    from planner.cpsat.spread import Spread
    from planner.cpsat.variables import Counts


def encode(x: Counts, rule: Rule, carriers: Sequence[int]) -> None:
    """Forbid what breaks a rule; `carriers` are the templates of the batch that have it."""
    matched = _matched(x, rule)
    uneven = rule.identity in x.batch.uneven
    coming = matched if x.final and not uneven else {t: 1 for t in carriers if t in matched}
    spread = _spread(x, rule)
    if spread is None:
        _encode_loosely(x, rule, {t: 1 for t in carriers if t in matched})
        return
    allowed = rule.ceiling(x.batch.wanted) + rule.constraint.max_skew if uneven else spread.allowed
    only_carriers = coming.keys() <= set(carriers) and not x.may_be_found(matched) and not uneven
    sums = rule.counts.sums()
    for code, here in _reached(x, rule, {*matched, *carriers}).items():
        there, eligible = int(sums[code]), x.within(here, rule.counts.eligible)
        count = there + x.found(matched, eligible) + x.arriving(coming, eligible)
        if x.is_final_state and (outside := [cell for cell in here if cell not in eligible]):
            uncounted = [number for number in carriers if number in matched]
            name = ("spread outside", rule.identity, tuple(carriers), code)
            if (present := x.any_of(name, uncounted, outside)) is not None:
                x.require_if(present, count < allowed)
        if only_carriers and there <= rule.allowed():
            # Where none comes the count stays as it is, and the minimum does not fall.
            x.require(count <= allowed)
            continue
        present = x.any_of(("spread", rule.identity, tuple(carriers), code), carriers, here)
        if present is not None:
            x.require_if(present, count <= allowed)


def require_even(x: Counts, rules: Iterable[Rule]) -> None:
    """As if ScheduleAnyway were DoNotSchedule at the end: nothing above maxSkew."""
    for spread in _spreads(x, rules):
        for domain in spread.domains:
            x.require(domain.pods <= domain.domains * spread.allowed)


def excess(x: Counts, rules: Iterable[Rule]) -> Any:
    """The pods above what maxSkew allows; at least what is written, and equal where that is minimised."""
    return sum(spread.excess(domain) for spread in _spreads(x, rules) for domain in spread.domains)


def skew(x: Counts, rules: Iterable[Rule]) -> Any:
    """Fullest less emptiest domain, summed over constraints; equal where that is minimised."""
    return sum(spread.skew() for spread in _spreads(x, rules))


def _spreads(x: Counts, rules: Iterable[Rule]) -> Iterator[Spread]:
    """Those of the constraints whose domains the cells tell apart."""
    return filter(None, (_spread(x, rule) for rule in rules))


def _spread(x: Counts, rule: Rule) -> Spread | None:
    """The domains when all is placed; None where cells hold parts of several.

    Domains that no pod can reach keep what they hold: those that hold as many are counted together.
    """
    if not x.cells.tells(rule.column.codes) or not x.cells.tells(rule.counts.eligible):
        return None
    matched, sums = _matched(x, rule), rule.counts.sums()
    most = sum(x.batch.wanted[number] for number in matched)
    domains: list[tuple[Any, int, int, int]] = []
    fixed = rule.counts.domains.copy()
    for code, here in _reached(x, rule, matched).items():
        if fixed[code]:
            there, coming = int(sums[code]), x.total(matched, x.within(here, rule.counts.eligible))
            domains.append((there + coming, there, there + most, 1))
            fixed[code] = False
    for there, several in zip(
        *map(np.ndarray.tolist, np.unique(sums[fixed], return_counts=True)), strict=True
    ):
        domains.append((several * there, several * there, several * there, several))
    return x.spread(
        domains,
        rule.constraint.max_skew,
        few_domains=rule.few_domains,
        ceiling=rule.ceiling(x.batch.wanted),
    )


def _reached(x: Counts, rule: Rule, templates: Iterable[int]) -> Mapping[int, list[int]]:
    """The domains that pods of some templates may come to or stay in, each with the cells for that."""
    cells = x.reached(templates)
    found: dict[int, list[int]] = {}
    for cell, code in zip(cells, rule.column.codes[x.cells.first[cells]].tolist(), strict=True):
        if code >= 0:
            found.setdefault(code, []).append(cell)
    return found


def _matched(x: Counts, rule: Rule) -> Mapping[int, int]:
    """The templates of the batch that are counted, once each."""
    return {number: 1 for number in rule.tally.members if number in x.batch.wanted}


def _encode_loosely(x: Counts, rule: Rule, counted: Mapping[int, int]) -> None:
    """Where cells hold parts of several domains: no more in a cell than all of them could take or have."""
    if not counted or x.cells.single:
        return
    eligible, running = rule.counts.eligible, x.running(counted)
    parts = np.flatnonzero(eligible)
    codes = rule.column.codes[parts]
    there = np.bincount(codes, weights=running[parts], minlength=len(rule.column.values)).astype(np.int64)
    room = np.maximum(rule.room(x.batch.wanted), there)
    cells = x.cells.of[parts]
    if np.bincount(codes, minlength=1).max() > 1:
        cells, codes = np.divmod(np.unique(cells * len(room) + codes), len(room))
    most = np.bincount(cells, weights=room[codes], minlength=x.cells.size).astype(np.int64)
    if len(parts) < len(eligible):
        # On nodes that are not eligible no pod is counted, so nothing keeps pods away from there.
        uncounted = sum((x.batch.room[number] for number in counted), running)
        most = most + x.cells.sums(np.where(eligible, 0, uncounted))
    for cell, limit in enumerate(most.tolist()):
        x.require(x.total(counted, (cell,)) <= limit)
