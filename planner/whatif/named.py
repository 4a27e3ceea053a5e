"""What a user names: nodes, pods and workloads of a snapshot, and what to say when they are not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import TypeVar

from models import Cluster
from models.controllers.reconcile import workloads_of
from models.errors import InputError
from models.objects.custom_workload import ARGO, KRUISE
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.workload import Workload
from models.words import listed

_SHORT = {
    "clone": "CloneSet",
    "deploy": "Deployment",
    "ds": "DaemonSet",
    "rc": "ReplicationController",
    "ro": "Rollout",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
}
#: The API groups of kinds that are not in `apps`; kubectl takes them after the kind: `deployment.apps/web`.
_GROUPS = {
    "CloneSet": (KRUISE,),
    "Job": ("batch",),
    "ReplicationController": ("",),
    "Rollout": (ARGO,),
    "StatefulSet": ("apps", KRUISE),
}
_POD = ("pod", "pods", "po")
_NODE = ("node", "nodes", "no")
_KINDS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "ReplicationController",
    "DaemonSet",
    "Job",
    "Rollout",
    "CloneSet",
)
_LONG = {kind.lower(): kind for kind in _KINDS} | {f"{kind.lower()}s": kind for kind in _KINDS}

Found = TypeVar("Found", bound=Pod | Workload)


def node_named(cluster: Cluster, name: str) -> Node:
    """The node `NAME` or `node/NAME`."""
    return nodes_named(cluster, [name])[0]


def nodes_named(cluster: Cluster, names: Iterable[str]) -> list[Node]:
    """The same for several names, in their order."""
    known = {node.name: node for node in reversed(cluster.nodes)}
    found = []
    for text in names:
        name = node_name(text)
        if name not in known:
            raise _unknown("node", name, (node.name for node in cluster.nodes))
        found.append(known[name])
    return found


def node_name(text: str) -> str:
    """The `NAME` in `node/NAME`; any other text as it is."""
    kind, slash, name = text.partition("/")
    return name if slash and kind in _NODE else text


def nodes_chosen(cluster: Cluster, text: str) -> list[Node]:
    """The node of this name, or all nodes with a label `key=value`."""
    key, found, value = text.partition("=")
    if not found:
        return [node_named(cluster, text)]
    chosen = [node for node in cluster.nodes if node.metadata.labels.get(key) == value]
    if not chosen:
        values = {node.metadata.labels[key] for node in cluster.nodes if key in node.metadata.labels}
        raise InputError([f"there is no node with {text} in the cluster{suggestion(value, values)}"])
    return chosen


def pod_named(cluster: Cluster, text: str, namespace: str | None = None) -> Pod:
    """The pod `namespace/name`, or the only pod `name` or `pod/name`, of a namespace if one is given."""
    kind, slash, bare = text.partition("/")
    name = bare if slash and kind in _POD else text
    matches = [
        pod
        for pod in cluster.pods
        if text == pod.key or (name == pod.name and namespace in (None, pod.namespace))
    ]
    return _only("pod", name, matches, (pod.key for pod in cluster.pods), namespace)


def kind_named(word: str) -> str | None:
    """The kind of workload that kubectl would read: `deploy`, `deployments`, `deployment.apps`."""
    name, _, group = word.lower().partition(".")
    kind = _SHORT.get(name) or _LONG.get(name)
    if kind is None:
        return None
    known = _GROUPS.get(kind, ("apps",))
    return kind if not group or any(group in {name, f"v1.{name}"} for name in known) else None


def workload_named(cluster: Cluster, text: str, namespace: str | None = None) -> Workload:
    """The workload `Kind/name` or `Kind/name.namespace`, the kind as kubectl takes it.

    Without a namespace in the name it is in the one given, or the only one of this name.
    """
    word, _, name = text.partition("/")
    kind = kind_named(word)
    if kind is None or not name:
        kinds = ", ".join(_KINDS)
        raise InputError([f"{text}: expected KIND/NAME or KIND/NAME.NAMESPACE, the kind one of {kinds}"])
    known = [item for item in workloads_of(cluster).known if item.kind == kind]
    matches = [item for item in known if name == f"{item.name}.{item.namespace}"]
    matches = matches or [item for item in known if name == item.name and namespace in (None, item.namespace)]
    if not matches and name in _owners(cluster, kind, namespace):
        missing = f"of {kind} {name} there is only what it owns in the snapshot: add the {kind} itself"
        raise InputError([missing])
    spellings = ((item.name, f"{item.name}.{item.namespace}") for item in known)
    return _only(kind, name, matches, chain.from_iterable(spellings), namespace)


def _owners(cluster: Cluster, kind: str, namespace: str | None) -> set[str]:
    """The owners of a kind that pods and ReplicaSets name, each with its namespace and without."""
    return {
        name
        for item in (*cluster.pods, *workloads_of(cluster).known)
        for owner in item.metadata.owner_references
        if owner.kind == kind and namespace in (None, item.namespace)
        for name in (owner.name, f"{owner.name}.{item.namespace}")
    }


def _only(
    kind: str, text: str, matches: Sequence[Found], known: Iterable[str], namespace: str | None
) -> Found:
    if not matches:
        raise _unknown(kind, text, known, f"namespace {namespace}" if namespace else "the cluster")
    if len(matches) > 1:
        places = listed(sorted(item.namespace for item in matches))
        raise InputError([f"{text}: there is a {kind} of this name in several namespaces: {places}"])
    return matches[0]


def _unknown(kind: str, name: str, known: Iterable[str], where: str = "the cluster") -> InputError:
    return InputError([f"there is no {kind} {name} in {where}{suggestion(name, known)}"])


def suggestion(name: str, known: Iterable[str]) -> str:
    """What was probably meant, in brackets; nothing where no name is alike, or begins with this one alone."""
    names = sorted(set(known))
    longer = [one for one in names if one.startswith(name)]
    hosts = [one for one in longer if one.startswith(f"{name}.")]
    alike = get_close_matches(name, names, n=1)
    alike += next((found for found in (hosts, longer) if len(found) == 1), [])
    return f" (did you mean {alike[0]}?)" if alike else ""
