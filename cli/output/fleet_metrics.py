"""The rows of a sweep or a fleet in the text format that Prometheus reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cli.output.metrics import gauge, publish_metrics
from cli.output.views.fleet import figure_heads
from planner.documents.fleet import FleetDocument, FleetRow

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def write_fleet_metrics(target: str, document: FleetDocument, now: float) -> None:
    """Put them into a file, all at once."""
    publish_metrics(target, _lines(document, now))


def _lines(document: FleetDocument, now: float) -> Iterator[str]:
    rows = document.rows
    codes = ((_labels(row), row.exit_code) for row in rows)
    yield from gauge("fleet_exit_code", "How the command ended; 2 and more: without an answer.", codes)
    for name in figure_heads(rows):
        values = [(_labels(row), row.summary[name]) for row in rows if name in row.summary]
        figures = ((labels, value) for labels, value in values if isinstance(value, int | float))
        snake = _WORD.sub("_", name).lower()
        yield from gauge(f"fleet_{snake}", f"The figure {name} of `{document.command}`.", figures)
    yield from gauge("fleet_timestamp_seconds", "When this was found.", iter([({}, round(now))]))


def _labels(row: FleetRow) -> dict[str, str]:
    return {"cluster": row.cluster, **({"scenario": row.scenario} if row.scenario else {})}
