"""The scheduler's verdict line taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cli.output.blocks import Block, Cell, Sentence, Tone, Verbatim
from cli.output.page import Page, counted
from planner.documents.plan import PendingReason

_MOST_VERDICTS = 5

_SUMMARY = re.compile(r"(?P<head>\d+/\d+ nodes are available)(?:: (?P<reasons>.*))?\Z", re.DOTALL)
_PREEMPTION = " preemption: "
_NEXT_REASON = re.compile(r", (?=\d+ )")


def reasons(message: str) -> Iterator[str]:
    """A line for each part of the verdict, and below it one for each reason with its nodes."""
    before, _, preemption = message.partition(_PREEMPTION)
    filtered, claims = _without_claims(before.removesuffix(","))
    yield from _half(filtered, "")
    if claims:
        yield claims
    if preemption:
        yield from _half(preemption, "preemption: ")


def _without_claims(text: str) -> tuple[str, str]:
    """What comes of filtering, and what DynamicResources says after it, which alone ends without a stop."""
    filtered, stop, claims = text.rpartition(". ")
    return (f"{filtered}.", claims) if stop and not text.endswith(".") else (text, "")


def _half(text: str, prefix: str) -> Iterator[str]:
    found = _SUMMARY.match(text.removesuffix("."))
    if found is None or not (found["reasons"] or "")[:1].isdigit():
        yield f"{prefix}{text}"
        return
    yield f"{prefix}{found['head']}:"
    counted = [part.partition(" ") for part in _NEXT_REASON.split(found["reasons"])]
    width = max(len(nodes) for nodes, _, _ in counted)
    for nodes, _, reason in sorted(counted, key=lambda part: -int(part[0])):
        yield f"  {nodes:>{width}}  {reason}"


def paragraphs(pending: Sequence[PendingReason], page: Page) -> Iterator[Block]:
    """Why pods stay pending: a paragraph for each verdict, the most frequent first."""
    shown = pending if page.everything else pending[:_MOST_VERDICTS]
    for reason in shown:
        yield Sentence(_heading(reason))
        yield told(reason.message)
    rest = pending[len(shown) :]
    if rest:
        pods = counted(sum(reason.pods for reason in rest), "more pod")
        yield Sentence(f"{pods} with {counted(len(rest), 'other verdict')} (-v shows all)")


def _heading(reason: PendingReason) -> str:
    if reason.pods == 1:
        return f"{reason.example} stays pending:"
    return f"{reason.pods} pods stay pending, {reason.example} for one:"


def told(message: str) -> Verbatim:
    """The reasons of a verdict below the sentence about it."""
    return Verbatim("reasons", tuple(reasons(message)), indent=2)


def coloured(text: str, tone: Tone, *, when: bool) -> Cell:
    """A cell that has a colour when something is the case."""
    return Cell(text, tone if when else "plain")
