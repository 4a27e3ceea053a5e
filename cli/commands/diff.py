"""`planner diff`: two snapshots beside each other."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.input import options
from cli.output.outcome import Exit

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The earlier snapshot: a file or folder.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The later one.")]


def diff(
    before: Before,
    after: After,
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    output: options.Format = None,
    verbose: options.Verbose = False,
) -> None:
    """What has changed between two snapshots?

    Which nodes came and went, which spread changed, which pods moved, which wait now and did not before. A
    controller gives replacements other names: a pod of a workload that is gone from one node, and
    another that came to a node, are one that moved.

    Exit code 1 when a DoNotSchedule constraint is more broken than before, or a pod waits that did not.
    `-o name` prints these pods, and the workloads with such a constraint.
    """
    from cli.input.source import load
    from cli.output.render import Page, show
    from cli.output.scope import Scope
    from planner import diff as compare_snapshots

    scope = Scope.of(namespace, all_namespaces, None)
    old, new = (load([file], False, None, None, namespace) for file in (before, after))
    if not any(scope.knows(side) for side in (old, new)):
        scope.check(new)
    found = compare_snapshots(old, new, namespace=scope.namespace).model_copy(update={"about": scope.about})
    show(found, Page.of(output, verbose))
    if found.pending or found.worse:
        raise typer.Exit(Exit.FINDINGS)
