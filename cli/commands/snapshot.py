"""The command `planner snapshot`."""

from typing import Annotated

import typer

from cli.input import options

Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|-",
        help="What `kubectl get -o json` printed, instead of the live cluster; may be repeated.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file: compressed when it ends in .gz; in columns and compressed in .snapshot.",
    ),
]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Give namespaces, objects, images and label values other names, in the same order.",
    ),
]
Kubernetes = Annotated[
    str | None,
    typer.Option(
        "--kubernetes",
        metavar="VERSION",
        help="Have other commands decide as this release of kube-scheduler does, not as the server's own.",
    ),
]


def snapshot(
    filename: Sources = None,
    recursive: options.Recursive = False,
    output: Target = None,
    anonymize: Anonymize = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: Kubernetes = None,
) -> None:
    """Write what the planner reads of the live cluster, for -f of the other commands.

    A List in JSON, on standard output or in a file that only you may read; in a file whose name ends
    in .snapshot the same in columns and compressed, smaller and read faster. It holds what decides on
    placement and nothing else: no environment, arguments, commands or probes, no annotations but the
    few that are read. Secrets and ConfigMaps are never asked for.

    With --anonymize names mean nothing to a stranger. They are changed consistently and keep their
    order, so every command gives the same answer. Label keys, numbers and uids stay.
    """
    from cli.input.source import check_target, listing, write
    from models.cluster import release
    from models.sharing.listing import shared

    check_target(output)
    asked = None if kubernetes is None else str(release(kubernetes))
    files = listing(filename, recursive, context, kubeconfig)
    write(shared(files, anonymize=anonymize, kubernetes=asked), output)
