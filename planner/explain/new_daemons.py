"""The pods of DaemonSets that a new node, or one that is changed, gets before any other pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from models.admission.chain import Admission
from models.controllers.daemons import pods_of_daemon_set, serves
from models.controllers.owners import is_live
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.workload import DaemonSet
from planner.problem.problem import Problem

#: Namespace and name of a DaemonSet.
_Key = tuple[str, str]


class NewDaemons:
    """What DaemonSets make on a node that joins a cluster, or that they could not serve before."""

    def __init__(self, problem: Problem) -> None:
        self._cluster = problem.cluster
        self._sets = {(item.namespace, item.name): item for item in problem.cluster.daemon_sets}

    def on(self, node: Node, there: Iterable[Pod]) -> Iterator[Pod]:
        """The pods for a new node: of all DaemonSets that serve it, as their other pods are.

        `there` are the pods of the node that it is like: of DaemonSets that are not in the snapshot it gets
        the same.
        """
        for key, owner in self._sets.items():
            if serves(owner, node):
                yield from self._one_of(key, owner, node)
        for pod in there:
            known = _daemon_set_of(pod)
            if known is not None and known not in self._sets:
                yield _copy(pod, pod.name, node)

    def on_changed(self, node: Node, old: Node, there: Iterable[Pod]) -> Iterator[Pod]:
        """The pods for a node that is changed: of DaemonSets that serve it now, and did not before."""
        known = {*map(_daemon_set_of, there)}
        for key, owner in self._sets.items():
            if key not in known and serves(owner, node) and not serves(owner, old):
                yield from self._one_of(key, owner, node)

    def _one_of(self, key: _Key, owner: DaemonSet, node: Node) -> Iterator[Pod]:
        pod = self._examples.get(key) or self._made(owner, node)
        if not pod.refusal:
            yield _copy(pod, owner.name, node)

    @cached_property
    def _examples(self) -> dict[_Key, Pod]:
        """A pod of each DaemonSet, one that runs where there is one."""
        found: dict[_Key, Pod] = {}
        live = filter(is_live, self._cluster.pods)
        for pod in sorted(live, key=lambda pod: not pod.node_name):
            key = _daemon_set_of(pod)
            if key is not None:
                found.setdefault(key, pod)
        return found

    def _made(self, owner: DaemonSet, node: Node) -> Pod:
        """The first pod of a DaemonSet that has none yet."""
        (made,) = pods_of_daemon_set(owner, [node], (), set())
        return self._admission.admit(made)

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self._cluster)


def _daemon_set_of(pod: Pod) -> _Key | None:
    owner = pod.metadata.controller
    return None if owner is None or owner.kind != "DaemonSet" else (pod.namespace, owner.name)


def _copy(pod: Pod, name: str, node: Node) -> Pod:
    return pod.changed("metadata", name=f"{name}-{node.name}", uid="").on(node.name)
