"""Spread constraints in few words: keys, domains and what is too much."""

from __future__ import annotations

from collections.abc import Mapping

from cli.screen import Screen
from cli.table import JOINT
from planner.documents.plan import ConstraintReport, SpreadChange

_WELL_KNOWN = {
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "kubernetes.io/hostname": "hostname",
}
_MANY = 12


def short_key(key: str) -> str:
    """A topology key as it is called in conversation."""
    return _WELL_KNOWN.get(key, key)


def is_hard(row: ConstraintReport | SpreadChange) -> bool:
    """Whether the constraint can keep a pod pending."""
    return row.when_unsatisfiable == "DoNotSchedule"


def domains_now(row: ConstraintReport, screen: Screen, *, everything: bool) -> str:
    """`eu-1a 4 (2 too many), eu-1b 1`, and the global minimum where it is not the lowest."""
    surplus, lowest = row.excess, min(row.domains.values(), default=0)
    parts = [
        screen.paint(f"{domain} {pods} ({surplus[domain]} too many)", "red" if is_hard(row) else "yellow")
        if domain in surplus
        else f"{domain} {pods}"
        for domain, pods in row.domains.items()
    ]
    if len(parts) > _MANY and not everything:
        over = f", {len(surplus)} too full" if surplus else ""
        parts = [f"{len(parts)} domains{over}", _range(row.domains)]
    if row.global_minimum != lowest:
        why = f" (minDomains {row.min_domains})" if row.min_domains else ""
        parts.append(f"global minimum {row.global_minimum}{why}")
    return _listed(parts)


def domains_changed(row: SpreadChange, *, everything: bool) -> str:
    """`eu-1a 2 -> 3, eu-1b 1 -> 2`."""
    if len(row.after) > _MANY and not everything:
        return _listed([f"{len(row.after)} domains", f"{_range(row.before)} -> {_range(row.after)}"])
    return _listed([f"{domain} {row.before.get(domain, 0)} -> {pods}" for domain, pods in row.after.items()])


def _range(domains: Mapping[str, int]) -> str:
    lowest, highest = min(domains.values(), default=0), max(domains.values(), default=0)
    return f"{lowest} each" if lowest == highest else f"{lowest} to {highest} each"


def _listed(parts: list[str]) -> str:
    """Parts with commas, each of them in one piece when the line is folded."""
    return ", ".join(part.replace(" ", JOINT) for part in parts)
