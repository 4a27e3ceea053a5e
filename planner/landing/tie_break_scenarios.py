"""Where replacements placed by scores may be: every way that ties may have been broken so far.

Scores depend on more than counts and room, so they are computed in each of these scenarios, one by one.
Scenarios that differ only in which of several interchangeable nodes got a pod count as one: the scheduler
treats these nodes alike, so everything afterwards is the same with the nodes permuted.

With soft constraints to repair, two clusters after the loss of a zone need no pin; with a single scenario 98
replacements are pinned, and 77 where interchangeable nodes are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise, product

import numpy as np

from planner.landing.coupled_constraints import CoupledConstraints
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import effort

Scenario = Mapping[int, int]


class TieBreakScenarios:
    """The possible scenarios, over a timeline whose state is one of them."""

    def __init__(
        self, timeline: EvictionTimeline, classes: Callable[[], Sequence[int]], again: Collection[int]
    ) -> None:
        """Start with the timeline's own scenario; pods that move `again` are not interchangeable."""
        self._timeline = timeline
        self._again = again
        self._find_classes = classes
        self._known_classes: Codes | None = None
        #: Nodes told apart before the classes of interchangeable nodes were computed.
        self._apart: list[int] = []
        self._scenarios: list[Scenario] = [{}]
        #: The scenario that the timeline shows temporarily.
        self._now: int | None = None
        #: Results for the current scenarios; cleared when these change.
        self._tops: dict[tuple[int, Move, Phase], Mask] = {}
        self._levels: dict[tuple[int, CoupledConstraints], Codes] = {}

    def _classes(self) -> Codes:
        """A class number for every node, equal for interchangeable nodes; computed on first use."""
        if self._known_classes is None:
            self._known_classes = np.array(self._find_classes(), np.intp)
            for node in self._apart:
                self._tell_apart(self._known_classes, node)
        return self._known_classes

    def with_interchangeable(self, nodes: Mask) -> Mask:
        """Some nodes and all that are interchangeable with one of them."""
        classes = self._classes()
        return np.isin(classes, classes[nodes])

    def tell_apart(self, node: int) -> bool:
        """Make a node a class of its own; False if a scenario already used a node of its former class."""
        if self._known_classes is None:
            # No replacement was placed by scores yet, so no scenario uses a node.
            self._apart.append(node)
            return True
        role = self._known_classes[node]
        played = any(
            self._known_classes[n] == role for scenario in self._scenarios for n in scenario.values()
        )
        return not (self._tell_apart(self._known_classes, node) and played)

    @staticmethod
    def _tell_apart(classes: Codes, node: int) -> bool:
        """Make a node a class of its own; whether it shared its class before."""
        had = bool(np.count_nonzero(classes == classes[node]) > 1)
        if had:
            classes[node] = classes.max() + 1
        return had

    def _key(self, scenario: Scenario) -> Hashable:
        """A key, equal for scenarios that differ only in the roles of interchangeable nodes."""
        held: dict[int, list[tuple[int, int]]] = {}
        for pod, node in scenario.items():
            kind = (pod, -1) if pod in self._again else (-1, self._timeline.trial.template(pod))
            held.setdefault(node, []).append(kind)
        classes = self._classes() if scenario else np.empty(0, np.intp)
        roles = ((int(classes[node]), tuple(sorted(kinds))) for node, kinds in held.items())
        return tuple(sorted(roles))

    def foresee(self, moves: Collection[Move], couplings: Collection[CoupledConstraints]) -> None:
        """Compute levels and best nodes in advance, so that each scenario is set up once for all of them."""
        for number in range(self.number):
            with self._shown(number):
                for coupled in couplings:
                    self.levels(number, coupled)
                for move in moves:
                    for phase in self._timeline.own_phases(move):
                        self.tops(number, move, phase)

    @contextmanager
    def _shown(self, number: int) -> Iterator[None]:
        """Put the timeline into a scenario, and back afterwards."""
        if self._now == number:
            yield
            return
        state = self._timeline.trial.state
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
        """The counted pods on every node in a scenario."""
        key = number, coupled
        found = self._levels.get(key)
        if found is None:
            with self._shown(number):
                found = self._levels[key] = coupled.levels()
        return found

    def tops(self, number: int, move: Move, phase: Phase) -> Mask:
        """The nodes with the highest score for a replacement in a scenario."""
        key = number, move, phase
        found = self._tops.get(key)
        if found is None:
            trial = self._timeline.trial
            with self._shown(number):
                mark = trial.state.mark()
                self._timeline.put(move, phase)
                feasible, totals = trial.choice(trial.template(move.pod))
                best = totals[feasible.mask].max() if feasible.count else 0
                trial.state.rollback(mark)
            found = self._tops[key] = feasible.mask & (totals == best)
        return found

    def after(self, moves: Iterable[Move], phases: Mapping[int, tuple[Phase, ...]]) -> list[Scenario] | None:
        """The scenarios after some moves have landed by their scores; None when they are too many.

        `phases` has the phases that every pod may be in then.  No move may affect the scores of another.
        """
        found: dict[Hashable, Scenario] = {}
        several = [*moves]
        for number, before in enumerate(self._scenarios):
            tops = ([self.tops(number, move, phase) for phase in phases[move.pod]] for move in several)
            places = [np.flatnonzero(np.logical_or.reduce(found)).tolist() for found in tops]
            for chosen in product(*places):
                scenario = {**before, **dict(zip((m.pod for m in several), chosen, strict=True))}
                found.setdefault(self._key(scenario), scenario)
                if len(found) > effort.SCENARIOS_KEPT:
                    return None
        return [*found.values()]

    def become(self, scenarios: list[Scenario] | None) -> None:
        """Replace the scenarios; with none, only the timeline's own state is left."""
        self._scenarios = scenarios or [{}]
        self._tops.clear()
        self._levels.clear()

    @property
    def number(self) -> int:
        """How many scenarios there are."""
        return len(self._scenarios)


def interchangeable_nodes(
    trial: TrialCluster,
    node_of: Codes,
    couplings: Iterable[CoupledConstraints],
    sources: Collection[int],
    templates: Iterable[int],
) -> list[int]:
    """A class number for every node, equal for interchangeable ones; a source node is alone in its class."""
    nodes = trial.problem.nodes
    if any(_asks_for(trial, template, nodes.naming_keys) for template in templates):
        return list(range(nodes.size))
    cells = [coupled.cell_of for coupled in {id(coupled): coupled for coupled in couplings}.values()]
    traits = np.stack([nodes.look_of, *trial.problem.allocatable, *cells], axis=1).astype(np.int64)
    numbers: dict[Hashable, int] = {}
    return [
        numbers.setdefault(node if node in sources else (traits[node].tobytes(), content), len(numbers))
        for node, content in enumerate(_contents(trial, node_of))
    ]


def _contents(trial: TrialCluster, node_of: Codes) -> Iterator[bytes]:
    """For every node the templates of its pods, and how many there are of each."""
    problem = trial.problem
    placed = np.flatnonzero(node_of >= 0)
    pairs = node_of[placed].astype(np.int64) * len(problem.templates) + problem.template_of[placed]
    found, pods = np.unique(pairs, return_counts=True)
    nodes, templates = np.divmod(found, max(1, len(problem.templates)))
    rows = np.stack([templates, pods], axis=1)
    edges = np.searchsorted(nodes, np.arange(problem.nodes.size + 1)).tolist()
    return (rows[start:end].tobytes() for start, end in pairwise(edges))


def _asks_for(trial: TrialCluster, template: int, names: Iterable[str]) -> bool:
    """Whether a template's preferred nodeAffinity, or the scheduler configuration, names single nodes."""
    affinity = trial.problem.templates[template].pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity else ()
    asked = repr((preferred, trial.problem.cluster.scheduler_config))
    return "metadata.name" in asked or any(name in asked for name in names)
