"""The command `planner rebalance`."""

from typing import Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

EvictOnly = Annotated[
    bool,
    typer.Option("--evict-only", help="Only moves that need no pin: evict, and the scheduler does the rest."),
]
MayCordon = Annotated[
    bool,
    typer.Option("--may-cordon", help="Where nothing can be pinned, cordon up to 3 nodes while a pod lands."),
]
Waves = Annotated[
    int | None,
    typer.Option(
        "--waves",
        metavar="N",
        min=1,
        max=options.LARGEST,
        help="Only the first N waves; plan again after them.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Repair only this namespace; manifests that name none are in it.",
    ),
]
Selector = Annotated[
    str | None,
    typer.Option(
        "--selector", "-l", metavar="SELECTOR", help="Move only pods with these labels: app=web,tier!=db"
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="KIND/NAME[.NS]",
        help="Leave this workload alone; so does its annotation planner/exclude: true. May be repeated.",
    ),
]
Soft = Annotated[bool, typer.Option("--soft", help="Repair ScheduleAnyway constraints as well.")]


def rebalance(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: Namespace = None,
    selector: Selector = None,
    exclude: Exclude = None,
    policy: options.Policy = None,
    max_moves: options.MaxMoves = None,
    max_unavailable: options.MaxUnavailable = 1,
    evict_only: EvictOnly = False,
    jobs: options.Jobs = False,
    may_cordon: MayCordon = False,
    waves: Waves = None,
    soft: Soft = False,
    curve: options.Curve = False,
    time_limit: options.TimeLimit = 60.0,
    output: options.ScriptFormat = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Which few moves repair the spread, and in which order?

    The fewest evictions after which every DoNotSchedule constraint holds, in waves: whichever move of
    a wave finishes first, budgets hold, every replacement has room, and nothing gets worse. Nothing is
    left Pending. Why a replacement lands on one of the nodes in the plan is said under LANDING:

    filters: the scheduler refuses all other nodes.

    scores: others would do, and these have its highest score.

    pinned: it would choose otherwise; the new pod gets a node affinity for these nodes, which the plan
    prints.

    cordoned: it would choose otherwise; other nodes are cordoned until the new pod has landed
    (--may-cordon).

    Only what a ReplicaSet or ReplicationController makes can be pinned without a rollout. For StatefulSets
    and others --may-cordon lets up to three nodes be cordoned, for one replacement at a time, until it has
    landed; without it such moves are left out, and a note says which.

    Pods of Jobs are left alone: to a Job an eviction is a failure. --jobs lets them move where the Job
    survives it, as its podFailurePolicy ignores evictions or it has retries left.

    -o script prints a shell script that makes the moves wave by wave. It checks first that the cluster
    is the one of the plan, can be interrupted and started again, and stops when a replacement lands
    where it was not meant to; `--dry-run` asks the API server and changes nothing.

    -n, -l and --exclude choose the pods that may move and the constraints to repair: those that these
    pods carry or are counted by. Pods of the whole cluster are still counted.

    Exit code 1 when such a constraint stays broken. `-o name` prints the pods to evict.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.input.source import with_policy
    from cli.output.scope import Scope
    from cli.output.views.scripts import moves
    from models.errors import InputError
    from planner import rebalance as plan_moves
    from planner.rebalance.plan import MoveScope

    if may_cordon and evict_only:
        raise InputError(["--may-cordon and --evict-only exclude each other"])
    scope = Scope.of(namespace, all_namespaces=False, selector=selector)
    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    scope.check(cluster)
    scope = scope.without(cluster, exclude or ())
    cluster = with_policy(cluster, policy)
    with searching("moves") as (_, stop_requested):
        plan = plan_moves(
            cluster,
            time_limit=time_limit,
            max_moves=max_moves,
            max_unavailable=max_unavailable,
            evict_only=evict_only,
            cordon=may_cordon,
            soft=soft,
            choice=MoveScope(scope.namespace, scope.selector, frozenset(map(" ".join, scope.excluded))),
            curve=curve,
            first_waves=waves,
            stop_event=stop_requested,
            jobs=jobs,
        )
    plan = plan.model_copy(update={"about": scope.about})
    answer = Answer(output=output, verbose=verbose, report=report)
    findings = bool(plan.after.hard_violations)
    answer.give("rebalance", plan, cluster, findings=findings, script=moves.lines)
