"""`planner scale-down`: a command whose document has one form more than the others, a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from models import Cluster

Wanted = Annotated[
    list[str],
    typer.Argument(
        metavar="KIND/NAME[.NS]=REPLICAS...",
        help="The workloads, and how many replicas each is to keep: deployment/web.shop=3",
        show_default=False,
    ),
]


def scale_down(
    workloads: Wanted,
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.NamedIn = None,
    time_limit: options.TimeLimit = 30.0,
    output: options.ScriptFormat = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Which replicas should go?

    The pods whose going leaves the rest best spread, beside those that the controllers would take: by
    hard constraints first, then soft ones, then skew. Several workloads are looked at together.

    `-o script` prints a shell script that annotates the pods so that the controllers take exactly these,
    scales, and takes the annotations off again. Deployments, ReplicaSets and ReplicationControllers look
    at them; StatefulSets and Jobs do not.

    Exit code 1 when even the best choice leaves a DoNotSchedule constraint broken. `-o name` prints
    the pods that should go.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.output.views.scripts import scale_down as script
    from planner import scale_down as choose

    wanted = _parsed(workloads)
    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    if namespace is not None:
        wanted = _placed(cluster, wanted, namespace)
    with searching("the best replicas to go") as (_, stop_requested):
        document = choose(cluster, wanted, time_limit=time_limit, stop_event=stop_requested)
    answer, findings = Answer(output=output, verbose=verbose), bool(document.best.hard_excess)
    answer.give("scale-down", document, cluster, findings=findings, script=script.lines)


def _placed(cluster: Cluster, wanted: Mapping[str, int], namespace: str) -> dict[str, int]:
    """The workloads in the namespace; an InputError with those that are not there, or are named twice."""
    from cli.input.changes import qualified
    from models import InputError

    found: dict[str, int] = {}
    problems: list[str] = []
    for text, number in wanted.items():
        try:
            name = qualified(cluster, text, namespace)
        except InputError as error:
            problems += [f"{text}={number}: {problem}" for problem in error.problems]
            continue
        if name in found:
            problems.append(f"{text}={number}: {name} is named twice")
        found[name] = number
    if problems:
        raise InputError(problems)
    return found


def _parsed(workloads: Sequence[str]) -> dict[str, int]:
    """The workloads with their numbers; an InputError with everything that is not of this form."""
    from cli.input.changes import replicas_wanted
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
