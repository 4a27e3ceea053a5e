"""The options that commands share, with kubectl's names and letters."""

from enum import StrEnum
from typing import Annotated, TypeVar

import typer

#: The commands whose documents are lists of cases, as pipelines and JUnit's XML have them.
WITH_CASES = "check, simulate, rollout and drain"
#: The largest number in a field of Kubernetes' objects, and so of moves, replicas, nodes or runs.
LARGEST = 2_147_483_647
#: As many seconds as thirty years have.
_NEVER = 1e9
_Form = TypeVar("_Form", "Output | None", "ScriptOutput | None")


class Output(StrEnum):
    """What `-o` takes; without it a command prints its table."""

    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"
    MARKDOWN = "markdown"
    GITHUB = "github"
    GITLAB = "gitlab"


class ScriptOutput(StrEnum):
    """What `-o` takes where a plan can be carried out: the usual forms, and a shell script."""

    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"
    MARKDOWN = "markdown"
    GITHUB = "github"
    GITLAB = "gitlab"
    SCRIPT = "script"


def plain(output: Output | ScriptOutput | None) -> Output | None:
    """A form that every document has."""
    return None if output is None else Output(output.value)


def for_pipeline(output: Output | ScriptOutput | None) -> bool:
    """Whether it is a list of cases that are well or wrong."""
    return output is not None and output.value in (Output.GITHUB, Output.GITLAB)


def without_cases(output: _Form) -> _Form:
    """What `-o` says for a document that has no cases; those of pipelines are refused before all work."""
    if for_pipeline(output):
        raise typer.BadParameter(f"{output} is for {WITH_CASES}")
    return output


def finite(seconds: float | None) -> float | None:
    """A time limit in which shares can be reckoned; `inf` is one that no search reaches."""
    return None if seconds is None else min(seconds, _NEVER)


class Shape(StrEnum):
    """What `--prefer` takes; the engine's own list, which is not imported just to print help."""

    SPREAD = "spread"
    PACK = "pack"
    STABLE = "stable"


Filename = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|-",
        help="Manifests, what `kubectl get -o json` printed, or both; may be repeated, "
        "- is standard input. Without it kubectl is asked for the live cluster.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="FILE", help="A DeschedulerPolicy: which pods are protected, which may move."
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(
        "--max-moves", metavar="N", min=0, max=LARGEST, help="At most N moves, put to the best use."
    ),
]
MaxUnavailable = Annotated[
    int,
    typer.Option(
        "--max-unavailable",
        metavar="N",
        min=1,
        max=LARGEST,
        help="Replicas of a workload that may be down.",
    ),
]
Curve = Annotated[bool, typer.Option("--curve", help="Also what fewer moves would achieve.")]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Read folders inside folders, too.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Show only this namespace; manifests that name none are in it.",
    ),
]
NamedIn = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Workloads and pods on the command line, and manifests, that name no namespace are in this one.",
    ),
]
AllNamespaces = Annotated[
    bool,
    typer.Option("--all-namespaces", "-A", help="Show all namespaces, which is the default."),
]
Selector = Annotated[
    str | None,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Show only pods with these labels: app=web,tier!=db",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="KIND/NAME[.NS]",
        help="Leave this workload out of what is shown, and of the exit code. May be repeated.",
    ),
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="The live cluster of this kubectl context."),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig file that kubectl is to use."),
]
Format = Annotated[
    Output | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="wide, json, jsonl (an object a line), yaml, name or markdown.",
        callback=without_cases,
    ),
]
PipelineFormat = Annotated[
    Output | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="wide, json, jsonl (an object a line), yaml, name, markdown; github or gitlab for a pipeline.",
    ),
]
ScriptFormat = Annotated[
    ScriptOutput | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="wide, json, jsonl (an object a line), yaml, name, markdown or script.",
        callback=without_cases,
    ),
]
PipelineScriptFormat = Annotated[
    ScriptOutput | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="wide, json, jsonl (an object a line), yaml, name, markdown or script; "
        "github or gitlab for a pipeline.",
    ),
]
JUnit = Annotated[
    str | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Also write what was found to a file, as JUnit XML.",
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Also write a web page to share: one file, works offline."
    ),
]
Gated = Annotated[
    bool, typer.Option("--gated", help="Include pods that a scheduling gate holds back, as if it were gone.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Leave nothing out.")]
NoPreemption = Annotated[
    bool, typer.Option("--no-preemption", help="No pod makes room by preempting others.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Sample nodes and break ties at random with this seed, as kube-scheduler does. Without it all "
        "nodes are looked at, and the first name wins a tie.",
    ),
]
FinalState = Annotated[
    bool,
    typer.Option(
        "--final-state",
        help="Ask only that every constraint holds when all is placed, whether or not a sequence of "
        "binds leads there; such pods are bound by spec.nodeName.",
    ),
]
AllowMoves = Annotated[
    bool,
    typer.Option(
        "--allow-moves",
        help="Evict running pods where that lets more pods in, as few as possible; most come back elsewhere.",
    ),
]
Jobs = Annotated[
    bool,
    typer.Option(
        "--jobs",
        help="Move pods of Jobs, too, where the Job survives it: it ignores evictions or has retries left.",
    ),
]
Prefer = Annotated[
    Shape,
    typer.Option(
        metavar="spread|pack|stable",
        help="Where all else is equal: spread keeps the fullest node low, pack uses few nodes, stable "
        "stays near kube-scheduler's own choices.",
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.0,
        help="When to stop looking for a better plan.",
        callback=finite,
    ),
]
BatchLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.0,
        help="When to stop looking for a better plan: 30, and a second for every 5,000 pods beyond 150,000.",
        callback=finite,
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Also write the figures for Prometheus: skew, pods too many, pods pending, survival.",
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        "-w",
        help="Check again every 10 seconds until Ctrl-C, and print the answer when it has changed.",
    ),
]
Survive = Annotated[
    list[str] | None,
    typer.Option(
        "--survive",
        metavar="KEY",
        help="Lose the domains of this topology key one by one, such as topology.kubernetes.io/zone: what "
        "loses all replicas, what stays pending, and what would help? May be repeated.",
    ),
]
