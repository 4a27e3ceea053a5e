"""Better moves from a model of all nodes: the solution of the solver, brought into an order that holds.

In that order each move is admissible when all before it are done, and no constraint has more excess than
before it, neither while the pod is away nor when its replacement is there.  Where moves wait for each other
in a cycle, one of the pods takes a temporary place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.cpsat.region import Region
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import move_effort as effort
from planner.proof.bounds import Assumption
from planner.rebalance.search.evaluation import Evaluator, Found, OffNode
from planner.rebalance.search.regions import Regions, chained, proved_by

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift


def modelled(evaluator: Evaluator, best: Found) -> Found:
    """The neighbourhood of all moves that lead to a solution of the model; the bounds it proves are kept.

    Where moves do not keep what the solver promised, those of a model that also asks what the scheduler
    asks of pods that come: without it one cluster of 32 loses its proof.
    """
    it, region, tried = evaluator, Regions(evaluator).exact(), [best]
    for assumes in (), (Assumption.NOTHING_WORSE,):
        shift = _shift(it, region, arriving=bool(assumes))
        if shift is None:
            continue
        it.learn(chained(it.stages, proved_by(shift, it.stages), "a model of all nodes", *assumes))
        found = _in_order(it, shift)
        # Of equally good moves the ones from the stricter model.
        tried.insert(1, found)
        best = it.best(tried)
        done = all(found[1][name] == value for name, value in shift.values.items())
        if done or not it.is_open(best) or it.meter.over():
            break
    return best


def _shift(evaluator: Evaluator, region: Region, *, arriving: bool) -> Shift | None:
    """The best solution of the solver: first with the excess fixed at its lower bound.

    Solved once, without that, five lopsided clusters take 8.7 s, not 4.0; one loses two proofs, one gains
    two.
    """
    from planner.cpsat.moves import MoveModel

    it = evaluator
    excess, work = it.floor["hardExcess"], effort.EXACT_REGION_WORK
    if it.most is None:
        model = MoveModel(region, hard_excess=excess, arriving=arriving)
        shift = model.solve(it.stages[1:], it.meter.part(work), work)
        if shift is not None:
            known = {"hardExcess": excess}
            return replace(shift, values={**known, **shift.values}, bounds={**known, **shift.bounds})
    model = MoveModel(region, most_moves=it.most, arriving=arriving)
    return model.solve(it.stages, it.meter.part(work), work)


def _in_order(evaluator: Evaluator, shift: Shift) -> Found:
    """The best moves from a solution; moves left over come first in the next attempt.

    Only the first attempt does without detours: other pods of a template, and temporary places.
    """
    it, first = evaluator, dict[Key, int]()
    it.set()
    found = [it.of(())]
    for attempt in range(effort.SEQUENCES_OF_MOVES):
        it.set()
        order = MoveOrder(it.trial, it.movable, shift, first, detours=attempt > 0)
        moves = order.run(it.meter.over)
        if it.limits().allow(moves):
            found.append(it.of(moves))
        if not order.left or it.meter.over():
            break
        first |= dict.fromkeys(order.left, attempt)
    return it.best(found)


#: A template, and a node that one of its pods leaves or comes to.
Key = tuple[int, int]


class MoveOrder:
    """Makes moves on a trial cluster, as many of those wanted as an order is found for."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, shift: Shift, first: Mapping[Key, int], *, detours: bool
    ) -> None:
        """For a solution; of the keys in `first` the highest number leaves first."""
        self._trial = trial
        self._movable = movable
        self._leaving = Counter(shift.leaving)
        self._coming = Counter(shift.coming)
        self._first = first
        self._detours = sum(self._leaving.values()) if detours else 0
        self._moves: list[Move] = []
        #: The pods that are where they stay, and those in temporary places.
        self._arrived, self._parked = set[int](), set[int]()

    def run(self, is_over: Callable[[], bool]) -> list[Move]:
        """The moves in their order; they have been made on the trial cluster."""
        while self._leaving and not is_over():
            if not self._pass():
                if not (self._detours and (self._instead() or self._detour())):
                    break
                self._detours -= 1
        return self._moves

    @property
    def left(self) -> Collection[Key]:
        """The templates and nodes of pods that were to leave and have not."""
        return self._leaving.keys()

    def _pass(self) -> bool:
        """Make every move that can be made now; keys in `first` are tried again after each."""
        keys = sorted(self._leaving, key=lambda key: -self._first.get(key, 0))
        urgent = [key for key in keys if key in self._first]
        made = False
        for key in keys:
            if self._leaving[key] and self._go(*key):
                made = True
                while any(self._leaving[other] and self._go(*other) for other in urgent):
                    pass
        return made

    def _go(self, template: int, source: int) -> bool:
        """Move a pod to where one of its kind is wanted, if that is possible now."""
        wanted = [node for number, node in self._coming if number == template and node != source]
        pod = self._pod(template, source) if wanted else None
        if pod is None or not self._try(pod, wanted):
            return False
        self._coming[template, self._moves[-1].target] -= 1
        self._coming += Counter()
        return True

    def _instead(self) -> bool:
        """Move another pod of the template to a wanted node; the place that it leaves is wanted instead.

        That helps where the pod that was to go cannot be spared yet: without it one of nine clusters next to
        full or lopsided takes two moves more and loses two proofs.
        """
        for template in dict.fromkeys(template for template, _ in self._leaving):
            for place in np.unique(self._trial.state.node_of[self._movable.of(template)]).tolist():
                if (template, place) not in self._leaving and self._go(template, place):
                    self._coming[template, place] += 1
                    return True
        return False

    def _detour(self) -> bool:
        """Move a pod that is in the way of others to a temporary place."""
        for template, source in list(self._leaving):
            pod = self._pod(template, source)
            if pod is None or not any(node == source for _, node in self._coming):
                continue
            others = [n for n in range(self._trial.problem.nodes.size) if n != source]
            if self._try(pod, others):
                self._leaving[template, self._moves[-1].target] += 1
                self._arrived.remove(pod)
                self._parked.add(pod)
                return True
        return False

    def _pod(self, template: int, source: int) -> int | None:
        """The cheapest pod of a template on a node that may go; a pod in a temporary place goes first."""
        here = [
            pod
            for pod in self._movable.of(template).tolist()
            if self._trial.state.node_of[pod] == source and pod not in self._arrived
        ]
        weights = self._movable.weights
        return min(here, key=lambda pod: (pod not in self._parked, weights[pod], pod), default=None)

    def _ordered(self, template: int, nodes: Sequence[int]) -> list[int]:
        """Those of the nodes that are open, those that the scheduler likes best first."""
        feasible, totals = self._trial.choice(template)
        fit = np.array([node for node in nodes if feasible.mask[node]], np.intp)
        best: list[int] = fit[np.lexsort((fit, -totals[fit]))].tolist()
        return best

    def _try(self, pod: int, nodes: Sequence[int]) -> bool:
        """Move a pod to the first of some nodes where it makes nothing worse."""
        template, lifted = self._trial.template(pod), OffNode(self._trial, pod)
        if lifted.is_harmless:
            for target in self._ordered(template, nodes):
                move = lifted.lands(target, nearer=False)
                if move is not None:
                    self._moves.append(move)
                    self._arrived.add(pod)
                    self._parked.discard(pod)
                    self._leaving[template, move.source] -= 1
                    self._leaving += Counter()
                    return True
        lifted.back()
        return False
