"""What room, and all rules but those of spread, say of the nodes to which replacements may come.

Of every move of a wave: the nodes that may be open to its replacement at some time, and those that are at
any time, with the old pod there or gone, and with whoever else lands wherever that may be.
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
    """A move of a wave with what room and all rules but spread say about nodes.

    `may` are the nodes that can ever be open to the replacement while the wave is under way, `sure` those
    that always are unless a rival takes the room; `free` is the least room.
    """

    move: Move
    template: int
    may: Mask
    sure: Mask
    free: Ints
    uncertain_pods: tuple[UncertainReplacement, ...]
    same_wave: tuple[UncertainReplacement, ...]


class Replacements:
    """Asks about the moves of waves on a stage, beside all that is astray in its room."""

    def __init__(self, stage: EvictionTimeline, room: Room) -> None:
        self._stage = stage
        self._trial: TrialCluster = stage.trial
        self._room = room

    def of(self, wave: Sequence[Move], known: Mapping[int, Mask]) -> list[Replacement]:
        """The moves of a wave; of some it is known where they may land at most."""
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
        if self._stage.waits_for_the_end(move):
            free = free.copy()
            free[:, move.source] += self._room.takes[template]
        sure = self._static(move) & self._room.fits(template, free) & sure
        return Replacement(
            move, template, may, sure, free, (*self._room.elsewhere, *same_wave), tuple(same_wave)
        )

    def _static(self, move: Move) -> Mask:
        return self._trial.plan(self._trial.template(move.pod)).static

    def _others(self, move: Move, wave: Sequence[Move]) -> tuple[Mask, Mask]:
        """What rules other than those of room and spread say: the nodes ever open, and those always open."""
        trial, template = self._trial, self._trial.template(move.pod)
        rules = self.rules(template)
        every = trial.problem.nodes.every
        if not rules:
            return every, every
        coupled_moves = {trial.template(other.pod) for other in wave if other is not move}
        coupled_moves |= {uncertain.template for uncertain in self._room.elsewhere}
        if any(_bears_on(plugin, trial, template, coupled_moves) for plugin in rules):
            return every, trial.problem.nodes.none
        mark, sure = trial.state.mark(), every
        for uncertain in self._room.elsewhere:
            trial.state.unbind(uncertain.pod)
        for phase in self._stage.own_phases(move):
            self._stage.put(move, phase)
            sure = sure & self._asked(rules, template)
        self._stage.put_all(wave, Phase.GONE)
        may = trial.problem.nodes.none
        for phase in self._stage.own_phases(move):
            # As long as the old pod ends, a node may be open for its company alone.
            self._stage.put(move, phase)
            may = may | self._asked(rules, template)
        trial.state.rollback(mark)
        return may, sure & may

    def rules(self, template: int) -> list[Filter]:
        """The filters whose answer changes, but for those of room and spread."""
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


def _bears_on(plugin: Filter, trial: TrialCluster, template: int, others: Collection[int]) -> bool:
    """Whether pods that others may bring or take decide by more than room what a filter says."""
    if not isinstance(plugin, InterPodAffinity) or not others:
        return False
    rules = plugin.rules(trial.problem.templates[template])
    return any(
        other in around.counts.tally.members
        for around in (*rules.needs, *rules.shuns, *rules.shunned_by)
        for other in others
    )
