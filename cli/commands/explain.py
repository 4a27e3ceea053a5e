"""`planner explain`: the command, and which pods its arguments mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from models import Cluster
    from models.objects.workload import Workload

Pods = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[POD|KIND/NAME]...",
        help="Pods by NAME or NAMESPACE/NAME, workloads such as deploy/web; all pending pods without any.",
    ),
]


Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Also name a minimal set of pods and fields that cannot all be satisfied, as the solver proves.",
    ),
]
#: So long the search for a minimal set may take.
_SECONDS = 30.0


def explain(
    pod: Pods = None,
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = None,
    no_preemption: options.NoPreemption = False,
    batch: Batch = False,
    output: options.Format = None,
    report: options.Report = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Why is this pod pending, and what is the smallest change that helps?

    kube-scheduler's line; the nodes by the filter that refused them; for topology spread the pods per
    domain and where the global minimum comes from; then changes to the manifest, to nodes or to other
    pods, the cheapest first. Each was tried out before it is printed: with it the pod gets the node shown.

    Pods that are alike are explained once. Exit code 1 when a pod is pending. `-o name` prints the pods.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.output.scope import Scope
    from models import InputError
    from planner import explain as find_out

    if pod and selector:
        raise InputError(
            [f"-l {selector} chooses among all pending pods, and {pod[0]} is named: one of them"]
        )
    scope = Scope.of(namespace, all_namespaces, selector)
    cluster = cluster_asked(filename, recursive, context, kubeconfig, changes, namespace)
    scope.check(cluster)
    if pod:
        wanted: set[str] | None = set(_named(pod, namespace, cluster))
    else:
        wanted = None if scope == Scope() else scope.pods(cluster) & _scheduled_here(cluster)
    seconds = _SECONDS if batch else 0
    with searching("changes that help") as (_, stop_requested):
        document = find_out(
            cluster, wanted, preemption=not no_preemption, batch=seconds, stop_event=stop_requested
        )
    single = not batch and pod is not None and len(pod) == 1 and len(document.items) == 1
    whole = {"kubernetes": document.kubernetes, "notes": document.notes}
    document = document.model_copy(update={"about": None if pod else scope.about})
    shown = document.items[0].model_copy(update=whole) if single else document
    answer = Answer(output=output, verbose=verbose, report=report)
    answer.give("explain", shown, cluster, findings=bool(document.items or document.contradicted))


def _of_workload(workload: Workload, cluster: Cluster) -> Iterator[str]:
    """The pending pods of a workload."""
    from cli.output.workloads import WorkloadNames

    owners = WorkloadNames(cluster)
    for key in _pending(cluster):
        inside = key.partition("/")[0] == workload.namespace
        if inside and owners.of(key) == f"{workload.kind}/{workload.name}":
            yield key


def _pending(cluster: Cluster) -> set[str]:
    return {pod.key for pod in cluster.pods if pod.is_waiting}


def _scheduled_here(cluster: Cluster) -> set[str]:
    """The pending pods but those of other schedulers, which a note counts."""
    from planner.scheduler.profile import profiles_of

    known = profiles_of(cluster.scheduler_config)
    return {pod.key for pod in cluster.pods if pod.is_waiting and pod.spec.scheduler_name in known}


def _named(names: Iterable[str], namespace: str | None, cluster: Cluster) -> Iterator[str]:
    """`namespace/name` of every pod named, and of the pending pods of every workload named.

    Without a namespace it is -n's, or the only one that has it.
    """
    from planner.whatif.named import kind_named, pod_named, workload_named

    known = {item.key for item in cluster.pods}
    for given in names:
        if given in known:
            yield given
        elif kind_named(given.rpartition("/")[0]) is not None:
            yield from _of_workload(workload_named(cluster, given, namespace), cluster)
        else:
            _refuse_bare_workload(given, namespace, cluster)
            where = given.removeprefix("pod/")
            yield where if where in known else pod_named(cluster, given, namespace).key


def _refuse_bare_workload(name: str, namespace: str | None, cluster: Cluster) -> None:
    """An InputError where a workload has the name and no pod has it: its kind belongs before it."""
    from models import InputError
    from models.controllers.reconcile import workloads_of

    if any(pod.name == name for pod in cluster.pods):
        return
    for found in workloads_of(cluster).known:
        if found.name == name and namespace in (None, found.namespace):
            meant = f"{found.kind.lower()}/{name}"
            raise InputError([f"there is no pod {name} in the cluster (did you mean {meant}?)"])
