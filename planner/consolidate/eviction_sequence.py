"""Pods evicted one after the other, each replacement where scores put it, all earlier moves having ended.

Where several nodes have the highest score, and where the old pod may or may not have ended, every outcome is
followed: what is known afterwards holds wherever kube-scheduler broke a tie.  Outcomes that differ only in
which pods of a template are where count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.landing.landing import Kind, Landing
from planner.landing.node_sets import NodeSets
from planner.moves.constraint_counts import excesses, worse
from planner.moves.preemption_risk import PreemptionRisk
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.proof.meter import Meter

#: Where pods are in an outcome that are elsewhere in the first one.
Outcome = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Step:
    """A move, the nodes where its replacement may land, whether it has no others, and what comes of it."""

    move: Move
    lands: Mask
    alone: bool
    outcomes: Sequence[Outcome]


class EvictionSequence:
    """Evicts pods on a timeline, whose state is the first outcome; `landings` are what was evicted so far."""

    def __init__(
        self, timeline: EvictionTimeline, meter: Meter, removed: Mask, *, cordoned: bool = True
    ) -> None:
        """No replacement may land on `removed` nodes; where they are not `cordoned` yet, none does."""
        self._timeline = timeline
        self._trial = timeline.trial
        self._meter = meter
        self._removed = removed
        self._closed: Sequence[int] = () if cordoned else np.flatnonzero(removed).tolist()
        self._sets = NodeSets(timeline.trial)
        self._risk = PreemptionRisk(timeline.trial)
        self.outcomes: Sequence[Outcome] = [{}]
        self.landings: list[Landing] = []
        self._alone: dict[int, bool] = {}
        #: Templates that were tried in vain, and the nodes that are equal for each.  One is tried again when
        #: one of them is left, or when there is no other template.
        self._refused: dict[int, Mask] = {}

    def run(self, pods: Sequence[int], *, by_node: bool) -> list[int]:
        """Evict pods while any can be next, first of all those that add no outcome; returns the others.

        They come in their order, or first those of nodes with few pods left.
        """
        waiting = np.array(pods, np.intp)
        while waiting.size and not self._meter.over():
            before = len(self.landings)
            left = self._trial.state.node_of[waiting]
            few_first = np.argsort(np.bincount(left)[left], kind="stable")
            if not self._goes_on((waiting[few_first] if by_node else waiting).tolist()):
                break
            moved = [landing.move.pod for landing in self.landings[before:]]
            waiting = waiting[~np.isin(waiting, moved)]
        others: list[int] = waiting.tolist()
        return others

    def follow(self, pods: Sequence[int]) -> list[int]:
        """Evict pods in exactly this order; returns those that cannot be next in their turn."""
        left = []
        for pod in pods:
            step = None if self._meter.over() else self._tried(pod)
            if step is None:
                left.append(pod)
            else:
                self._take(step)
        return left

    def _goes_on(self, pods: Sequence[int]) -> bool:
        """Whether one of the pods was evicted, or several of a template."""
        while True:
            ties, every = [], not self._refused
            for pod in pods:
                template = self._trial.template(pod)
                if template in self._refused:
                    continue
                step = self._tried(pod)
                if step is not None and len(step.outcomes) <= len(self.outcomes):
                    self._take(step)
                    return True
                self._refused[template] = self._trial.problem.nodes.none if step is None else step.lands
                ties += [] if step is None else [step]
            if every:
                return self._any_of(sorted(ties, key=lambda step: len(step.outcomes)), pods)
            self._refused.clear()

    def _any_of(self, ties: Sequence[_Step], pods: Sequence[int]) -> bool:
        """Whether a tie could be taken: with its peers where each has one of the nodes then, else alone."""
        for step in ties:
            template = self._trial.template(step.move.pod)
            if self._tied(step, [pod for pod in pods if self._trial.template(pod) == template]):
                return True
        if ties:
            self._take(ties[0])
        return bool(ties)

    def _tied(self, step: _Step, peers: Sequence[int]) -> bool:
        """Whether a template's pods were evicted onto as many equal nodes: each node has one of them then."""
        number = int(np.count_nonzero(step.lands))
        if number > min(effort.TIED_NODES, len(peers)):
            return False
        mark, outcomes, before = self._trial.state.mark(), self.outcomes, len(self.landings)
        for pod in peers[:number]:
            one = self._tried(pod)
            if one is None:
                break
            self._take(one)
        if len(self.landings) == before + number and len(self.outcomes) <= len(outcomes):
            return True
        self._trial.state.rollback(mark)
        self.outcomes = outcomes
        del self.landings[before:]
        return False

    def _tried(self, pod: int) -> _Step | None:
        """The step if this pod is the next: a replacement lands in every outcome, and makes nothing worse."""
        move = Move(pod, int(self._trial.state.node_of[pod]), -1)
        lands, alone = self._trial.problem.nodes.none.copy(), True
        found: dict[frozenset[tuple[tuple[int, int], int]], Outcome] = {}
        for outcome in self.outcomes:
            with self._shown(outcome):
                nodes, only = self._lands(move)
                if not nodes.any() or not self._is_fine(move, nodes):
                    return None
            lands, alone = lands | nodes, alone and only
            for node in np.flatnonzero(nodes).tolist():
                after = {**outcome, pod: node}
                found.setdefault(self._key(after), after)
            if len(found) > effort.OUTCOMES_FOLLOWED:
                return None
        return _Step(move, lands, alone, [*found.values()])

    def _lands(self, move: Move) -> tuple[Mask, bool]:
        """The nodes where scores may put a replacement, and whether filters leave it no other.

        None where it may find no node, or preempt other pods while it finds none.
        """
        self._meter.spend(effort.PRICE_OF_EVICTION)
        trial, template = self._trial, self._trial.template(move.pod)
        found, only, mark = trial.problem.nodes.none.copy(), True, trial.state.mark()
        for phase in self._phases(move):
            self._timeline.put(move, phase)
            feasible, totals = trial.choice(template, self._closed)
            if feasible.count:
                found |= feasible.mask & (totals == totals[feasible.best(totals)])
                only = only and not (feasible.mask & ~found).any()
            elif phase is Phase.GONE or self._risk.threatens(template, cordoned=self._closed):
                found = trial.problem.nodes.none.copy()
                break
        trial.state.rollback(mark)
        if (found & self._removed).any():
            found = trial.problem.nodes.none
        return found, only

    def _phases(self, move: Move) -> Sequence[Phase]:
        """The phases in which the replacement may be scheduled, one where the old pod makes no difference."""
        template = self._trial.template(move.pod)
        found = self._alone.get(template)
        if found is None:
            plan = self._trial.plan(template)
            found = self._alone[template] = not self._trial.rules(template) and not any(
                isinstance(score, InterPodAffinity) for score, _ in plan.scores
            )
        away = bool(self._closed) or not self._trial.plan(template).static[move.source]
        return (Phase.GONE,) if found and away else self._timeline.own_phases(move)

    def _is_fine(self, move: Move, nodes: Mask) -> bool:
        """Whether no constraint is worse wherever it lands, and no affinity loses its last peer."""
        trial, template = self._trial, self._trial.template(move.pod)
        touched, mark = trial.ledger.touched((template,)), trial.state.mark()
        before = excesses(touched)
        trial.state.unbind(move.pod)
        fine = not trial.breaks_affinity_of(template, move.source)
        for node in np.flatnonzero(nodes).tolist() if fine and touched else ():
            trial.state.bind(move.pod, node)
            fine = fine and not worse(before, touched)
            trial.state.unbind(move.pod)
        trial.state.rollback(mark)
        return fine

    @contextmanager
    def _shown(self, outcome: Outcome) -> Iterator[None]:
        """The trial cluster with an outcome, and as it was afterwards."""
        state = self._trial.state
        mark = state.mark()
        for pod, node in outcome.items():
            state.unbind(pod)
            state.bind(pod, node)
        try:
            yield
        finally:
            state.rollback(mark)

    def _key(self, outcome: Outcome) -> frozenset[tuple[tuple[int, int], int]]:
        """Equal for outcomes in which as many pods of each template are on every node."""
        changed: Counter[tuple[int, int]] = Counter()
        for pod, node in outcome.items():
            template = self._trial.template(pod)
            changed[template, node] += 1
            changed[template, int(self._trial.state.node_of[pod])] -= 1
        return frozenset((site, number) for site, number in changed.items() if number)

    def _take(self, step: _Step) -> None:
        """Make a move; the first of the outcomes has no pod elsewhere but the one that moves."""
        move = Move(step.move.pod, step.move.source, step.outcomes[0][step.move.pod])
        self._timeline.put(move, Phase.LANDED)
        node_of = self._trial.state.node_of
        self.outcomes = [{p: node for p, node in one.items() if node_of[p] != node} for one in step.outcomes]
        kind: Kind = "filters" if step.alone else "scores"
        self.landings.append(Landing(move, kind, step.lands, self._sets.named(step.lands)))
        self._refused.pop(self._trial.template(move.pod), None)
        for other, nodes in [*self._refused.items()]:
            rest = nodes & ~step.lands
            if np.count_nonzero(rest) <= 1 < np.count_nonzero(nodes):
                del self._refused[other]
            else:
                self._refused[other] = rest
