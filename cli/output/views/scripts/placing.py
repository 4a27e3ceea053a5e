"""A PlacementPlan as a shell script: gates that open in order, Bindings, and evictions that make room.

What is not in the cluster yet comes as fragments for its manifests, in comments before the plan.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cli.output.page import counted
from cli.output.views.scripts.affinity import narrowed, plain
from cli.output.views.scripts.frame import Frame, checked, command, one_line, script
from cli.output.views.scripts.moves import pinning
from cli.output.views.scripts.preflight import budgets, exists, nodes, owner_of, owners
from models import Cluster
from models.controllers.apply import workloads_in
from models.errors import InputError
from models.objects.pod import Pod
from models.snapshot import Snapshot
from planner.batch.narrowed_binds import refused_when_narrowed
from planner.documents.move_plan import OnNodes
from planner.documents.plan import PlacementPlan, PlanStep
from planner.whatif import open_gates

#: The gate of pods that are to wait for a plan.
GATE = "planner/hold"
#: No node has this name: pods of a template pinned to it wait.
_NOWHERE = OnNodes(nodes=("nowhere.planner.invalid",))
_AFFINITY = "/spec/affinity"


def lines(document: PlacementPlan, snapshot: Cluster, again: str) -> Iterator[str]:
    """The script for pods as they are in the snapshot, their gates included."""
    pods = {pod.key: pod for pod in snapshot.pods}
    _check_narrowed(document, pods, snapshot)
    there = [step for step in document.steps if exists(pods[step.pod])]
    missing = [step for step in document.steps if not exists(pods[step.pod])]
    title = f"{counted(len(there), 'step')}, planned by `planner solve`."
    plan = (*_fragments(missing, pods, snapshot), *_plan(there, pods, snapshot))
    return script(Frame(title, ("pins", "placing"), again), snapshot, plan)


def _check_narrowed(document: PlacementPlan, pods: dict[str, Pod], snapshot: Cluster) -> None:
    """Refuse a plan of which a pod would stay pending once it is narrowed to its node."""
    narrow = {
        step.pod for step in document.steps if step.source is not None or pods[step.pod].spec.scheduling_gates
    }
    refused = refused_when_narrowed(open_gates(snapshot), document.steps) if narrow else ()
    problems = [
        f"{step.pod} would be led to {step.node} by a node affinity, which does not bring it there: its "
        "scheduler profile runs without NodeAffinity, or its spread constraint then sees fewer domains "
        "than minDomains and refuses the node (nodeAffinityPolicy: Ignore helps)"
        for step in refused
        if step.pod in narrow
    ]
    if problems:
        raise InputError(problems)


def _plan(steps: Sequence[PlanStep], pods: dict[str, Pod], snapshot: Snapshot) -> Iterator[str]:
    """Nodes, budgets and controllers as they were, then the steps."""
    if not steps:
        return
    involved = [pods[step.pod] for step in steps]
    checked(*(pod.key for pod in involved))
    evicted = [pods[step.pod] for step in steps if step.action == "evict"]
    yield "# node NAME UID open|cordoned [TAINTS]"
    yield from nodes(snapshot, (name for step in steps for name in (step.node, step.source) if name))
    yield from budgets(snapshot, evicted)
    if evicted:
        yield "# owner NAMESPACE KIND/NAME UID 'POD ...'"
        yield from owners(evicted, snapshot, with_nodes=False)
    yield from _rooms(steps, pods, snapshot)
    yield from _rows(steps, pods, snapshot)


def _rows(steps: Sequence[PlanStep], pods: dict[str, Pod], snapshot: Snapshot) -> Iterator[str]:
    """Every step as a row, in order; a replacement says which one of its controller's on that node it is."""
    received: Counter[tuple[str, str, str]] = Counter()
    for step in steps:
        pod = pods[step.pod]
        where = (pod.namespace, pod.name, pod.metadata.uid)
        if step.node is None:
            owner, patch = _pinnable_owner(pod), pinning(_NOWHERE, pod, snapshot)
            yield command("evict_pod", *where, pod.node_name or "", owner, patch)
        elif step.source is not None:
            at = pod.namespace, _pinnable_owner(pod), step.node
            received[at] += 1
            patch = pinning(OnNodes(nodes=(step.node,)), pod, snapshot, first=False)
            yield command("replace", *at, str(received[at]), patch)
        elif pod.spec.scheduling_gates:
            gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
            yield command("open_gate", *where, step.node, gates, _opening(pod, step.node))
        else:
            yield command("bind", *where, step.node)


def _pinnable_owner(pod: Pod) -> str:
    """The controller of a pod whose replacement can be told where to go."""
    owner = owner_of(pod)
    if owner.partition("/")[0] not in {"ReplicaSet", "ReplicationController"}:
        whose = f"{pod.key} of {owner or 'no controller'}"
        raise InputError(
            [f"{whose} would be evicted, and its replacement would go anywhere: leave out --allow-moves"]
        )
    return owner


def _opening(pod: Pod, node: str) -> str:
    """A patch that narrows a held pod to its node and takes its gates off, if they are still the same."""
    gates = [{"name": gate.name} for gate in pod.spec.scheduling_gates]
    return _json(
        [
            {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
            {"op": "test", "path": "/spec/schedulingGates", "value": gates},
            {"op": "test", "path": _AFFINITY, "value": plain(pod.spec.affinity)},
            {"op": "add", "path": _AFFINITY, "value": narrowed(pod.spec.affinity, OnNodes(nodes=(node,)))},
            {"op": "add", "path": "/spec/schedulingGates", "value": []},
        ]
    )


def _rooms(steps: Sequence[PlanStep], pods: dict[str, Pod], snapshot: Snapshot) -> Iterator[str]:
    """The pods that may be on the nodes where pods are bound past the scheduler."""
    targets = {
        step.node
        for step in steps
        if step.node and step.source is None and not pods[step.pod].spec.scheduling_gates
    }
    if not targets:
        return
    yield "# room NODE 'POD ...': pods are bound there, and no scheduler looks whether they fit"
    coming = {step.pod: step.node for step in steps if step.node}
    for node in sorted(targets):
        here = (pod.key for pod in snapshot.pods if node in (pod.node_name, coming.get(pod.key)))
        yield command("room", node, " ".join(here))


def _fragments(steps: Sequence[PlanStep], pods: dict[str, Pod], snapshot: Snapshot) -> Iterator[str]:
    """What manifests need so that pods which are not there yet get to their nodes."""
    above = {(item.namespace, item.name): item.metadata.controller for item in snapshot.replica_sets}
    waiting: dict[str, Counter[str]] = {}
    first: dict[str, Pod] = {}
    for step in steps:
        pod = pods[step.pod]
        owner = pod.metadata.controller
        if owner is not None:
            owner = above.get((pod.namespace, owner.name)) or owner
            key = f"{pod.namespace}/{owner.kind}/{owner.name}"
            waiting.setdefault(key, Counter())[step.node or ""] += 1
            first.setdefault(key, pod)
        elif step.node is not None:
            narrow = narrowed(pod.spec.affinity, OnNodes(nodes=(step.node,)))
            yield from _fragment(f"pod {pod.key} goes to {step.node}:", {"spec": {"affinity": narrow}})
    held_back = {key for key, item in first.items() if item.spec.scheduling_gates}
    stored = workloads_in(snapshot)
    there = {f"{item.namespace}/{item.kind}/{item.name}" for item in stored if item.metadata.uid}
    for key, count in waiting.items():
        shares = ", ".join(f"{node} {number}" for node, number in sorted(count.items()))
        if key in there:
            # A gate in its template would roll out the pods that run.
            then = (
                "plan again when they wait at their gates" if key in held_back else "nothing leads them there"
            )
            yield f"# {one_line(f'{key} is still to make pods, planned for {shares}: {then}.')}"
            continue
        held = {"schedulingGates": [{"name": GATE}]}
        yield from _fragment(
            f"{key} is not there yet, its pods go to {shares}. Applied with this gate they wait; then plan "
            "with --gated:",
            {"spec": {"template": {"spec": held}}},
        )


def _fragment(words: str, fragment: dict[str, Any]) -> Iterator[str]:
    yield f"# {one_line(words)}"
    yield f"#   {_json(fragment)}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
