"""A spread constraint in the solver's terms.

When all is placed: in every domain to which a pod with the constraint came,
`matching pods - global minimum <= maxSkew`.  The constraints of pods that ran before are not judged
again: as at any bind, the scheduler would not ask them either.

At every pod's own turn, whatever the order: counts only grow, so when the last pod with the
constraint comes to a domain, at least the pods there before the batch and the batch's pods with the
same constraint are counted, and the global minimum is at most the final one.  That is necessary, not
sufficient; whether an order exists is found out by looking for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.constraints.pod_topology_spread.rule import Rule

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts


def encode(x: Counts, rule: Rule, carriers: Sequence[int], number: int) -> None:
    """Forbid what breaks a rule; `carriers` are the templates of the batch that have it."""
    codes = rule.column.codes
    for template in carriers:
        x.forbid(template, np.flatnonzero(codes < 0).tolist())
    matched = {t: 1 for t in rule.tally.members if t in x.batch.wanted}
    counted = matched if x.final else {t: 1 for t in carriers if t in matched}
    minimum = _minimum(x, rule, matched, number)
    for code in range(len(rule.column.values)):
        here = np.flatnonzero(codes == code).tolist()
        present = x.any_of((number, code, "spread"), carriers, here)
        if present is None:
            continue
        eligible = [node for node in here if rule.counts.eligible[node]]
        x.require_if(
            present,
            int(rule.counts.sums()[code]) + x.total(counted, eligible) - minimum <= rule.constraint.max_skew,
        )


def _minimum(x: Counts, rule: Rule, matched: dict[int, int], number: int) -> Any:
    """A number that is at most the count of every domain; 0 when there are too few of them."""
    if rule.few_domains:
        return 0
    sums = rule.counts.sums()
    most = int(sums.max()) + sum(x.batch.wanted[template] for template in matched)
    minimum = x.integer(0, most, f"fewest_pods_in_a_domain_{number}")
    for code in np.flatnonzero(rule.counts.domains).tolist():
        here = np.flatnonzero((rule.column.codes == code) & rule.counts.eligible).tolist()
        x.require(int(sums[code]) + x.total(matched, here) >= minimum)
    return minimum
