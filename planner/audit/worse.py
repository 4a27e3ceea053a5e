"""Which hard constraints are more broken than before: what gets better elsewhere makes up for none of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.audit.spread_counts import SpreadCounts
from planner.documents.plan import WorseConstraint

#: Constraints of a workload over a key: its namespace, its name, and the key.
WorkloadConstraint = tuple[str, str, str]
#: A constraint, and how many pods it has too many.
Surplus = tuple[WorkloadConstraint, int]


def surpluses_of(counts: Iterable[SpreadCounts]) -> Iterator[Surplus]:
    """What each hard constraint has too much."""
    for item in counts:
        if item.hard:
            key = item.rule.constraint.topology_key
            yield (item.namespace, item.workload, key), sum(item.surplus.values())


def worse_constraints(before: Iterable[Surplus], after: Iterable[Surplus]) -> Iterator[WorseConstraint]:
    """The constraints of a workload over a key that have more too many together, by name."""
    had, have = summed(before), summed(after)
    for (namespace, workload, key), pods in sorted(have.items()):
        if pods > had[namespace, workload, key]:
            yield WorseConstraint(
                namespace=namespace,
                workload=workload,
                topology_key=key,
                excess_before=had[namespace, workload, key],
                excess_after=pods,
            )


def summed(several: Iterable[Surplus]) -> Counter[WorkloadConstraint]:
    """What the constraints of a workload over a key have too much together."""
    found = Counter[WorkloadConstraint]()
    for whose, pods in several:
        found[whose] += pods
    return found
