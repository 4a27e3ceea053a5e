"""Nodes that are cordoned, drained, removed or added."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count, islice

from models import Cluster
from models.controllers.daemons import node_meant
from models.controllers.templates import stand_in_uid
from models.errors import InputError
from models.objects.affinity import CORDON, Taint
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.storage import CSINode
from models.words import counted, listed
from planner.eviction.movable import is_tied
from planner.problem.eligibility import lasting
from planner.problem.nodes import HOSTNAME
from planner.problem.selection import PLACE_LABELS
from planner.whatif.eviction import bare_pods, drain_notes, noted, without_pods
from planner.whatif.named import node_named, nodes_chosen, nodes_named

_UNREACHABLE = tuple(
    Taint(key="node.kubernetes.io/unreachable", effect=effect) for effect in ("NoSchedule", "NoExecute")
)
#: When pods on nodes that do not answer were told to end: that it was is all that counts.
_LOST_AT = datetime(2020, 1, 1, tzinfo=UTC)
MOST_NEW_NODES = 100_000


def cordon(cluster: Cluster, *nodes: str) -> Cluster:
    """The cluster with nodes that take no new pods, and have the taint that the node controller adds."""
    wanted = {node.name for node in nodes_named(cluster, nodes)}
    return replace(
        cluster, nodes=tuple(_cordoned(node) if node.name in wanted else node for node in cluster.nodes)
    )


def _cordoned(node: Node) -> Node:
    taints = node.spec.taints
    if not any((item.key, item.effect) == (CORDON.key, CORDON.effect) for item in taints):
        taints = (*taints, CORDON)
    return node.changed("spec", unschedulable=True, taints=taints)


def drain(cluster: Cluster, node: str) -> Cluster:
    """The cluster as `kubectl drain` leaves it: the node is there and cordoned, its pods wait for another.

    Pods of DaemonSets and static pods stay.
    """
    cordoned = cordon(cluster, node)
    gone = [pod for pod in cluster.pods if pod.node_name == node and not (pod.is_finished or is_tied(pod))]
    asked = [pod for pod in gone if not pod.is_terminating]
    notes = tuple(drain_notes(f"drain {node}", cluster, asked))
    return noted(without_pods(cordoned, gone, returning=gone), notes)


def remove_nodes(cluster: Cluster, nodes: str) -> Cluster:
    """The cluster without a node, or without all nodes with a label `key=value`, and without their pods.

    Controllers make their pods again, except DaemonSets, whose pods go also where they wait for such a node.
    """
    names = {node.name for node in nodes_chosen(cluster, nodes)}
    gone = [
        pod
        for pod in cluster.pods
        if pod.node_name in names or (pod.is_waiting and is_tied(pod) and node_meant(pod) in names)
    ]
    returning = [pod for pod in gone if not (pod.is_finished or is_tied(pod))]
    left = without_pods(without_nodes(cluster, names), gone, returning=returning)
    left = replace(left, removed=(*cluster.removed, *sorted(names)))
    told = bare_pods(f"remove {nodes}", returning), _bound_to_no_node(f"remove {nodes}", left, names)
    return noted(left, chain.from_iterable(told))


def _bound_to_no_node(what: str, cluster: Cluster, gone: Collection[str]) -> Iterator[str]:
    """A note about the pods that are made again for a node that is gone."""
    bound = [pod.key for pod in cluster.pods if pod.node_name in gone]
    if bound:
        pods = f"{counted(len(bound), 'pod')} of a template with spec.nodeName"
        yield f"{what}: {pods}, never started: {listed(bound)}"


def without_nodes(cluster: Cluster, names: Collection[str]) -> Cluster:
    attachments = (item for item in cluster.volume_attachments if item.spec.node_name not in names)
    return replace(
        cluster,
        nodes=tuple(node for node in cluster.nodes if node.name not in names),
        csi_nodes=tuple(item for item in cluster.csi_nodes if item.name not in names),
        volume_attachments=tuple(attachments),
    )


def lose_contact(
    cluster: Cluster, nodes: str, ending: Collection[str] = (), awaited: Collection[str] = ()
) -> Cluster:
    """The cluster with a node, or all nodes with a label `key=value`, unreachable, without its pods.

    As in an outage before the nodes are removed: constraints still count them, no pod comes there.  Pods that
    are `ending`, by their keys, are Terminating there; those `awaited` are not replaced before they end.
    Pods of DaemonSets and static pods tolerate it, and stay.
    """
    names = {node.name for node in nodes_chosen(cluster, nodes)}
    lost = [pod for pod in cluster.pods if pod.node_name in names]
    left = replace(
        cluster,
        pods=tuple(_terminating(pod) if pod.key in ending else pod for pod in cluster.pods),
        nodes=tuple(_unreachable(node) if node.name in names else node for node in cluster.nodes),
    )
    gone = [pod for pod in lost if not (is_tied(pod) or pod.key in ending)]
    returning = [pod for pod in lost if not (is_tied(pod) or pod.is_finished or pod.key in awaited)]
    return without_pods(left, gone, returning=returning)


def _terminating(pod: Pod) -> Pod:
    told = pod.metadata.deletion_timestamp or _LOST_AT
    return pod.changed("metadata", deletion_timestamp=told)


def _unreachable(node: Node) -> Node:
    taints = dict.fromkeys((*node.spec.taints, *_UNREACHABLE))
    return node.changed("spec", taints=(*taints,))


def add_nodes(
    cluster: Cluster, number: int, like: Node | str, labels: Mapping[str, str] | None = None
) -> Cluster:
    """The cluster with so many more nodes like one of its own (by name), or like any other.

    `labels` replace those of the pattern. The new nodes are healthy and empty but for their DaemonSet
    pods, and have pulled no images yet.
    """
    if not 1 <= number <= MOST_NEW_NODES:
        raise InputError([f"expected a number of nodes from 1 to {MOST_NEW_NODES:,}, found {number}"])
    pattern = node_named(cluster, like) if isinstance(like, str) else like
    names = [*islice(free_names(pattern.name, {node.name for node in cluster.nodes}), number)]
    drivers = next((item for item in cluster.csi_nodes if item.name == pattern.name), None)
    grown = replace(
        cluster,
        nodes=cluster.nodes + tuple(fresh_node(pattern, name, labels or {}) for name in names),
        csi_nodes=cluster.csi_nodes + (tuple(_named(drivers, name) for name in names) if drivers else ()),
    )
    return without_pods(grown, ())


def free_names(prefix: str, taken: Collection[str], first: int = 1) -> Iterator[str]:
    """`prefix-1`, `prefix-2`, ... without those that are taken."""
    names = (f"{prefix}-{number}" for number in count(first))
    return (name for name in names if name not in taken)


def fresh_node(pattern: Node, name: str, labels: Mapping[str, str]) -> Node:
    """A node of another's shape that has just joined."""
    fresh = pattern.changed(
        "metadata",
        name=name,
        uid=stand_in_uid("Node", name),
        labels={**_moved(pattern.metadata.labels, labels), HOSTNAME: name, **labels},
        creation_timestamp=None,
        deletion_timestamp=None,
    )
    fresh = fresh.changed("spec", taints=lasting(pattern.spec.taints), unschedulable=False, provider_id="")
    return fresh.changed("status", images=(), conditions=())


def _moved(own: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of a node in the place that others say: drivers have labels of their own for its zone."""
    places = {
        (key.rpartition("/")[2], own[key]): labels[key]
        for key in PLACE_LABELS
        if key in labels and key in own
    }
    return {key: places.get((key.rpartition("/")[2], value), value) for key, value in own.items()}


def _named(drivers: CSINode, name: str) -> CSINode:
    return drivers.changed("metadata", name=name, uid=stand_in_uid("CSINode", name))
