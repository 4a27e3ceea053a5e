"""Explanations: kube's line, the nodes by who refused them, the domains, and the fixes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from cli.page import Page
from cli.table import folded, table
from cli.views.spread import short_key
from cli.views.verdict import indented
from planner.documents.explanation import (
    Conflict,
    Explanation,
    ExplanationList,
    Fix,
    FixChange,
    SpreadDomains,
)

_MOST_NAMES = 6
_MOST_DOMAINS = 12


def lines(document: ExplanationList | Explanation, page: Page) -> Iterator[str]:
    """The explanations as a person reads them."""
    items = document.items if isinstance(document, ExplanationList) else (document,)
    if not items:
        yield page.screen.paint("No pods are pending.", "green")
    for number, item in enumerate(items):
        if number:
            yield ""
        yield from _explanation(item, page)
    if isinstance(document, ExplanationList) and document.conflict is not None:
        yield ""
        yield from _conflict(document.conflict, page)


def _conflict(found: Conflict, page: Page) -> Iterator[str]:
    """The pods and fields that exclude each other."""
    least = "a minimal set" if found.minimal else "a set, perhaps not minimal,"
    yield f"These cannot be placed together, whatever goes where: {least} of pods and fields."
    heads = ("FIELD", "VALUE", "PODS")
    rows = [[row.field, row.value or "<any>", _some(row.pods, page)] for row in found.fields]
    yield from table(heads, rows or [["<none>", "<any>", _some(found.pods, page)]], page.screen)


def names(document: ExplanationList | Explanation) -> Iterator[str]:
    """The pods that are pending."""
    for item in document.items if isinstance(document, ExplanationList) else (document,):
        yield from (f"pod/{pod}" for pod in (item.pod, *item.alike))


def _explanation(item: Explanation, page: Page) -> Iterator[str]:
    more = f" and {len(item.alike)} more like it stay" if item.alike else " stays"
    yield page.screen.paint(f"{item.pod}{more} pending:", "bold")
    yield from indented(item.message, page)
    for section in (_nodes, _domains, _fixes):
        found = list(section(item, page))
        if found:
            yield ""
            yield from found


def _nodes(item: Explanation, page: Page) -> Iterator[str]:
    if not item.nodes:
        return iter(())
    rows = [
        [
            group.plugin or "NodeAffinity",
            str(group.count),
            _some(group.nodes, page) + (f"; in the way: {_some(group.pods, page)}" if group.pods else ""),
        ]
        for group in item.nodes
    ]
    return table(("REFUSED BY", "NODES", "WHICH"), rows, page.screen)


def _some(names: tuple[str, ...], page: Page) -> str:
    if page.everything or len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return ", ".join(names[:_MOST_NAMES]) + f", {len(names) - _MOST_NAMES} more"


def _domains(item: Explanation, page: Page) -> Iterator[str]:
    if not item.domains:
        return
    rows = [
        [short_key(row.topology_key), str(row.max_skew), str(row.global_minimum), _counts(row, page)]
        for row in item.domains
    ]
    yield from table(("KEY", "MAXSKEW", "MINIMUM", "DOMAINS"), rows, page.screen)
    for row in item.domains:
        sentence = f"{short_key(row.topology_key)}: minimum {row.global_minimum} from {row.minimum_from}"
        yield from (f"  {part}" for part in folded(sentence, _inner(page, 2)))


def _counts(row: SpreadDomains, page: Page) -> str:
    """`a 2 (full), b 1`: full are the domains that cannot take the pod."""
    parts = [
        f"{domain} {pods}{' (full)' if pods > row.limit else ''}" for domain, pods in row.domains.items()
    ]
    if len(parts) > _MOST_DOMAINS and not page.everything:
        full = sum(pods > row.limit for pods in row.domains.values())
        low, high = min(row.domains.values()), max(row.domains.values())
        return f"{len(parts)} domains, {low} to {high} pods, {full} full"
    return ", ".join(parts)


def _inner(page: Page, indent: int) -> int | None:
    return None if page.screen.width is None else page.screen.width - indent


def _fixes(item: Explanation, page: Page) -> Iterator[str]:
    if not item.fixes:
        proof = "and that is all that the catalogue has" if item.exhausted else "of the cheapest"
        tried = f"{item.tried} changes were tried out, {proof}" if item.tried else "none applies"
        yield from folded(f"Nothing in the catalogue of changes helps: {tried}.", page.screen.width)
        return
    yield "Each of these helps, the cheapest first:"
    for number, fix in enumerate(item.fixes, start=1):
        yield from fix_lines(number, fix, page)


def fix_lines(number: int, fix: Fix, page: Page) -> Iterator[str]:
    """A numbered fix with how each of its changes is made."""
    told = list(dict.fromkeys(change.summary for change in fix.changes)) or ["nothing but another try"]
    where = f" -> {fix.node}" if fix.node else ""
    sentence = f"{'; '.join(told)}{where}{consequences(fix)}"
    for place, part in enumerate(folded(sentence, _inner(page, 4))):
        yield f"{number:>2}. {part}" if not place else f"    {part}"
    for change in fix.changes:
        yield from (f"      {line}" for line in _recipe(change, page))


def consequences(fix: Fix) -> str:
    """Whom it evicts, and what becomes of the pods that are deleted."""
    words = f" (evicts {', '.join(fix.victims)})" if fix.victims else ""
    for place in fix.replacements:
        words += (
            " (its replacement stays pending)" if place is None else f" (its replacement goes to {place})"
        )
    return words


def _recipe(change: FixChange, page: Page) -> Iterator[str]:
    """kubectl's line, or what to change in which manifest."""
    if change.command and (change.patch is None or change.target.startswith("Node/") or page.everything):
        yield from (f"$ {line}" for line in change.command.splitlines())
    elif change.patch is not None and not change.target.startswith("Node/"):
        import yaml

        yield f"# {change.target} in namespace {change.namespace}"
        text: str = yaml.safe_dump(change.patch, sort_keys=False, width=10_000)
        yield from textwrap.dedent(text).splitlines()
