"""The command `planner solve`."""

from cli.input import options
from cli.input.what_if import Changes


def solve(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.NamedIn = None,
    gated: options.Gated = False,
    final_state: options.FinalState = False,
    allow_moves: options.AllowMoves = False,
    jobs: options.Jobs = False,
    prefer: options.Prefer = options.Shape.SPREAD,
    time_limit: options.BatchLimit = None,
    output: options.ScriptFormat = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Where should the whole batch go?

    kube-scheduler takes pods one by one and gets stuck; the batch as a whole often fits. The plan
    is a sequence of binds, each of which the scheduler's filters accept when it is made, that places
    the most pods, those of the highest priority first. It never has fewer than kube-scheduler
    places without preemption.

    Then come the softer stages, each with its bound: ScheduleAnyway constraints, preferred
    affinities, and the shape that --prefer asks for. -v shows them.

    With --allow-moves running pods that a controller recreates may be evicted, to be bound elsewhere
    or to stay pending: never so that fewer pods of their priority or a higher one run, and as few as
    possible. Budgets hold. Softer stages are left out. Pods of Jobs stay unless --jobs is given, too.

    With --gated pods that a scheduling gate holds back are in the batch. Then -o script prints a shell
    script that narrows each of them to its node and takes its gates off, in the plan's order: the way
    to place a batch that no scheduler can upset.

    Ctrl-C prints the best plan so far. Exit code 1 when a pod is left over. `-o name` prints those pods.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.output.views.scripts import placing
    from planner import solve as place
    from planner.whatif import open_gates

    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    with searching("the most pods", "{} pods placed, at most {}") as (watch, stop_requested):
        plan = place(
            open_gates(cluster) if gated else cluster,
            time_limit=time_limit,
            final_state=final_state,
            allow_moves=allow_moves,
            jobs=jobs,
            prefer=prefer.value,
            watch=watch,
            stop_event=stop_requested,
        )
    answer = Answer(output=output, verbose=verbose, report=report)
    answer.give("solve", plan, cluster, findings=bool(plan.unplaced), script=placing.lines)
