"""The scheduler's verdict line taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SUMMARY = re.compile(r"(?P<head>\d+/\d+ nodes are available)(?:: (?P<reasons>.*))?\Z", re.DOTALL)
_PREEMPTION = " preemption: "
_NEXT_REASON = re.compile(r", (?=\d+ )")


def reasons(message: str) -> Iterator[str]:
    """A line for each half of the verdict, and below it one for each reason with its nodes."""
    filtered, _, preemption = message.partition(_PREEMPTION)
    yield from _half(filtered, "")
    if preemption:
        yield from _half(preemption, "preemption: ")


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
