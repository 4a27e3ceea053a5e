"""A Simulation: what went where, what that did to the spread, and why the rest is pending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cli.page import MANY_ROWS, Page, counted
from cli.table import table
from cli.views import rollout, trace
from cli.views.spread import domains_changed, is_hard, short_key
from cli.views.verdict import paragraphs
from planner.documents.plan import Decision, Simulation, SpreadChange
from planner.documents.rollout import AppliedSimulation

_NONE = "<none>"


def lines(document: Simulation, page: Page) -> Iterator[str]:
    """The simulation as a person reads it."""
    for section in (_decisions, _traces, _spread, _pending, _rollouts):
        found = list(section(document, page))
        if found:
            yield from found
            yield ""
    yield _summary(document, page)


def names(document: Simulation) -> Iterator[str]:
    """The pods that stay pending."""
    return (f"pod/{decision.pod}" for decision in document.decisions if decision.node is None)


def _decisions(document: Simulation, page: Page) -> Iterator[str]:
    if not document.decisions:
        return iter(())
    if len(document.decisions) > MANY_ROWS and not page.everything:
        return _by_workload(document, page)
    return _by_pod(document, page)


def _by_pod(document: Simulation, page: Page) -> Iterator[str]:
    heads = ["NAMESPACE", "NAME", "NODE"]
    if page.everything:
        heads += ["NOMINATED", "VICTIMS", "MESSAGE"]
    elif any(decision.victims for decision in document.decisions):
        heads += ["VICTIMS"]
    rows = [_cells(decision, page) for decision in document.decisions]
    return table(heads, [[row[head] for head in heads] for row in rows], page.screen)


def _cells(decision: Decision, page: Page) -> dict[str, str]:
    namespace, _, name = decision.pod.partition("/")
    return {
        "NAMESPACE": namespace,
        "NAME": name,
        "NODE": decision.node or page.screen.paint(_NONE, "red"),
        "NOMINATED": decision.nominated_node or _NONE,
        "VICTIMS": ", ".join(decision.victims) or _NONE,
        "MESSAGE": decision.message,
    }


def _by_workload(document: Simulation, page: Page) -> Iterator[str]:
    """A row for each workload; who wants the pods asks for -o wide."""
    groups: dict[tuple[str, str], list[Decision]] = defaultdict(list)
    for decision in document.decisions:
        groups[decision.pod.partition("/")[0], decision.workload].append(decision)
    rows = [[*key, *_counts(decisions, page)] for key, decisions in groups.items()]
    return table(("NAMESPACE", "WORKLOAD", "PODS", "PLACED", "PENDING", "NODES"), rows, page.screen)


def _counts(decisions: list[Decision], page: Page) -> list[str]:
    used = [decision.node for decision in decisions if decision.node is not None]
    pending = len(decisions) - len(used)
    return [
        str(len(decisions)),
        str(len(used)),
        page.screen.paint(str(pending), "red") if pending else "0",
        str(len(set(used))),
    ]


def _traces(document: Simulation, page: Page) -> Iterator[str]:
    if page.verbose:
        for decision in document.decisions:
            yield from trace.lines(decision, page.screen)


def _spread(document: Simulation, page: Page) -> Iterator[str]:
    """The constraints whose counts have changed, or all of them."""
    changed = [row for row in document.spread if page.everything or row.before != row.after]
    if not changed:
        return iter(())
    heads = ("NAMESPACE", "WORKLOAD", "KEY", "WHEN", "MAXSKEW", "SKEW", "DOMAINS")
    return table(heads, [_change(row, changed, page) for row in changed], page.screen)


def _change(row: SpreadChange, rows: list[SpreadChange], page: Page) -> list[str]:
    skew, over = f"{row.skew_before} -> {row.skew_after}", row.skew_after > row.max_skew
    return [
        row.namespace,
        row.workload,
        row.topology_key if page.everything else short_key(row.topology_key),
        row.when_unsatisfiable,
        str(row.max_skew),
        page.screen.paint(skew, "red" if is_hard(row) else "yellow") if over else skew,
        domains_changed(row, everything=page.everything) + _whose(row, rows),
    ]


def _whose(row: SpreadChange, rows: list[SpreadChange]) -> str:
    """The selector, where a workload has the same constraint for two sets of pods."""
    alike = [(other.namespace, other.workload, other.topology_key) for other in rows]
    return f" of {row.selector}" if alike.count((row.namespace, row.workload, row.topology_key)) > 1 else ""


def _pending(document: Simulation, page: Page) -> Iterator[str]:
    return paragraphs(document.pending, page)


def _rollouts(document: Simulation, page: Page) -> Iterator[str]:
    """How workloads whose template a later file changes are rolled out."""
    if isinstance(document, AppliedSimulation):
        yield from rollout.workloads(document.rollouts, page)


def _summary(document: Simulation, page: Page) -> str:
    """`5 pods placed, 1 stays pending.`"""
    pending = sum(reason.pods for reason in document.pending)
    victims = sum(len(decision.victims) for decision in document.decisions)
    stuck = _stuck(document, page)
    if not document.decisions:
        return f"No pods are pending.{stuck}"
    sentence = f"{counted(len(document.decisions) - pending, 'pod')} placed"
    if victims:
        sentence += f", {victims} preempted"
    if pending:
        sentence += f", {pending} {'stays' if pending == 1 else 'stay'} pending"
    sentence = sentence[0].upper() + sentence[1:]
    return page.screen.paint(f"{sentence}.", "red" if pending else "green") + stuck


def _stuck(document: Simulation, page: Page) -> str:
    """How many of the rollouts do not complete."""
    if not isinstance(document, AppliedSimulation):
        return ""
    stuck, number = sum(not row.completes for row in document.rollouts), len(document.rollouts)
    if stuck:
        told = f" Of {counted(number, 'rollout')}, {stuck} {'stops' if stuck == 1 else 'stop'} half-way."
        return page.screen.paint(told, "red")
    told = f" {counted(number, 'rollout')} {'completes' if number == 1 else 'complete'}."
    return page.screen.paint(told, "green")
