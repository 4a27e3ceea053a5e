"""`planner capacity`: how many more replicas of each workload find a node."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

Workloads = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KIND/NAME]...",
        help="Only these workloads, such as deploy/web.shop; without any, all.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Only what is in this namespace; beside names or --set: that of names and manifests without.",
    ),
]
Best = Annotated[
    bool, typer.Option("--best", help="Also how many the best placement could hold, with a bound.")
]
BestLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.0,
        help="When to stop looking for better placements: of --best alone, 30 unless given.",
        callback=options.finite,
    ),
]
Survive = Annotated[
    str | None,
    typer.Option("--survive", metavar="KEY", help="How many when any one domain of this node label is lost."),
]
Autoscalers = Annotated[
    bool, typer.Option("--autoscalers", help="Do all HorizontalPodAutoscalers fit at their maximum at once?")
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FILE|DIR",
        help="How many copies of all of these manifests together fit, each in namespaces of its own? "
        "May be repeated.",
    ),
]


def capacity(
    workloads: Workloads = None,
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: Namespace = None,
    best: Best = False,
    survive: Survive = None,
    autoscalers: Autoscalers = False,
    sets: Sets = None,
    time_limit: BestLimit = None,
    output: options.Format = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """How many more of these fit?

    For every workload how many more replicas kube-scheduler places, one after the other, before one stays
    without a node, and why that one does. The number is exact: scaled by so many all are placed, and of one
    more than that one is not, or evicts others. Each workload is looked at for itself; pods that are pending
    already and come before it in the queue take their room first. What a quota refuses is not created.

    --best asks how many the best placement could hold, in --time-limit seconds for all workloads. --survive
    takes the domain away whose loss leaves the least. --autoscalers says which workloads have pending pods
    when all autoscalers are at their maximum, and which of them could not get there even alone. --set counts
    whole copies of manifests instead, and workloads only where they are named.

    Exit code 1 when a pod stays pending with --autoscalers. `-o name` prints the workloads with room for no
    more.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.input.changes import qualified
    from cli.output.outcome import say_notes
    from cli.output.scope import Scope
    from models import Cluster, InputError
    from planner import capacity as measure
    from planner.capacity.growth import scalable

    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    named = [qualified(cluster, text, namespace) for text in workloads or ()]
    chosen = None if named or sets else namespace
    if chosen is not None:
        Scope.of(chosen, all_namespaces=False, selector=None).check(cluster)
        named = [item.name for item in scalable(cluster) if item.workload.namespace == chosen]
        if not named:
            raise InputError([f"-n {chosen}: no workload there has a number of replicas to raise"])
    if sets and best and not workloads:
        raise InputError(["--best is about workloads: name some beside --set"])
    if time_limit is not None and not best:
        say_notes(["--time-limit ends the search of --best alone: counts take as long as they take"])
    wanted = Cluster.load(*sets, recursive=recursive, namespace=namespace, partial=True) if sets else None
    with searching("room for replicas") as (_, stop_requested):
        document = measure(
            cluster,
            named,
            best=best,
            survive=survive,
            autoscalers=autoscalers,
            sets=wanted,
            time_limit=30.0 if time_limit is None else time_limit,
            stop_event=stop_requested,
        )
    if chosen is not None:
        shown = tuple(row for row in document.autoscalers if row.namespace == chosen)
        document = document.model_copy(update={"autoscalers": shown})
    findings = any(row.pending for row in document.autoscalers)
    answer = Answer(output=output, verbose=verbose, report=report)
    answer.give("capacity", document, cluster, findings=findings)
