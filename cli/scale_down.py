"""`planner scale-down`: a command whose document has one form more than the others, a script."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from cli import options
from cli.outcome import Exit, say_notes
from cli.what_if import Changes


class Form(StrEnum):
    """What `-o` takes here."""

    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    SCRIPT = "script"


Wanted = Annotated[
    list[str],
    typer.Argument(
        metavar="KIND/NAME[.NS]=REPLICAS...",
        help="The workloads, and how many replicas each is to keep: deployment/web.shop=3",
        show_default=False,
    ),
]
Format = Annotated[
    Form | None,
    typer.Option("--output", "-o", metavar="FORMAT", help="wide, json, yaml, name or script."),
]


def scale_down(
    workloads: Wanted,
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    time_limit: options.TimeLimit = 30.0,
    output: Format = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Which replicas should go?

    The pods whose going leaves the rest best spread, beside those that the controllers would take: by
    hard constraints first, then soft ones, then skew. Several workloads are looked at together.

    `-o script` prints the annotations that make the controllers take exactly these pods, and the
    scaling. Deployments, ReplicaSets and ReplicationControllers look at them; StatefulSets and Jobs
    do not.

    Exit code 1 when even the best choice leaves a DoNotSchedule constraint broken. `-o name` prints
    the pods that should go.
    """
    from cli.changes import changed
    from cli.interrupt import bell
    from cli.render import Page, show
    from cli.source import load
    from cli.views.scale_down import script
    from planner import scale_down as choose

    wanted = _parsed(workloads)
    cluster = changed(load(filename, recursive, context, kubeconfig), changes)
    with bell() as rung:
        document = choose(cluster, wanted, time_limit=time_limit, bell=rung)
    if output == Form.SCRIPT:
        say_notes(document.notes)
        print("\n".join(script(document)))
    else:
        show(document, Page.of(options.Output(output) if output else None, verbose))
    if document.best.hard_excess:
        raise typer.Exit(Exit.FINDINGS)


def _parsed(workloads: Sequence[str]) -> dict[str, int]:
    """The workloads with their numbers; an InputError with everything that is not of this form."""
    from cli.changes import replicas_wanted
    from models import InputError

    wanted: dict[str, int] = {}
    problems: list[str] = []
    for text in workloads:
        try:
            workload, replicas = replicas_wanted(text)
        except InputError as error:
            problems += [f"{text}: {problem}" for problem in error.problems]
            continue
        if wanted.setdefault(workload, replicas) != replicas:
            problems.append(f"{text}: {workload} has another number already, {wanted[workload]}")
    if problems:
        raise InputError(problems)
    return wanted
