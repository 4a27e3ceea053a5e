"""Repair with ejection chains: every pod to the tightest gap, after other pods have made room for it.

The room that a pod leaves is the gap for the next one.  Where no gap is large enough in a domain that needs
a pod, others of one node there are ejected to gaps elsewhere first: each move has its room when it is made.
Large pods go first, as long as the gaps are large.  `AlternativeNodes` has the nodes open to a pod and what
is free on them; `Openings` the full nodes on which ejectable pods can make room.

Where it is not asked beforehand which pods have a gap to go to, one of two clusters of 700 nodes 99.5 % full
has 80 pods too many at the end, not 21, and 5,000 nodes 99 % full take 418 moves with 16 pins in 14 s, not
412 with 8 in 6 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import move_effort as effort
from planner.proof.effort import PRICE_OF_NUMBER, PRICE_OF_TURN
from planner.rebalance.search.evaluation import Evaluator, Found, OffNode
from planner.rebalance.search.exchanges import Exchanges
from planner.rebalance.search.greedy import Greedy, in_turns, surplus_domains


class AlternativeNodes:
    """The nodes open to a pod, by filters and by room."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._open: ArrayCache[Mask] = ArrayCache(trial.problem.nodes.size)
        self._roomy: dict[bytes, Mask] = {}
        self._version = -1

    def open_to(self, pod: int) -> Mask:
        """The nodes that all filters but the one for room accept once the pod has left its own node."""
        state, template = self._trial.state, self._trial.template(pod)
        source = int(state.node_of[pod])
        stamp = tuple([tally.version for tally in self._trial.reads(template)])
        key: Hashable = template, int(self._trial.domains(template)[source]), stamp
        return self._open.get(key, lambda: self._asked(pod, template))

    def _asked(self, pod: int, template: int) -> Mask:
        plan = self._trial.plan(template)
        mask = plan.static.copy()
        with self._trial.after():
            self._trial.state.unbind(pod)
            for plugin in plan.changing:
                if plugin.wants(plan.template) is None:
                    mask &= plugin.reject(plan.template) == 0
        return mask

    def roomy(self, template: int) -> Mask:
        """The nodes with room for a pod of a template now."""
        if self._version != self._trial.state.version:
            self._roomy.clear()
            self._version = self._trial.state.version
        key = self._trial.room_needed[template].tobytes()
        found = self._roomy.get(key)
        if found is None:
            self._roomy[key] = found = self._trial.has_room(template, self._trial.free())
        return found


class Openings:
    """Finds nodes on which ejections can make room, and which pod to eject first; each needs a gap elsewhere.

    A pod may be ejected from the node where it is at first, and then no more.
    """

    def __init__(self, trial: TrialCluster, elsewhere: AlternativeNodes, ejectable: Mask) -> None:
        self._trial = trial
        self._elsewhere = elsewhere
        #: The node that every ejectable pod may leave; -2 for other pods.
        self._from = np.where(ejectable, trial.state.node_of, -2)
        self._goes: Mask | None = None
        pods = np.flatnonzero(ejectable)
        kinds, groups = trial.problem.template_of[pods], np.zeros(len(pods), np.int64)
        for kind in np.unique(kinds).tolist():
            mine = kinds == kind
            groups[mine] = trial.domains(kind)[trial.state.node_of[pods[mine]]]
        #: For every pod an index of its template and source domains; -1 if it may not go.
        self._pair = np.full(len(ejectable), -1, np.int64)
        self._pair[pods] = np.unique(kinds * (groups.max(initial=0) + 1) + groups, return_inverse=True)[1]

    def _may_go(self) -> Mask:
        """The pods that may still be moved."""
        found: Mask = self._from == self._trial.state.node_of
        return found

    def renew(self) -> None:
        """Forget where pods might go; it is worked out again when needed."""
        self._goes = None

    def of(self, template: int, good: Mask, source: int) -> Iterator[int]:
        """Good nodes but the source that ejections can open, the one that needs the fewest first."""
        state, kinds = self._trial.state, self._trial.problem.template_of
        pods = np.flatnonzero(self._may_go() & self._can_go())
        pods = pods[good[state.node_of[pods]] & (kinds[pods] != template) & (state.node_of[pods] != source)]
        nodes = state.node_of[pods]
        order = np.lexsort((-self._trial.sizes[kinds[pods]], nodes))
        pods, nodes = pods[order], nodes[order]
        fits = self._trial.has_room(template, self._free_without(pods, nodes))
        rank = np.arange(len(nodes)) - np.searchsorted(nodes, nodes) + 1
        opened = np.flatnonzero(fits)
        yield from dict.fromkeys(nodes[opened][np.argsort(rank[opened], kind="stable")].tolist())

    def _free_without(self, pods: Codes, nodes: Codes) -> Ints:
        """What is free on each pod's node without it and the pods before it on the same node."""
        total = self._trial.taken[self._trial.problem.template_of[pods]].T.cumsum(axis=1)
        before = np.concatenate([np.zeros((len(total), 1), np.int64), total], axis=1)
        found: Ints = self._trial.free()[:, nodes] + total - before[:, np.searchsorted(nodes, nodes)]
        return found

    def _can_go(self) -> Mask:
        """For every pod whether there was a node with room for it when last looked for."""
        if self._goes is None:
            answers = np.zeros(int(self._pair.max(initial=-1)) + 2, np.bool_)
            pods = np.flatnonzero(self._may_go())
            pairs, first = np.unique(self._pair[pods], return_index=True)
            for pair, pod in zip(pairs.tolist(), pods[first].tolist(), strict=True):
                room = self._elsewhere.roomy(self._trial.template(pod))
                answers[pair] = room.any() and (self._elsewhere.open_to(pod) & room).any()
            self._goes = answers[self._pair]
        return self._goes

    def to_eject(self, template: int, node: int, tried: set[int]) -> int | None:
        """The next pod to eject from a node: the smallest that alone makes enough room, else the largest."""
        kinds, known = self._trial.problem.template_of, dict[int, int]()
        for pod in self._trial.state.pods_on[node]:
            kind = int(kinds[pod])
            if kind == template or kind in known or pod in tried or self._from[pod] != node:
                continue
            if (self._elsewhere.roomy(kind) & self._elsewhere.open_to(pod)).any():
                known[kind] = pod
        if not known:
            return None
        of, size = np.array(list(known), np.intp), self._trial.sizes
        free = self._trial.free()[:, [node]] + self._trial.taken[of].T
        alone = self._trial.has_room(template, free)
        return known[int(of[np.lexsort((of, np.where(alone, size[of], -size[of]), ~alone))[0]])]


def repaired_by_ejection_chains(evaluator: Evaluator, best: Found) -> Found:
    """The neighbourhood of ejection chains: after an exchange, else after the moves before."""
    it, before = evaluator, best[0]
    starts: Sequence[Callable[[], Sequence[Move]]] = (Exchanges(it).repair, lambda: before)
    for start in starts:
        if best[1]["hardExcess"] == it.floor["hardExcess"] or it.meter.over():
            break
        best = it.best((best, it.of(EjectionChains(it, start()).repair())))
    return best


class EjectionChains:
    """Repairs constraints by moves that eject other pods where needed, after moves that were made before."""

    def __init__(self, evaluator: Evaluator, before: Sequence[Move] = ()) -> None:
        it = self._evaluator = evaluator
        groups, self._before = it.groups, before
        it.set(before)
        self._trial, self._state, self._meter = it.trial, it.trial.state, it.meter
        self._limits = it.limits(before)
        self._greedy = Greedy(it, self._limits)
        self._elsewhere = AlternativeNodes(it.trial)
        ejectable: Mask = it.movable.weights > 0
        ejectable[sorted(self._limits.moved)] = False
        # Pods of broken constraints do not make room for each other.
        stuck = {t for group in groups if group.is_broken for t in group.templates}
        ejectable[np.isin(it.trial.problem.template_of, sorted(stuck))] = False
        self._openings = Openings(it.trial, self._elsewhere, ejectable)

    def repair(self) -> list[Move]:
        """The moves before, and others as long as they bring constraints nearer to their goal; all made."""
        moves = [*self._before]
        classes: dict[int, list[TrackedConstraint]] = {}
        for constraint in self._evaluator.still_broken():
            classes.setdefault(self._class(constraint), []).append(constraint)
        for number in sorted(classes, reverse=True):
            for opens in (False, True):
                moves += in_turns(classes[number], partial(self._better, opens=opens))
        return moves

    def _class(self, constraint: TrackedConstraint) -> int:
        """The size class of a constraint's pods; pods of a class leave gaps that fit each other.

        Without classes two of 38 small clusters next to full keep nine pods more too many, though seven of
        600 to 5,000 nodes take 2,117 moves, not 2,184.
        """
        largest = max((float(self._trial.sizes[template]) for template in constraint.members), default=0.0)
        return math.frexp(largest)[1]

    def _better(self, constraint: TrackedConstraint, *, opens: bool) -> list[Move]:
        """A move that brings a constraint nearer to its goal; with `opens` after ejections that make room."""
        for domain in () if self._meter.over() else surplus_domains(constraint):
            for pod in self._greedy.candidates(constraint, domain)[: effort.CHAIN_PODS]:
                mark, good = self._state.mark(), self._improving(pod)
                found = self._into_gap(pod, good) or (self._opened(pod, good) if opens else [])
                if found and self._limits.allow(found):
                    self._limits.remember(found)
                    self._openings.renew()
                    return found
                self._state.rollback(mark)
        return []

    def _improving(self, pod: int) -> Mask:
        """The nodes that accept a pod, room aside, and on which its constraints are nearer to their goal."""
        groups, good = self._trial.domains(self._trial.template(pod)), self._elsewhere.open_to(pod).copy()
        good[self._state.node_of[pod]] = False
        lifted = OffNode(self._trial, pod)
        nodes = np.flatnonzero(good)
        _, first = np.unique(groups[nodes], return_index=True)
        for node in nodes[first].tolist():
            if lifted.lands(node, nearer=True) is None:
                good &= groups != groups[node]
            else:
                lifted.lift()
        lifted.back()
        return good

    def _into_gap(self, pod: int, good: Mask, closed: int = -1) -> list[Move]:
        """A move of a pod to a good node with room, the tightest first; none where that fails."""
        template, source = self._trial.template(pod), int(self._state.node_of[pod])
        self._meter.spend(PRICE_OF_TURN + PRICE_OF_NUMBER * len(good))
        nodes = np.flatnonzero(good & self._elsewhere.roomy(template))
        nodes = nodes[(nodes != source) & (nodes != closed)]
        spare = self._trial.spare(template, self._trial.free()[:, nodes])
        wants = self._trial.room_needed[template]
        # Gaps that differ by less than a pod are equally tight.
        loose = (spare // wants[wants > 0][:, np.newaxis]).min(axis=0)
        for node in nodes[np.lexsort((nodes, loose))][: effort.CHAIN_GAPS].tolist():
            move = Move(pod, source, node)
            if self._trial.attempt(move):
                return [move]
        return []

    def _opened(self, pod: int, good: Mask) -> list[Move]:
        """Moves of ejected pods off a good node, and the pod's move there; none if that fails."""
        template, source = self._trial.template(pod), int(self._state.node_of[pod])
        if self._meter.over():
            return []
        for node in islice(self._openings.of(template, good, source), effort.CHAIN_OPENED):
            mark = self._state.mark()
            moves = self._open(node, template)
            if moves and self._trial.attempt(Move(pod, source, node)):
                return [*moves, Move(pod, source, node)]
            self._state.rollback(mark)
        return []

    def _open(self, node: int, template: int) -> list[Move]:
        """Moves of ejected pods off a node until it has room for a pod of a template; none if that fails."""
        mark, moves = self._state.mark(), list[Move]()
        tried: set[int] = set()
        while not self._elsewhere.roomy(template)[node]:
            pod = self._openings.to_eject(template, node, tried)
            if pod is None or self._meter.over():
                self._state.rollback(mark)
                return []
            tried.add(pod)
            moves += self._into_gap(pod, self._elsewhere.open_to(pod), closed=node)
        return moves
