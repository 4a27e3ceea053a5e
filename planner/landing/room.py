"""Free room when replacements may have landed on any of several nodes: the best and the worst case."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Ints, Mask


@dataclass(frozen=True, slots=True, eq=False)
class UncertainReplacement:
    """A replacement that lands, or has landed, on one of these nodes.

    In the trial cluster the pod of one that has landed is on `node`; one that is to land leaves `source`.
    """

    template: int
    nodes: Mask
    pod: int = -1
    node: int = -1
    source: int = -1


@dataclass(frozen=True, slots=True)
class Replacement:
    """A move of a wave with what room and all filters except spread say about nodes.

    `may` are the nodes that can be feasible for the replacement at some time during the wave, `sure` those
    that always are unless an uncertain replacement takes the room; `free` is the least free room.  With
    `room_alone` the other replacements, also those of the `same_wave`, take nothing but room from it.
    """

    move: Move
    template: int
    may: Mask
    sure: Mask
    free: Ints
    room_alone: bool
    same_wave: Sequence[UncertainReplacement] = ()


class WaveRoom:
    """What is free on every node for certain, and how many nodes uncertain replacements can fill at most."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        problem = trial.problem
        #: Replacements of earlier waves that may have landed on several nodes.
        self.uncertain_pods: list[UncertainReplacement] = []
        #: All replacements whose node is not known, including those that fill all their possible nodes,
        #: so that the room left there is known.
        self.elsewhere: list[UncertainReplacement] = []
        #: The pods of those of which the tie-break scenarios say in which of them they are where.
        self.in_scenarios = set[int]()
        self._uncertain_load = np.zeros_like(problem.allocatable)
        self._slots_taken = cache(self._most_slots_taken)

    def of(self, templates: Collection[int]) -> list[UncertainReplacement]:
        """The replacements of some templates whose node is not known."""
        return [uncertain for uncertain in self.elsewhere if uncertain.template in templates]

    def add(self, uncertain: UncertainReplacement) -> None:
        self.uncertain_pods.append(uncertain)
        self.elsewhere.append(uncertain)
        self._uncertain_load[:, uncertain.node] += self._trial.taken[uncertain.template]

    def resolve(self, uncertain: UncertainReplacement, scarce: Sequence[Mask]) -> None:
        """If a replacement and those linked to it fill all their nodes, the room left there is certain.

        `scarce` has for every resource the nodes where no other resource can run out.
        """
        nodes, linked = self._linked(uncertain)
        free, takes = self.free()[:, nodes], self._trial.taken[[one.template for one in linked]]
        for resource, ample in enumerate(scarce):
            unit = int(np.gcd.reduce(takes[:, resource]))
            filled = unit and (free[resource] // unit).sum() * unit == takes[:, resource].sum()
            if filled and ample[nodes].all():
                known = set(linked)
                self.uncertain_pods = [one for one in self.uncertain_pods if one not in known]
                for one in linked:
                    self._uncertain_load[:, one.node] -= self._trial.taken[one.template]
                return

    def _linked(self, uncertain: UncertainReplacement) -> tuple[Codes, list[UncertainReplacement]]:
        """All nodes and replacements linked to a replacement by possible nodes in common."""
        nodes, linked = uncertain.nodes, [uncertain]
        while True:
            found = [one for one in self.uncertain_pods if (one.nodes & nodes).any()]
            if len(found) == len(linked):
                return np.flatnonzero(nodes), found
            nodes, linked = np.logical_or.reduce([one.nodes for one in found]), found

    def free(self) -> Ints:
        """What is free on every node if no uncertain replacement is on it."""
        return self._trial.free() + self._uncertain_load

    def free_on(self, node: int) -> Ints:
        """The same of one node."""
        free: Ints = self._trial.problem.allocatable[:, node] - self._trial.state.used[:, node]
        return free + self._uncertain_load[:, node]

    def is_enough(self, need: Replacement, nodes: Codes, least: int) -> bool:
        """Whether a pod finds room for certain on some nodes, of which at least so many are open to it.

        Where only nodes are counted, not the pods that fit on them, a move in
        `examples/43-budget-and-waves` lands by scores, not by filters.
        """
        if least > len(self.uncertain_pods) + len(need.same_wave):
            return True
        near = self._near(nodes, need.same_wave)
        # A replacement is on one node, and closes at most that one, by room or by counts.
        if least > len(near) or not need.room_alone:
            return least > len(near)
        slots = self._trial.slots(need.template, need.free[:, nodes])
        # Which nodes are open is not known: assume those with the least room.
        return int(np.sort(slots)[:least].sum()) > self._lost(need.template, nodes, slots, near)

    def has_places(
        self, need: Replacement, nodes: Codes, headroom: Ints, coupled_moves: Sequence[UncertainReplacement]
    ) -> bool:
        """Whether a pod finds room for certain, wherever uncertain replacements and those of its wave are.

        Each of the `nodes` rejects the pod once `headroom` of the `coupled_moves` have landed there.
        Without this a recorded cluster with a full zone has 14 pins in 19 waves, not 3 in 12.
        """
        if not need.room_alone:
            return False
        slots = np.where(headroom > 0, self._trial.slots(need.template, need.free[:, nodes]), 0)
        known = set(coupled_moves)
        others = [uncertain for uncertain in self._near(nodes, need.same_wave) if uncertain not in known]
        near = [uncertain for uncertain in coupled_moves if uncertain.nodes[nodes].any()]
        lost = self._lost(need.template, nodes, slots, others) + self._lost(
            need.template, nodes, slots, near, headroom
        )
        return int(slots.sum()) > lost

    def _lost(
        self,
        template: int,
        nodes: Codes,
        slots: Ints,
        uncertain_pods: Sequence[UncertainReplacement],
        headroom: Ints | None = None,
    ) -> int:
        """The most slots on some nodes that uncertain replacements can take.

        A node that rejects the pod after `headroom` of them is lost as a whole.
        """
        kinds: dict[int, list[UncertainReplacement]] = {}
        for uncertain in uncertain_pods:
            kinds.setdefault(self._slots_taken(template, uncertain.template), []).append(uncertain)
        lost = 0
        for taken, alike in kinds.items():
            reached = np.logical_or.reduce([uncertain.nodes[nodes] for uncertain in alike])
            there = slots[reached]
            # On a node each of them takes `each` slots, the last one what is left.
            each, whole = np.full(len(there), max(taken, 1)), there // max(taken, 1)
            if headroom is not None:
                shut = headroom[reached] * taken < there
                each = np.where(shut, -(-there // np.maximum(headroom[reached], 1)), each)
                whole = np.where(shut, headroom[reached], whole)
            elif not taken:
                continue
            takes = np.sort(np.concatenate([np.repeat(each, whole), np.maximum(there - each * whole, 0)]))
            lost += int(takes[::-1][: len(alike)].sum())
        return lost

    def _near(self, nodes: Codes, same_wave: Sequence[UncertainReplacement]) -> list[UncertainReplacement]:
        """All uncertain replacements that may be on one of some nodes."""
        return [one for one in (*self.uncertain_pods, *same_wave) if one.nodes[nodes].any()]

    def _most_slots_taken(self, template: int, other: int) -> int:
        """How many slots for pods of a template one pod of another template takes, at most."""
        wants = self._trial.room_needed[template]
        asked = np.flatnonzero(wants)
        return int((-(-self._trial.taken[other][asked] // wants[asked])).max(initial=0))
