"""Trying changes out: the change is made, all pods ahead in the queue are tried, and then the pod."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from models.objects.node import Node
from models.objects.pod import Pod
from planner.explain.at_rest import AtRest
from planner.explain.change import Candidate, edited
from planner.explain.trial_states import TrialState, TrialStates
from planner.problem.nodes import HOSTNAME
from planner.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Where a pod went, which pods it evicted, and where the replacements of which deleted pods went."""

    node: str
    victims: tuple[str, ...] = ()
    replaced: Mapping[str, str | None] = field(default_factory=dict)


class Trials:
    """What becomes of one pod when something is changed in a cluster at rest."""

    def __init__(self, static: AtRest, pod: int, states: TrialStates) -> None:
        self._static = static
        self._pod = pod
        self._states = states

    @cached_property
    def _ahead(self) -> list[list[int]]:
        """The pods ahead in the queue, those alike together."""
        template_of, left = self._static.problem.template_of, self._static.left
        alike: dict[int, list[int]] = {}
        for pod in left[: left.index(self._pod)]:
            alike.setdefault(int(template_of[pod]), []).append(pod)
        return [alike[int(template_of[first])] for first in self._static.ahead_of(self._pod)]

    def run(
        self, candidates: Sequence[Candidate], wanted: Callable[[Candidate], bool]
    ) -> Iterator[tuple[Candidate, TrialResult | None]]:
        """Try those still wanted out, in their order; what leaves the nodes alone shares a problem."""
        light = [found for found in candidates if _edits(found) and not _of_cluster(found)]
        variant_of = {id(found): number for number, found in enumerate(light)}
        own = None
        for candidate in candidates:
            if not wanted(candidate):
                continue
            if id(candidate) not in variant_of:
                yield candidate, self._changed(candidate)
                continue
            if own is None:
                own = TrialState(self._static, None, [self._variant(found) for found in light])
                first = len(own.scheduler.problem.pods) - len(light)
            yield candidate, self._decide(own, first + variant_of[id(candidate)], candidate)

    def together(self, candidate: Candidate, pods: Sequence[int]) -> int:
        """How many of some pods alike get a node when all of them have the changes, in the queue's order."""
        nodes, more = self._changed_nodes(candidate), [self._variant(candidate, pod) for pod in pods]
        scheduler = TrialState(self._static, nodes, [*more, *self._coming(candidate)]).scheduler
        first = len(self._static.problem.pods)
        variant_of = {pod: number for number, pod in enumerate(pods, start=first)}
        left = self._static.left
        scheduler.restore_nominations([*(pod for pod in left if pod not in variant_of), *variant_of.values()])
        gone = list(dict.fromkeys(pod for change in candidate for pod in change.gone))
        for pod in gone:
            scheduler.state.unbind(pod)
        own = scheduler.problem.pods[first].priority
        for pod in gone:
            if self._static.losses.comes_back(pod) and scheduler.problem.pods[pod].priority > own:
                _place(scheduler, pod)
        tried = bool(gone) or _of_cluster(candidate)
        queue = [pod for pod in left if pod in variant_of or (tried and not self._static.is_gated(pod))]
        return _count_placed(scheduler, queue, variant_of)

    def _variant(self, candidate: Candidate, number: int | None = None) -> Pod:
        pod = self._static.problem.pods[self._pod if number is None else number]
        return pod.model_copy(update={"spec": edited(pod.spec, candidate)})

    def _changed(self, candidate: Candidate) -> TrialResult | None:
        """A trial that changes nodes, brings pods that have a node, or deletes pods.

        Where the pod itself stays as it is, the state is shared with all pods that ask for the same.
        """
        coming = [*self._coming(candidate)]
        if _edits(candidate):
            state = TrialState(
                self._static, self._changed_nodes(candidate), [self._variant(candidate), *coming]
            )
            return self._decide(state, len(self._static.problem.pods), candidate)
        nodes = self._changed_nodes(candidate) if _of_cluster(candidate) else None
        key = self._key(candidate, nodes, coming)
        state = self._states.get(key, lambda: TrialState(self._static, nodes, coming))
        return self._decide(state, self._pod, candidate)

    def _key(self, candidate: Candidate, nodes: Sequence[Node] | None, coming: Iterable[Pod]) -> Hashable:
        """Equal for changes that lead to the same nodes and pods."""
        known = self._static.problem.nodes
        places = {change.node for change in candidate if change.node is not None and nodes is not None}
        changed = [] if nodes is None else [*(nodes[place] for place in sorted(places)), *nodes[known.size :]]
        return tuple(found.model_dump_json() for found in (*changed, *coming))

    def _coming(self, candidate: Candidate) -> Iterator[Pod]:
        """Pods that come with the changes, each with a node."""
        for change in candidate:
            yield from (change.peer,) if change.peer is not None else ()
            for node in change.new_nodes:
                yield from () if change.like is None else self._daemons(change.like, node)

    def _changed_nodes(self, candidate: Candidate) -> list[Node]:
        nodes = list(self._static.problem.nodes.nodes)
        for change in candidate:
            if change.node_edit is not None and change.node is not None:
                nodes[change.node] = change.node_edit(nodes[change.node])
        return nodes + [node for change in candidate for node in change.new_nodes]

    def _daemons(self, like: int, new: Node) -> Iterator[Pod]:
        """The DaemonSet pods that a new node gets, as the node that it is like has them."""
        for number in self._static.scheduler.state.pods_on[like]:
            pod = self._static.problem.pods[number]
            owner = pod.metadata.controller
            if owner is not None and owner.kind == "DaemonSet":
                yield daemon_copy(pod, new)

    def _decide(self, state: TrialState, variant: int, candidate: Candidate) -> TrialResult | None:
        """Try the pod after all ahead of it; the pod's own trial is undone afterwards."""
        scheduler = state.scheduler
        gone = list(dict.fromkeys(pod for change in candidate for pod in change.gone))
        if gone or not _of_cluster(candidate):
            mark = state.rest()
        state.restore_nominations(self._pod, variant)
        for pod in gone:
            scheduler.state.unbind(pod)
        if gone:
            for group in self._ahead:
                state.try_until_refused(group)
        elif _of_cluster(candidate):
            mark = state.place_first(self._ahead)
        back = [*filter(self._static.losses.comes_back, gone)]
        own = scheduler.problem.pods[variant].priority
        sooner = [pod for pod in back if scheduler.problem.pods[pod].priority > own]
        places = {pod: _place(scheduler, pod) for pod in sooner}
        decision = scheduler.decide(variant)
        landing = None
        if decision.node is not None:
            places |= {pod: _place(scheduler, pod) for pod in back if pod not in places}
            victims = tuple(scheduler.problem.pods[victim].key for victim in decision.victims)
            replaced = {scheduler.problem.pods[pod].key: places[pod] for pod in back}
            landing = TrialResult(scheduler.problem.nodes.names[decision.node], victims, replaced)
        scheduler.forget_nominations([variant])
        scheduler.state.rollback(mark)
        return landing


def _count_placed(scheduler: Scheduler, queue: Sequence[int], variant_of: Mapping[int, int]) -> int:
    """Try a queue of pods, some of them changed, and count those that get a node; what is like a pod that was
    refused is not tried again."""
    refused: set[int] = set()
    placed = 0
    for pod in queue:
        kind = -1 if pod in variant_of else int(scheduler.problem.template_of[pod])
        if kind in refused:
            continue
        if not scheduler.places(variant_of.get(pod, pod)):
            refused.add(kind)
        else:
            placed += kind < 0
    return placed


def _place(scheduler: Scheduler, pod: int) -> str | None:
    """Where a pod goes when it is tried now; of pods of schedulers without a profile that is not known."""
    if scheduler.problem.pods[pod].spec.scheduler_name not in scheduler.schedulers:
        return None
    node = scheduler.decide(pod).node
    return None if node is None else scheduler.problem.nodes.names[node]


def _edits(candidate: Candidate) -> bool:
    """Whether the pod itself is another one afterwards."""
    return any(change.edit is not None for change in candidate)


def _of_cluster(candidate: Candidate) -> bool:
    return any(change.of_cluster for change in candidate)


def daemon_copy(pod: Pod, node: Node) -> Pod:
    """A DaemonSet's pod for another node."""
    metadata = pod.metadata.model_copy(update={"name": f"{pod.name}-{node.name}", "uid": ""})
    spec = pod.spec.model_copy(update={"node_name": node.name})
    return pod.model_copy(update={"metadata": metadata, "spec": spec})


def node_copy(node: Node, name: str, labels: dict[str, str] | None = None) -> Node:
    """A fresh node like another, without pods and not cordoned."""
    own = {**node.metadata.labels, **({HOSTNAME: name} if HOSTNAME in node.metadata.labels else {})}
    metadata = node.metadata.model_copy(update={"name": name, "uid": "", "labels": {**own, **(labels or {})}})
    taints = tuple(t for t in node.spec.taints if not t.key.startswith("node.kubernetes.io/"))
    spec = node.spec.model_copy(update={"unschedulable": False, "taints": taints, "provider_id": ""})
    return node.model_copy(update={"metadata": metadata, "spec": spec})
