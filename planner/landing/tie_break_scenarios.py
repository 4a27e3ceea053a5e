"""Where replacements that scores led have come to: every way that ties may have been broken so far.

Scores look at more than counts and room, so they are asked in each of these worlds, one by one.  Worlds
in which only twins have changed roles are one world.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product

import numpy as np

from planner.landing.coupled_constraints import CoupledConstraints
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Codes, Mask
from planner.proof import effort

World = Mapping[int, int]


class TieBreakScenarios:
    """The worlds that may have come about, over a stage that shows one of them."""

    def __init__(
        self, stage: EvictionTimeline, twins: Callable[[], Sequence[int]], again: Collection[int]
    ) -> None:
        """The one world that the stage shows; pods that move `again` are told from others of their kind."""
        self._stage = stage
        self._again = again
        self._find_twins = twins
        self._known_twins: Codes | None = None
        #: Nodes that had no twins any more before these were asked for.
        self._apart: list[int] = []
        self._scenarios: list[World] = [{}]
        #: The world that the stage shows for a moment.
        self._now: int | None = None
        #: What was found out since the worlds became what they are: nothing happens in between.
        self._tops: dict[tuple[int, Move, Phase], Mask] = {}
        self._levels: dict[tuple[int, CoupledConstraints], Codes] = {}

    def _twins(self) -> Codes:
        """A number for every node, equal for twins; found when scores are to lead somebody."""
        if self._known_twins is None:
            self._known_twins = np.array(self._find_twins(), np.intp)
            for node in self._apart:
                self._tell_apart(self._known_twins, node)
        return self._known_twins

    def with_interchangeable(self, nodes: Mask) -> Mask:
        """Some nodes and all that may be in their roles."""
        twins = self._twins()
        return np.isin(twins, twins[nodes])

    def tell_apart(self, node: int) -> bool:
        """Let a node have no twins any more; False if it may have played another's role before."""
        if self._known_twins is None:
            # Nobody was led anywhere yet, so no role was played.
            self._apart.append(node)
            return True
        role = self._known_twins[node]
        played = any(self._known_twins[n] == role for scenario in self._scenarios for n in scenario.values())
        return not (self._tell_apart(self._known_twins, node) and played)

    @staticmethod
    def _tell_apart(twins: Codes, node: int) -> bool:
        """The same among some twins; whether it had any."""
        had = bool(np.count_nonzero(twins == twins[node]) > 1)
        if had:
            twins[node] = twins.max() + 1
        return had

    def _orbit(self, scenario: World) -> Hashable:
        """What is the same in worlds that differ in the roles of twins alone."""
        held: dict[int, list[tuple[int, int]]] = {}
        for pod, node in scenario.items():
            kind = (pod, -1) if pod in self._again else (-1, self._stage.trial.template(pod))
            held.setdefault(node, []).append(kind)
        twins = self._twins() if scenario else np.empty(0, np.intp)
        roles = ((int(twins[node]), tuple(sorted(kinds))) for node, kinds in held.items())
        return tuple(sorted(roles))

    def foresee(self, moves: Collection[Move], crowds: Collection[CoupledConstraints]) -> None:
        """Find out at once what will be asked of some moves and crowds: no world is shown twice for it."""
        for number in range(self.number):
            with self._shown(number):
                for coupled in crowds:
                    self.levels(number, coupled)
                for move in moves:
                    for phase in self._stage.own_phases(move):
                        self.tops(number, move, phase)

    @contextmanager
    def _shown(self, number: int) -> Iterator[None]:
        """The stage in a world; afterwards it is as it was."""
        if self._now == number:
            yield
            return
        state = self._stage.trial.state
        mark, self._now = state.mark(), number
        for pod, node in self._scenarios[number].items():
            if state.node_of[pod] != node:
                state.unbind(pod)
                state.bind(pod, node)
        try:
            yield
        finally:
            self._now = None
            state.rollback(mark)

    def levels(self, number: int, coupled: CoupledConstraints) -> Codes:
        """The pods of a crowd on every node in a world."""
        key = number, coupled
        found = self._levels.get(key)
        if found is None:
            with self._shown(number):
                found = self._levels[key] = coupled.levels()
        return found

    def tops(self, number: int, move: Move, phase: Phase) -> Mask:
        """The nodes with the highest score for a replacement in a world."""
        key = number, move, phase
        found = self._tops.get(key)
        if found is None:
            trial = self._stage.trial
            with self._shown(number):
                mark = trial.state.mark()
                self._stage.put(move, phase)
                feasible, totals = trial.choice(trial.template(move.pod))
                best = totals[feasible.mask].max() if feasible.count else 0
                trial.state.rollback(mark)
            found = self._tops[key] = feasible.mask & (totals == best)
        return found

    def after(self, moves: Iterable[Move], phases: Mapping[int, tuple[Phase, ...]]) -> list[World] | None:
        """The worlds when some moves have landed by their scores; None when they are too many.

        `phases` says how far every pod may be then.  None of the moves bears on the scores of another.
        """
        found: dict[Hashable, World] = {}
        several = [*moves]
        for number, before in enumerate(self._scenarios):
            tops = ([self.tops(number, move, phase) for phase in phases[move.pod]] for move in several)
            places = [np.flatnonzero(np.logical_or.reduce(found)).tolist() for found in tops]
            for chosen in product(*places):
                scenario = {**before, **dict(zip((m.pod for m in several), chosen, strict=True))}
                found.setdefault(self._orbit(scenario), scenario)
                if len(found) > effort.SCENARIOS_KEPT:
                    return None
        return [*found.values()]

    def become(self, scenarios: list[World] | None) -> None:
        """Take these worlds for all that may be; without any, only what the stage shows is told apart."""
        self._scenarios = scenarios or [{}]
        self._tops.clear()
        self._levels.clear()

    @property
    def number(self) -> int:
        """How many worlds there are."""
        return len(self._scenarios)
