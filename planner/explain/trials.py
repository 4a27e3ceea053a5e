"""Trying changes out: the change is made, all pods ahead in the queue are tried, and then the pod."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby

from models.admission.chain import objections
from models.admission.limits import defaulted
from models.objects.node import Node
from models.objects.pod import Pod, PodSpec
from models.objects.policy import LimitRangeItem
from planner.explain.at_rest import AtRest
from planner.explain.change import Candidate, SpecEdit, edited
from planner.explain.trial_states import TrialState, TrialStates
from planner.scheduler.scheduler import Scheduler

#: What LimitRanges are not asked about: the pod stays.
_IN_PLACE = "RemoveSchedulingGate"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Where a pod went, which pods it evicted, and where the replacements of which deleted pods went."""

    node: str
    victims: tuple[str, ...] = ()
    replaced: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The nodes with which a pod is tried, None for those that there are, and the pods that come with it."""

    changes: Candidate
    nodes: Sequence[Node] | None
    coming: tuple[Pod, ...]
    key: Hashable


class Trials:
    """What becomes of one pod when something is changed in a cluster at rest."""

    def __init__(self, static: AtRest, pod: int, states: TrialStates) -> None:
        self._static = static
        self._pod = pod
        self._states = states
        self._known: dict[Hashable, TrialResult | None] = {}
        self._edited_states = TrialStates(static)
        self._specs: dict[tuple[SpecEdit, ...], str] = {}
        self._variants: dict[str, Pod] = {}
        self._refused: set[str] = set()
        self._surroundings: dict[tuple[int, ...], _Surroundings] = {}

    @cached_property
    def _bounds(self) -> list[LimitRangeItem]:
        """What the LimitRanges of the pod's namespace say."""
        problem = self._static.problem
        namespace = problem.pods[self._pod].namespace
        found = [item for item in problem.cluster.limit_ranges if item.namespace == namespace]
        by_name = sorted(found, key=lambda limit_range: limit_range.name)
        return [item for limit_range in by_name for item in limit_range.spec.limits]

    def _made_with(self, spec: PodSpec, candidate: Candidate) -> PodSpec:
        """The spec of a pod that is made with the changes, with the defaults of LimitRanges."""
        found = edited(spec, candidate)
        return defaulted(found, self._bounds) if self._bounds and _makes_anew(candidate) else found

    @cached_property
    def _ahead(self) -> list[list[int]]:
        """The pods ahead in the queue, those alike that follow one another together."""
        problem, left = self._static.problem, self._static.left
        ahead = (pod for pod in left[: left.index(self._pod)] if not problem.held_back(pod))
        return [[*alike] for _, alike in groupby(ahead, key=problem.template_of.__getitem__)]

    def run(
        self, candidates: Sequence[Candidate], wanted: Callable[[Candidate], bool]
    ) -> Iterator[tuple[Candidate, TrialResult | None]]:
        """Try those still wanted out, in their order; those that come to the same are tried once."""
        for candidate in candidates:
            self._written(candidate)
        for candidate in candidates:
            if wanted(candidate):
                yield candidate, self._tried(candidate)

    def _tried(self, candidate: Candidate) -> TrialResult | None:
        """What becomes of the pod with the changes; known where the same has been tried.

        Nothing where the API server would refuse the pod that is made with them.
        """
        around, written = self._around(candidate), self._written(candidate)
        if written in self._refused:
            return None
        effect = (around.key, _gone(candidate), written)
        if effect not in self._known:
            state = self._edited_state(around, written) if written else self._unedited_state(around)
            variant = state.variants.get(written, self._pod)
            self._known[effect] = self._decide(state, variant, candidate)
        return self._known[effect]

    def _unedited_state(self, around: _Surroundings) -> TrialState:
        """The pod itself stays as it is: the state is shared with all pods that ask for the same."""
        return self._states.get(around.key, lambda: TrialState(self._static, around.nodes, around.coming))

    def _edited_state(self, around: _Surroundings, written: str) -> TrialState:
        """A state that holds the pod with every spec that is known so far, to be tried there in turn."""
        return self._edited_states.get(
            around.key,
            lambda: TrialState(self._static, around.nodes, around.coming, self._variants),
            lambda state: written in state.variants,
        )

    def together(self, candidate: Candidate, pods: Sequence[int]) -> int:
        """How many of some pods alike get a node when all of them have the changes, in the queue's order.

        Those of a DaemonSet are led to different nodes.
        """
        problem, left = self._static.problem, self._static.left
        of_one_template = len(problem.by_template(pods)) == 1
        alike = [problem.pods[pod] for pod in pods]
        more = [pod.model_copy(update={"spec": self._made_with(pod.spec, candidate)}) for pod in alike]
        nodes = changed_nodes(problem.nodes.nodes, candidate)
        further = [*more, *self._coming(candidate)]
        same = len(more) if of_one_template else 1
        scheduler = TrialState(self._static, nodes, further, alike=same).scheduler
        variant_of = {pod: number for number, pod in enumerate(pods, start=len(problem.pods))}
        scheduler.restore_nominations(variant_of.get(pod, pod) for pod in self._static.promised)
        gone = _gone(candidate)
        for pod in gone:
            scheduler.state.unbind(pod)
        waiting = [pod for pod in left if pod in variant_of or not problem.held_back(pod)]
        sooner = self._sooner(filter(self._static.losses.comes_back, gone))
        queue = self._by_priority([pod] for pod in (*waiting, *sooner))
        # At rest no pod has a place: by other specs alone none has one before a pod has its node.
        others = () if gone or _of_cluster(candidate) else (pod for pod in waiting if pod not in variant_of)
        refused = {int(scheduler.problem.template_of[pod]): pod for pod in others}
        return _count_placed(scheduler, chain.from_iterable(queue), variant_of, refused)

    def _sooner(self, replacements: Iterable[int]) -> Sequence[int]:
        """The replacements of deleted pods that the scheduler takes before the pod: of higher priority."""
        problem, known = self._static.problem, self._static.scheduler.schedulers
        own = problem.pods[self._pod].priority
        return [
            pod
            for pod in replacements
            if problem.pods[pod].priority > own and problem.pods[pod].spec.scheduler_name in known
        ]

    def _by_priority(self, groups: Iterable[Sequence[int]]) -> Sequence[Sequence[int]]:
        """Groups of pods as the scheduler takes them; those of the same priority in their order."""
        return sorted(groups, key=lambda group: -self._static.problem.pods[group[0]].priority)

    def _written(self, candidate: Candidate) -> str:
        """The spec that the pod has after the changes, written out; empty where they leave it as it is."""
        edits = tuple(change.edit for change in candidate if change.edit is not None)
        if edits not in self._specs:
            pod = self._static.problem.pods[self._pod]
            spec = self._made_with(pod.spec, candidate)
            self._specs[edits] = written = spec.model_dump_json() if edits else ""
            if written:
                self._variants.setdefault(written, pod.model_copy(update={"spec": spec}))
                is_refused = _makes_anew(candidate) and objections(spec, self._bounds)
                self._refused |= {written} if is_refused else set()
        return self._specs[edits]

    def _around(self, candidate: Candidate) -> _Surroundings:
        """The nodes and pods with which the candidate is tried; worked out once for the same changes."""
        changes = tuple(change for change in candidate if change.of_cluster)
        known = self._surroundings.get(tuple(map(id, changes)))
        if known is None:
            there, coming = self._static.problem.nodes.nodes, (*self._coming(changes),)
            nodes = changed_nodes(there, changes) if changes else None
            known = _Surroundings(changes, nodes, coming, self._key(changes, nodes or (), coming))
            self._surroundings[tuple(map(id, changes))] = known
        return known

    def _key(self, changes: Candidate, nodes: Sequence[Node], coming: Iterable[Pod]) -> Hashable:
        """Equal for changes that lead to the same nodes and pods."""
        places = sorted({change.node for change in changes if change.node is not None})
        changed = (*(nodes[place] for place in places), *nodes[self._static.problem.nodes.size :])
        return tuple(found.model_dump_json() for found in (*changed, *coming))

    def _coming(self, candidate: Candidate) -> Iterator[Pod]:
        """Pods that come with the changes, each with a node."""
        for change in candidate:
            yield from (change.peer,) if change.peer is not None else ()
            for node in change.new_nodes:
                yield from () if change.like is None else self._static.daemons_on(node, change.like)
        changed = sorted(
            {change.node for change in candidate if change.node is not None and change.node_edit}
        )
        nodes = changed_nodes(self._static.problem.nodes.nodes, candidate) if changed else []
        for place in changed:
            yield from self._static.daemons_on_changed(nodes[place], place)

    def _decide(self, state: TrialState, variant: int, candidate: Candidate) -> TrialResult | None:
        """Try the pod after all ahead of it; the pod's own trial is undone afterwards."""
        scheduler = state.scheduler
        gone = _gone(candidate)
        state.restore_nominations(self._pod, variant)
        back = [*filter(self._static.losses.comes_back, gone)]
        sooner = self._sooner(back)
        if gone:
            mark = state.place_first_without(
                gone, self._by_priority([*self._ahead, *([pod] for pod in sooner)])
            )
        elif _of_cluster(candidate):
            mark = state.place_first(self._ahead)
        else:
            mark = state.rest()
        decision = scheduler.decide_briefly(variant)
        landing = None
        if decision.node is not None:
            pods = scheduler.problem.pods
            for pod in back:
                # Where pods of schedulers without a profile go is not known.
                if pod not in sooner and pods[pod].spec.scheduler_name in scheduler.schedulers:
                    scheduler.decide(pod)
            victims = tuple(pods[victim].key for victim in decision.victims)
            names, node_of = scheduler.problem.nodes.names, scheduler.state.node_of
            replaced = {pods[pod].key: names[node_of[pod]] if node_of[pod] >= 0 else None for pod in back}
            landing = TrialResult(names[decision.node], victims, replaced)
        scheduler.forget_nominations([variant])
        scheduler.state.rollback(mark)
        return landing


def _count_placed(
    scheduler: Scheduler, queue: Iterable[int], variant_of: Mapping[int, int], refused: Mapping[int, int]
) -> int:
    """Try a queue of pods, some of them changed, and count those that get a node.

    What is like a pod that was refused is not tried again, unless it counts one that has its node since.
    """
    waiting, placed = {**refused}, 0
    counted: dict[tuple[int, int], bool] = {}
    for pod in queue:
        variant = variant_of.get(pod, pod)
        kind = int(scheduler.problem.template_of[variant])
        if kind in waiting:
            continue
        if not scheduler.places(variant):
            waiting[kind] = variant
        else:
            placed += pod in variant_of
            for other in (other for other in waiting if (other, kind) not in counted):
                counted[other, kind] = counts(scheduler, waiting[other], kind)
            waiting = {other: one for other, one in waiting.items() if not counted[other, kind]}
    return placed


def counts(scheduler: Scheduler, pod: int, other: int) -> bool:
    """Whether a pod counts pods of another template: by hard spread, or as those that it is to be near."""
    template = scheduler.problem.template(pod)
    return any(
        (plugin.compares and other in (plugin.watches(template) or ()))
        or any(other in peers.tally.members for peers in plugin.affinity_peers(template))
        for plugin in scheduler.framework_of(pod).profile.filters
    )


def _gone(candidate: Candidate) -> tuple[int, ...]:
    """The pods that are deleted, each once."""
    return tuple(dict.fromkeys(pod for change in candidate for pod in change.gone))


def _makes_anew(candidate: Candidate) -> bool:
    """Whether the pod is made anew with the changes; the gates of one that is there are taken off."""
    return any(change.edit is not None and change.action != _IN_PLACE for change in candidate)


def _of_cluster(candidate: Candidate) -> bool:
    return any(change.of_cluster for change in candidate)


def changed_nodes(there: Iterable[Node], candidate: Candidate) -> list[Node]:
    """The nodes after all changes to them, new ones last."""
    nodes = [*there]
    for change in candidate:
        if change.node_edit is not None and change.node is not None:
            nodes[change.node] = change.node_edit(nodes[change.node])
    return nodes + [node for change in candidate for node in change.new_nodes]
