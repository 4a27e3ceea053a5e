"""Where replacements land: all nodes as good as the planned one, and what restricts them to these.

Filters: no other node passes the scheduler's filters, whatever happened before, in whichever order the wave
goes, with the old pod still there or gone.  Scores: no other node has the highest score; judged only where
everything that scores read is certain.  Pinned: restricted by the pod's own spec, as widely as possible.
Cordoned: the few other nodes that pass the filters are cordoned until the replacement has landed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner.landing.constraint_status import OccupancyHistogram
from planner.landing.coupled_constraints import CoupledConstraints, are_alike, wave_outcomes
from planner.landing.landing import Considered, Landing, LandingContradiction, LandingPreferences, NodeSets
from planner.landing.replacements import PossibleNodes, ReplacementLandings, certain_counts
from planner.landing.room import UncertainReplacement, WaveRoom
from planner.landing.tie_break_scenarios import Scenario, TieBreakScenarios, interchangeable_nodes
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import move_effort as effort


class OpenNodes(NamedTuple):
    """The nodes that may be feasible for a replacement, and the histograms that it may lead to there."""

    nodes: Mask
    ends: frozenset[OccupancyHistogram]


class WaveLandings:
    """Judges the moves of a wave, and keeps the coupled constraints and the room up to date."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        couplings: Mapping[int, CoupledConstraints],
        preferences: LandingPreferences,
    ) -> None:
        self._timeline = timeline
        self._trial: TrialCluster = timeline.trial
        self._coupled = couplings
        self._preferences = preferences
        self._places = NodeSets(timeline.trial)
        classes = interchangeable_nodes(timeline.trial, couplings)
        self._scenarios = TieBreakScenarios(timeline, classes, preferences.again)
        #: Templates for which a landing by scores was tried.
        self._scored: set[int] = set()
        self.room = WaveRoom(timeline.trial)
        self._cases = ReplacementLandings(timeline, self.room)

    def precompute(self, moves: Iterable[Move]) -> None:
        """Compute scores in advance for moves that are likely to be judged by them."""
        likely = [move for move in moves if self._trial.template(move.pod) in self._scored]
        if likely and self._scenarios.number > 1:
            self._scenarios.precompute(
                likely, {self._coupled[self._trial.template(move.pod)] for move in likely}
            )

    def judge(
        self,
        wave: Sequence[Move],
        closed: Sequence[Mask],
        considered: Considered,
        landed: Mapping[int, Landing] | None = None,
    ) -> list[Landing | None]:
        """A landing for every move, if one holds whatever the others do; `landed` has earlier results by pod.

        `closed` has for every move the nodes where its replacement takes what is meant for others.
        """
        cases = self._cases.of(wave, {pod: found.nodes for pod, found in (landed or {}).items()})
        groups: dict[CoupledConstraints, list[tuple[PossibleNodes, Mask]]] = {}
        for case, nodes in zip(cases, closed, strict=True):
            coupled = self._coupled[case.template]
            groups.setdefault(coupled, []).append((PossibleNodes(case, coupled, self.room), nodes))
        found: dict[Move, Landing | None] = dict.fromkeys(wave)
        # A cordon keeps all other replacements of a wave off the node.
        cordons = considered.pins and len(wave) == 1
        for group in groups.values():
            if len(group) == 1:
                ((possible, nodes),) = group
                kinds = self._kinds(possible, nodes, considered, cordons=cordons)
                found[possible.case.move] = next(kinds, None)
            else:
                found |= self._together(*zip(*group, strict=True))
        return [found[move] for move in wave]

    # Landings by kind

    def _kinds(
        self, possible: PossibleNodes, closed: Mask, considered: Considered, *, cordons: bool
    ) -> Iterator[Landing]:
        """Landings of the only move in the wave that touches its coupled constraints, the best first."""
        case, preferences = possible.case, self._preferences
        shut = self._shut(possible, closed)
        # The nodes where a replacement is as good as on the planned one.
        good: Mask = ~possible.at(possible.worse) & ~shut
        pins = considered.pins and case.template in preferences.pin_policy.pinnable
        if considered.plain and pins:
            yield from self._pinned(possible, good, plain=True)
            return
        open_now = self._open(possible, kept=None)
        by_filters = None
        if open_now is not None and not (open_now.nodes & ~good).any():
            place = self._places.of(open_now.nodes, closed, case.template)
            by_filters = Landing(case.move, "filters", open_now.nodes, place, ends=open_now.ends)
            if int(open_now.nodes.sum()) == 1 or case.move.pod not in preferences.certain:
                yield by_filters
        best = self._by_scores(possible, shut) if considered.scores else None
        if best is not None:
            named, ends = self._places.named(best), possible.ends_on(best)
            yield Landing(case.move, "scores", best, named, ends=ends)
        if by_filters is not None:
            yield by_filters
        if pins:
            yield from self._pinned(possible, good, plain=False)
        if cordons and case.template in preferences.pin_policy.cordonable:
            yield from self._cordoned(possible, good)

    def _shut(self, possible: PossibleNodes, closed: Mask) -> Mask:
        """The nodes where a replacement should not land, whatever it repairs there."""
        move = possible.case.move
        if move.pod in self._preferences.again:
            return ~self._trial.problem.nodes.only(move.target)
        shut = closed.copy()
        shut[move.source] = True
        return shut

    def _open(self, possible: PossibleNodes, kept: Mask | None, pin: Mask | None = None) -> OpenNodes | None:
        """The nodes that may be feasible for a replacement; None when it may find none or violate more.

        With `kept` it is restricted to these nodes; a pin may name others without room as well.
        """
        case, coupled = possible.case, possible.coupled
        leaving = possible.leaving if kept is None else possible.restricted(kept, pin)
        inside = case.sure if kept is None else case.sure & kept
        outcomes = wave_outcomes(
            coupled, [leaving], lambda _, histogram, options: possible.finds_room(inside, histogram, options)
        )
        if outcomes is None:
            return None
        nodes: Mask = case.may & possible.at(outcomes.options[0])
        if kept is None:
            return OpenNodes(nodes, outcomes.ends)
        # A pin may open nodes that no filter accepted before, so how good these are is not known yet.
        as_good = are_alike(coupled, outcomes.ends, possible.best)
        return OpenNodes(nodes & kept, outcomes.ends) if as_good else None

    def _by_scores(self, possible: PossibleNodes, shut: Mask) -> Mask | None:
        """The nodes that may have the highest score; None if not certain, or if one is not as good."""
        case, coupled = possible.case, possible.coupled
        others = (*self.room.elsewhere, *case.same_wave)
        apart = [one for one in others if one.pod not in self.room.in_scenarios]
        read = {number for tally in self._trial.reads(case.template) for number in tally.members}
        if any((uncertain.nodes & case.may).any() or uncertain.template in read for uncertain in apart):
            return None
        if any(case.may[uncertain.source] for uncertain in apart if uncertain.source >= 0):
            return None
        found = np.zeros_like(case.may)
        self._scored.add(case.template)
        known = set[bytes]()
        for number in range(self._scenarios.number):
            phases = self._timeline.own_phases(case.move)
            tops = [self._scenarios.tops(number, case.move, phase) for phase in phases]
            on_nodes = self._scenarios.counts(number, coupled)
            seen = b"".join(one.tobytes() for one in (*tops, on_nodes))
            if seen in known:
                continue
            known.add(seen)
            roles = [self._scenarios.with_interchangeable(top) for top in tops]
            if not all(top.any() and not (top & shut).any() for top in roles):
                return None
            if not possible.serves(on_nodes, np.logical_or.reduce(tops)):
                return None
            found |= np.logical_or.reduce(roles)
        return found

    def _pinned(self, possible: PossibleNodes, good: Mask, *, plain: bool) -> Iterator[Landing]:
        """Pins, the widest first; with `plain` only to a single node."""
        case = possible.case
        carries_hard = any(
            one.hard and case.template in one.asked.carriers for one in possible.coupled.constraints
        )
        for place, nodes in self._places.pins(
            case.template, good & case.may, case.may & ~good, case.move.target, many=not carries_hard
        ):
            inside = nodes & case.may
            if (plain and int(nodes.sum()) > 1) or not inside.any() or (inside & ~good).any():
                continue
            open_now = self._open(possible, kept=inside, pin=nodes)
            if open_now is not None and open_now.nodes.any():
                yield Landing(case.move, "pinned", open_now.nodes, place, place, ends=open_now.ends)

    def _cordoned(self, possible: PossibleNodes, good: Mask) -> Iterator[Landing]:
        """The landing with the wrong nodes cordoned, if these are few."""
        case = possible.case
        wrong = case.may & possible.at(possible.violations) & ~good
        if not 0 < int(wrong.sum()) <= effort.MOST_CORDONED:
            return
        open_now = self._open(possible, kept=case.may & ~wrong)
        if open_now is not None and open_now.nodes.any() and not (open_now.nodes & ~good).any():
            place, cordon = self._places.named(open_now.nodes), tuple(np.flatnonzero(wrong).tolist())
            yield Landing(case.move, "cordoned", open_now.nodes, place, cordon=cordon, ends=open_now.ends)

    def _together(self, several: Sequence[PossibleNodes], closed: Sequence[Mask]) -> dict[Move, Landing]:
        """The landings of several moves with the same coupled constraints: all by filters, or none."""
        coupled = several[0].coupled
        outcomes = wave_outcomes(
            coupled,
            [one.leaving for one in several],
            lambda number, histogram, options: several[number].finds_room(
                several[number].case.sure, histogram, options
            ),
        )
        if outcomes is None or not are_alike(coupled, outcomes.ends):
            return {}
        on_nodes = certain_counts(
            self.room, coupled, [(one.case.template, one.case.move.source) for one in several]
        )
        found = dict[Move, Landing]()
        for one, options, shut in zip(several, outcomes.options, closed, strict=True):
            case = one.case
            nodes = case.may & coupled.nodes_at(options, on_nodes, one.unsure)
            if (nodes & shut).any() or case.move.pod in self._preferences.again:
                return {}
            place = self._places.of(nodes, shut, case.template)
            found[case.move] = Landing(case.move, "filters", nodes, place, ends=outcomes.ends)
        return found

    # A wave that is carried out

    def most_certain(self, alone: Sequence[Landing]) -> Landing:
        """Of landings by scores the one that leaves the fewest scenarios to follow.

        Where the first one is taken, a cluster with --soft after the loss of a zone has 26 pins in 54 moves,
        not 0, in four times the time.
        """
        best, least = alone[0], effort.SCENARIOS_KEPT + 1
        for landing in alone:
            scenarios = self._scenarios.after([landing.move])
            if scenarios is not None and len(scenarios) < least:
                best, least = landing, len(scenarios)
            if least <= self._scenarios.number:
                break
        return best

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        """Carry out a wave; its landings with the targets reached when ties go to the smallest name."""
        scenarios = self._scenarios.after([one.move for one in wave if one.kind == "scores"])
        couplings = {self._coupled[self._trial.template(one.move.pod)]: one.ends for one in wave}
        for coupled, ends in couplings.items():
            coupled.histograms = ends
        done = [replace(landing, move=self._nominal(landing), ends=frozenset()) for landing in wave]
        follows = self._follow(scenarios, done)
        for landing in (one for one in done if int(one.nodes.sum()) > 1):
            move, template = landing.move, self._trial.template(landing.move.pod)
            self.room.add(UncertainReplacement(template, landing.nodes, move.pod, move.target))
            if follows and landing.kind == "scores":
                self.room.in_scenarios.add(move.pod)
        for coupled in couplings:
            if all(one.pod in self.room.in_scenarios for one in self.room.of(coupled.templates)):
                numbers = range(self._scenarios.number)
                on_nodes = (self._scenarios.counts(number, coupled) for number in numbers)
                coupled.histograms = frozenset(map(coupled.seen, on_nodes))
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
        self.room.in_scenarios.clear()
        return False

    def _nominal(self, landing: Landing) -> Move:
        """Apply a landing after all earlier ones; its move, to the best node of the smallest name."""
        trial, template = self._trial, self._trial.template(landing.move.pod)
        self._timeline.put(landing.move, self._timeline.own_phases(landing.move)[0])
        feasible, totals = trial.choice(template, landing.cordon)
        open_now = feasible.mask
        if landing.pin is not None:
            open_now = trial.open_to(template, self._places.mask(landing.pin))
        nodes = landing.nodes & open_now
        elsewhere = landing.kind in {"filters", "cordoned"} and (feasible.mask & ~landing.nodes).any()
        if elsewhere or not nodes.any():
            raise LandingContradiction("a replacement lands where it was ruled out")
        found = np.flatnonzero(nodes)
        move = replace(landing.move, target=int(found[np.argmax(totals[found])]))
        self._timeline.put(move, Phase.LANDED)
        return move
