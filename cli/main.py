"""The commands; what they need is imported when they run, so that `--help` is there at once."""

import gc
import io
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

# Settings that libraries read when they are imported: no search for pydantic plugins among all that is
# installed, and no threads for linear algebra, which is not used. A small command takes a fifth less.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import typer
from typer.main import get_command

from cli.commands.capacity import capacity
from cli.commands.compare import compare
from cli.commands.completion import completion, help_of, version
from cli.commands.consolidate import consolidate
from cli.commands.diff import diff
from cli.commands.drain import drain
from cli.commands.explain import explain
from cli.commands.fleet import fleet, sweep
from cli.commands.rebalance import rebalance
from cli.commands.rollout import rollout
from cli.commands.scale_down import scale_down
from cli.commands.snapshot import snapshot
from cli.commands.solve import solve
from cli.input import again, options
from cli.input.fleet_options import PassThroughCommand
from cli.input.what_if import Changes, InOrder, what_if
from cli.output.help import Command, Group, help_text
from cli.output.outcome import Exit, ending, write_lines

if TYPE_CHECKING:
    from planner.documents.survival import Survival

app = typer.Typer(
    name="planner",
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def complete(words: Sequence[str] | None = None) -> NoReturn:
    """The entry point of `kubectl_complete-planner`; `planner __complete` hands its words on."""
    from cli.input.complete import tell

    found = sys.argv[1:] if words is None else words
    sys.exit(ending(lambda: tell(get_command(app), found), verbose=False))


def main() -> None:
    """The entry point of `planner` and `kubectl-planner`."""
    if hasattr(signal, "SIGPIPE"):
        # End as other tools do when `| head` has seen enough.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Closed by what started it: nothing is read, what is written goes nowhere, and no other file
            # gets its number.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a locale has no sign for is printed as its number.
            stream.reconfigure(errors="backslashreplace")
    # Nearly all that is made stays to the end: looking through it again and again, and once more
    # at the end, takes a third of the time of a small command.
    gc.set_threshold(100_000, 50, 50)
    if sys.argv[1:2] == ["__complete"]:
        complete(sys.argv[2:])
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        # Once more, while the first was being told.
        code = Exit.INTERRUPTED
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line, and get its exit code."""
    again.remember(arguments)
    verbose = not {"-v", "--verbose"}.isdisjoint(arguments)
    return ending(lambda: _answer(list(arguments)), verbose=verbose)


def _answer(arguments: list[str]) -> int | None:
    group = _group()
    text = help_text(group, arguments)
    if text is not None:
        write_lines([text])
        return Exit.WELL
    # sweep and fleet have workers run command lines: they are told how here, as imports only go down.
    code: int | None = group(args=arguments, prog_name="planner", standalone_mode=False, obj=run)
    return code


@cache
def _group() -> Any:
    """All commands, made once however often they are asked for."""
    return get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback(invoke_without_command=True)
def planner(
    context: typer.Context,
    shown: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Where kube-scheduler will put your pods, and whether the spread is what you asked for.

    The planner reads a snapshot of a cluster and never changes one. It takes files with -f, or
    asks kubectl for the live cluster. The whole cluster always counts: -n and -l only choose what
    is shown, or may be moved (rebalance). Without -n all namespaces are. Where workloads or pods
    are named on the command line, -n is the namespace of those that name none.

    Exit codes: 0 all is well, 1 pods left over or constraints broken,
    2 input that cannot be used, 3 a limit was reached before there was an
    answer, 4 an error in the planner itself.
    """
    if context.invoked_subcommand is None:
        write_lines([context.get_help()])


@app.command(cls=InOrder)
@what_if
def check(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = None,
    exclude: options.LeaveOut = None,
    survive: options.Survive = None,
    watch: options.Watch = False,
    metrics: options.Metrics = None,
    junit: options.JUnit = None,
    output: options.PipelineFormat = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Is the spread what the manifests ask for?

    Every topology spread constraint with its pods per domain, and whatever else in the cluster
    should not be: overcommitted nodes, clashing ports, broken anti-affinity.

    Exit code 1 when a DoNotSchedule constraint is broken or something else is found. `-o name`
    prints the workloads and pods that this is about, and nothing when all is well.

    With --survive the question is another one: what if a zone is lost? Exit code 1 when a workload
    would lose all its replicas, or a replacement would find no node.

    --metrics writes both for Prometheus into a file that is whole at any time.

    With --watch it goes on until Ctrl-C, and the exit code is that of the last answer.
    """
    from cli.commands.steps import Answer, cluster_asked
    from cli.commands.watch import WatchResult, every_change
    from cli.output.progress import doing
    from cli.output.scope import Scope
    from planner import check as audit

    if survive and (junit or options.for_pipeline(output)):
        raise typer.BadParameter("--survive has no --junit, -o github or -o gitlab")
    answer = Answer(output=output, verbose=verbose, report=report, junit=junit)

    def look() -> WatchResult:
        cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
        scope = Scope.of(namespace, all_namespaces, selector)
        scope.check(cluster)
        scope = scope.without(cluster, exclude or ())
        surveys: list[Survival] = []
        for key in dict.fromkeys(survive or ()):
            from planner import survive as lose

            with doing(f"losing each domain of {key}"):
                surveys.append(scope.of_survival(lose(cluster, key), cluster))
        if not surveys or metrics is not None:
            with doing("counting pods by domain"):
                found = scope.of_check(audit(cluster), cluster)
            if metrics is not None:
                from cli.output.metrics import write_metrics

                write_metrics(metrics, found, surveys, time.time())
            if not surveys:
                return WatchResult(found, cluster, bool(found.violations))
        from planner.documents.survival import together

        return WatchResult(together(surveys), cluster, any(survey.failures for survey in surveys))

    def give(found: WatchResult) -> None:
        answer.give("check", found.document, found.cluster, findings=found.findings)

    if watch:
        raise typer.Exit(every_change(look, give))
    give(look())


@app.command(cls=InOrder)
@what_if
def simulate(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = None,
    gated: options.Gated = False,
    no_preemption: options.NoPreemption = False,
    seed: options.Seed = None,
    junit: options.JUnit = None,
    output: options.PipelineFormat = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """What will kube-scheduler do with the pending pods, and why?

    Every pending pod in the order of the queue: its node, or why there is none. With -v also what
    every node was refused for, and every score. Large batches are summed up by workload; -o wide
    has every pod.

    Exit code 1 when a pod stays pending. `-o name` prints the pods that do, and nothing when all
    are placed.
    """
    from cli.commands.steps import Answer, cluster_asked
    from cli.output.progress import meter
    from cli.output.scope import Scope
    from planner import simulate as schedule
    from planner.whatif import open_gates

    scope = Scope.of(namespace, all_namespaces, selector)
    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    if gated:
        cluster = open_gates(cluster)
    scope.check(cluster)
    with meter("pods") as progress:
        simulation = schedule(
            cluster, preemption=not no_preemption, seed=seed, verbose=verbose, progress=progress
        )
    shown = scope.of_simulation(simulation, cluster)
    findings = (
        shown.pending
        or shown.contradicted
        or any(not row.completes for row in getattr(shown, "rollouts", ()))
    )
    answer = Answer(output=output, verbose=verbose, junit=junit)
    answer.give("simulate", shown, cluster, findings=bool(findings))


app.command(cls=InOrder)(what_if(solve))
app.command(cls=InOrder)(what_if(compare))
app.command(cls=InOrder)(what_if(explain))
app.command("scale-down", cls=InOrder)(what_if(scale_down))
app.command("rebalance", cls=InOrder)(what_if(rebalance))
app.command("rollout", cls=InOrder)(what_if(rollout))
app.command("drain", cls=InOrder)(what_if(drain))
app.command("consolidate", cls=InOrder)(what_if(consolidate))
app.command("capacity", cls=InOrder)(what_if(capacity))


_LEAVING = {"ignore_unknown_options": True, "allow_extra_args": True}
app.command("sweep", cls=PassThroughCommand, context_settings=_LEAVING)(sweep)
app.command("fleet", cls=PassThroughCommand, context_settings=_LEAVING)(fleet)


app.command("diff", cls=Command)(diff)
app.command("snapshot", cls=Command)(snapshot)
app.command("completion", cls=Command)(completion)
app.command("help", cls=Command)(help_of)
app.command("version", cls=Command)(version)
