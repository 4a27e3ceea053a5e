"""What room, and all filters except spread, say about the nodes of replacements.

For every move of a wave: the nodes that may be feasible for its replacement at some time, and those that
always are, whether the old pod is still there or gone, and wherever other replacements land.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.constraints.family import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.landing.room import Room, UncertainReplacement
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Ints, Mask


@dataclass(frozen=True, slots=True)
class Replacement:
    """A move of a wave with what room and all filters except spread say about nodes.

    `may` are the nodes that can be feasible for the replacement at some time during the wave, `sure` those
    that always are unless an uncertain replacement takes the room; `free` is the least free room.  With
    `room_alone` no filter but those of room and spread asks about other pods.
    """

    move: Move
    template: int
    may: Mask
    sure: Mask
    free: Ints
    uncertain_pods: tuple[UncertainReplacement, ...]
    same_wave: tuple[UncertainReplacement, ...]
    room_alone: bool


class Replacements:
    """Finds the possible and the certain nodes of the replacements of a wave."""

    def __init__(self, timeline: EvictionTimeline, room: Room) -> None:
        self._timeline = timeline
        self._trial: TrialCluster = timeline.trial
        self._room = room

    def of(self, wave: Sequence[Move], known: Mapping[int, Mask]) -> list[Replacement]:
        """The replacements of a wave; `known` restricts where some of them may land, by pod."""
        least, most = self._room.free(), self._room.free()
        for move in wave:
            most[:, move.source] += self._room.takes[self._trial.template(move.pod)]
        masks = [self._others(move, wave) for move in wave]
        mays = [
            self._static(move) & self._room.fits(self._trial.template(move.pod), most) & may
            for move, (may, _) in zip(wave, masks, strict=True)
        ]
        uncertain_pods = [
            UncertainReplacement(self._trial.template(move.pod), known.get(move.pod, may), source=move.source)
            for move, may in zip(wave, mays, strict=True)
        ]
        return [
            self._case(move, may, sure, least, [*uncertain_pods[:number], *uncertain_pods[number + 1 :]])
            for number, (move, may, (_, sure)) in enumerate(zip(wave, mays, masks, strict=True))
        ]

    def _case(
        self, move: Move, may: Mask, sure: Mask, free: Ints, same_wave: Sequence[UncertainReplacement]
    ) -> Replacement:
        template = self._trial.template(move.pod)
        if self._timeline.waits_for_the_end(move):
            free = free.copy()
            free[:, move.source] += self._room.takes[template]
        sure = self._static(move) & self._room.fits(template, free) & sure
        return Replacement(
            move,
            template,
            may,
            sure,
            free,
            (*self._room.elsewhere, *same_wave),
            tuple(same_wave),
            room_alone=not self._rules(template),
        )

    def _static(self, move: Move) -> Mask:
        return self._trial.plan(self._trial.template(move.pod)).static

    def _others(self, move: Move, wave: Sequence[Move]) -> tuple[Mask, Mask]:
        """By filters other than room and spread: the nodes feasible at some time, and those always."""
        trial, template = self._trial, self._trial.template(move.pod)
        rules = self._rules(template)
        every = trial.problem.nodes.every
        if not rules:
            return every, every
        others = {trial.template(other.pod) for other in wave if other is not move}
        others |= {uncertain.template for uncertain in self._room.elsewhere}
        if any(_depends_on(plugin, trial, template, others) for plugin in rules):
            return every, trial.problem.nodes.none
        mark, sure = trial.state.mark(), every
        for uncertain in self._room.elsewhere:
            trial.state.unbind(uncertain.pod)
        for phase in self._timeline.own_phases(move):
            self._timeline.put(move, phase)
            sure = sure & self._asked(rules, template)
        self._timeline.put_all(wave, Phase.GONE)
        may = trial.problem.nodes.none
        for phase in self._timeline.own_phases(move):
            # While the old pod terminates, a node may be feasible only because of podAffinity to that pod.
            self._timeline.put(move, phase)
            may = may | self._asked(rules, template)
        trial.state.rollback(mark)
        return may, sure & may

    def _rules(self, template: int) -> list[Filter]:
        """The filters whose answer depends on other pods, except those for room and spread."""
        return [
            plugin
            for plugin in self._trial.plan(template).changing
            if not isinstance(plugin, NodeResourcesFit | PodTopologySpread)
        ]

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
    return any(
        other in around.counts.tally.members
        for around in (*rules.needs, *rules.anti_affinity, *rules.kept_out_by)
        for other in others
    )
