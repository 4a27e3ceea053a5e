"""Where replacements land: all nodes as good as the planned one, and what restricts them to these.

Filters: no other node passes the scheduler's filters, whatever happened before, in whichever order the wave
goes, with the old pod still there or gone.  Scores: no other node has the highest score; judged only where
everything that scores read is certain.  Pinned: restricted by the pod's own spec, as widely as possible.
Cordoned: the few other nodes that pass the filters are cordoned until the replacement has landed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.landing.constraint_status import OccupancyHistogram
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod, WaveOutcomes
from planner.landing.interchangeable_nodes import interchangeable_nodes
from planner.landing.landing import Landing, LandingContradiction, LandingPreferences
from planner.landing.node_sets import NodeSets
from planner.landing.presence import OpenNodes, Presence
from planner.landing.replacements import Replacement, Replacements
from planner.landing.room import Room, UncertainReplacement
from planner.landing.spread_admission import Option
from planner.landing.tie_break_scenarios import TieBreakScenarios
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Interference, Move, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort


class WaveLandings:
    """Judges the moves of a wave, and keeps the coupled constraints and the room up to date."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        couplings: Mapping[int, CoupledConstraints],
        preferences: LandingPreferences,
        sources: Collection[int],
    ) -> None:
        """Landings over a timeline; `sources` are the nodes that pods leave."""
        self._timeline = timeline
        self._trial: TrialCluster = timeline.trial
        self._coupled = couplings
        self._preferences = preferences
        self._pins = self._plain = self._lone = False
        self._reads = Interference(self._trial).reads
        self._places = NodeSets(timeline.trial)
        node_of = timeline.trial.state.node_of.copy()
        self._scenarios = TieBreakScenarios(
            timeline,
            lambda: interchangeable_nodes(timeline.trial, node_of, couplings.values(), sources, couplings),
            preferences.again,
        )
        #: Templates for which a landing by scores was tried.
        self._scored: set[int] = set()
        self.room = Room(timeline.trial)
        self._cases = Replacements(timeline, self.room)
        self._presence = Presence(self._trial, self.room, self._cases)
        #: Outcomes of moves, with the least number of open nodes on the way; cleared with every wave.
        self._known_outcomes: dict[Move, tuple[WaveOutcomes, int]] = {}

    def foresee(self, moves: Iterable[Move]) -> None:
        """Compute scores in advance for moves that are likely to be judged by them."""
        if self._scenarios.number == 1:
            return
        likely = [move for move in moves if self._trial.template(move.pod) in self._scored]
        if likely:
            self._scenarios.foresee(
                likely, {self._coupled[self._trial.template(move.pod)] for move in likely}
            )

    def judge(
        self,
        wave: Sequence[Move],
        kept_free: Callable[[Move], Mask],
        landed: Mapping[int, Landing] | None = None,
        *,
        pins: bool = True,
        plain: bool = False,
    ) -> list[Landing | None]:
        """A landing for every move, if one holds whatever the others do; `landed` has earlier results by pod.

        `kept_free` has the nodes where a replacement would take room that is meant for others.  `plain`
        allows nothing but a pin to the planned node, where pins are possible.
        """
        self._plain, self._lone = plain, len(wave) == 1
        cases = self._cases.of(wave, {pod: found.nodes for pod, found in (landed or {}).items()})
        self._pins = pins
        groups: dict[int, list[Replacement]] = {}
        for case in cases:
            groups.setdefault(id(self._coupled[case.template]), []).append(case)
        found: dict[Move, Landing | None] = dict.fromkeys(wave)
        for group in groups.values():
            if len(group) == 1:
                found[group[0].move] = self._alone(group[0], kept_free(group[0].move))
            else:
                found |= self._together(group, [kept_free(case.move) for case in group])
        return [found[move] for move in wave]

    # Landings by kind

    def _alone(self, case: Replacement, kept_free: Mask) -> Landing | None:
        """The landing of the only move in the wave that touches its coupled constraints."""
        coupled = self._coupled[case.template]
        leaving = self._leaving(case, coupled)
        good = self._good(case, coupled, leaving, kept_free)
        return next(self._kinds(case, coupled, leaving, good, kept_free), None)

    def _kinds(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, good: Mask, kept_free: Mask
    ) -> Iterator[Landing]:
        if self._plain and self._may_pin(case):
            yield from self._pinned(case, coupled, leaving, good)
            return
        fixed = case.move.pod in self._preferences.fixed
        certain = fixed or case.move.pod in self._preferences.certain
        open_now = self._open(case, coupled, leaving, kept=None)
        by_filters = None
        if open_now is not None and not (open_now & ~good).any():
            place = self._places.of(open_now, kept_free, case.template)
            by_filters = Landing(case.move, "filters", open_now, place)
            if not certain or int(open_now.sum()) == 1:
                yield by_filters
        best = self._by_scores(case, coupled, leaving, self._shut(case, coupled, kept_free))
        if best is not None:
            yield Landing(case.move, "scores", best, self._places.named(best))
        if by_filters is not None and not fixed:
            yield by_filters
        if self._pins and self._may_pin(case):
            yield from self._pinned(case, coupled, leaving, good)
        if self._pins and self._lone and case.template in self._preferences.pin_policy.cordonable:
            yield from self._cordoned(case, coupled, leaving, good)
        if by_filters is not None:
            yield by_filters

    def _may_pin(self, case: Replacement) -> bool:
        return case.template in self._preferences.pin_policy.pinnable

    def _leaving(self, case: Replacement, coupled: CoupledConstraints) -> LeavingPod:
        cells = coupled.cell_of
        return LeavingPod(case.template, int(cells[case.move.source]), int(cells[case.move.target]))

    def _good(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, kept_free: Mask
    ) -> Mask:
        """The nodes where a replacement is as good as on the planned one."""
        bad = coupled.worse_options(leaving, as_planned=case.template in self._preferences.as_planned)
        good: Mask = ~self._presence.where(case, coupled, bad) & ~self._shut(case, coupled, kept_free)
        return good

    def _shut(self, case: Replacement, coupled: CoupledConstraints, kept_free: Mask) -> Mask:
        """The nodes where a replacement should not land, whatever it repairs there."""
        shut = kept_free.copy()
        shut[case.move.source] = True
        if case.template in self._preferences.as_planned:
            shut |= coupled.domains != coupled.domains[case.move.target]
        if case.move.pod in self._preferences.again:
            shut[:] = True
            shut[case.move.target] = False
        return shut

    def _open(
        self,
        case: Replacement,
        coupled: CoupledConstraints,
        leaving: LeavingPod,
        kept: Mask | None,
        pin: Mask | None = None,
    ) -> Mask | None:
        """The nodes that may be feasible for a replacement; None when it may find none or violate more.

        With `kept` it is restricted to these nodes; a pin may name others without room as well.
        """
        # A pin may open nodes that no filter accepted before, so how good these are is not known yet.
        wanted = coupled.best(leaving, as_planned=case.template in self._preferences.as_planned)
        if kept is not None:
            unsure = self._presence.unsure(case, coupled)
            held = coupled.restriction(kept, self._presence.levels(coupled, [case.move]), unsure, pin)
            leaving = replace(leaving, restriction=held)
        outcomes = self._wave_outcomes(case, coupled, leaving, kept)
        if outcomes is None or (kept is not None and not coupled.alike(outcomes.ends, wanted)):
            return None
        found = case.may & self._presence.where(case, coupled, outcomes.options[0])
        return found if kept is None else found & kept

    def _wave_outcomes(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, kept: Mask | None
    ) -> WaveOutcomes | None:
        """The outcomes of a single move; cached while there are more open nodes than uncertain pods."""
        if kept is None and case.move in self._known_outcomes:
            known, least = self._known_outcomes[case.move]
            if least > len(case.uncertain_pods):
                return known
        inside = OpenNodes(coupled, case.sure if kept is None else case.sure & kept)
        found = coupled.outcomes(
            [leaving],
            lambda _, histogram, options: self._presence.finds_room(
                case, coupled, leaving, inside, histogram, options
            ),
        )
        if kept is None and found is not None and not self._cases.rules(case.template):
            self._known_outcomes[case.move] = found, inside.least
        return found

    def _by_scores(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, shut: Mask
    ) -> Mask | None:
        """The nodes that may have the highest score; None if not certain, or if one is not as good."""
        apart = [uncertain for uncertain in case.uncertain_pods if not uncertain.in_scenarios]
        read = {number for tally in self._reads(case.template) for number in tally.members}
        if any((uncertain.nodes & case.may).any() or uncertain.template in read for uncertain in apart):
            return None
        if any(case.may[uncertain.source] for uncertain in apart if uncertain.source >= 0):
            return None
        wanted = coupled.best(leaving, as_planned=case.template in self._preferences.as_planned)
        found = np.zeros_like(case.may)
        self._scored.add(case.template)
        known = set[bytes]()
        for number in range(self._scenarios.number):
            phases = self._timeline.own_phases(case.move)
            tops = [self._scenarios.tops(number, case.move, phase) for phase in phases]
            levels = self._scenarios.levels(number, coupled)
            alike = b"".join(one.tobytes() for one in (*tops, levels))
            if alike in known:
                continue
            known.add(alike)
            roles = [self._scenarios.with_interchangeable(top) for top in tops]
            if not all(top.any() and not (top & shut).any() for top in roles):
                return None
            if not coupled.serves(levels, leaving, np.logical_or.reduce(tops), wanted):
                return None
            found |= np.logical_or.reduce(roles)
        return found

    def _pinned(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, good: Mask
    ) -> Iterator[Landing]:
        """Pins, the widest first."""
        held = any(d.hard and case.template in d.asked.carriers for d in coupled.constraints)
        for place, nodes in self._places.pins(
            case.template, good & case.may, case.may & ~good, case.move.target, many=not held
        ):
            if self._plain and int(nodes.sum()) > 1:
                continue
            inside = nodes & case.may
            if not inside.any() or (inside & ~good).any():
                continue
            open_now = self._open(case, coupled, leaving, kept=inside, pin=nodes)
            if open_now is not None and open_now.any():
                yield Landing(case.move, "pinned", open_now, place)

    def _cordoned(
        self, case: Replacement, coupled: CoupledConstraints, leaving: LeavingPod, good: Mask
    ) -> Iterator[Landing]:
        """The landing with the wrong nodes cordoned, if these are few."""
        wrong = case.may & self._presence.where(case, coupled, coupled.possible(leaving)) & ~good
        if not 0 < int(wrong.sum()) <= effort.MOST_CORDONED:
            return
        open_now = self._open(case, coupled, leaving, kept=case.may & ~wrong)
        if open_now is not None and open_now.any() and not (open_now & ~good).any():
            place = self._places.named(open_now)
            yield Landing(
                case.move, "cordoned", open_now, place, cordon=tuple(np.flatnonzero(wrong).tolist())
            )

    def _together(
        self, cases: Sequence[Replacement], kept_free: Sequence[Mask]
    ) -> dict[Move, Landing | None]:
        """The landings of several moves with the same coupled constraints: all by filters, or none."""
        coupled = self._coupled[cases[0].template]
        leaving_pods = [self._leaving(case, coupled) for case in cases]
        insides = [OpenNodes(coupled, case.sure) for case in cases]
        outcomes = coupled.outcomes(
            leaving_pods,
            lambda number, histogram, options: self._presence.finds_room(
                cases[number], coupled, leaving_pods[number], insides[number], histogram, options
            ),
        )
        if outcomes is None or not coupled.alike(outcomes.ends):
            return {case.move: None for case in cases}
        levels = self._presence.levels(coupled, [case.move for case in cases])
        found = dict[Move, Landing | None]()
        for case, options, shut in zip(cases, outcomes.options, kept_free, strict=True):
            nodes = case.may & coupled.nodes_at(options, levels, self._presence.unsure(case, coupled))
            if (nodes & shut).any() or case.move.pod in self._preferences.again:
                return {case.move: None for case in cases}
            place = self._places.of(nodes, shut, case.template)
            found[case.move] = Landing(case.move, "filters", nodes, place)
        return found

    # After a wave

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

    def commit(self, wave: Sequence[Landing]) -> list[Landing]:
        """Apply a wave; returns its landings with the targets reached when ties go to the smallest name."""
        by_scores = [landing.move for landing in wave if landing.kind == "scores"]
        scenarios = self._scenarios.after(
            by_scores, {move.pod: self._timeline.own_phases(move) for move in by_scores}
        )
        for coupled, landings in self._by_coupling(wave).values():
            coupled.histograms = self._ends(coupled, landings)
        self._known_outcomes.clear()
        done = [replace(landing, move=self._nominal(landing)) for landing in wave]
        self._scenarios.become(scenarios)
        certain = [m.move.target for m in done if m.kind != "scores" and int(m.nodes.sum()) == 1]
        if not all([self._scenarios.tell_apart(node) for node in certain]):
            scenarios = None
            self._scenarios.become(None)
        if scenarios is None:
            self.room.forget_scenarios()
        for landing in done:
            if int(landing.nodes.sum()) > 1:
                template, in_scenarios = self._trial.template(landing.move.pod), landing.kind == "scores"
                self.room.add(
                    UncertainReplacement(
                        template,
                        landing.nodes,
                        landing.move.pod,
                        landing.move.target,
                        in_scenarios=in_scenarios and scenarios is not None,
                    )
                )
        for coupled, _ in self._by_coupling(wave).values():
            if all(uncertain.in_scenarios for uncertain in self.room.of(coupled.templates)):
                levels = (self._scenarios.levels(number, coupled) for number in range(self._scenarios.number))
                coupled.histograms = frozenset(map(coupled.seen, levels))
            self._narrow(coupled)
        return done

    def _narrow(self, coupled: CoupledConstraints) -> None:
        """If the number in every domain is known, assume each to be in its domain of the trial cluster.

        They are pods of one template, so it does not matter which of them is where.
        """
        uncertain_pods = self.room.of(coupled.templates)
        spread = [r for r in uncertain_pods if (coupled.domains[r.nodes] != coupled.domains[r.node]).any()]
        if (
            spread
            and not any(uncertain.in_scenarios for uncertain in uncertain_pods)
            and coupled.tells_domains()
        ):
            nodes = np.logical_or.reduce([uncertain.nodes for uncertain in spread])
            for uncertain in spread:
                self.room.narrow(uncertain, nodes & (coupled.domains == coupled.domains[uncertain.node]))

    def _ends(
        self, coupled: CoupledConstraints, landings: Sequence[Landing]
    ) -> frozenset[OccupancyHistogram]:
        """All histograms that landings may lead to; a landing by scores comes alone."""
        first, *others = landings
        if first.kind == "filters" and not others and first.move in self._known_outcomes:
            return self._known_outcomes[first.move][0].ends
        leaving_pods = [self._held(landing, coupled) for landing in landings]
        if first.kind == "scores":
            gone = [coupled.left(histogram, leaving_pods[0]) for histogram in coupled.histograms]
            return frozenset(
                coupled.landed(histogram, leaving_pods[0].template, option)
                for histogram in gone
                for option in coupled.options(histogram, leaving_pods[0])
            )
        outcomes = coupled.outcomes(leaving_pods, _somewhere)
        if outcomes is None:
            raise LandingContradiction("a wave that was judged to hold does not")
        return outcomes.ends

    def _by_coupling(self, wave: Sequence[Landing]) -> dict[int, tuple[CoupledConstraints, list[Landing]]]:
        found: dict[int, tuple[CoupledConstraints, list[Landing]]] = {}
        for landing in wave:
            coupled = self._coupled[self._trial.template(landing.move.pod)]
            found.setdefault(id(coupled), (coupled, []))[1].append(landing)
        return found

    def _held(self, landing: Landing, coupled: CoupledConstraints) -> LeavingPod:
        """The leaving pod of a landing, with the restriction of that landing."""
        cells, move = coupled.cell_of, landing.move
        leaving = LeavingPod(self._trial.template(move.pod), int(cells[move.source]), int(cells[move.target]))
        if landing.kind == "filters":
            return leaving
        unsure = np.zeros_like(landing.nodes)
        for uncertain in self.room.of(coupled.templates):
            unsure |= uncertain.nodes
        levels = self._presence.levels(coupled, [landing.move])
        held = coupled.restriction(landing.nodes, levels, unsure, self._pin(landing))
        return replace(leaving, restriction=held)

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
