"""A DrainPlan as a shell script: all nodes cordoned, then wave by wave emptied and waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby

from cli.output.page import counted
from cli.output.staying_pods import causes
from cli.output.views.scripts.frame import Frame, checked, command, one_line, script
from cli.output.views.scripts.preflight import budgets, nodes, owner_of
from models.errors import InputError
from models.objects.affinity import CORDON
from models.objects.custom_workload import KRUISE
from models.objects.pod import Pod
from models.snapshot import Snapshot
from planner.documents.drain import DrainPlan, DrainStep
from planner.problem.nodes import HOSTNAME

#: What says how many of its pods are ready, and makes pods again: kind and API group, as kubectl names it.
_RESOURCES = {
    ("ReplicaSet", "apps"): "replicasets.apps",
    ("ReplicationController", ""): "replicationcontrollers",
    ("StatefulSet", "apps"): "statefulsets.apps",
    ("CloneSet", KRUISE): f"clonesets.{KRUISE}",
    ("StatefulSet", KRUISE): f"statefulsets.{KRUISE}",
}
#: The same where an owner has no apiVersion.
_BUILT_IN = {kind: found for (kind, group), found in _RESOURCES.items() if group != KRUISE}


def lines(document: DrainPlan, snapshot: Snapshot, again: str) -> Iterator[str]:
    """The script; `again` is the command line that plans once more."""
    if document.blocked:
        held = (f"{cause.subject}: {cause.message}" for cause in causes(document.blocked))
        raise InputError(["no script is made for a drain that gets stuck", *held])
    moved = sum(len(step.evictions) for step in document.steps)
    title = f"{counted(len(document.nodes), 'node')} to drain, {counted(moved, 'eviction')}, "
    frame = Frame(f"{title}planned by `planner drain`.", ("drain",), again)
    return script(frame, snapshot, _plan(document, snapshot))


def _plan(document: DrainPlan, snapshot: Snapshot) -> Iterator[str]:
    """Nodes and budgets as they were, then the waves."""
    pods = {pod.key: pod for pod in snapshot.pods}
    evicted = [pods[row.pod] for step in document.steps for row in step.evictions]
    checked(*(pod.key for pod in evicted))
    yield "# node NAME UID open|cordoned [TAINTS]"
    yield from nodes(snapshot, document.nodes)
    yield from budgets(snapshot, evicted)
    if document.surge:
        yield "# fresh NODES-WITH-THESE-LABELS LABELS"
        yield _fresh(document, snapshot)
    returning = dict.fromkeys((pod.namespace, owner_of(pod)) for pod in evicted if _comes_back(pod))
    if returning:
        yield "# returns NAMESPACE KIND/NAME, whose pods tolerate the cordon"
        yield from (command("returns", *key) for key in returning)
    yield "# drains NODE; goes NODE NAMESPACE POD UID"
    yield "# owner NAMESPACE KIND/NAME PODS-READY-AFTERWARDS RESOURCE"
    ready = _ready(document, snapshot)
    failing = {(row.namespace, f"Job/{row.job}") for row in document.jobs if row.outcome == "Fails"}
    for wave, steps in groupby(document.steps, key=lambda step: step.wave):
        yield command("wave", str(wave))
        yield from _wave([*steps], pods, ready, failing)


def _comes_back(pod: Pod) -> bool:
    """Whether what is made again for a pod may land on a cordoned node."""
    return bool(owner_of(pod)) and pod.spec.tolerates(CORDON)


def _wave(
    steps: list[DrainStep],
    pods: Mapping[str, Pod],
    ready: Mapping[tuple[str, str, str], int],
    failing: Collection[tuple[str, str]],
) -> Iterator[str]:
    owners: dict[tuple[str, str, str], None] = {}
    for step in steps:
        yield command("drains", step.node)
        for row in step.evictions:
            pod = pods[row.pod]
            fails = (pod.namespace, owner_of(pod)) in failing
            lost = ", its emptyDir data is deleted" if pod.has_scratch_data else ""
            yield f"# {'its Job fails' if fails else one_line(_lands(pod, row.lands))}{lost}"
            yield command("goes", step.node, pod.namespace, pod.name, pod.metadata.uid)
            owners[pod.namespace, owner_of(pod), _resource(pod)] = None
    for key in owners:
        if key in ready:
            namespace, owner, resource = key
            yield command("owner", namespace, owner, str(ready[key]), resource)


def _lands(pod: Pod, node: str | None) -> str:
    if node is not None:
        return f"lands on {node}, or on another that is as good"
    return "stays pending" if owner_of(pod) else "no controller makes it again"


def _ready(document: DrainPlan, snapshot: Snapshot) -> dict[tuple[str, str, str], int]:
    """The pods of every controller that run now, without those that are to stay pending."""
    found: Counter[tuple[str, str, str]] = Counter()
    pending = {row.pod for step in document.steps for row in step.evictions if row.lands is None}
    for pod in snapshot.pods:
        resource = _resource(pod)
        if resource and pod.node_name and pod.is_ready and not pod.is_terminating:
            found[pod.namespace, owner_of(pod), resource] += pod.key not in pending
    return dict(found)


def _resource(pod: Pod) -> str:
    """What kubectl calls the kind of the controller; empty where that says nothing of ready pods."""
    owner = pod.metadata.controller
    if owner is None:
        return ""
    if not owner.api_version:
        return _BUILT_IN.get(owner.kind, "")
    return _RESOURCES.get((owner.kind, owner.api_version.rpartition("/")[0]), "")


def _fresh(document: DrainPlan, snapshot: Snapshot) -> str:
    """How many nodes there have to be with the labels that all drained nodes share, and so the new ones."""
    drained = [node for node in snapshot.nodes if node.name in document.nodes]
    labels = dict(set.intersection(*({*node.metadata.labels.items()} for node in drained)))
    labels = {key: value for key, value in labels.items() if key != HOSTNAME and value != drained[0].name}
    alike = sum(labels.items() <= node.metadata.labels.items() for node in snapshot.nodes)
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return command("fresh", str(alike + len(document.surge)), selector)
