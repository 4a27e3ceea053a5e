"""A spread constraint in the solver's terms.

Of newcomers, when all is placed: in every domain to which a pod with the constraint came,
`matching pods - global minimum <= maxSkew`.

Of newcomers, when each pod is bound, whatever the order: counts only grow, so when the last pod with
the constraint comes to a domain, at least the matching pods that it found there and the batch's pods
with the same constraint are counted, and the global minimum is at most the final one.  That is
necessary, not sufficient; whether an order exists is found out by looking for one.

Of pods that run and stay nothing is asked in a domain to which no pod with the constraint comes: as at
any bind, the scheduler would not ask them either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.constraints.pod_topology_spread.rule import Rule

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts


def encode(x: Counts, rule: Rule, carriers: Sequence[int]) -> None:
    """Forbid what breaks a rule; `carriers` are the templates of the batch that have it."""
    matched = {t: 1 for t in rule.tally.members if t in x.batch.wanted}
    coming = matched if x.final else {t: 1 for t in carriers if t in matched}
    domains = x.domains(rule.column)
    if domains is None or not x.cells.tells(rule.counts.eligible):
        _encode_loosely(x, rule, {t: 1 for t in carriers if t in matched})
        return
    minimum = _minimum(x, rule, domains, matched)
    allowed = minimum + rule.constraint.max_skew
    only_carriers = coming.keys() <= set(carriers) and not x.may_be_found(matched)
    for code, here in domains.items():
        there, eligible = int(rule.counts.sums()[code]), x.within(here, rule.counts.eligible)
        count = there + x.found(matched, eligible) + x.arriving(coming, eligible)
        if only_carriers and there <= rule.minimum() + rule.constraint.max_skew:
            # Where none comes the count stays as it is, and the minimum does not fall.
            x.require(count <= allowed)
            continue
        present = x.any_of(("spread", rule.identity, tuple(carriers), code), carriers, here)
        if present is not None:
            x.require_if(present, count <= allowed)


def _minimum(x: Counts, rule: Rule, domains: Mapping[int, list[int]], matched: Mapping[int, int]) -> Any:
    """A number that is at most the count of every domain; 0 when there are too few of them."""
    if rule.few_domains:
        return 0
    sums = rule.counts.sums()
    ceiling = rule.ceiling(x.batch.wanted)
    minimum = x.integer(0, ceiling, f"fewest_pods_in_a_domain_of_{rule.column.key}")
    for code in np.flatnonzero(rule.counts.domains).tolist():
        here = x.within(domains[code], rule.counts.eligible)
        x.require(int(sums[code]) + x.total(matched, here) >= minimum)
    return minimum


def _encode_loosely(x: Counts, rule: Rule, counted: Mapping[int, int]) -> None:
    """Where cells hold parts of several domains: no more in a cell than all of them could take or have."""
    if not counted or x.cells.single:
        return
    eligible, running = rule.counts.eligible, x.running(counted)
    parts = np.flatnonzero(eligible)
    codes = rule.column.codes[parts]
    there = np.bincount(codes, weights=running[parts], minlength=len(rule.column.values)).astype(np.int64)
    room = np.maximum(rule.room(x.batch.wanted), there)
    pairs = np.unique(x.cells.of[parts] * len(room) + codes)
    most = np.bincount(pairs // len(room), weights=room[pairs % len(room)], minlength=x.cells.size)
    # On nodes that are not eligible no pod is counted, so nothing keeps pods away from there.
    uncounted = sum((x.batch.room[number] for number in counted), running)
    most = most.astype(np.int64) + x.cells.sums(np.where(eligible, 0, uncounted))
    for cell, limit in enumerate(most.tolist()):
        x.require(x.total(counted, (cell,)) <= limit)
