"""Room when replacements may have landed on any of several nodes: the best and the worst case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask


@dataclass(frozen=True, slots=True)
class UncertainReplacement:
    """A replacement that lands, or has landed, on one of these nodes.

    On the board the pod of one that has landed is on `node`; one that is to land leaves `source`.
    Of some all worlds are known in which they are here or there.
    """

    template: int
    nodes: Mask
    pod: int = -1
    node: int = -1
    source: int = -1
    in_scenarios: bool = False


#: Some nodes, and how many of them are open whatever happens.
Group = tuple[Codes, int]


@dataclass(frozen=True, slots=True)
class RoomRequest:
    """A pod of a template that needs room where so much is free, and those that land together with it.

    It may be `room_alone` that these take from it, or more.
    """

    template: int
    free: Ints
    same_wave: Sequence[UncertainReplacement]
    room_alone: bool


class Room:
    """What is free on every node for certain, and how many nodes rivals can fill at most."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        problem = trial.problem
        self._wants: dict[int, Ints] = {}
        self.takes: Ints = np.array([template.requests for template in problem.templates], np.int64)
        #: Replacements of earlier waves that may have landed on several nodes.
        self.uncertain_pods: list[UncertainReplacement] = []
        #: All of whom it is not known where they are: also those that fill all the nodes where they may be,
        #: so that what is left there is known.
        self.elsewhere: list[UncertainReplacement] = []
        self._of: dict[int, list[UncertainReplacement]] = {}
        self._astray_load = np.zeros_like(problem.allocatable)
        #: Their nodes, a row each; made when it is asked for.
        self._stacked: Mask | None = None
        self._known_eats: dict[tuple[int, int], int] = {}

    def wants(self, template: int) -> Ints:
        """What has to be free on a node for a pod of a template."""
        found = self._wants.get(template)
        if found is None:
            found = self._wants[template] = np.array(_wanted(self._trial, template), np.int64)
        return found

    def of(self, templates: Iterable[int]) -> list[UncertainReplacement]:
        """The replacements of some templates of which it is not known where they are."""
        return [uncertain for template in templates for uncertain in self._of.get(template, ())]

    def add(self, uncertain: UncertainReplacement) -> None:
        """Take note of a replacement that may be on several nodes."""
        self.uncertain_pods.append(uncertain)
        self.elsewhere.append(uncertain)
        self._of.setdefault(uncertain.template, []).append(uncertain)
        self._stacked = None
        self._astray_load[:, uncertain.node] += self.takes[uncertain.template]

    def narrow(self, uncertain: UncertainReplacement, nodes: Mask) -> None:
        """Take note that a replacement is on one of fewer nodes."""
        known = replace(uncertain, nodes=nodes)
        for several in (self.uncertain_pods, self.elsewhere, self._of[uncertain.template]):
            for number, one in enumerate(several):
                if one is uncertain:
                    several[number] = known
        self._stacked = None

    def settle(self, uncertain: UncertainReplacement, scarce: Sequence[Mask]) -> None:
        """If he and all who may be where he is fill these nodes, take what is left there for certain.

        `scarce` has for every resource the nodes where nothing else can run out.
        """
        nodes, affinity_peers = self._affinity_peers(uncertain)
        free, takes = self.free()[:, nodes], self.takes[[one.template for one in affinity_peers]]
        for resource, ample in enumerate(scarce):
            unit = int(np.gcd.reduce(takes[:, resource]))
            filled = unit and (free[resource] // unit).sum() * unit == takes[:, resource].sum()
            if filled and ample[nodes].all():
                known = {id(one) for one in affinity_peers}
                self.uncertain_pods = [one for one in self.uncertain_pods if id(one) not in known]
                for one in affinity_peers:
                    self._astray_load[:, one.node] -= self.takes[one.template]
                self._stacked = None
                return

    def _affinity_peers(self, uncertain: UncertainReplacement) -> tuple[Codes, list[UncertainReplacement]]:
        """All who may be on the same nodes as a rival, or as one of these, and where they may be."""
        nodes, affinity_peers = uncertain.nodes, [uncertain]
        while True:
            found = [one for one in self.uncertain_pods if (one.nodes & nodes).any()]
            if len(found) == len(affinity_peers):
                return np.flatnonzero(nodes), found
            nodes, affinity_peers = np.logical_or.reduce([one.nodes for one in found]), found

    def forget_scenarios(self) -> None:
        """Forget in which worlds rivals are where."""
        open_yet = {id(uncertain) for uncertain in self.uncertain_pods}
        everybody, self.uncertain_pods, self.elsewhere, self._of = self.elsewhere, [], [], {}
        for uncertain in everybody:
            known = replace(uncertain, in_scenarios=False)
            self.elsewhere.append(known)
            self._of.setdefault(uncertain.template, []).append(known)
            if id(uncertain) in open_yet:
                self.uncertain_pods.append(known)

    def free(self) -> Ints:
        """What is free on every node, were those that may be elsewhere all elsewhere."""
        trial = self._trial
        found: Ints = trial.problem.allocatable - trial.state.used + self._astray_load
        return found

    def free_on(self, node: int) -> Ints:
        """The same of one node."""
        trial = self._trial
        used: Ints = trial.state.used[:, node] - self._astray_load[:, node]
        found: Ints = trial.problem.allocatable[:, node] - used
        return found

    def fits(self, template: int, free: Ints) -> Mask:
        """The nodes on which so much is enough for a pod of a template."""
        wants = self.wants(template)
        asked = np.flatnonzero(wants)
        found: Mask = np.all(free[asked] >= wants[asked, np.newaxis], axis=0)
        return found

    def is_enough(
        self, need: RoomRequest, places: Sequence[Group], counted: Sequence[UncertainReplacement] = ()
    ) -> bool:
        """Whether a pod finds room for certain, wherever those astray and its mates are.

        `places` are groups of nodes with room for it; for each of those `counted` one is off already.
        """
        certain = sum(least for _, least in places)
        if certain > len(self.uncertain_pods) + len(need.same_wave):
            return True
        if not certain:
            return False
        template, free = need.template, need.free
        nodes = np.concatenate([group for group, _ in places])
        uncertain_pods = self._near(nodes, need.same_wave)
        off = {id(uncertain) for uncertain in counted}
        # A rival is on one node: it takes that one, whether it fills it or counts too much there.
        others = [uncertain.template for uncertain in uncertain_pods if id(uncertain) not in off]
        if certain > len(others) or not need.room_alone:
            return certain > len(others)
        near = [uncertain.template for uncertain in uncertain_pods]
        if certain > self._filled(template, free[:, nodes], near):
            return True
        slots = [self._slots(template, free[:, group]) for group, _ in places]
        # Which of a group are open is not known: those with the least room, then.
        found = sum(int(np.sort(s)[:least].sum()) for s, (_, least) in zip(slots, places, strict=True))
        return found > self._lost(template, nodes, np.concatenate(slots), uncertain_pods)

    def _slots(self, template: int, free: Ints) -> Ints:
        """For how many pods of a template every node has room."""
        wants = self.wants(template)
        asked = np.flatnonzero(wants)
        found: Ints = (free[asked] // wants[asked, np.newaxis]).min(axis=0)
        return found

    def has_places(
        self, need: RoomRequest, nodes: Codes, bear: Ints, coupled_moves: Sequence[UncertainReplacement]
    ) -> bool:
        """The same of nodes that admit only so many more of its `coupled_moves`."""
        if not need.room_alone:
            return False
        slots = np.where(bear > 0, self._slots(need.template, need.free[:, nodes]), 0)
        known = {id(uncertain) for uncertain in coupled_moves}
        others = [uncertain for uncertain in self._near(nodes, need.same_wave) if id(uncertain) not in known]
        near = [uncertain for uncertain in coupled_moves if uncertain.nodes[nodes].any()]
        lost = self._lost(need.template, nodes, slots, others) + self._lost(
            need.template, nodes, slots, near, bear
        )
        return int(slots.sum()) > lost

    def _lost(
        self,
        template: int,
        nodes: Codes,
        slots: Ints,
        uncertain_pods: Sequence[UncertainReplacement],
        bear: Ints | None = None,
    ) -> int:
        """How many places on some nodes rivals can take at most: of a kind each where it takes the most.

        A node that they shut when it bears no more of them is lost as a whole.
        """
        kinds: dict[int, list[UncertainReplacement]] = {}
        for uncertain in uncertain_pods:
            kinds.setdefault(self._eats(template, uncertain.template), []).append(uncertain)
        lost = 0
        for eats, alike in kinds.items():
            reached = np.logical_or.reduce([uncertain.nodes[nodes] for uncertain in alike])
            there = slots[reached]
            # One after the other on a node they take so many each, and the last one what is left.
            each, whole = np.full(len(there), max(eats, 1)), there // max(eats, 1)
            if bear is not None:
                shut = bear[reached] * eats < there
                each = np.where(shut, -(-there // np.maximum(bear[reached], 1)), each)
                whole = np.where(shut, bear[reached], whole)
            elif not eats:
                continue
            takes = np.sort(np.concatenate([np.repeat(each, whole), np.maximum(there - each * whole, 0)]))
            lost += int(takes[::-1][: len(alike)].sum())
        return lost

    def _near(self, nodes: Codes, same_wave: Sequence[UncertainReplacement]) -> list[UncertainReplacement]:
        """All rivals that may be on one of some nodes."""
        if self._stacked is None:
            size = self._trial.problem.nodes.size
            self._stacked = np.array(
                [uncertain.nodes for uncertain in self.uncertain_pods], np.bool_
            ).reshape(-1, size)
        uncertain_pods = np.flatnonzero(self._stacked[:, nodes].any(axis=1)).tolist()
        found = [self.uncertain_pods[number] for number in uncertain_pods]
        return found + [mate for mate in same_wave if mate.nodes[nodes].any()]

    def _filled(self, template: int, free: Ints, near: Sequence[int]) -> int:
        """Of nodes with so much room, how many some rivals can take from a pod at most.

        A rival fills one node at most, and to fill a node they need what is to spare there, and more.
        """
        together = self.takes[[*near]].sum(axis=0)
        wants, found = self.wants(template), 0
        for row in np.flatnonzero(wants).tolist():
            spare = np.sort(free[row]) - wants[row] + 1
            found += int(np.count_nonzero(np.cumsum(spare) <= together[row]))
        return min(found, len(near))

    def _eats(self, template: int, other: int) -> int:
        """For how many pods of a template a pod of another one takes the room, at most."""
        found = self._known_eats.get((template, other))
        if found is None:
            wants = self.wants(template)
            asked = np.flatnonzero(wants)
            found = int((-(-self.takes[other][asked] // wants[asked])).max(initial=0))
            self._known_eats[template, other] = found
        return found


def _wanted(trial: TrialCluster, template: int) -> Sequence[int]:
    """What has to be free on a node for a pod of a template."""
    wanted = [0] * len(trial.problem.resources)
    for row, amount in trial.wants(template):
        wanted[row] = amount
    return wanted
