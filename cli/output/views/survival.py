"""A Survival: a row for every workload that a lost domain breaks, and what helps pods that stay pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cli.output.blocks import Block, Cell, Section, Sentence, Table, VerdictBlock, Words, rows_of, section
from cli.output.page import Page, counted, some
from cli.output.views.explanation import NOT_CREATED, consequences
from cli.output.views.names import workload_line
from cli.output.views.spread import short_key
from cli.output.views.verdict import told
from models.words import value_told
from planner.documents.survival import (
    NOT_ENDED,
    DomainLoss,
    LostPending,
    Survival,
    SurvivalList,
    WorkloadLoss,
)

#: So many lost domains are named in the verdict.
_MOST_NAMES = 8
#: Pods alike, each with the domains of which the loss leaves them pending.
_Alike = list[tuple[list[str], LostPending]]


def sections(document: Survival | SurvivalList, page: Page) -> Iterator[Section]:
    """The survey as a person reads it, or one after the other."""
    for survey in [document] if isinstance(document, Survival) else document.items:
        yield section("", _verdict(survey))
        rows = [_row(loss, row) for loss in survey.domains for row in _shown(loss, page)]
        heads = ("WITHOUT", "NAMESPACE", "WORKLOAD", "REPLICAS", "LOST", "REPLACED", "PENDING")
        title = f"Losing each {short_key(survey.topology_key)}"
        yield section(title, Table(heads, rows_of(rows), noun="row", most=page.most(rows)))
        yield section("", *_failing(survey))
        yield from _pending(survey, page)
        yield section("As long as the nodes stay", *_meanwhile(survey, page))


def names(document: Survival | SurvivalList) -> Iterator[str]:
    """The workloads that do not survive the loss of some domain."""
    surveys = [document] if isinstance(document, Survival) else document.items
    losses = [loss for survey in surveys for loss in survey.domains]
    found = {(row.namespace, row.workload) for loss in losses for row in loss.workloads if not row.ok}
    return (workload_line(namespace, workload) for namespace, workload in sorted(found))


def _shown(loss: DomainLoss, page: Page) -> Iterator[WorkloadLoss]:
    return (row for row in loss.workloads if page.everything or not row.ok)


def _row(loss: DomainLoss, row: WorkloadLoss) -> list[Words]:
    return [
        value_told(loss.domain),
        row.namespace,
        row.workload,
        str(row.replicas),
        Cell(str(row.lost), "bad" if row.lost == row.replicas else "plain"),
        str(row.replaced),
        Cell(str(row.pending), "bad" if row.pending else "plain"),
    ]


def _failing(survey: Survival) -> Iterator[Block]:
    """The Jobs that fail by the loss of some domain, and the workloads without a ready replica then."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for loss in survey.domains:
        for row in loss.workloads:
            if row.reason:
                groups.setdefault((row.namespace, row.workload, row.reason), []).append(loss.domain)
    for (namespace, workload, reason), domains in groups.items():
        yield Sentence(f"Without {_either(domains)}, {workload} in {namespace} fails: {reason}")


def _pending(survey: Survival, page: Page) -> Iterator[Section]:
    """Pods that stay pending without the nodes of a domain; of very many kinds those that are the most."""
    found = _alike((loss.domain, left) for loss in survey.domains for left in loss.pending)
    most = page.most(found)
    shown = _largest_first(found, most)[:most]
    for domains, left in shown:
        yield section("", *_left(f"Without {_either(domains)}", left, once=len(domains) == 1))
    if more := len(found) - len(shown):
        yield section("", Sentence(f"and {counted(more, 'kind')} of pods more (-v shows all)"))


def _largest_first(found: _Alike, most: int | None) -> _Alike:
    """Where only some are shown, those of the most pods come first."""
    return found if most is None else sorted(found, key=lambda one: -one[1].pods)


def _meanwhile(survey: Survival, page: Page) -> Iterator[Block]:
    """The pods that wait while the nodes of a lost domain are there; below it what the scheduler says."""
    found = _alike((loss.domain, left) for loss in survey.domains for left in _waiting_longer(loss, page))
    most = page.most(found)
    waiting = _largest_first(found, most)
    rows: list[list[Words]] = [
        [
            some([*map(value_told, of)], _MOST_NAMES),
            left.namespace,
            left.workload,
            str(left.pods),
            _way_out(left, once=len(of) == 1),
        ]
        for of, left in waiting
    ]
    if not rows:
        return
    # Also a quota of count/pods refuses new pods for those that are there.
    is_held = any(left.message.startswith(NOT_CREATED) for _, left in found)
    ends = "some of its pods do not end, " if is_held else ""
    yield Sentence(
        f"As long as the nodes of a lost domain stay in the cluster, unreachable, {ends}constraints count it "
        "as one without pods, and more pods wait:"
    )
    heads = ("UNREACHABLE", "NAMESPACE", "WORKLOAD", "PENDING", "WHAT HELPS")
    yield Table(heads, rows_of(rows), noun="row", most=most)
    for of, left in waiting if page.everything else ():
        yield from _left(f"With {_either(of)} unreachable", left, once=len(of) == 1)


def _waiting_longer(loss: DomainLoss, page: Page) -> Iterator[LostPending]:
    """The pods that wait meanwhile, without workloads of which as many wait once the nodes are gone."""
    after, meanwhile = (_by_workload(pods) for pods in (loss.pending, loss.meanwhile))
    for left in loss.meanwhile:
        workload = left.namespace, left.workload
        if page.everything or meanwhile[workload] > after[workload]:
            yield left


def _by_workload(pending: Iterable[LostPending]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for left in pending:
        found[left.namespace, left.workload] += left.pods
    return found


def _alike(found: Iterable[tuple[str, LostPending]]) -> _Alike:
    """Pods that wait for one reason and are helped by one change, each with all domains that may be lost."""
    groups: dict[tuple[str, ...], tuple[list[str], LostPending]] = {}
    for domain, left in _together(found):
        key = left.namespace, left.workload, str(left.pods), left.message, _way_out(left, once=False)
        groups.setdefault(key, ([], left))[0].append(domain)
    return list(groups.values())


def _together(found: Iterable[tuple[str, LostPending]]) -> Iterator[tuple[str, LostPending]]:
    """Once for each domain the pods of a workload that one reason and one change are about, alike or not."""
    sums: dict[tuple[str, ...], LostPending] = {}
    for domain, left in found:
        key = domain, left.namespace, left.workload, left.message, _way_out(left, once=False)
        known = sums.get(key)
        sums[key] = left if known is None else _sum(known, left)
    return ((key[0], left) for key, left in sums.items())


def _sum(one: LostPending, other: LostPending) -> LostPending:
    """The pods of both, and how many of them the change helps."""
    fix = one.fix
    if fix is not None and other.fix is not None:
        fix = fix.model_copy(update={"places": fix.places + other.fix.places})
    return one.model_copy(update={"pods": one.pods + other.pods, "fix": fix})


def _way_out(left: LostPending, *, once: bool) -> str:
    """The change that helps, with the node where it leads to where that is one, and how many pods it helps.

    That is left out where it helps all of them.
    """
    if left.message == NOT_ENDED:
        return "the nodes are deleted"
    if left.fix is None:
        return "none known" if left.sought else "not looked for"
    changes = "; ".join(dict.fromkeys(change.summary for change in left.fix.changes))
    where = f" -> {left.fix.node}" if once else ""
    helped = f", {left.fix.places} of the {left.pods} pods" if left.fix.places < left.pods else ""
    return f"{changes}{where}{helped}{consequences(left.fix)}"


def _left(when: str, left: LostPending, *, once: bool) -> Iterator[Block]:
    pods = f"{counted(left.pods, 'pod')} of {left.workload} in {left.namespace}"
    yield Sentence(f"{when}, {pods} {'stays' if left.pods == 1 else 'stay'} pending:")
    yield told(left.message)
    if left.fix is not None or left.message == NOT_ENDED:
        yield Sentence(f"What helps: {_way_out(left, once=once)}", indent=2)
    else:
        none = "no change is known that helps" if left.sought else "no change was looked for"
        yield Sentence(none, indent=2)


def _verdict(document: Survival) -> VerdictBlock:
    key = short_key(document.topology_key)
    lost = [loss.domain for loss in document.domains if not loss.ok]
    domains = counted(len(document.domains), "domain")
    if not lost:
        when = ", once its nodes are taken away" if any(loss.meanwhile for loss in document.domains) else ""
        survives = f"Every workload survives the loss of each of {domains} of {key}{when}"
        drawn = [loss.domain for loss in document.domains if loss.failing_draws]
        if drawn:
            return VerdictBlock(f"{survives}, but that of {_either(drawn)} only as ties go here.", "warning")
        return VerdictBlock(f"{survives}.", "good")
    which = f"{_either(lost)} ({len(lost)} of {domains} of {key})"
    return VerdictBlock(f"Not every workload survives the loss of {which}.", "bad")


def _either(domains: list[str]) -> str:
    """`a, b or c`; of many the first few."""
    more = len(domains) - _MOST_NAMES
    named = [*map(value_told, domains[:_MOST_NAMES]), *([f"one of {more} more"] if more > 0 else [])]
    return " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
