"""What keeps a node from becoming empty whatever budgets allow: pods not asked, and pods that do not end.

kubectl drain evicts nothing on a node with pods that are lost for good unless it is told to `--force`, and
nothing on one with pods whose data is lost unless it is told to `--delete-emptydir-data`.  Which pods do not
end is said by `planner.problem.endings`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models import Cluster
from planner.documents.drain import Reason, StayingPod
from planner.eviction.controllers import Controllers
from planner.eviction.job_notes import named
from planner.eviction.movable import is_tied
from planner.problem.endings import held_by_finalizers
from planner.problem.problem import Problem
from planner.whatif.victims import as_of

#: The pod that stays, what kind of cause that has, and the cause in words.
Held = tuple[int, Reason, str]


@dataclass(frozen=True, slots=True)
class DrainFacts:
    """What is known beforehand about pods that are evicted, and about nodes."""

    for_good: Collection[int] = ()
    """Pods in whose place nothing comes."""
    too_many: Sequence[tuple[Collection[int], int]] = ()
    """Pods of controllers that have too many, and how many: so many of them go and none comes for them."""
    in_order: Mapping[int, tuple[Sequence[int], int]] = field(default_factory=dict)
    """Of a pod of a StatefulSet with OrderedReady all that go, and how many of these come back before it."""
    replaced: Mapping[int, int] = field(default_factory=dict)
    """Pods in whose place another one comes, which is not there before."""
    after_the_end: Collection[int] = ()
    """Pods in whose place another one comes when they have ended, and not before."""
    endless: Mapping[int, Held] = field(default_factory=dict)
    """Pods that stay Terminating."""
    nodes: Mapping[int, Sequence[Held]] = field(default_factory=dict)
    """Nodes that are not empty in the end, each with the pods that stay."""
    unasked: Collection[int] = ()
    """Those of them on which nothing is evicted at all."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What kubectl drain refuses unless it is told to do it all the same."""

    force: bool = False
    """Evict pods without a controller."""
    delete_emptydir_data: bool = False
    """Evict pods with emptyDir volumes."""


#: What kubectl drain says.
_LOCAL_STORAGE = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
_NO_CONTROLLER = "cannot delete Pods that declare no controller (use --force to override)"

_BOUND = "its template has spec.nodeName {}: the next pod is on that node at once, cordoned or not"

#: Of a pod whose DaemonSet is gone.
_NOT_FOUND = 'cannot delete daemonsets.apps "{}" not found'


def refused(problem: Problem, pods: Sequence[int], overrides: Overrides) -> Iterator[Held]:
    """The pods of a node for which kubectl drain evicts nothing there: of each it names one cause."""
    orphans = [] if overrides.force else _of_daemon_sets(problem, pods)
    pods = [pod for pod in pods if pod not in orphans]
    scratch = [] if overrides.delete_emptydir_data else with_scratch_data(problem, pods)
    others = [pod for pod in pods if pod not in scratch]
    bare = [] if overrides.force else without_controller(problem, others)
    for pod in orphans:
        owner = problem.pods[pod].metadata.controller
        gone = _NOT_FOUND.format("" if owner is None else owner.name)
        yield from _refused(problem, [pod], "NoController", gone)
    yield from _refused(problem, scratch, "LocalStorage", _LOCAL_STORAGE)
    yield from _refused(problem, bare, "NoController", _NO_CONTROLLER)


def with_scratch_data(problem: Problem, pods: Iterable[int]) -> list[int]:
    """The pods among these that have emptyDir volumes, whose content an eviction deletes."""
    return [pod for pod in pods if problem.pods[pod].has_scratch_data]


def without_controller(problem: Problem, pods: Iterable[int]) -> list[int]:
    """The pods among these that nothing makes again."""
    return [pod for pod in pods if problem.pods[pod].metadata.controller is None]


def bound(controllers: Controllers, pods: Iterable[int], drained: Collection[str]) -> Iterator[Held]:
    """The pods among these that come to a drained node at once: kubectl drain evicts them all the same."""
    for pod in pods:
        if (node := controllers.next_bound_to(pod)) in drained:
            yield pod, "NodeName", _BOUND.format(node)


def _of_daemon_sets(problem: Problem, pods: Iterable[int]) -> list[int]:
    """The pods among these that are of DaemonSets: these are gone, or their pods would not be asked to go."""
    owners = ((pod, problem.pods[pod].metadata.controller) for pod in pods)
    return [pod for pod, owner in owners if owner is not None and owner.kind == "DaemonSet"]


def _refused(problem: Problem, pods: Sequence[int], reason: Reason, words: str) -> Iterator[Held]:
    text = f"{words}: {named([problem.pods[pod].key for pod in pods])}"
    return ((pod, reason, text) for pod in pods)


def without_end(problem: Problem, pods: Sequence[int]) -> Iterator[Held]:
    """The pods that stay Terminating once they are evicted."""
    for pod in pods:
        if found := problem.endings.why_not(pod):
            yield pod, found.reason, found.words


def stuck(problem: Problem, nodes: Sequence[int]) -> Iterator[Held]:
    """The pods of some nodes that are Terminating already, and stay so."""
    now, chosen = as_of(problem.cluster), set(nodes)
    for number, node in enumerate(problem.node_of.tolist()):
        pod = problem.pods[number]
        if node not in chosen or is_tied(pod):
            continue
        if found := problem.endings.why_stuck(number, now):
            yield number, found.reason, found.words


def finished(cluster: Cluster, nodes: Collection[str]) -> Iterator[tuple[str, StayingPod]]:
    """The finished pods on some nodes that a finalizer holds: kubectl drain deletes them and waits."""
    for pod in cluster.pods:
        node = pod.node_name
        held = held_by_finalizers(pod) if pod.is_finished and not is_tied(pod) else None
        if held is not None and node is not None and node in nodes:
            yield node, StayingPod(pod=pod.key, message=held.words, reason=held.reason)
