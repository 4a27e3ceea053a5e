"""The spread constraints of documents as the rows that all forms draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cli.output.blocks import SpreadBlock, SpreadRow
from cli.output.forms.spreads import by_weight, noun_of, short_key
from cli.output.page import counted
from planner.documents.figures import DomainCount
from planner.documents.plan import ConstraintReport, SpreadChange

__all__ = ["by_weight", "is_hard", "row_after", "row_compared", "row_now", "short_key", "spread_after"]


def is_hard(row: ConstraintReport | SpreadChange) -> bool:
    """Whether the constraint can keep a pod pending."""
    return row.when_unsatisfiable == "DoNotSchedule"


def _named(row: ConstraintReport | SpreadChange | DomainCount) -> dict[str, Any]:
    """What names a constraint, however it is counted."""
    return {
        "namespace": row.namespace,
        "workload": row.workload,
        "topology_key": row.topology_key,
        "when": row.when_unsatisfiable,
        "max_skew": row.max_skew,
        "selector": row.selector,
    }


def row_now(row: ConstraintReport) -> SpreadRow:
    """A constraint as the cluster stands."""
    return SpreadRow(
        **_named(row),
        skews=(row.skew,),
        domains={domain: (pods,) for domain, pods in row.domains.items()},
        surplus=row.excess,
        remark=_minimum(row),
        is_broken=not row.ok,
    )


def _minimum(row: ConstraintReport) -> str:
    """The global minimum, where it is not that of the domains shown."""
    if row.global_minimum == min(row.domains.values(), default=0):
        return ""
    return f"global minimum {row.global_minimum}" + (
        f" (minDomains {row.min_domains})" if row.min_domains else ""
    )


def row_after(row: SpreadChange) -> SpreadRow:
    """A constraint now and after what was planned or simulated."""
    domains = dict.fromkeys((*row.after, *row.before))
    return SpreadRow(
        **_named(row),
        skews=(row.skew_before, row.skew_after),
        domains={domain: (row.before.get(domain, 0), row.after.get(domain, 0)) for domain in domains},
        surplus={},
        remark=_remark(row),
        unlisted=row.unlisted,
        is_broken=row.skew_after > row.max_skew,
    )


def _remark(row: SpreadChange) -> str:
    """What domains are not shown; or that the zeros of one side are those of no constraint, or no domain."""
    if row.unlisted:
        return f"{counted(row.unlisted, noun_of(row.topology_key))} as before"
    if bool(row.before) == bool(row.after):
        return ""
    return "counted only before" if row.before else "counted only after"


def spread_after(rows: Iterable[SpreadChange], *, everything: bool) -> SpreadBlock:
    """Constraints now and after, as they come."""
    return SpreadBlock(("now", "after"), tuple(row_after(row) for row in rows), everything)


def row_compared(states: Sequence[DomainCount]) -> SpreadRow:
    """A constraint in every column of a comparison, the optimum last."""
    best = states[-1]
    domains = dict.fromkeys(domain for state in states for domain in state.domains)
    return SpreadRow(
        **_named(best),
        skews=tuple(state.skew for state in states),
        domains={domain: tuple(s.domains.get(domain, 0) for s in states) for domain in domains},
        surplus={},
        is_broken=best.skew > best.max_skew,
    )
