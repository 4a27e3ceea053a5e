"""What a script checks before it starts, as rows of its plan: nodes and budgets as they were."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from cli.output.views.scripts.frame import checked, command
from models.objects.affinity import CORDON
from models.objects.disruption import PodDisruptionBudget, PodDisruptionBudgetSpec
from models.objects.node import Node
from models.objects.pod import Pod
from models.snapshot import Snapshot


def nodes(snapshot: Snapshot, names: Iterable[str]) -> Iterator[str]:
    """These nodes, of a supposed cluster all: uid, whether cordoned, and taints that keep pods off.

    And those that were taken away.
    """
    wanted = set(names)
    for node in snapshot.nodes:
        if snapshot.supposed or node.name in wanted:
            checked(node.name)
            state = "cordoned" if node.spec.unschedulable else "open"
            yield command("node", node.name, node.metadata.uid, state, *_taints(node))
    for name in snapshot.removed:
        checked(name)
        yield command("absent", name)


def _taints(node: Node) -> Iterator[str]:
    hard = (one for one in node.spec.taints if one.effect != "PreferNoSchedule" and one != CORDON)
    if found := " ".join(f"{one.key}={one.value}:{one.effect}" for one in hard):
        yield found


def budgets(snapshot: Snapshot, pods: Collection[Pod]) -> Iterator[str]:
    """Every PodDisruptionBudget over one of the pods."""
    alike = {(pod.namespace, tuple(sorted(pod.metadata.labels.items()))): pod for pod in pods}.values()
    rows = [
        command("budget", budget.namespace, budget.name, *_amounts(budget.spec))
        for budget in snapshot.pod_disruption_budgets
        if any(_covers(budget, pod) for pod in alike)
    ]
    if rows:
        yield "# budget NAMESPACE NAME MIN-AVAILABLE MAX-UNAVAILABLE"
        yield from rows


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = budget.spec.selector
    return (
        budget.namespace == pod.namespace and selector is not None and selector.matches(pod.metadata.labels)
    )


def _amounts(spec: PodDisruptionBudgetSpec) -> Iterator[str]:
    for amount in (spec.min_available, spec.max_unavailable):
        yield "" if amount is None else str(amount)


def owners(moved: Iterable[Pod], snapshot: Snapshot, *, with_nodes: bool = True) -> Iterator[str]:
    """Every controller of a moved pod, with all its pods and where they are."""
    wanted = dict.fromkeys((pod.namespace, owner_of(pod)) for pod in moved)
    uids: dict[tuple[str, str], str] = {}
    pods: dict[tuple[str, str], list[str]] = {key: [] for key in wanted}
    for pod in snapshot.pods:
        key = (pod.namespace, owner_of(pod))
        if key in pods and exists(pod) and not pod.metadata.deletion_timestamp and not pod.is_finished:
            pods[key].append(f"{pod.name}@{pod.node_name or ''}" if with_nodes else pod.name)
            uids.setdefault(key, _owner_uid(pod))
    for (namespace, owner), names in pods.items():
        yield command("owner", namespace, owner, uids[namespace, owner], " ".join(names))


def exists(pod: Pod) -> bool:
    """Whether a pod is in the cluster, and not only in what a manifest would lead to."""
    return bool(pod.node_name or pod.metadata.creation_timestamp)


def owner_of(pod: Pod) -> str:
    """`Kind/name` of the controller; empty for a pod without one."""
    owner = pod.metadata.controller
    return "" if owner is None else f"{owner.kind}/{owner.name}"


def _owner_uid(pod: Pod) -> str:
    owner = pod.metadata.controller
    return "" if owner is None else owner.uid
