"""Which hard constraints are more broken than before: what gets better elsewhere makes up for none of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.documents.plan import WorseConstraint

#: The namespace, the workload and the topology key of a constraint, and how many pods it has too many.
Surplus = tuple[tuple[str, str, str], int]


def worse_constraints(before: Iterable[Surplus], after: Iterable[Surplus]) -> Iterator[WorseConstraint]:
    """The constraints of a workload over a key that have more too many together, by name."""
    had, have = _summed(before), _summed(after)
    for (namespace, workload, key), pods in sorted(have.items()):
        if pods > had[namespace, workload, key]:
            yield WorseConstraint(
                namespace=namespace,
                workload=workload,
                topology_key=key,
                excess_before=had[namespace, workload, key],
                excess_after=pods,
            )


def _summed(several: Iterable[Surplus]) -> Counter[tuple[str, str, str]]:
    found = Counter[tuple[str, str, str]]()
    for whose, pods in several:
        found[whose] += pods
    return found
