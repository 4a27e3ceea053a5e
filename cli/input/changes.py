"""What the what-if flags say, done to a snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from cli.input.holding import HOLDING
from cli.input.what_if import SERVER_DRY_RUN, Changes
from models import Cluster, InputError
from models.objects.node import Node
from models.reading.manifests import read_files
from planner.whatif import add_nodes, cordon, delete_pod, drain, remove_nodes, scale
from planner.whatif.named import node_name, pod_named, workload_named

_NUMBER = re.compile("[0-9]{1,9}", re.ASCII)


def changed(cluster: Cluster, changes: Changes, namespace: str | None = None) -> Cluster:
    """The cluster after all changes, one after the other; an InputError names the flag that is wrong.

    Pods and workloads that are named without a namespace are in the one given.
    """
    changes = [change for change in changes if change != SERVER_DRY_RUN]
    for number, (name, value) in enumerate(changes, 1):
        make = partial(_after, cluster, name, value, namespace)
        if HOLDING.get() is None:
            cluster = make()
        else:
            from planner.fleet.tasks import held

            cluster = held(number, (id(cluster), name, value, namespace), make)
    return cluster


def _after(cluster: Cluster, name: str, value: str, namespace: str | None) -> Cluster:
    if name not in {"kubernetes", "scheduler_config"}:
        cluster = replace(cluster, supposed=True)
    try:
        return _CHANGE[name](cluster, _placed(cluster, name, value, namespace))
    except InputError as error:
        flag = f"--{name.replace('_', '-')} {value}"
        raise InputError(f"{flag}: {problem}" for problem in error.problems) from None


def _placed(cluster: Cluster, name: str, value: str, namespace: str | None) -> str:
    """The value of a flag, with the namespace of what it names."""
    if name == "delete_pod":
        return pod_named(cluster, value, namespace).key
    if name == "scale":
        workload, sign, replicas = value.rpartition("=")
        return f"{qualified(cluster, workload, namespace)}={replicas}" if sign and workload else value
    return value


def qualified(cluster: Cluster, text: str, namespace: str | None) -> str:
    """`Deployment/web.shop` of whatever kubectl takes for it."""
    return workload_named(cluster, text, namespace).full_name


def _add_nodes(cluster: Cluster, value: str) -> Cluster:
    pattern, *labels = value.split(",")
    number, separator, like = pattern.partition("=")
    pairs = [label.partition("=") for label in labels]
    if not (separator and like and _is_number(number) and all(key and sign for key, sign, _ in pairs)):
        raise InputError(["expected N=NODE or N=FILE, and labels after it: 3=a1,disk=ssd"])
    name = node_name(like)
    known = any(node.name == name for node in cluster.nodes)
    chosen = name if known else _node_in(like)
    return add_nodes(cluster, int(number), chosen, {key: text for key, _, text in pairs})


def _node_in(file: str) -> Node:
    """The one node that a file has."""
    try:
        documents = read_files([file])
    except InputError as error:
        missing = f"{file}: no such file or directory"
        problems = ["neither a node of the cluster nor a file" if p == missing else p for p in error.problems]
        raise InputError(problems) from None
    nodes = [item for document in documents for item in document.objects if isinstance(item, Node)]
    if len(nodes) != 1:
        raise InputError([f"{file}: expected one Node, found {len(nodes)}"])
    return nodes[0]


def _scale(cluster: Cluster, value: str) -> Cluster:
    workload, replicas = replicas_wanted(value)
    return scale(cluster, workload, replicas)


def replicas_wanted(value: str) -> tuple[str, int]:
    """`KIND/NAME[.NS]=REPLICAS` taken apart."""
    workload, separator, replicas = value.partition("=")
    if "," in replicas:
        raise InputError(["several numbers one after the other are for `planner rollout`"])
    if not (separator and workload and _is_number(replicas)):
        raise InputError(["expected KIND/NAME[.NS]=REPLICAS, such as deployment/web.shop=3"])
    return workload, int(replicas)


def scale_sequences(changes: Changes) -> tuple[dict[str, list[int]], Changes]:
    """`--scale KIND/NAME=20,3,20`: the numbers by workload, and all other changes."""
    found: dict[str, list[int]] = {}
    for name, value in changes:
        if name == "scale" and "," in value:
            workload, _, numbers = value.partition("=")
            if not (workload and all(map(_is_number, numbers.split(",")))):
                raise InputError([f"--scale {value}: expected numbers, such as deployment/web.shop=20,3,20"])
            found[workload] = [int(number) for number in numbers.split(",")]
    return found, [item for item in changes if not (item[0] == "scale" and "," in item[1])]


def _scheduler_config(cluster: Cluster, file: str) -> Cluster:
    config = Cluster.load(file, partial=True).scheduler_config
    if config is None:
        raise InputError(["no KubeSchedulerConfiguration is in it"])
    return replace(cluster, scheduler_config=config)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


_CHANGE: Mapping[str, Callable[[Cluster, str], Cluster]] = {
    "drain": drain,
    "remove_node": remove_nodes,
    "cordon": cordon,
    "add_nodes": _add_nodes,
    "scale": _scale,
    "delete_pod": delete_pod,
    "kubernetes": Cluster.as_of,
    "scheduler_config": _scheduler_config,
}
