"""A Trajectory: the spread after every number of replicas, and whether a rebalance will be needed."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.blocks import Block, Cell, Section, Sentence, Table, VerdictBlock, Words, rows_of, section
from cli.output.page import Page, counted
from cli.output.views.names import workload_line
from cli.output.views.rollout import ends_of
from planner.documents.rollout import ScalingPath, ScalingStep, Trajectory


def sections(document: Trajectory, page: Page) -> Iterator[Section]:
    """The scaling paths as a person reads them."""
    yield section("", _verdict(document))
    for path in document.courses:
        title = f"{path.workload} in {path.namespace}"
        yield section(title, Sentence(f"{title}:"), _table(path, document.runs, page))
        yield section(f"Where {title} stops", *_stops(path, document.runs))


def names(document: Trajectory) -> Iterator[str]:
    """The workloads that a run leaves incomplete or lopsided in the end."""
    for path in document.courses:
        last = path.steps[-1]
        if last.lopsided or last.completed < document.runs:
            yield workload_line(path.namespace, path.workload)


def _table(path: ScalingPath, runs: int, page: Page) -> Table:
    rows: list[list[Words]] = [
        [
            str(number),
            str(step.replicas),
            _share(step.completed, runs, good=True),
            _share(step.lopsided, runs, good=False),
            ends_of(step.ends, page),
        ]
        for number, step in enumerate(path.steps, start=1)
    ]
    return Table(("STEP", "REPLICAS", "COMPLETES", "LOPSIDED", "SPREAD"), rows_of(rows), noun="step")


def _share(found: int, runs: int, *, good: bool) -> Cell:
    """`yes`, `no` or `6 of 21`, in green where all of them are well."""
    text = {runs: "yes", 0: "no"}.get(found, f"{found} of {runs}")
    return Cell(text, "good" if found == (runs if good else 0) else "bad")


def _stops(path: ScalingPath, runs: int) -> Iterator[Block]:
    for number, step in enumerate(path.steps, start=1):
        if step.completed < runs:
            yield Sentence(f"At step {number}, in {runs - step.completed} of {counted(runs, 'run')}:")
            yield Sentence(_why(step), indent=2)


def _why(step: ScalingStep) -> str:
    return step.message or "its pods do not become ready"


def _verdict(document: Trajectory) -> VerdictBlock:
    runs, needed = document.runs, document.rebalance
    stuck = runs - min((step.completed for c in document.courses for step in c.steps), default=runs)
    parts = []
    if stuck:
        parts.append(f"Pods stay pending in {stuck} of {counted(runs, 'run')}")
    if needed:
        parts.append(f"a rebalance will be needed in {needed} of {counted(runs, 'run')}")
    if not parts:
        return VerdictBlock(
            f"Level in the end in all of {counted(runs, 'run')}: no rebalance needed.", "good"
        )
    text = "; ".join(parts)
    return VerdictBlock(f"{text[0].upper()}{text[1:]}.", "bad")
