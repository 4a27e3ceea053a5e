"""`planner rollout`: what an apply leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options
from cli.outcome import Exit
from cli.what_if import Changes

if TYPE_CHECKING:
    from models import Cluster

Manifests = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|-",
        help="The manifests that are to be applied; may be repeated, - is standard input.",
    ),
]
Snapshot = Annotated[
    list[str] | None,
    typer.Option(
        "--snapshot",
        metavar="FILE|DIR",
        help="What runs; may be repeated. Without it kubectl is asked for the live cluster.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="Manifests that name no namespace are in this one."
    ),
]
Replays = Annotated[
    int,
    typer.Option(
        "--replays",
        metavar="N",
        min=0,
        help="How often everything that a cluster leaves to chance is drawn, besides the first run.",
    ),
]


def rollout(
    filename: Manifests = None,
    snapshot: Snapshot = None,
    recursive: options.Recursive = False,
    namespace: Namespace = None,
    replays: Replays = 20,
    no_preemption: options.NoPreemption = False,
    output: options.Format = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """I am about to apply this: what happens?

    Deployments, StatefulSets and DaemonSets that the manifests change are rolled out step by step, as
    their controllers do it, every pod placed by the reference scheduler. Does it complete, and if not,
    at which step does it stop, with which line of the scheduler, and what would help? How few pods are
    ready on the way, and which constraint ends broken?

    What a cluster leaves to chance is drawn --replays times: ties between nodes, which controller is
    first, when pods become ready or have ended.

    Exit code 1 when a draw does not complete or ends with a DoNotSchedule constraint broken. `-o name`
    prints the workloads that do not complete.
    """
    from cli.changes import changed
    from cli.render import Page, show
    from cli.report.publish import publish
    from planner.rollout import rollout as play

    manifests = _manifests(filename, recursive, namespace)
    cluster = changed(_running(snapshot, recursive, context, kubeconfig), changes, namespace)
    found = play(cluster, manifests, replays=replays, preemption=not no_preemption)
    publish(report, "rollout", found, cluster)
    show(found, Page.of(output, verbose))
    if not found.completes or found.replays.held < found.replays.runs:
        raise typer.Exit(Exit.FINDINGS)


def _manifests(filename: Sequence[str] | None, recursive: bool, namespace: str | None) -> Cluster:
    from models import Cluster, InputError

    if not filename:
        raise InputError(["-f: the manifests that are to be applied are missing"])
    return Cluster.load(*filename, recursive=recursive, namespace=namespace, partial=True)


def _running(
    snapshot: Sequence[str] | None, recursive: bool, context: str | None, kubeconfig: str | None
) -> Cluster:
    from cli.source import load

    return load(snapshot, recursive, context, kubeconfig)
