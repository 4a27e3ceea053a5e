"""The what-if flags, the same on every command: changes to the snapshot, in the order given.

A command takes part with four lines:

    @app.command(cls=InOrder)
    @what_if
    def check(..., changes: Changes = ()) -> None:
        from cli.input.changes import changed

        cluster = changed(load(...), changes)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from cli.output.help import Command
from cli.output.outcome import Exit, notes_said

#: (name of the flag's parameter, value), as typed.
Changes = Sequence[tuple[str, str]]

_GIVEN = "planner.what_if"
_CHANGES = "changes"


def _flag(metavar: str, text: str) -> Any:
    return Annotated[list[str] | None, typer.Option(metavar=metavar, help=text, show_default=False)]


_FLAGS = {
    "drain": _flag("NODE", "What if this node is drained? It stays, cordoned; its pods look for another."),
    "remove_node": _flag(
        "NODE|KEY=VALUE",
        "What if this node is gone, or all with a label, such as topology.kubernetes.io/zone=eu-1a?",
    ),
    "cordon": _flag("NODE", "What if this node takes no new pods?"),
    "add_nodes": _flag(
        "N=NODE|FILE[,KEY=VALUE...]",
        "What if there are N more nodes like this one, or like the one in a file? Labels can be set.",
    ),
    "scale": _flag("KIND/NAME[.NS]=REPLICAS", "What if this workload is scaled to this number of replicas?"),
    "delete_pod": _flag(
        "[NS/]POD",
        "What if this pod is deleted? All what-if flags may be repeated and mixed; they are applied in "
        "the order given.",
    ),
    "scheduler_config": _flag(
        "FILE",
        "Decide as kube-scheduler does with this KubeSchedulerConfiguration, which no cluster reveals.",
    ),
    "kubernetes": _flag(
        "VERSION",
        "Decide as this release of kube-scheduler does, such as 1.36. Default: the cluster's own.",
    ),
}


Strict = Annotated[
    bool, typer.Option("--strict", help="Treat notes as findings: exit code 1 when there is one.")
]


ServerDryRun = Annotated[
    bool,
    typer.Option(
        "--server-dry-run",
        help="Before answering, send the API server of the live cluster one pod of every template, without "
        "creating it: what it changes or refuses is taken from there.",
    ),
]
SERVER_DRY_RUN = ("server_dry_run", "")


class InOrder(Command):
    """A command that knows in which order its what-if flags were given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as ever, after a look at the order."""
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        given = {name: iter(values.get(name) or ()) for name in _FLAGS}
        ctx.meta[_GIVEN] = [(item.name, next(given[item.name])) for item in order if item.name in given]
        return super().parse_args(ctx, args)


def given(context: Any) -> Changes:
    """The what-if flags of a command that was parsed, as typed."""
    found: Changes = tuple(context.meta.get(_GIVEN, ()))
    return found


def what_if(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the what-if flags in place of its parameter `changes`, and what all have besides."""

    @functools.wraps(command)
    def run(invocation: typer.Context, *, strict: bool, server_dry_run: bool, **words: Any) -> None:
        own = {name: value for name, value in words.items() if name not in _FLAGS}
        asked = [SERVER_DRY_RUN] if server_dry_run else []
        command(**own, **{_CHANGES: [*asked, *invocation.meta[_GIVEN]]})
        if strict and notes_said():
            raise typer.Exit(Exit.FINDINGS)

    own = inspect.signature(command, eval_str=True).parameters.values()
    context = inspect.Parameter("invocation", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flag)
        for name, flag in (("strict", Strict), ("server_dry_run", ServerDryRun))
    ]
    flags += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=flag)
        for name, flag in _FLAGS.items()
    ]
    shown = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own if item.name != _CHANGES]
    signature = inspect.Signature([context, *shown, *flags])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: item.annotation for name, item in signature.parameters.items()}
    return run
