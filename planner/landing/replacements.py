"""Where one replacement of a wave may land, by all filters, by counts and by room, wherever others are.

For every move of a wave: the nodes that may be feasible for its replacement at some time, and those that
always are, whether the old pod is still there or gone, and wherever other replacements land.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from planner.constraints.family import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.landing.constraint_status import OccupancyHistogram, Option
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod, Violations
from planner.landing.room import Replacement, UncertainReplacement, WaveRoom
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Codes, Ints, Mask


class ReplacementLandings:
    """Finds the possible and the certain nodes of the replacements of a wave."""

    def __init__(self, timeline: EvictionTimeline, room: WaveRoom) -> None:
        self._timeline = timeline
        self._trial: TrialCluster = timeline.trial
        self._room = room

    def of(self, wave: Sequence[Move], known: Mapping[int, Mask]) -> list[Replacement]:
        """The replacements of a wave; `known` restricts where some of them may land, by pod."""
        least, most = self._room.free(), self._room.free()
        for move in wave:
            most[:, move.source] += self._trial.taken[self._trial.template(move.pod)]
        cases = [self._case(move, wave, least, most) for move in wave]
        lands = [
            UncertainReplacement(one.template, known.get(one.move.pod, one.may), source=one.move.source)
            for one in cases
        ]
        return [
            replace(one, same_wave=[*lands[:number], *lands[number + 1 :]])
            for number, one in enumerate(cases)
        ]

    def _case(self, move: Move, wave: Sequence[Move], least: Ints, most: Ints) -> Replacement:
        """A replacement of a wave, the others of which are not known yet."""
        trial, template = self._trial, self._trial.template(move.pod)
        static, (may, sure) = trial.plan(template).static, self._others(move, wave)
        if self._timeline.waits_for_the_end(move):
            least = least.copy()
            least[:, move.source] += trial.taken[template]
        may = static & trial.has_room(template, most) & may
        sure = static & trial.has_room(template, least) & sure
        return Replacement(move, template, may, sure, least, room_alone=not trial.rules(template))

    def _others(self, move: Move, wave: Sequence[Move]) -> tuple[Mask, Mask]:
        """By filters other than room and spread: the nodes feasible at some time, and those always."""
        trial, template = self._trial, self._trial.template(move.pod)
        rules = trial.rules(template)
        every = trial.problem.nodes.every
        if not rules:
            return every, every
        others = {trial.template(other.pod) for other in wave if other is not move}
        others |= {uncertain.template for uncertain in self._room.elsewhere}
        if any(_depends_on(plugin, trial, template, others) for plugin in rules):
            return every, trial.problem.nodes.none
        may, sure = trial.problem.nodes.none, every
        with trial.after():
            for uncertain in self._room.elsewhere:
                trial.state.unbind(uncertain.pod)
            for _ in self._timeline.while_unscheduled(move):
                sure = sure & self._asked(rules, template)
            self._timeline.put_all(wave, Phase.GONE)
            for _ in self._timeline.while_unscheduled(move):
                # While the old pod terminates, podAffinity to that pod may open a node.
                may = may | self._asked(rules, template)
        return may, sure & may

    def _asked(self, rules: Iterable[Filter], template: int) -> Mask:
        mask = self._trial.problem.nodes.every
        for plugin in rules:
            mask = mask & (plugin.reject(self._trial.problem.templates[template]) == 0)
        return mask


def _depends_on(plugin: Filter, trial: TrialCluster, template: int, others: Collection[int]) -> bool:
    """Whether a filter's answer depends on pods of the other templates by more than room."""
    if not isinstance(plugin, InterPodAffinity) or not others:
        return False
    rules = plugin.rules(trial.problem.templates[template])
    return any(other in around.counts.tally.members for around in rules.every for other in others)


class PossibleNodes:
    """Where one replacement may be, by room and by counts of its coupled constraints, wherever others are.

    And how good it is there, until the histograms change.
    """

    def __init__(self, case: Replacement, coupled: CoupledConstraints, room: WaveRoom) -> None:
        self.case, self.coupled, self._room = case, coupled, room
        self.leaving = LeavingPod(case.template, int(coupled.cell_of[case.move.source]))
        same_wave = [one for one in case.same_wave if one.template in coupled.templates]
        #: The uncertain replacements that change counts of these coupled constraints.
        self._counted = room.of(coupled.templates) + same_wave
        #: The counted pods on every node for certain, after the pod of the move has left.
        self.on_nodes = certain_counts(room, coupled, [(case.template, case.move.source)])
        #: The nodes that may hold more counted pods than is known for certain.
        self.unsure = np.zeros_like(case.may)
        for uncertain in self._counted:
            self.unsure |= uncertain.nodes
            if uncertain.node < 0:
                self.unsure[uncertain.source] = True

    @cached_property
    def violations(self) -> dict[Option, set[Violations]]:
        """The violations that may follow on each of the options that spread admits."""
        found: dict[Option, set[Violations]] = {}
        for start in self.coupled.histograms:
            gone = self.coupled.left(start, self.leaving)
            for option in self.coupled.options(gone, self.leaving):
                found.setdefault(option, set()).add(self._outcome(start, gone, option))
        return found

    def _outcome(self, start: OccupancyHistogram, gone: OccupancyHistogram, option: Option) -> Violations:
        coupled, after = self.coupled, self.coupled.landed(gone, self.leaving.template, option)
        worse = coupled.is_worse(coupled.status(after), coupled.status(start), away=False)
        return None if worse else coupled.violations(after)

    @cached_property
    def best(self) -> Violations:
        """The least violations after it has landed."""
        return min((s for found in self.violations.values() for s in found if s is not None), default=None)

    @cached_property
    def worse(self) -> frozenset[Option]:
        """The options where it makes something worse, or repairs less than at best."""
        return frozenset(option for option, found in self.violations.items() if found != {self.best})

    def serves(self, on_nodes: Codes, nodes: Mask) -> bool:
        """Whether violations are the least on each of these nodes, and no hard constraint is worse meanwhile.

        `on_nodes` are the pods on all nodes before the move.
        """
        coupled = self.coupled
        start = coupled.seen(on_nodes)
        gone = coupled.left(start, self.leaving)
        if coupled.is_worse(coupled.status(gone), coupled.status(start), away=True):
            return False
        cells = coupled.cell_of[nodes].tolist()
        if coupled.by_node:
            known = on_nodes[:, nodes].T.tolist()
            options = {(cell, tuple(counts)) for cell, counts in zip(cells, known, strict=True)}
        else:
            options = {(cell, gone[cell][0][0]) for cell in cells}
        # There is no best where every option would make a constraint worse.
        return self.best is not None and all(
            self._outcome(start, gone, option) == self.best for option in options
        )

    def at(self, options: Collection[Option]) -> Mask:
        """The nodes that are, or may be, at one of these options once the pod of the move has left."""
        return self.coupled.nodes_at(options, self.on_nodes, self.unsure)

    def restricted(self, nodes: Mask, pin: Mask | None) -> LeavingPod:
        """The leaving pod with its replacement restricted to some nodes; its pin may name further nodes."""
        restriction = self.coupled.restriction(nodes, self.on_nodes, self.unsure, pin)
        return replace(self.leaving, restriction=restriction)

    def ends_on(self, nodes: Mask) -> frozenset[OccupancyHistogram]:
        """The histograms that may follow when the replacement lands on one of some nodes, and on no other."""
        coupled, leaving = self.coupled, self.restricted(nodes, None)
        gone = [coupled.left(histogram, leaving) for histogram in coupled.histograms]
        return frozenset(
            coupled.landed(histogram, leaving.template, option)
            for histogram in gone
            for option in coupled.options(histogram, leaving)
        )

    def finds_room(self, inside: Mask, histogram: OccupancyHistogram, options: Collection[Option]) -> bool:
        """Whether one of the options has room inside for certain, wherever the uncertain replacements are."""
        cells, cell_of = {cell for cell, _ in options}, self.coupled.cell_of
        allowed = np.zeros(len(histogram), np.bool_)
        allowed[[*cells]] = True
        nodes = np.flatnonzero(inside & allowed[cell_of])
        numbers, least = np.bincount(cell_of[nodes], minlength=len(histogram)), 0
        for cell in cells:
            shut = sum(number for counts, number in histogram[cell] if (cell, counts) not in options)
            least += max(0, int(numbers[cell]) - shut)
        if self._room.is_enough(self.case, nodes, least):
            return True
        headroom = self.coupled.headroom(histogram, self.leaving, nodes, self.on_nodes)
        return self._room.has_places(self.case, nodes, headroom, self._counted)


def certain_counts(room: WaveRoom, coupled: CoupledConstraints, gone: Iterable[tuple[int, int]]) -> Codes:
    """The counted pods on every node for certain, without pods that are `gone`: (template, node)."""
    uncertain = ((one.template, one.node) for one in room.of(coupled.templates))
    return coupled.counts_on_nodes((*uncertain, *gone))
