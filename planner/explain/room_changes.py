"""Room on a node: resources, pod slots, host ports, disks and attachable volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from models.objects.containers import Container
from models.objects.node import Node
from models.objects.pod import PodSpec
from models.words import counted
from planner.constraints import Filter
from planner.constraints.node_ports import NodePorts, clash
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from planner.explain.blockers import Blocker, PendingCase, nothing, refusing
from planner.explain.change import ClusterChange, Cost
from planner.explain.misspelled import resource_corrections
from planner.explain.smaller_requests import lower
from planner.problem.nodes import Ints
from planner.problem.requests import PODS, room_words


def resources(case: PendingCase, plugin: NodeResourcesFit) -> Iterator[Blocker]:
    """Nodes without enough of what the pod requests; easiest is the one that lacks the smallest share."""
    if plugin.concerns(case.template):
        amounts = np.array([amount for _, amount in plugin.wants(case.template)])
        shares = _missing(case, plugin) * 1000 // np.maximum(1, amounts)[:, None]
        yield from refusing(case, plugin, partial(_make_room, case, plugin), shares.sum(axis=0))


def ports(case: PendingCase, plugin: NodePorts) -> Iterator[Blocker]:
    """Nodes on which a host port is taken."""
    return refusing(case, plugin, partial(_free_port, case))


def disks(case: PendingCase, plugin: VolumeRestrictions) -> Iterator[Blocker]:
    """Nodes on which a pod holds the same disk or claim, wherever that pod runs."""
    propose = partial(_free_volume, case, plugin, lambda _: np.flatnonzero(case.state.node_of >= 0).tolist())
    return refusing(case, plugin, propose)


def attachments(case: PendingCase, plugin: NodeVolumeLimits) -> Iterator[Blocker]:
    """Nodes with as many volumes attached as they may have."""
    return refusing(case, plugin, partial(_free_volume, case, plugin, lambda node: case.state.pods_on[node]))


def fixed_volumes(case: PendingCase, plugin: VolumeBinding | VolumeZone) -> Iterator[Blocker]:
    """Nodes that the pod's volumes cannot be used on; no small change helps there."""
    return refusing(case, plugin, nothing)


def _missing(case: PendingCase, fit: NodeResourcesFit) -> Ints:
    """How much of each wanted resource every node lacks."""
    rows, amounts = map(list, zip(*fit.wants(case.template), strict=True))
    free = case.problem.allocatable[rows] - case.state.used[rows]
    missing: Ints = np.maximum(np.array(amounts)[:, None] - free, 0)
    return missing


def _make_room(case: PendingCase, fit: NodeResourcesFit, node: int) -> Iterator[ClusterChange]:
    names = [case.problem.resources[row] for row, _ in fit.wants(case.template)]
    short = {
        name: int(amount) for name, amount in zip(names, _missing(case, fit)[:, node], strict=True) if amount
    }
    yield from resource_corrections(case)
    yield from _evict(case, short, node)
    if PODS in short:
        yield _more_slots(case, node)
    if lowered := lower(case, {name: amount for name, amount in short.items() if name != PODS}):
        yield lowered


def _evict(case: PendingCase, short: dict[str, int], node: int) -> Iterator[ClusterChange]:
    """The fewest pods that free what is short: one if one is enough, else the largest first.

    Pods that are lost are taken where those that come back are not enough, or come back too soon.
    """
    problem, lost = case.problem, case.static.losses.of
    here = [pod for pod in sorted(case.state.pods_on[node], key=case.worth) if not case.worth(pod)[0]]
    wanted = {problem.resource_index[name]: amount for name, amount in short.items()}
    safe = _victims(case, [pod for pod in here if not lost(pod)], wanted)
    soon = any(problem.pods[pod].priority > case.template.priority for pod in safe)
    found = [safe, _victims(case, [*filter(lost, here)], wanted) or _victims(case, here, wanted)]
    what = ", ".join(room_words(name, amount) for name, amount in short.items())
    for victims in found if soon or not safe else found[:1]:
        if victims:
            yield delete(case, victims, f"free {what} on node {problem.nodes.names[node]}: ")


def _victims(case: PendingCase, here: list[int], wanted: dict[int, int]) -> list[int]:
    amounts = {pod: case.problem.template(pod).amounts for pod in here}
    alone = [pod for pod in here if all(amounts[pod][row] >= need for row, need in wanted.items())]
    if alone:
        least = min(
            range(len(alone)), key=lambda i: (case.worth(alone[i])[:3], _size(amounts[alone[i]], wanted), i)
        )
        return [alone[least]]
    chosen: list[int] = []
    left = dict(wanted)
    for pod in sorted(here, key=lambda p: -_size(amounts[p], wanted)):
        if any(left[row] > 0 and amounts[pod][row] for row in left):
            chosen.append(pod)
            left = {row: need - amounts[pod][row] for row, need in left.items()}
        if all(need <= 0 for need in left.values()):
            return chosen if len(chosen) <= case.static.effort.most_victims else []
    return []


def _size(amounts: tuple[int, ...], wanted: dict[int, int]) -> float:
    return sum(min(1.0, amounts[row] / need) if need else 0.0 for row, need in wanted.items()) + 1e-12 * sum(
        amounts[row] for row in wanted
    )


def delete(case: PendingCase, victims: list[int], why: str = "") -> ClusterChange:
    """Delete some pods."""
    pods = [case.problem.pods[victim] for victim in victims]
    names = ", ".join(pod.key for pod in pods)
    return ClusterChange(
        "DeletePod",
        Cost.POD + 10 * (len(pods) - 1),
        f"{why}delete pod{'s' if len(pods) > 1 else ''} {names}",
        gone=tuple(victims),
    )


def _more_slots(case: PendingCase, node: int) -> ClusterChange:
    name = case.problem.nodes.names[node]
    row = case.problem.resource_index[PODS]
    slots = int(case.state.used[row, node]) + 1
    return ClusterChange(
        "MorePodSlots",
        Cost.POD_SLOTS,
        f"let node {name} run {counted(slots, 'pod')} (maxPods in its kubelet's configuration)",
        node=node,
        node_edit=lambda found: with_room(found, {PODS: slots * 10**9}),
        node_fragment={"status": {"allocatable": {PODS: str(slots)}}},
    )


def with_room(node: Node, room: dict[str, int]) -> Node:
    """A node with other amounts allocatable, in nano units."""
    return node.changed("status", allocatable={**node.status.allocatable, **room})


def port_holders(case: PendingCase, node: int) -> list[int]:
    """The pods on a node that have a host port which the pod asks for."""
    mine = list(case.template.pod.spec.host_ports())
    return [
        pod
        for pod in case.state.pods_on[node]
        if any(clash(a, b) for a in mine for b in case.problem.pods[pod].spec.host_ports())
    ]


def _free_port(case: PendingCase, node: int) -> Iterator[ClusterChange]:
    mine, holders = list(case.template.pod.spec.host_ports()), port_holders(case, node)
    taken = {
        b
        for pod in holders
        for b in case.problem.pods[pod].spec.host_ports()
        if any(clash(a, b) for a in mine)
    }
    ports = ", ".join(sorted({f"{protocol} {port}" for _, protocol, port in taken}))
    if holders and len(holders) <= case.static.effort.most_victims:
        name = case.problem.nodes.names[node]
        yield delete(case, sorted(holders, key=case.worth), f"free host port {ports} on node {name}: ")
    if not (case.template.pod.spec.host_network or _has_ports_merged(case.template.pod.spec)):
        clashing = [a for a in mine if any(clash(a, b) for b in taken)]
        yield ClusterChange(
            "DropHostPort",
            Cost.DROP_PORT,
            f"do without host port {ports}",
            edit=lambda spec: _without_ports(spec, {(protocol, port) for _, protocol, port in clashing}),
        )


def _has_ports_merged(spec: PodSpec) -> bool:
    """Whether a container has one port under two protocols, which a patch could not tell apart."""
    return any(
        len({port.container_port for port in container.ports}) < len(container.ports)
        for container in spec.all_containers
    )


def _without_ports(spec: PodSpec, ports: set[tuple[str, int]]) -> PodSpec:
    def without(container: Container) -> Container:
        kept = (
            port.model_copy(update={"host_port": 0}) if (port.protocol, port.host_port) in ports else port
            for port in container.ports
        )
        return container.model_copy(update={"ports": tuple(kept)})

    return spec.with_containers(without)


def _free_volume(
    case: PendingCase, plugin: Filter, holders: Callable[[int], list[int]], node: int
) -> Iterator[ClusterChange]:
    """Delete one pod whose going lets the plugin accept the node."""
    state, here = case.state, np.array([node])
    for pod in sorted((p for p in holders(node) if case.problem.pods[p].spec.volumes), key=case.worth):
        mark = state.mark()
        state.unbind(pod)
        accepted = not plugin.reject(case.template, here)[0]
        state.rollback(mark)
        if accepted:
            yield delete(case, [pod], f"free the volume on node {case.problem.nodes.names[node]}: ")
            return
