"""`planner rollout`: what an apply leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import SERVER_DRY_RUN, Changes

if TYPE_CHECKING:
    from models import Cluster

Manifests = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|-",
        help="The manifests that are to be applied; may be repeated, - is standard input, and a folder "
        "with a kustomization.yaml is built first.",
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
        max=options.LARGEST,
        help="How many more runs, each with everything drawn that a cluster leaves to chance.",
    ),
]

Restart = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="Treat every template as changed, as by an environment variable or `kubectl rollout restart`.",
    ),
]
Prune = Annotated[
    str | None,
    typer.Option(
        "--prune",
        metavar="SELECTOR",
        help="As `kubectl apply --prune -l`: only manifests with these labels are applied, and workloads "
        "with them that no manifest has are removed.",
    ),
]


def rollout(
    filename: Manifests = None,
    snapshot: Snapshot = None,
    recursive: options.Recursive = False,
    namespace: Namespace = None,
    replays: Replays = 20,
    restart: Restart = False,
    prune: Prune = None,
    no_preemption: options.NoPreemption = False,
    junit: options.JUnit = None,
    output: options.PipelineFormat = None,
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

    `--scale deployment/web=20,3,20` without -f plays these replica counts one after the other, as an
    autoscaler might set them: the spread after each, and whether a rebalance will be needed in the end.

    Exit code 1 when a draw does not complete or ends with a DoNotSchedule constraint more broken than
    before. `-o name` prints the workloads of which that is so.
    """
    from cli.commands.steps import Answer, searching
    from cli.input.changes import qualified, scale_sequences
    from cli.input.live import kubectl
    from cli.input.manifests import manifests, places, refuse_invalid
    from cli.input.selector import parse_selector
    from models import InputError
    from planner.simulation.rollout import rollout as play
    from planner.simulation.rollout import trajectory

    if snapshot and SERVER_DRY_RUN in changes:
        raise InputError(["--server-dry-run asks a live cluster's API server, and --snapshot reads files"])
    answer = Answer(output=output, verbose=verbose, report=report, junit=junit)
    numbers, changes = scale_sequences(changes)
    if numbers:
        of_manifests = filename or restart or prune is not None
        if of_manifests or junit or report or options.for_pipeline(output):
            without = "no -f, --restart, --prune, --junit, --report, -o github, -o gitlab"
            raise InputError([f"--scale with several numbers is played by itself: {without}"])
        cluster = _running(snapshot, recursive, context, kubeconfig, changes, namespace)
        numbers = {qualified(cluster, name, namespace): found for name, found in numbers.items()}
        with searching("what the steps lead to") as (_, stop_requested):
            scaled = trajectory(
                cluster, numbers, replays=replays, preemption=not no_preemption, stop_event=stop_requested
            )
        stuck = any(step.completed < scaled.runs for path in scaled.courses for step in path.steps)
        answer.give("rollout", scaled, cluster, findings=bool(scaled.rebalance) or stuck)
        return
    asked = kubectl(context, kubeconfig) if SERVER_DRY_RUN in changes else None
    wanted, written = manifests(filename, recursive, namespace, server_dry_run=asked)
    cluster = _running(snapshot, recursive, context, kubeconfig, changes, namespace)
    if asked is None:
        refuse_invalid(written, namespace, cluster if snapshot else None)
    chosen = None if prune is None else parse_selector(prune, "--prune")
    with searching("how it ends") as (_, stop_requested):
        found = play(
            cluster,
            wanted,
            replays=replays,
            preemption=not no_preemption,
            restart=restart,
            prune=chosen,
            stop_event=stop_requested,
        )
    annotated = options.for_pipeline(output)
    at = places(filename, recursive, namespace) if annotated else None
    findings = not found.completes or found.replays.held < found.replays.runs
    answer.give("rollout", found, cluster, findings=findings, places=at)


def _running(
    snapshot: Sequence[str] | None,
    recursive: bool,
    context: str | None,
    kubeconfig: str | None,
    changes: Changes,
    namespace: str | None,
) -> Cluster:
    """What runs: a namespace is that of the manifests and of what flags name, all others are read, too."""
    from cli.input.changes import changed
    from cli.input.source import load

    cluster = load(snapshot, recursive, context, kubeconfig, server_dry_run=SERVER_DRY_RUN in changes)
    return changed(cluster, changes, namespace)
