"""The options that sweep and fleet share, beside those of the command that they ask."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from cli.output.help import Command


class FleetOutput(StrEnum):
    """What `-o` takes."""

    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"
    MARKDOWN = "markdown"


Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="How many processes answer; without it as many as there are cores."
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="The limit of one answer.")
]
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory",
        metavar="MIB",
        min=1,
        help="The address space of one process; without it the machine's memory in equal parts.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="DIR", help="Keep answers in this folder, and take those that it has."),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Ask the workers of this Dask cluster: tcp://host:8786."),
]
Format = Annotated[
    FleetOutput | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="wide, json, jsonl (a row a line, as they come), yaml, name, markdown.",
    ),
]
Metrics = Annotated[
    str | None, typer.Option("--metrics", metavar="FILE", help="Also write the figures for Prometheus.")
]


@dataclass(frozen=True, slots=True)
class Shared:
    """How a fleet is asked, and where the answer goes."""

    jobs: int | None
    timeout: float
    memory: int | None
    resume: str | None
    dask: str | None
    output: FleetOutput | None
    report: str | None
    metrics: str | None
    verbose: bool


#: `--jobs` alone is a flag of rebalance and others, with a number it is ours.
_FLAG, _SHIELDED = "--jobs", "\0--jobs"


class Outer(Command):
    """A command that leaves to another one what it does not know itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse its own options; all others stay, in their order."""
        return super().parse_args(ctx, [*_shielded(args)])

    @staticmethod
    def inner(invocation: typer.Context) -> list[str]:
        """The flags that are left for the command that is asked."""
        return [_FLAG if word == _SHIELDED else word for word in invocation.args]


def _shielded(args: Sequence[str]) -> Iterator[str]:
    for word, after in itertools.zip_longest(args, args[1:], fillvalue=""):
        yield _SHIELDED if word == _FLAG and not re.fullmatch(r"-?\d+", after) else word
