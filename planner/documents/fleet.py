"""The documents of `planner sweep` and `planner fleet`: a row for every answer, the worst first."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.plan import Document, DocumentPart


class FleetRow(DocumentPart):
    """One question about one cluster, answered or not."""

    cluster: str
    """The cluster: its kubectl context, or the name of its file or folder."""
    scenario: str
    """What was varied, such as `lose=example.com/rack=a kubernetes=1.36`; empty where nothing was."""
    exit_code: int
    """The exit code of the command alone; 3 where there was no answer in time or a worker ended."""
    summary: dict[str, int | float | str | None]
    """The figures that count, by name; empty where there is no document. One is null where there is nothing
    to count, as `leastMore` is without workloads."""
    error: str = ""
    """Why there is no document; empty where there is one."""
    document: dict[str, Any] | None = None
    """What the command alone prints with `-o json`; null where there is none."""


class FleetTotals(DocumentPart):
    """How many rows ended in which way."""

    rows: int
    """All of them."""
    well: int
    """Those with exit code 0."""
    findings: int
    """Those with exit code 1."""
    unanswered: int
    """Those with an error."""


class FleetDocument(Document):
    """One question, asked many times."""

    command: str
    """The command and its flags, without those that name a cluster or a form."""
    rows: tuple[FleetRow, ...] = ()
    """The worst first: without an answer, with findings by their figures, and then those that are well."""
    totals: FleetTotals
    """How many rows ended in which way."""


class Sweep(FleetDocument):
    """One question about one cluster in many scenarios."""

    kind: Literal["Sweep"] = "Sweep"


class Fleet(FleetDocument):
    """One question about many clusters, each in the same scenarios."""

    kind: Literal["Fleet"] = "Fleet"
