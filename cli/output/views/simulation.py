"""A Simulation: what went where, what that did to the spread, and why the rest is pending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cli.output.blocks import Cell, Section, SpreadBlock, Table, VerdictBlock, Words, rows_of, section
from cli.output.page import MOST_ROWS, Page, counted
from cli.output.views import rollout, trace
from cli.output.views.names import pod_line
from cli.output.views.spread import spread_after
from cli.output.views.verdict import paragraphs
from planner.documents.plan import Decision, Simulation
from planner.documents.rollout import AppliedSimulation

_NONE = "<none>"


def sections(document: Simulation, page: Page) -> Iterator[Section]:
    """The simulation as a person reads it."""
    yield section("", _verdict(document))
    yield section("Pods", _decisions(document, page))
    yield section("Why pods stay pending", *paragraphs(document.pending, page))
    yield section("Spread", _spread(document, page))
    if page.verbose:
        for decision in document.decisions:
            yield section("", *trace.blocks(decision))
    if isinstance(document, AppliedSimulation):
        yield from rollout.workloads(document.rollouts, page)


def names(document: Simulation) -> Iterator[str]:
    """The pods that stay pending."""
    return (pod_line(decision.pod) for decision in document.decisions if decision.node is None)


def _decisions(document: Simulation, page: Page) -> Table:
    if page.sums_up(document.decisions):
        return _by_workload(document)
    return _by_pod(document, page)


def _by_pod(document: Simulation, page: Page) -> Table:
    heads = ["NAMESPACE", "NAME", "NODE"]
    if page.everything:
        heads += ["NOMINATED", "VICTIMS", "MESSAGE"]
    elif any(decision.victims for decision in document.decisions):
        heads += ["VICTIMS"]
    rows = [_cells(decision) for decision in document.decisions]
    told = rows_of([[row[head] for head in heads] for row in rows])
    return Table(tuple(heads), told, noun="pod")


def _cells(decision: Decision) -> dict[str, Words]:
    namespace, _, name = decision.pod.partition("/")
    return {
        "NAMESPACE": namespace,
        "NAME": name,
        "NODE": decision.node or Cell(_NONE, "bad"),
        "NOMINATED": decision.nominated_node or _NONE,
        "VICTIMS": ", ".join(decision.victims) or _NONE,
        "MESSAGE": decision.message,
    }


def _by_workload(document: Simulation) -> Table:
    """A row for each workload, those with pending pods first; -v has the pods."""
    groups: dict[tuple[str, str], list[Decision]] = defaultdict(list)
    for decision in document.decisions:
        groups[decision.pod.partition("/")[0], decision.workload].append(decision)
    order = sorted(groups, key=lambda key: -_pending_of(groups[key]))
    heads = ("NAMESPACE", "WORKLOAD", "PODS", "PLACED", "PENDING", "NODES")
    rows = rows_of([[*key, *_counts(groups[key])] for key in order])
    return Table(heads, rows, noun="workload", most=MOST_ROWS)


def _pending_of(decisions: list[Decision]) -> int:
    return sum(decision.node is None for decision in decisions)


def _counts(decisions: list[Decision]) -> list[Words]:
    used = [decision.node for decision in decisions if decision.node is not None]
    pending = len(decisions) - len(used)
    return [
        str(len(decisions)),
        str(len(used)),
        Cell(str(pending), "bad" if pending else "plain"),
        str(len(set(used))),
    ]


def _spread(document: Simulation, page: Page) -> SpreadBlock:
    """The constraints whose counts have changed, or all of them."""
    changed = [row for row in document.spread if page.everything or row.before != row.after]
    return spread_after(changed, everything=page.everything)


def _verdict(document: Simulation) -> VerdictBlock:
    """`5 pods placed, 1 stays pending.`"""
    pending = sum(reason.pods for reason in document.pending)
    victims = sum(len(decision.victims) for decision in document.decisions)
    told, stuck = _stuck(document)
    if otherwise := sum(item.pods for item in document.contradicted):
        told += f" Of {counted(otherwise, 'pod')} kube-scheduler says otherwise."
        stuck += otherwise
    if not document.decisions:
        return VerdictBlock(f"No pods are pending.{told}", "bad" if stuck else "plain")
    sentence = f"{counted(len(document.decisions) - pending, 'pod')} placed"
    if victims:
        sentence += f", {victims} preempted"
    if pending:
        sentence += f", {pending} {'stays' if pending == 1 else 'stay'} pending"
    sentence = sentence[0].upper() + sentence[1:]
    return VerdictBlock(f"{sentence}.{told}", "bad" if pending or stuck else "good")


def _stuck(document: Simulation) -> tuple[str, int]:
    """How many of the rollouts do not complete, in words and as a number."""
    if not isinstance(document, AppliedSimulation) or not document.rollouts:
        return "", 0
    stuck, number = sum(not row.completes for row in document.rollouts), len(document.rollouts)
    if stuck:
        return (
            f" Of {counted(number, 'rollout')}, {stuck} {'stops' if stuck == 1 else 'stop'} half-way.",
            stuck,
        )
    return f" {counted(number, 'rollout')} {'completes' if number == 1 else 'complete'}.", 0
