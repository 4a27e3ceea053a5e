"""`planner compare`: kube-scheduler beside the best plan."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from planner.documents.columns import ColumnName

Replays = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=options.LARGEST,
        help="How often kube-scheduler runs again with the nodes it looks at, and ties, drawn at random.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="A DeschedulerPolicy: Descheduler and the moves obey it."),
]
Afresh = Annotated[
    bool,
    typer.Option(
        "--afresh",
        help="Place all pods that a controller recreates from nothing: what did the order of arrival cost?",
    ),
]


class Way(StrEnum):
    """What `--with` takes: columns that a question may leave out."""

    KUBE_SCHEDULER = "kube-scheduler"
    DESCHEDULER = "descheduler"


With = Annotated[
    list[Way] | None,
    typer.Option(
        "--with",
        metavar="COLUMN",
        help="Add this column, kube-scheduler or descheduler, where it is not shown anyway.",
    ),
]
_COLUMNS: dict[Way, ColumnName] = {Way.KUBE_SCHEDULER: "kubeScheduler", Way.DESCHEDULER: "descheduler"}


def compare(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.NamedIn = None,
    replays: Replays = 5,
    policy: Policy = None,
    afresh: Afresh = False,
    with_columns: With = None,
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

    Where no pod is pending the running pods are compared: what is wrong now, what Descheduler evicts
    for it, round by round with kube-scheduler in between, and the fewest moves, as `planner rebalance`
    finds them. Descheduler's order is drawn, too: of the --replays runs the least and the most are shown.

    With --afresh all pods are taken as pending that a controller makes again, in the order of the queue:
    where kube-scheduler and the best plan put them from nothing, beside where they are today.

    --time-limit is for all together: after half of it no further run begins.
    Ctrl-C leaves out further runs and compares the best plan so far.

    Exit code 1 when even the plan leaves a pod over. `-o name` prints those pods.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.input.source import with_policy
    from planner import compare as measure

    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    cluster = with_policy(cluster, policy)
    with searching("what kube-scheduler does", "{} of {} pods scheduled") as (progress, stop_requested):
        comparison = measure(
            cluster,
            replays=replays,
            time_limit=time_limit,
            afresh=afresh,
            columns=[_COLUMNS[way] for way in with_columns or ()],
            progress=progress,
            stop_event=stop_requested,
        )
    answer = Answer(output=output, verbose=verbose, report=report)
    answer.give("compare", comparison, cluster, findings=bool(comparison.optimal.unplaced))
