"""The command `planner rebalance`."""

from enum import StrEnum
from typing import Annotated

import typer

from cli import options
from cli.outcome import Exit
from cli.what_if import Changes


class MoveOutput(StrEnum):
    """What `-o` takes: the usual forms, and two that a cluster understands."""

    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    EVICTION = "eviction"
    SCRIPT = "script"


Format = Annotated[
    MoveOutput | None,
    typer.Option("--output", "-o", metavar="FORMAT", help="wide, json, yaml, name, eviction or script."),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="A DeschedulerPolicy: what it protects stays."),
]
MaxMoves = Annotated[
    int | None,
    typer.Option("--max-moves", metavar="N", min=0, help="The best use of so many moves."),
]
MaxUnavailable = Annotated[
    int,
    typer.Option("--max-unavailable", metavar="N", min=1, help="Replicas of a workload that may be down."),
]
EvictOnly = Annotated[
    bool,
    typer.Option("--evict-only", help="Only moves that need no pin: evict, and the scheduler does the rest."),
]
Curve = Annotated[bool, typer.Option("--curve", help="Also what fewer moves would achieve.")]


def rebalance(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    policy: Policy = None,
    max_moves: MaxMoves = None,
    max_unavailable: MaxUnavailable = 1,
    evict_only: EvictOnly = False,
    curve: Curve = False,
    time_limit: options.TimeLimit = 60.0,
    output: Format = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Which few moves repair the spread, and in which order?

    The fewest evictions after which every DoNotSchedule constraint holds, in waves: whichever move of
    a wave finishes first, budgets hold, every replacement has room, and nothing gets worse. A natural
    landing needs only the eviction; a pinned one needs what the plan prints. Nothing is left Pending.

    -o eviction prints policy/v1 Eviction objects; -o script a shell script that makes the moves wave by
    wave and stops when a replacement lands elsewhere than planned.

    Exit code 1 when a constraint stays broken. `-o name` prints the pods to evict.
    """
    from cli.changes import changed
    from cli.interrupt import bell
    from cli.render import Page, show, show_lines
    from cli.source import load, with_policy
    from cli.views import evictions, move_script
    from planner import rebalance as plan_moves

    cluster = changed(load(filename, recursive, context, kubeconfig), changes)
    cluster = with_policy(cluster, policy)
    with bell() as rung:
        plan = plan_moves(
            cluster,
            time_limit=time_limit,
            max_moves=max_moves,
            max_unavailable=max_unavailable,
            evict_only=evict_only,
            curve=curve,
            bell=rung,
        )
    match output:
        case MoveOutput.EVICTION:
            show_lines(plan, evictions.lines(plan))
        case MoveOutput.SCRIPT:
            show_lines(plan, move_script.lines(plan))
        case _:
            form = None if output is None else options.Output(output.value)
            show(plan, Page.of(form, verbose))
    if plan.after.hard_violations:
        raise typer.Exit(Exit.FINDINGS)
