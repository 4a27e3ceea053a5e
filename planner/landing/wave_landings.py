"""Where replacements land: all nodes that are as good as planned, and what holds them to these.

Filters: no other node is left by the scheduler's filters, whatever came before, whoever of the wave is
under way, with the old pod still there or gone.  Scores: no other node has the highest score; judged
only where all that scores look at is certain.  Pinned: held by the pod's own spec, as widely as serves.
Cordoned: the few other nodes that the filters leave are closed until the replacement has landed.
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
from planner.moves.interference import Interference
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort


class WaveLandings:
    """Judges the moves of a wave on a stage, whose crowds and room it keeps."""

    def __init__(
        self,
        stage: EvictionTimeline,
        crowds: Mapping[int, CoupledConstraints],
        preferences: LandingPreferences,
        sources: Collection[int],
    ) -> None:
        """Landings on a stage; `sources` are the nodes that pods leave."""
        self._stage = stage
        self._trial: TrialCluster = stage.trial
        self._coupled = crowds
        self._preferences = preferences
        self._pins = self._plain = self._lone = False
        self._reads = Interference(self._trial).reads
        self._places = NodeSets(stage.trial)
        node_of = stage.trial.state.node_of.copy()
        self._scenarios = TieBreakScenarios(
            stage,
            lambda: interchangeable_nodes(stage.trial, node_of, crowds.values(), sources, crowds),
            preferences.again,
        )
        #: Templates whose pods scores were asked to lead.
        self._led: set[int] = set()
        self.room = Room(stage.trial)
        self._cases = Replacements(stage, self.room)
        self._presence = Presence(self._trial, self.room, self._cases)
        #: How moves may go, and the least number of nodes that are open to each on the way; of this turn.
        self._known_outcomes: dict[Move, tuple[WaveOutcomes, int]] = {}

    def foresee(self, moves: Iterable[Move]) -> None:
        """Find out at once where scores lead some moves that are to be judged, if they are likely to."""
        if self._scenarios.number == 1:
            return
        likely = [move for move in moves if self._trial.template(move.pod) in self._led]
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
        """A landing for every move, if there is one whatever the others do; `landed` has first answers.

        `kept_free` says on which nodes a replacement would take room that is meant for others.  `plain`
        asks for nothing but a pin to the very node that was planned.
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

    # The three kinds

    def _alone(self, case: Replacement, kept_free: Mask) -> Landing | None:
        """The landing of the only move of its crowd in the wave."""
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
        """The nodes where a replacement should not land, whatever it does for constraints."""
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
        """The nodes that may be open to a replacement; None when it may find none, or makes things worse.

        With `kept` it is held to these nodes, by scores or by a pin that may name others without room, too.
        """
        # A pin may open nodes that no filter left before: nobody has asked yet how good these are.
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
        """How a lone move may go: as it did with fewer rivals, where there is room enough for all."""
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
        """The nodes that may have the highest score, if that is known and each of them is as good."""
        apart = [uncertain for uncertain in case.uncertain_pods if not uncertain.in_scenarios]
        read = {number for tally in self._reads(case.template) for number in tally.members}
        if any((uncertain.nodes & case.may).any() or uncertain.template in read for uncertain in apart):
            return None
        if any(case.may[uncertain.source] for uncertain in apart if uncertain.source >= 0):
            return None
        wanted = coupled.best(leaving, as_planned=case.template in self._preferences.as_planned)
        found = np.zeros_like(case.may)
        self._led.add(case.template)
        known = set[bytes]()
        for number in range(self._scenarios.number):
            phases = self._stage.own_phases(case.move)
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
        """Cordons of the nodes that would be wrong, if these are few."""
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
        """The landings of several moves of a crowd: all by filters, or none of them."""
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

    # What has happened then

    def surest(self, alone: Sequence[Landing]) -> Landing:
        """Of landings by scores the one after which the fewest ways of breaking ties are to be followed."""
        best, least = alone[0], effort.SCENARIOS_KEPT + 1
        for landing in alone:
            scenarios = self._scenarios.after(
                [landing.move], {landing.move.pod: self._stage.own_phases(landing.move)}
            )
            if scenarios is not None and len(scenarios) < least:
                best, least = landing, len(scenarios)
            if least <= self._scenarios.number:
                break
        return best

    def commit(self, wave: Sequence[Landing]) -> list[Landing]:
        """Let a wave have happened; its landings with the nodes to which the smallest name leads."""
        led = [landing.move for landing in wave if landing.kind == "scores"]
        scenarios = self._scenarios.after(led, {move.pod: self._stage.own_phases(move) for move in led})
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
        """Where it is known how many are in every domain, take each for in the one where the board has it.

        They are all alike, so it does not matter which of them is where.
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
        """All tableaus that landings may lead to; one by scores is the only one of its crowd."""
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
        """A move of a crowd with what its landing is held to."""
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
        """The move to where the smallest name leads, when all before it have landed; it has happened."""
        trial, template = self._trial, self._trial.template(landing.move.pod)
        self._stage.put(landing.move, self._stage.own_phases(landing.move)[0])
        feasible, totals = trial.choice(template, landing.cordon)
        pin = self._pin(landing)
        nodes = landing.nodes & (feasible.mask if pin is None else trial.open_to(template, pin))
        uncertain_pods = landing.kind in {"filters", "cordoned"} and (feasible.mask & ~landing.nodes).any()
        if uncertain_pods or not nodes.any():
            raise LandingContradiction("a replacement lands where it was ruled out")
        found = np.flatnonzero(nodes)
        move = replace(landing.move, target=int(found[np.argmax(totals[found])]))
        self._stage.put(move, Phase.LANDED)
        return move


def _somewhere(number: int, histogram: OccupancyHistogram, options: frozenset[Option]) -> bool:
    """That there is room has been found out before."""
    return True
