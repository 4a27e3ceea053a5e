"""`planner compare`: kube-scheduler beside the best plan."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes
from cli.output.outcome import Exit

Replays = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="How often kube-scheduler runs again with the nodes it looks at, and ties, drawn at random.",
    ),
]


def compare(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.NamedIn = None,
    replays: Replays = 5,
    time_limit: options.TimeLimit = 30.0,
    output: options.Format = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """How much better than kube-scheduler can it be done?

    kube-scheduler beside the best plan that `planner solve` finds: pods placed in all and by
    priority, nodes used, what is requested of them, and the spread of every constraint over its
    domains. Where nodes score the same, kube-scheduler draws; so besides the run in which the
    smallest name wins there are --replays runs, of which the worst, the median and the best are
    shown. Neither side evicts pods.

    --time-limit is for the search for the plan; the runs of kube-scheduler take the time they take.
    Ctrl-C leaves out further runs and compares the best plan so far.

    Exit code 1 when even the plan leaves a pod over. `-o name` prints those pods.
    """
    from cli.input.changes import changed
    from cli.input.source import load
    from cli.output.interrupt import stop_event
    from cli.output.progress import search
    from cli.output.render import Page, show
    from cli.output.report.publish import publish
    from planner import compare as measure

    cluster = changed(load(filename, recursive, context, kubeconfig, namespace), changes, namespace)
    told = "{} of {} pods scheduled"
    with (
        search("what kube-scheduler does", stoppable=True, best=told) as progress,
        stop_event() as stop_requested,
    ):
        comparison = measure(
            cluster, replays=replays, time_limit=time_limit, progress=progress, stop_event=stop_requested
        )
    publish(report, "compare", comparison, cluster)
    show(comparison, Page.of(output, verbose))
    if comparison.optimal.unplaced:
        raise typer.Exit(Exit.FINDINGS)
