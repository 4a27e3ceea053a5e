"""The options that sweep and fleet share, beside those of the command that they ask."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from cli.input.options import LARGEST, finite
from cli.output.help import Command


class FleetOutput(StrEnum):
    """What `-o` takes."""

    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"
    MARKDOWN = "markdown"


#: Each has a part of the machine's memory, and there are no machines with more cores.
_MOST_PROCESSES = 4096

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        max=_MOST_PROCESSES,
        help="How many processes answer; without it one for each core.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0.1, help="The time limit of one answer.", callback=finite
    ),
]
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory",
        metavar="MIB",
        min=1,
        max=LARGEST,
        help="The address space of one process; without it the machine's memory in equal parts.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume", metavar="DIR", help="Keep answers in this folder, and reuse those that are in it."
    ),
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


#: Before a word that is left for the command that is asked. No word that a shell hands on begins with it.
_SHIELD = "\0"
#: Alone it is a flag of rebalance and others, with a number it is ours.
_JOBS = "--jobs"


class PassThroughCommand(Command):
    """A command that leaves to another one what it does not know itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse its own options; all others stay, in their order."""
        asked = ctx.parent.command.commands.values() if ctx.parent else ()
        theirs = _takes_value(param for command in asked for param in command.params)
        super().parse_args(ctx, [*_shielded(args, _takes_value(self.get_params(ctx)), theirs)])
        if ctx.params.get("command"):
            ctx.params["command"] = ctx.params["command"].removeprefix(_SHIELD)
        ctx.args = [word.removeprefix(_SHIELD) for word in ctx.args]
        return list(ctx.args)


def _takes_value(params: Iterable[Any]) -> dict[str, bool]:
    """Flags by their names, and whether a value follows."""
    return {name: not getattr(param, "is_flag", False) for param in params for name in param.opts}


def _shielded(args: Sequence[str], own: Mapping[str, bool], theirs: Mapping[str, bool]) -> Iterator[str]:
    """The words with a shield before those that are not ours and would be read as if they were."""
    is_value = False
    for word, after in itertools.zip_longest(args, args[1:], fillvalue=""):
        if is_value:
            found = [word]
        elif word == _JOBS and not re.fullmatch(r"-?\d+", after):
            found = [f"{_SHIELD}{word}"]
        elif re.match(r"-[^-]", word):
            found = [*_letters(word, own, theirs)]
        else:
            found = [word]
        yield from found
        is_value = not is_value and own.get(found[-1], False)


def _letters(word: str, own: Mapping[str, bool], theirs: Mapping[str, bool]) -> Iterator[str]:
    """`-vnshop` as `-v` and `-nshop`: every flag by itself, what follows it is its value if it takes one."""
    for place, letter in enumerate(word[1:], 1):
        flag = f"-{letter}"
        takes_value = own.get(flag, theirs.get(flag, True))
        found = f"-{word[place:]}" if takes_value else flag
        yield found if flag in own else f"{_SHIELD}{found}"
        if takes_value:
            return
