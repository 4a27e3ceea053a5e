"""Every way in which ties of scores may have been broken so far.

Scores depend on more than counts and room, so they are computed in each of these scenarios.  Scenarios that
differ only in which of several interchangeable nodes got a pod count as one: the scheduler treats these nodes
alike, so everything afterwards is the same with the nodes permuted.

With soft constraints to repair, two clusters after the loss of a zone need no pin; with a single scenario 98
replacements are pinned, and 77 where interchangeable nodes are told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product

import numpy as np

from planner.landing.coupled_constraints import CoupledConstraints
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import move_effort as effort

Scenario = Mapping[int, int]


class TieBreakScenarios:
    """The possible scenarios, over a timeline whose state is one of them."""

    def __init__(self, timeline: EvictionTimeline, classes: Codes, again: Collection[int]) -> None:
        """Start with the timeline's own scenario; pods that move `again` are not interchangeable.

        `classes` has a number for every node, equal for interchangeable nodes.
        """
        self._timeline = timeline
        self._again = again
        self._classes = classes
        #: The scenario that the timeline shows for the moment.
        self._now = -1
        self.become(None)

    def with_interchangeable(self, nodes: Mask) -> Mask:
        """Some nodes and all that are interchangeable with one of them."""
        return np.isin(self._classes, self._classes[nodes])

    def tell_apart(self, node: int) -> bool:
        """Make a node a class of its own; False if a scenario already used a node of its former class."""
        classes, own = self._classes, self._classes[node]
        if np.count_nonzero(classes == own) == 1:
            return True
        used = any(classes[n] == own for scenario in self._scenarios for n in scenario.values())
        classes[node] = classes.max() + 1
        return not used

    def _key(self, scenario: Scenario) -> Hashable:
        """A key, equal for scenarios that differ only in the roles of interchangeable nodes."""
        held: dict[int, list[tuple[int, int]]] = {}
        for pod, node in scenario.items():
            kind = (pod, -1) if pod in self._again else (-1, self._timeline.trial.template(pod))
            held.setdefault(node, []).append(kind)
        roles = ((int(self._classes[node]), tuple(sorted(kinds))) for node, kinds in held.items())
        return tuple(sorted(roles))

    def precompute(self, moves: Collection[Move], couplings: Collection[CoupledConstraints]) -> None:
        """Compute counts and best nodes in advance, so that each scenario is set up once for all of them.

        Where two clusters with soft constraints have lost a zone, planning takes a third of the time.
        """
        for number in range(self.number):
            with self._shown(number):
                for coupled in couplings:
                    self.counts(number, coupled)
                for move in moves:
                    for phase in self._timeline.own_phases(move):
                        self.tops(number, move, phase)

    @contextmanager
    def _shown(self, number: int) -> Iterator[None]:
        """Put the timeline into a scenario, and back afterwards."""
        state, before = self._timeline.trial.state, self._now
        with self._timeline.trial.after():
            for pod, node in self._scenarios[number].items() if number != before else ():
                if state.node_of[pod] != node:
                    state.unbind(pod)
                    state.bind(pod, node)
            self._now = number
            yield
            self._now = before

    def _counts(self, number: int, coupled: CoupledConstraints) -> Codes:
        with self._shown(number):
            return coupled.counts_on_nodes()

    def _tops(self, number: int, move: Move, phase: Phase) -> Mask:
        with self._shown(number):
            self._timeline.put(move, phase)
            return self._timeline.trial.tops(self._timeline.trial.template(move.pod))[1]

    def after(self, moves: Sequence[Move]) -> list[Scenario] | None:
        """The scenarios after some moves have landed by their scores; None when they are too many.

        No move may affect the scores of another.
        """
        found: dict[Hashable, Scenario] = {}
        for number, before in enumerate(self._scenarios):
            tops = (
                [self.tops(number, move, phase) for phase in self._timeline.own_phases(move)]
                for move in moves
            )
            places = [np.flatnonzero(np.logical_or.reduce(found)).tolist() for found in tops]
            for chosen in product(*places):
                scenario = {**before, **dict(zip((m.pod for m in moves), chosen, strict=True))}
                found.setdefault(self._key(scenario), scenario)
                if len(found) > effort.SCENARIOS_KEPT:
                    return None
        return [*found.values()]

    def become(self, scenarios: list[Scenario] | None) -> None:
        """Replace the scenarios; with none, only the timeline's own state is left."""
        self._scenarios = scenarios or [{}]
        #: The nodes with the highest score for a replacement in a scenario, remembered while it is one.
        self.tops = cache(self._tops)
        #: The counted pods on every node in a scenario.
        self.counts = cache(self._counts)

    @property
    def number(self) -> int:
        return len(self._scenarios)


def interchangeable_nodes(trial: TrialCluster, couplings: Mapping[int, CoupledConstraints]) -> Codes:
    """A class number for every node, equal for interchangeable ones.

    `couplings` has the coupled constraints of every template whose pods move.  A node that a pod leaves is a
    cell of its own there, so it is alone in its class.
    """
    nodes, template_of = trial.problem.nodes, trial.problem.template_of
    if any(_asks_for(trial, template, nodes.naming_keys) for template in couplings):
        return np.arange(nodes.size)
    contents: dict[Hashable, int] = {}
    held = (tuple(sorted(template_of[pods].tolist())) for pods in trial.state.pods_on)
    of_contents = [contents.setdefault(templates, len(contents)) for templates in held]
    cells = [coupled.cell_of for coupled in dict.fromkeys(couplings.values())]
    traits = np.stack([nodes.look_of, of_contents, *trial.problem.allocatable, *cells])
    return np.unique(traits, axis=1, return_inverse=True)[1].reshape(-1)


def _asks_for(trial: TrialCluster, template: int, names: Iterable[str]) -> bool:
    """Whether a template's preferred nodeAffinity, or the scheduler configuration, names single nodes."""
    affinity = trial.problem.templates[template].pod.spec.node_affinity
    preferred = () if affinity is None else affinity.preferred
    asked = repr((preferred, trial.problem.cluster.scheduler_config))
    return "metadata.name" in asked or any(name in asked for name in names)
