"""The commands `planner completion`, `planner help` and `planner version`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.output.help import help_text
from cli.output.outcome import write_lines


class Shell(StrEnum):
    """The shells that are served."""

    BASH = "bash"
    FISH = "fish"
    ZSH = "zsh"


Shells = Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.", show_default=False)]
Asked = Annotated[
    str | None, typer.Argument(metavar="[COMMAND]", help="The command; all without one.", show_default=False)
]


def completion(shell: Shells) -> None:
    """Print the completion script of a shell: for options, and for names in the cluster.

    Nodes, pods and workloads are those of the snapshot that was given with -f, or of the live cluster.
    `kubectl planner` is completed by kubectl's own completion, which asks `kubectl_complete-planner`.
    """
    write_lines((Path(__file__).parent / "shells" / f"planner.{shell.value}").read_text().splitlines())


def help_of(context: typer.Context, command: Asked = None) -> None:
    """List the commands, or show the options of one."""
    text = help_text(context.find_root().command, [*([command] if command else []), "--help"])
    if text is None:
        raise typer.BadParameter(f"there is no command {command!r}")
    write_lines([text])


def version() -> None:
    """Show the version."""
    from importlib.metadata import version as installed

    write_lines([f"planner {installed('kubernetes-placement-planner')}"])
