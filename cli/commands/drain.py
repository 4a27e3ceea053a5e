"""`planner drain`: a pool of nodes drained in an order in which no pod gets stuck."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from models import Cluster

Nodes = Annotated[
    list[str] | None,
    typer.Argument(metavar="NODE|KEY=VALUE...", help="The nodes, by name or by label.", show_default=False),
]
Selector = Annotated[
    str | None,
    typer.Option("--selector", "-l", metavar="SELECTOR", help="The nodes with these labels: pool=old,!gpu"),
]
AtOnce = Annotated[
    int,
    typer.Option("--at-once", metavar="N", min=1, max=options.LARGEST, help="Drain N nodes together."),
]
Surge = Annotated[
    int,
    typer.Option(
        "--surge",
        metavar="N",
        min=0,
        max=options.LARGEST,
        help="Add N nodes like the first of each zone, in turn, before draining.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Evict pods without a controller, too, as kubectl drain does with --force."),
]
DeleteEmptydirData = Annotated[
    bool,
    typer.Option(
        "--delete-emptydir-data",
        help="Evict pods with emptyDir volumes, too, and lose their data, as kubectl drain does with it.",
    ),
]


def drain(
    nodes: Nodes = None,
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.NamedIn = None,
    selector: Selector = None,
    at_once: AtOnce = 1,
    surge: Surge = 0,
    force: Force = False,
    delete_emptydir_data: DeleteEmptydirData = False,
    no_preemption: options.NoPreemption = False,
    junit: options.JUnit = None,
    output: options.PipelineScriptFormat = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """In which order do I drain this pool, and will it get stuck?

    All nodes are cordoned first, so that no pod moves twice. Then they are drained in waves as
    `kubectl drain` does it: static pods and those of DaemonSets stay, a pod is evicted as soon as its
    PodDisruptionBudget allows, and its replacement lands where the scheduler puts it. A node whose
    budget allows nothing is tried again after the others; what frees it then is tried out and told.

    Pods without a controller block their node unless --force is given, and pods with emptyDir volumes unless
    --delete-emptydir-data is. Pods that do not end once they are evicted block it as well: on nodes that are
    not ready or unreachable, and those with finalizers.

    Pods of Jobs are evicted like others, and to a Job that is a failure unless its podFailurePolicy ignores
    it: what becomes of each Job is told.

    Exit code 1 when a node is not empty in the end, a replacement stays pending, a DoNotSchedule
    constraint is more broken than before, a Job fails, or pods evict each other without an end.
    `-o name` prints the nodes in their order, `-o script` a shell script that cordons them all, drains
    wave by wave and waits until what was made again is ready; there is none where a node is blocked.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.output.page import counted
    from cli.output.views.scripts import drain as script
    from models import InputError
    from planner.simulation.drain import drain as play

    if not nodes and selector is None:
        raise InputError(["no node is named: by NAME, KEY=VALUE or -l SELECTOR (--help shows how)"])
    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    chosen = list(dict.fromkeys(_names(cluster, nodes or (), selector)))
    with searching(f"a way to drain {counted(len(chosen), 'node')}") as (_, stop_requested):
        plan = play(
            cluster,
            chosen,
            at_once=at_once,
            surge=surge,
            force=force,
            delete_emptydir_data=delete_emptydir_data,
            preemption=not no_preemption,
            stop_event=stop_requested,
        )
    worse = bool(plan.new_pending or plan.worse)
    fails = any(row.outcome == "Fails" for row in plan.jobs)
    answer = Answer(output=output, verbose=verbose, report=report, junit=junit)
    findings = bool(plan.blocked) or worse or fails or not plan.played_to_end
    answer.give("drain", plan, cluster, findings=findings, script=script.lines)


def _names(cluster: Cluster, nodes: Iterable[str], selector: str | None) -> Iterable[str]:
    from cli.input.selector import parse_selector
    from models import InputError
    from planner.whatif.named import nodes_chosen

    for text in nodes:
        yield from (node.name for node in nodes_chosen(cluster, text))
    if selector is not None:
        wanted = parse_selector(selector)
        found = [node.name for node in cluster.nodes if wanted.matches(node.metadata.labels)]
        if not found:
            raise InputError([f"-l {selector}: no node has such labels"])
        yield from found
