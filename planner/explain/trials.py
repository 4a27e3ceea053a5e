"""Trying changes out: the change is made, all pods ahead in the queue are tried, and then the pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.objects.node import Node
from models.objects.pod import Pod
from planner.explain.at_rest import AtRest
from planner.explain.change import Candidate, edited
from planner.problem.nodes import HOSTNAME
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Where a pod went, which pods it evicted, and where the replacements of deleted pods went."""

    node: str
    victims: tuple[str, ...] = ()
    replaced: tuple[str | None, ...] = ()


class Trials:
    """What becomes of one pod when something is changed in a cluster at rest."""

    def __init__(self, static: AtRest, pod: int) -> None:
        self._static = static
        self._pod = pod
        self._ahead = static.ahead_of(pod)

    def run(
        self, candidates: Sequence[Candidate], wanted: Callable[[Candidate], bool]
    ) -> Iterator[tuple[Candidate, TrialResult | None]]:
        """Try those still wanted out, in their order; what leaves the nodes alone shares a problem."""
        light = [found for found in candidates if not _of_cluster(found)]
        variant_of = {id(found): number for number, found in enumerate(light)}
        bench = None
        for candidate in candidates:
            if not wanted(candidate):
                continue
            if _of_cluster(candidate):
                yield candidate, self._alone(candidate)
                continue
            if bench is None:
                bench = self._scheduler(None, [self._variant(found) for found in light])
                first = len(bench.problem.pods) - len(light)
            yield candidate, self._decide(bench, first + variant_of[id(candidate)], candidate)

    def together(self, candidate: Candidate, pods: Sequence[int]) -> int:
        """How many of some pods alike get a node when all of them have the changes, in the queue's order."""
        nodes, more = self._changed_nodes(candidate), [self._variant(candidate, pod) for pod in pods]
        scheduler = self._scheduler(nodes, [*more, *self._coming(candidate)])
        first = len(self._static.problem.pods)
        variant_of = {pod: number for number, pod in enumerate(pods, start=first)}
        left = self._static.left
        scheduler.restore_nominations([*(pod for pod in left if pod not in variant_of), *variant_of.values()])
        gone = list(dict.fromkeys(pod for change in candidate for pod in change.gone))
        for pod in gone:
            scheduler.state.unbind(pod)
        own = scheduler.problem.pods[first].priority
        for pod in gone:
            if _comes_back(scheduler.problem.pods[pod]) and scheduler.problem.pods[pod].priority > own:
                _place(scheduler, pod)
        tried = bool(gone) or _of_cluster(candidate)
        queue = [pod for pod in left if pod in variant_of or (tried and not self._static.is_gated(pod))]
        return _count_placed(scheduler, queue, variant_of)

    def _variant(self, candidate: Candidate, number: int | None = None) -> Pod:
        pod = self._static.problem.pods[self._pod if number is None else number]
        return pod.model_copy(update={"spec": edited(pod.spec, candidate)})

    def _alone(self, candidate: Candidate) -> TrialResult | None:
        """A trial that changes nodes, or brings pods that have a node."""
        nodes, more = self._changed_nodes(candidate), [self._variant(candidate), *self._coming(candidate)]
        scheduler = self._scheduler(nodes, more)
        return self._decide(scheduler, len(scheduler.problem.pods) - len(more), candidate)

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

    def _scheduler(self, nodes: Iterable[Node] | None, more: Sequence[Pod]) -> Scheduler:
        node_of, claiming = self._static.places
        base: Problem = self._static.problem
        problem = base.varied(node_of, nodes, more)
        scheduler = Scheduler(problem, preemption=self._static.preemption)
        for pod, node in claiming:
            scheduler.state.bind(pod, problem.nodes.index[base.nodes.names[node]])
        return scheduler

    def _decide(self, scheduler: Scheduler, variant: int, candidate: Candidate) -> TrialResult | None:
        """Try the pod after all ahead of it; the state is as before afterwards."""
        state = scheduler.state
        mark = state.mark()
        scheduler.restore_nominations([*(pod for pod in self._static.left if pod != self._pod), variant])
        gone = list(dict.fromkeys(pod for change in candidate for pod in change.gone))
        for pod in gone:
            state.unbind(pod)
        if gone or _of_cluster(candidate):
            self._let_others_go_first(scheduler)
        back = [pod for pod in gone if _comes_back(scheduler.problem.pods[pod])]
        own = scheduler.problem.pods[variant].priority
        sooner = [pod for pod in back if scheduler.problem.pods[pod].priority > own]
        places = {pod: _place(scheduler, pod) for pod in sooner}
        decision = scheduler.decide(variant)
        landing = None
        if decision.node is not None:
            places |= {pod: _place(scheduler, pod) for pod in back if pod not in places}
            victims = tuple(scheduler.problem.pods[victim].key for victim in decision.victims)
            replaced = tuple(places[pod] for pod in back)
            landing = TrialResult(scheduler.problem.nodes.names[decision.node], victims, replaced)
        scheduler.forget_nominations([variant])
        state.rollback(mark)
        return landing

    def _let_others_go_first(self, scheduler: Scheduler) -> None:
        alike: dict[int, list[int]] = {}
        for pod in self._static.left[: self._static.left.index(self._pod)]:
            alike.setdefault(int(self._static.problem.template_of[pod]), []).append(pod)
        for first in self._ahead:
            for pod in alike[int(self._static.problem.template_of[first])]:
                if scheduler.decide(pod).node is None:
                    break


def _count_placed(scheduler: Scheduler, queue: Sequence[int], variant_of: Mapping[int, int]) -> int:
    """Try a queue of pods, some of them changed, and count those that get a node; what is like a pod that was
    refused is not tried again."""
    refused: set[int] = set()
    placed = 0
    for pod in queue:
        kind = -1 if pod in variant_of else int(scheduler.problem.template_of[pod])
        if kind in refused:
            continue
        if scheduler.decide(variant_of.get(pod, pod)).node is None:
            refused.add(kind)
        else:
            placed += kind < 0
    return placed


def _comes_back(pod: Pod) -> bool:
    """Whether a controller makes another pod when this one is deleted."""
    return pod.metadata.controller is not None and not pod.is_terminating


def _place(scheduler: Scheduler, pod: int) -> str | None:
    """Where a pod goes when it is tried now; of pods of schedulers without a profile that is not known."""
    if scheduler.problem.pods[pod].spec.scheduler_name not in scheduler.schedulers:
        return None
    node = scheduler.decide(pod).node
    return None if node is None else scheduler.problem.nodes.names[node]


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
