"""`planner sweep` and `planner fleet`: one question in many scenarios, or about many clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import fleet_options, options
from cli.input.fleet_options import Shared
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from cli.input.clusters import ClusterSource

Command = Annotated[
    str, typer.Argument(metavar="COMMAND [ITS FLAGS]", help="What is asked, such as check or capacity.")
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="SPEC",
        help="lose=KEY (every domain), drain=each, scale=KIND/NAME=1..50, add-nodes=NODE=0..10 or "
        "kubernetes=1.34..1.37; values may be a list: 1.34,1.36. Repeated: all combinations.",
        show_default=False,
    ),
]
Contexts = Annotated[
    str | None, typer.Option("--contexts", metavar="A,B", help="These live clusters, as kubectl knows them.")
]
AllContexts = Annotated[bool, typer.Option("--all-contexts", help="Every live cluster that kubectl knows.")]
Snapshots = Annotated[
    str | None,
    typer.Option(
        "--snapshots", metavar="DIR", help="Every file of this folder, or folder in it, is a cluster."
    ),
]
Manifests = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR",
        help="Manifests that are added to every snapshot; may be repeated.",
    ),
]
Part = Annotated[
    str | None,
    typer.Option("--part", metavar="K/N", help="Only every Nth cluster, from the Kth on, counted from 0."),
]
Snapshot = Annotated[
    list[str] | None,
    typer.Option(
        "--snapshot", metavar="FILE", help="The cluster of `sweep rollout`, whose -f are manifests."
    ),
]


def sweep(
    invocation: typer.Context,
    command: Command,
    vary: Vary = None,
    filename: options.Filename = None,
    snapshot: Snapshot = None,
    recursive: options.Recursive = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    jobs: fleet_options.Jobs = None,
    timeout: fleet_options.Timeout = 300.0,
    memory: fleet_options.Memory = None,
    resume: fleet_options.Resume = None,
    dask: fleet_options.Dask = None,
    output: fleet_options.Format = None,
    report: options.Report = None,
    metrics: fleet_options.Metrics = None,
    verbose: options.Verbose = False,
) -> None:
    """What if: the same question in many scenarios?

    COMMAND is asked with its own flags in all combinations of what --vary names, and every answer is a row,
    the worst first. It is what the command alone would say; -o json has it whole. The cluster is read once
    by each worker: a process of this machine (--jobs) or of a Dask cluster (--dask).

    Ctrl-C prints what there is. With --resume the answers are kept in a folder by all that they depend on:
    the next run computes what is missing.

    Exit code 1 when an answer has findings, 3 when a scenario has no answer. `-o name` prints the scenarios
    of both.
    """
    from cli.commands.fleet_run import Run
    from cli.input.clusters import one_cluster

    own = Shared(jobs, timeout, memory, resume, dask, output, report, metrics, verbose)
    words, extra, changes = _question(invocation, command, filename if command == "rollout" else ())
    files = snapshot if command == "rollout" else filename
    source = one_cluster(files, recursive, context, kubeconfig)
    Run("Sweep", invocation.obj, own, (command, *words, *extra), vary or (), changes).give([source])


def fleet(
    invocation: typer.Context,
    command: Command,
    contexts: Contexts = None,
    all_contexts: AllContexts = False,
    snapshots: Snapshots = None,
    filename: Manifests = None,
    vary: Vary = None,
    part: Part = None,
    kubeconfig: options.Kubeconfig = None,
    jobs: fleet_options.Jobs = None,
    timeout: fleet_options.Timeout = 300.0,
    memory: fleet_options.Memory = None,
    resume: fleet_options.Resume = None,
    dask: fleet_options.Dask = None,
    output: fleet_options.Format = None,
    report: options.Report = None,
    metrics: fleet_options.Metrics = None,
    verbose: options.Verbose = False,
) -> None:
    """The same question about many clusters?

    COMMAND is asked with its own flags about every cluster, and every answer is a row, the worst first. A
    cluster that cannot be reached or read is a row with its error. With --vary every cluster is asked in all
    scenarios. A worker, a process of this machine (--jobs) or of a Dask cluster (--dask), holds one cluster
    at a time.

    Ctrl-C prints what there is. With --resume the answers are kept in a folder by all that they depend on:
    the next run computes what is missing.

    Exit code 1 when an answer has findings, 3 when a cluster has none. `-o name` prints the clusters of both.
    """
    from cli.commands.fleet_run import Run
    from cli.input.clusters import many_clusters

    own = Shared(jobs, timeout, memory, resume, dask, output, report, metrics, verbose)
    words, extra, changes = _question(invocation, command, filename)
    found: Sequence[ClusterSource] = many_clusters(
        contexts, snapshots, kubeconfig, part, every=all_contexts, but=(resume, report, metrics)
    )
    Run("Fleet", invocation.obj, own, (command, *words, *extra), vary or (), changes).give(found)


def _question(
    invocation: typer.Context, command: str, files: Sequence[str] | None
) -> tuple[list[str], list[str], Changes]:
    """The flags of the command, its manifests, and which flags are what-if flags.

    Wrong ones are refused before anything is asked.
    """
    from cli.input.clusters import check_question

    words = list(invocation.args)
    if invocation.params.get("verbose"):
        words.append("--verbose")
    extra = [word for name in files or () for word in ("-f", name)]
    return words, extra, check_question(invocation, command, words)
