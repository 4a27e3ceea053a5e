"""What waves lead to that are carried out: counts, room and tie-breaks that may be the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.landing.constraint_status import OccupancyHistogram, Option
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod
from planner.landing.landing import Landing, LandingContradiction
from planner.landing.node_sets import NodeSets
from planner.landing.outcomes import wave_outcomes
from planner.landing.replacements import certain_levels
from planner.landing.room import UncertainReplacement, WaveRoom
from planner.landing.tie_break_scenarios import Scenario, TieBreakScenarios
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Mask
from planner.proof import effort


class WavesCarriedOut:
    """Carries out waves on a timeline; room, coupled constraints and scenarios follow."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        couplings: Mapping[int, CoupledConstraints],
        room: WaveRoom,
        scenarios: TieBreakScenarios,
    ) -> None:
        self.room = room
        self._timeline = timeline
        self._trial = timeline.trial
        self._coupled = couplings
        self._scenarios = scenarios
        self._places = NodeSets(timeline.trial)

    def most_certain(self, alone: Sequence[Landing]) -> Landing:
        """Of landings by scores the one that leaves the fewest scenarios to follow."""
        best, least = alone[0], effort.SCENARIOS_KEPT + 1
        for landing in alone:
            scenarios = self._scenarios.after(
                [landing.move], {landing.move.pod: self._timeline.own_phases(landing.move)}
            )
            if scenarios is not None and len(scenarios) < least:
                best, least = landing, len(scenarios)
            if least <= self._scenarios.number:
                break
        return best

    def commit(
        self, wave: Sequence[Landing], known: Mapping[Move, frozenset[OccupancyHistogram]]
    ) -> Sequence[Landing]:
        """Carry out a wave; its landings with the targets reached when ties go to the smallest name.

        `known` are the histograms to which some landings by filters lead alone.
        """
        by_scores = [landing.move for landing in wave if landing.kind == "scores"]
        phases = {move.pod: self._timeline.own_phases(move) for move in by_scores}
        scenarios = self._scenarios.after(by_scores, phases)
        couplings = self._by_coupling(wave)
        for coupled, landings in couplings:
            coupled.histograms = self._ends(coupled, landings, known)
        done = [replace(landing, move=self._nominal(landing)) for landing in wave]
        in_scenarios = self._follow(scenarios, done)
        for landing in done:
            self._remember(landing, in_scenarios=in_scenarios and landing.kind == "scores")
        for coupled, _ in couplings:
            if all(uncertain.in_scenarios for uncertain in self.room.of(coupled.templates)):
                levels = (self._scenarios.levels(number, coupled) for number in range(self._scenarios.number))
                coupled.histograms = frozenset(map(coupled.seen, levels))
        self._trial.state.forget_history()
        return done

    def _follow(self, scenarios: list[Scenario] | None, done: Sequence[Landing]) -> bool:
        """Go on with these scenarios; False if ties are followed no longer: there are too many of them.

        A node on which a replacement is for certain is not interchangeable any more.
        """
        self._scenarios.become(scenarios)
        certain = [one.move.target for one in done if one.kind != "scores" and int(one.nodes.sum()) == 1]
        apart = [self._scenarios.tell_apart(node) for node in certain]
        if scenarios is not None and all(apart):
            return True
        self._scenarios.become(None)
        self.room.forget_scenarios()
        return False

    def _remember(self, landing: Landing, *, in_scenarios: bool) -> None:
        """Record a replacement that may be on several nodes."""
        if int(landing.nodes.sum()) > 1:
            move, template = landing.move, self._trial.template(landing.move.pod)
            self.room.add(
                UncertainReplacement(
                    template, landing.nodes, move.pod, move.target, in_scenarios=in_scenarios
                )
            )

    def _ends(
        self,
        coupled: CoupledConstraints,
        landings: Sequence[Landing],
        known: Mapping[Move, frozenset[OccupancyHistogram]],
    ) -> frozenset[OccupancyHistogram]:
        """All histograms that landings may lead to; a landing by scores comes alone."""
        first, *others = landings
        if first.kind == "filters" and not others and first.move in known:
            return known[first.move]
        leaving_pods = [self._held(landing, coupled) for landing in landings]
        if first.kind == "scores":
            gone = [coupled.left(histogram, leaving_pods[0]) for histogram in coupled.histograms]
            return frozenset(
                coupled.landed(histogram, leaving_pods[0].template, option)
                for histogram in gone
                for option in coupled.options(histogram, leaving_pods[0])
            )
        outcomes = wave_outcomes(coupled, leaving_pods, _somewhere)
        if outcomes is None:
            raise LandingContradiction("a wave that was judged to hold does not")
        return outcomes.ends

    def _by_coupling(self, wave: Sequence[Landing]) -> list[tuple[CoupledConstraints, list[Landing]]]:
        found: dict[int, tuple[CoupledConstraints, list[Landing]]] = {}
        for landing in wave:
            coupled = self._coupled[self._trial.template(landing.move.pod)]
            found.setdefault(id(coupled), (coupled, []))[1].append(landing)
        return [*found.values()]

    def _held(self, landing: Landing, coupled: CoupledConstraints) -> LeavingPod:
        """The leaving pod of a landing, with the restriction of that landing."""
        move, template = landing.move, self._trial.template(landing.move.pod)
        leaving = LeavingPod.of(move, template, coupled)
        if landing.kind == "filters":
            return leaving
        unsure = np.zeros_like(landing.nodes)
        for uncertain in self.room.of(coupled.templates):
            unsure |= uncertain.nodes
        levels = certain_levels(self.room, coupled, [(template, move.source)])
        return leaving.restricted(coupled.restriction(landing.nodes, levels, unsure, self._pin(landing)))

    def _pin(self, landing: Landing) -> Mask | None:
        """The nodes that a pin names."""
        if landing.kind != "pinned":
            return None
        static = self._trial.plan(self._trial.template(landing.move.pod)).static
        return self._places.mask(landing.place) & static

    def _nominal(self, landing: Landing) -> Move:
        """Apply a landing after all earlier ones; its move, to the best node of the smallest name."""
        trial, template = self._trial, self._trial.template(landing.move.pod)
        self._timeline.put(landing.move, self._timeline.own_phases(landing.move)[0])
        feasible, totals = trial.choice(template, landing.cordon)
        pin = self._pin(landing)
        nodes = landing.nodes & (feasible.mask if pin is None else trial.open_to(template, pin))
        elsewhere = landing.kind in {"filters", "cordoned"} and (feasible.mask & ~landing.nodes).any()
        if elsewhere or not nodes.any():
            raise LandingContradiction("a replacement lands where it was ruled out")
        found = np.flatnonzero(nodes)
        move = replace(landing.move, target=int(found[np.argmax(totals[found])]))
        self._timeline.put(move, Phase.LANDED)
        return move


def _somewhere(number: int, histogram: OccupancyHistogram, options: frozenset[Option]) -> bool:
    """Room was checked when the wave was judged."""
    return True
