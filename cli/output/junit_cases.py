"""A document as cases that hold or do not: what a pipeline wants to know of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cli.output.staying_pods import on_node
from models.errors import InternalError
from models.words import value_told
from planner.audit.contradicted import notes_of
from planner.documents.drain import DrainPlan
from planner.documents.plan import CheckReport, Document, Simulation
from planner.documents.rollout import AppliedSimulation, BrokenConstraint, Rollout, WorkloadRollout


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One thing that was looked at, whose it is, and what is wrong with it, if anything."""

    what: str
    namespace: str
    subject: str
    wrong: str = ""


def cases_of(document: Document) -> list[JUnitCase]:
    """All that a document says about the cluster; an InternalError for documents that say no such thing."""
    match document:
        case Rollout():
            return [*_rollouts(document.workloads), *_broken(document.broken, document.replays.runs)]
        case AppliedSimulation():
            return [*_rollouts(document.rollouts), *_decisions(document), *_contradicted(document)]
        case Simulation():
            return [*_decisions(document), *_contradicted(document)]
        case CheckReport():
            return [*_constraints(document)]
        case DrainPlan():
            return [*_nodes(document)]
        case _:
            raise InternalError(f"{document.kind} has no cases, and the command line offers some")


def _rollouts(found: Iterable[WorkloadRollout]) -> Iterator[JUnitCase]:
    for row in found:
        wrong = ""
        if not (row.completes or row.as_before):
            stopped = sum(end.runs for end in row.ends if not end.completes)
            runs = sum(end.runs for end in row.ends)
            at = f"after step {row.stopped_at}" if row.stopped_at else "before its first step"
            line = row.message or "its pods do not become ready"
            wrong = f"stops {at} in {stopped} of {runs} runs: {line}"
        yield JUnitCase("rollout", row.namespace, row.workload, wrong)


def _broken(found: Iterable[BrokenConstraint], runs: int) -> Iterator[JUnitCase]:
    for row in found:
        wrong = (
            f"the DoNotSchedule constraint over {row.topology_key} ends with up to {row.excess} too many "
            f"in {row.runs} of {runs} runs"
        )
        yield JUnitCase("spread after the rollout", row.namespace, row.workload, wrong)


def _decisions(document: Simulation) -> Iterator[JUnitCase]:
    """A case for every workload with pending pods; its first line says why one has no node."""
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in document.decisions:
        namespace, _, name = row.pod.partition("/")
        whose = (namespace, row.workload or f"Pod/{name}")
        lines[whose] += [] if row.node is not None else [row.message or "stays pending"]
    for (namespace, subject), found in lines.items():
        pods = "1 pod stays" if len(found) == 1 else f"{len(found)} pods stay"
        yield JUnitCase("scheduling", namespace, subject, f"{pods} pending: {found[0]}" if found else "")


def _contradicted(document: Simulation) -> Iterator[JUnitCase]:
    for item, note in zip(document.contradicted, notes_of(document.contradicted), strict=True):
        namespace, _, name = item.example.partition("/")
        yield JUnitCase("kube-scheduler's own line", namespace, f"Pod/{name}", note)


def _constraints(document: CheckReport) -> Iterator[JUnitCase]:
    for row in document.constraints:
        what = f"{row.when_unsatisfiable} over {row.topology_key}, maxSkew {row.max_skew}"
        excess = ", ".join(
            f"{number} too many in {value_told(domain)}" for domain, number in row.excess.items()
        )
        hard = row.when_unsatisfiable == "DoNotSchedule"
        yield JUnitCase(what, row.namespace, row.workload, "" if row.ok or not hard else excess or "broken")
    for found in document.findings:
        namespace, _, name = found.pod.partition("/")
        yield JUnitCase(
            found.plugin, namespace, f"Pod/{name}" if name else f"Node/{found.node}", found.message
        )


def _nodes(document: DrainPlan) -> Iterator[JUnitCase]:
    blocked = {row.node: row for row in document.blocked}
    for node in document.nodes:
        row = blocked.get(node)
        held = "\n".join(on_node(row)) if row else ""
        yield JUnitCase("drain", "", f"Node/{node}", held)
    for job in document.jobs:
        wrong = f"fails by its evictions ({job.reason})" if job.outcome == "Fails" else ""
        yield JUnitCase("drain", job.namespace, f"Job/{job.job}", wrong)
    for reason in document.pending:
        namespace, _, name = reason.example.partition("/")
        pods = "1 pod" if reason.pods == 1 else f"{reason.pods} pods"
        yield JUnitCase("after the drain", namespace, f"Pod/{name}", f"{pods} pending: {reason.message}")
    for worse in document.worse:
        wrong = f"over {worse.topology_key} {worse.excess_before} -> {worse.excess_after} pods too many"
        yield JUnitCase("spread after the drain", worse.namespace, worse.workload, wrong)
