"""Explanations: kube's line, the nodes by the filter that refused them, the domains, and the fixes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from cli.output.blocks import Block, Section, Sentence, Table, Verbatim, VerdictBlock, rows_of, section
from cli.output.page import Page, counted
from cli.output.views.names import pod_line
from cli.output.views.spread import short_key
from cli.output.views.verdict import told
from cli.output.yaml_text import yaml_text
from models.words import listed, value_told
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
#: How the line begins of a pod that the API server refuses.
NOT_CREATED = "not created: "


def sections(document: ExplanationList | Explanation, page: Page) -> Iterator[Section]:
    """The explanations as a person reads them."""
    items = _items(document)
    if len(items) != 1:
        yield section("", _verdict(items, bool(getattr(document, "contradicted", ()))))
    shown = items[: page.most(items)]
    for item in shown:
        yield from _explanation(item, page, item.pod if len(items) > 1 else "")
    if more := len(items) - len(shown):
        yield section("", Sentence(f"and {counted(more, 'group')} of like pods more (-v shows all)"))
    if isinstance(document, ExplanationList) and document.conflict is not None:
        yield section("What excludes each other", *_conflict(document.conflict, page))


def names(document: ExplanationList | Explanation) -> Iterator[str]:
    """The pods that are pending."""
    for item in _items(document):
        yield from (pod_line(pod) for pod in (item.pod, *item.alike))


def _items(document: ExplanationList | Explanation) -> tuple[Explanation, ...]:
    return document.items if isinstance(document, ExplanationList) else (document,)


def _verdict(items: tuple[Explanation, ...], contradicted: bool) -> VerdictBlock:
    """`5 pods are pending in 3 groups of like pods; a change that helps was found for 2 of the groups.`"""
    if not items:
        if contradicted:
            return VerdictBlock(
                "No pod stays pending by what was read; kube-scheduler says otherwise.", "bad"
            )
        return VerdictBlock("No pod stays pending.", "good")
    pods = sum(1 + len(item.alike) for item in items)
    helped = sum(bool(item.fixes) for item in items) or "none"
    alike, of = (f" in {len(items)} groups of like pods", "the groups") if pods > len(items) else ("", "them")
    return VerdictBlock(
        f"{pods} pods are pending{alike}; a change that helps was found for {helped} of {of}.", "bad"
    )


def _conflict(found: Conflict, page: Page) -> Iterator[Block]:
    """The pods and fields that exclude each other."""
    least = "a minimal set" if found.minimal else "a set, perhaps not minimal,"
    lead = f"Beside the pods that run these cannot be placed together, whatever goes where: {least} of pods"
    if not found.fields:
        # Such as a taint or a volume: it is no field that the pods could do without.
        yield Sentence(f"{lead}. They could not without constraints, selectors, ports and requests either.")
        yield Table(("PODS",), rows_of([[_some(found.pods, page)]]), noun="pod")
        return
    yield Sentence(f"{lead} and fields.")
    rows = [[row.field, row.value or "<any>", _some(row.pods, page)] for row in found.fields]
    yield Table(("FIELD", "VALUE", "PODS"), rows_of(rows), noun="field")


def _explanation(item: Explanation, page: Page, title: str) -> Iterator[Section]:
    more = f" and {len(item.alike)} more like it stay" if item.alike else " stays"
    yield section(title, VerdictBlock(f"{item.pod}{more} pending:", "bad"), told(item.message))
    yield section(f"What refuses {item.pod}", _nodes(item, page), *_volumes(item))
    yield section(f"Where {item.pod} may go by spread", *_domains(item, page))
    yield section(f"What helps {item.pod}", *fixes(item, page))


def _nodes(item: Explanation, page: Page) -> Table:
    plugins = Counter(group.plugin for group in item.nodes)
    rows = [
        [
            group.plugin or "NodeAffinity",
            str(group.count),
            _some(group.nodes, page)
            + (f"; {', '.join(group.reasons)}" if plugins[group.plugin] > 1 else "")
            + (f"; taints: {_first(group.taints, page)}" if group.taints else "")
            + (f"; in the way: {_first(group.pods, page)}" if group.pods else ""),
        ]
        for group in item.nodes
    ]
    return Table(("REFUSED BY", "NODES", "WHICH"), rows_of(rows), noun="plugin")


def _volumes(item: Explanation) -> Iterator[Sentence]:
    """Where the volumes are that some node does not reach."""
    for place in item.volumes:
        there = "there is one" if place.nodes == 1 else f"there are {place.nodes}"
        told = there if place.nodes else "there is none"
        sentence = f"claim {place.claim}: its volume needs a node with {place.where}; {told}"
        yield Sentence(sentence, indent=2)


def _some(names: tuple[str, ...], page: Page) -> str:
    if page.everything or len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return ", ".join(names[:_MOST_NAMES]) + f", {len(names) - _MOST_NAMES} more"


def _first(names: tuple[str, ...], page: Page) -> str:
    """Of a list that the document has cut: how many more there are is not known."""
    return listed(names, len(names) if page.everything else _MOST_NAMES)


def _domains(item: Explanation, page: Page) -> Iterator[Block]:
    rows = [
        [short_key(row.topology_key), str(row.max_skew), str(row.global_minimum), _counts(row, page)]
        for row in item.domains
    ]
    yield Table(("KEY", "MAXSKEW", "MINIMUM", "DOMAINS"), rows_of(rows), noun="constraint")
    for row in item.domains:
        sentence = f"{short_key(row.topology_key)}: minimum {row.global_minimum} from {row.minimum_from}"
        yield Sentence(sentence, indent=2)


def _counts(row: SpreadDomains, page: Page) -> str:
    """`a 2 (full), b 1`: full are the domains that cannot take the pod."""
    parts = [
        f"{value_told(domain)} {pods}{' (full)' if pods > row.limit else ''}"
        for domain, pods in row.domains.items()
    ]
    if len(parts) > _MOST_DOMAINS and not page.everything:
        full = sum(pods > row.limit for pods in row.domains.values())
        low, high = min(row.domains.values()), max(row.domains.values())
        return f"{len(parts)} domains, {low} to {high} pods, {full} full"
    return ", ".join(parts)


def fixes(item: Explanation, page: Page) -> Iterator[Block]:
    """What helps a pod, the cheapest first; or that nothing does, and how much was tried."""
    if not item.fixes and item.message.startswith(NOT_CREATED):
        if item.tried:
            yield Sentence("With room in its ResourceQuota it would be created, and no node would take it.")
        else:
            yield Sentence("No node has a part in it: what the API server says would have to change.")
        return
    if not item.fixes and item.risky:
        yield Sentence("No change that is safe to apply was found.")
    elif not item.fixes:
        which = "for every node those that its refusals ask for" if item.exhausted else "the cheapest ones"
        none = "there is none to try" if item.exhausted else "none was tried out"
        were = "was" if item.tried == 1 else "were"
        tried = f"{counted(item.tried, 'change')} {were} tried out, {which}" if item.tried else none
        yield Sentence(f"No change was found that helps: {tried}.")
        return
    pods = 1 + len(item.alike)
    if item.fixes:
        yield Sentence("Each of these helps, the cheapest first:")
    for number, fix in enumerate(item.fixes, start=1):
        yield from fix_blocks(number, fix, page, pods)
    if item.risky and (page.everything or not item.fixes):
        yield Sentence("These place it, too; apply them only if you know why:")
        for number, fix in enumerate(item.risky, start=len(item.fixes) + 1):
            yield from fix_blocks(number, fix, page, pods)
            yield Sentence(fix.risk, indent=6)
    elif item.risky:
        yield Sentence(_less_safe(len(item.risky)))


def _less_safe(number: int) -> str:
    if number == 1:
        return "1 more change helps but is less safe to apply: -v shows it."
    return f"{number} more changes help but are less safe to apply: -v shows them."


def fix_blocks(number: int, fix: Fix, page: Page, pods: int = 1, effect: str = "") -> Iterator[Block]:
    """A numbered fix with how each of its changes is made; `effect` is what else comes of it."""
    told = list(dict.fromkeys(change.summary for change in fix.changes)) or ["nothing but another try"]
    where = f" -> {fix.node}" if fix.node else ""
    together = f", {fix.places} of the {pods} pods" if pods > 1 else ""
    yield Sentence(f"{number:>2}. {'; '.join(told)}{where}{together}{consequences(fix)}{effect}")
    for change in fix.changes:
        yield from _recipe(change, page)


def consequences(fix: Fix) -> str:
    """The pods that it evicts, and what becomes of the pods that are deleted."""
    words = f" (evicts {', '.join(fix.victims)})" if fix.victims else ""
    deleted = [
        line for change in fix.changes if change.action == "DeletePod" for line in change.command.splitlines()
    ]
    places = [
        (f"the replacement of {pod}" if len(deleted) > 1 else "its replacement")
        + (" stays pending" if place is None else f" goes to {place}")
        for pod, place in zip(fix.replaced, fix.replacements, strict=True)
    ]
    return words + (f" ({', '.join(places)})" if places else "")


def _recipe(change: FixChange, page: Page) -> Iterator[Block]:
    """kubectl's line, or what to change in which manifest."""
    if change.command and (change.patch is None or change.target.startswith("Node/") or page.everything):
        yield Verbatim("shell", tuple(f"$ {line}" for line in change.command.splitlines()), indent=6)
    elif change.patch is not None and not change.target.startswith("Node/"):
        where = f"# {change.target} in namespace {change.namespace}"
        yield Verbatim("yaml", (where, *textwrap.dedent(yaml_text(change.patch)).splitlines()), indent=6)
