"""A cluster on which moves are tried, and the phases of moves on it.

A `TrialCluster` is a state, the scheduler plugins and the constraint counts.

On an `EvictionTimeline` every moving pod has a double while it terminates:

before     the pod runs on its source
leaving    it is terminating: its double holds room, ports and claims there, and does not count for spread
gone       it has ended; the replacement waits for the scheduler
lingering  the replacement runs on the target, and the old pod is still terminating on the source
landed     the replacement runs on the target, and the old pod has ended

An old pod may end at any time until its wave is over; when the next wave begins it has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from models.controllers.stateful import set_key
from planner.audit.spread_counts import workload_names
from planner.constraints.family import PLENTY, Family, Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.moves.constraint_counts import ConstraintCounts, ConstraintSubset, excesses, worse
from planner.problem.node_groups import numbered
from planner.problem.nodes import Codes, Feasible, Ints, Mask
from planner.problem.problem import Problem
from planner.scheduler.profiled_state import ProfiledState
from planner.state.pod_counts import DomainCounts, PodCounts
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class Move:
    """A pod is evicted from a source node, and its replacement lands on a target node."""

    pod: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class _AffinityPeers:
    """Pods that a required podAffinity asks for, and the pods that carry it, by domain."""

    counts: DomainCounts
    needing: DomainCounts


#: Floating-point shares.
Shares = NDArray[np.float64]


class TrialCluster(ProfiledState):
    """The state of a problem with the plugins that judge it, and the counts of its constraints."""

    def __init__(self, problem: Problem, part: ConstraintSubset | None = None) -> None:
        """A trial cluster that tracks all constraints, or a subset of them."""
        super().__init__(problem, State(problem))
        self.part = part
        self.ledger = ConstraintCounts(problem, self.state, part)
        #: The nodes that could accept a pod of a template if other pods were elsewhere.
        self.ever_open = cache(self._ever_open)
        #: For a template a number for every node, equal where all its shared domains are.
        self.domains = cache(self._domains)
        #: The counts that filters and scores read for a template: what changes them affects both.
        self.reads = cache(self._reads)

    @cached_property
    def workloads(self) -> list[str]:
        """For every template `namespace Kind/name` of its workload."""
        return workload_names(self.problem)

    def template(self, pod: int) -> int:
        """The number of a pod's template."""
        return int(self.problem.template_of[pod])

    def _ever_open(self, template: int) -> Mask:
        plan = self.plan(template)
        # A pod that is refused for what the snapshot does not tell may be accepted by any node.
        unknown = plan.refusal is not None and self.leaves_open(template)
        mask = self.problem.nodes.every if unknown else plan.static
        for plugin in plan.changing:
            never = plugin.never(plan.template)
            mask = mask if never is None else mask & ~never
        return mask

    def open_to(self, template: int, pinned: Mask | None = None) -> Mask:
        """The nodes that pass all filters for a pod of a template now, or for one pinned to some nodes.

        A pin hides domains from constraints that honour affinity.  A node that is feasible only because of
        what the pin hides would violate the pod's own spec, so it is left out.
        """
        if pinned is None:
            return self.framework(template).feasible(self.plan(template)).mask
        mask = self.open_pinned(template, pinned)
        nodes = np.flatnonzero(mask)
        mask[nodes] = self.framework(template).accepts(self.plan(template), nodes)
        return mask

    def open_pinned(self, template: int, pinned: Mask) -> Mask:
        """The nodes that pass the scheduler's filters for a pinned pod, whatever its unpinned spec says.

        A pin hides domains from constraints that honour affinity: overfull nodes may become feasible.
        """
        plan = self.plan(template)
        nodes = np.flatnonzero(plan.static & pinned)
        for plugin in plan.changing:
            refused = plugin.narrowed(plan.template, pinned)
            nodes = nodes[plugin.reject(plan.template, nodes) == 0 if refused is None else ~refused[nodes]]
        return self.problem.nodes.mask_of(nodes)

    @cached_property
    def taken(self) -> Ints:
        """For every template, how much of each resource a pod of it takes."""
        requests = [template.requests for template in self.problem.templates]
        return np.array(requests, np.int64).reshape(-1, len(self.problem.resources))

    @cached_property
    def sizes(self) -> Shares:
        """For every template how large its pods are: the largest share that they need of what a node has."""
        sizes: Shares = (self.room_needed / np.maximum(self.problem.allocatable.max(axis=1), 1)).max(axis=1)
        return sizes

    def free(self) -> Ints:
        """How much of each resource is free on every node; of what one leaves to devices there is no end."""
        return np.where(self.left_to_devices, PLENTY, self.problem.allocatable - self.state.used)

    @cached_property
    def left_to_devices(self) -> Mask:
        """For every resource the nodes on which another rule says whether there is enough of it."""
        found = np.zeros(self.problem.allocatable.shape, np.bool_)
        found[self.problem.extended_rows] = self.problem.allocatable[self.problem.extended_rows] == 0
        return found

    def spare(self, template: int, free: Ints) -> Ints:
        """What would be left of free amounts, for the resources that a template requests."""
        asked = np.flatnonzero(self.room_needed[template])
        spare: Ints = free[asked] - self.room_needed[template][asked, np.newaxis]
        return spare

    def has_room(self, template: int, free: Ints) -> Mask:
        """Where free amounts are enough for a pod of a template."""
        found: Mask = np.all(self.spare(template, free) >= 0, axis=0)
        return found

    def slots(self, template: int, free: Ints) -> Ints:
        """For how many pods of a template free amounts are enough."""
        asked = np.flatnonzero(self.room_needed[template])
        found: Ints = (free[asked] // self.room_needed[template][asked, np.newaxis]).min(axis=0)
        return found

    def wanted_on(self, pods: Codes, nodes: Codes) -> Ints:
        """What has to be free for pods on these nodes: a row for every resource, a column for every node."""
        found = np.zeros_like(self.problem.allocatable)
        np.add.at(found.T, nodes, self.room_needed[self.problem.template_of[pods]])
        return found

    def rules(self, template: int) -> list[Filter]:
        """The filters whose answer depends on other pods, except those for room and spread."""
        plan = self.plan(template)
        return [p for p in plan.changing if not p.compares and p.wants(plan.template) is None]

    def choice(self, template: int, cordoned: Sequence[int] = ()) -> tuple[Feasible, Ints]:
        """The nodes that pass the filters for a template now, and every node's total score.

        Cordoned nodes are excluded; cordons change nothing else.
        """
        framework, plan = self.framework(template), self.plan(template)
        feasible = framework.feasible(plan)
        if cordoned:
            mask = feasible.mask.copy()
            mask[list(cordoned)] = False
            feasible = Feasible(mask)
        if feasible.count <= 1:
            return feasible, np.zeros(self.problem.nodes.size, np.int64)
        return feasible, framework.totals(plan, feasible)

    def tops(self, template: int) -> tuple[Mask, Mask]:
        """The nodes that pass the filters for a template now, and those of them with the highest score."""
        feasible, totals = self.choice(template)
        return feasible.mask, feasible.mask & (totals == totals[feasible.mask].max(initial=0))

    def first_choice(self, template: int) -> int | None:
        """The node that the scheduler takes whatever the tie-break; None without a unique best node."""
        tops = np.flatnonzero(self.tops(template)[1])
        return int(tops[0]) if len(tops) == 1 else None

    def _domains(self, template: int) -> Codes:
        columns = (constraint.rule.column for constraint in self.ledger.of(template))
        shared = (column.codes for column in columns if column.shared)
        return numbered(self.problem.nodes.size, shared)

    def _reads(self, template: int) -> tuple[PodCounts, ...]:
        profile, asked = self.framework(template).profile, self.problem.templates[template]
        plugins: dict[Family, None] = dict.fromkeys(profile.filters)
        plugins |= dict.fromkeys(plugin for plugin, _ in profile.scores)
        return tuple(tally for plugin in plugins for tally in plugin.reads(asked))

    def make(self, move: Move) -> None:
        self.state.unbind(move.pod)
        self.state.bind(move.pod, move.target)

    @contextmanager
    def after(self, moves: Iterable[Move] = ()) -> Iterator[None]:
        """The cluster with some moves made, to be tried on; in the end it is as it was before."""
        mark = self.state.mark()
        for move in moves:
            self.make(move)
        try:
            yield
        finally:
            self.state.rollback(mark)

    def attempt(self, move: Move, *, while_away: bool = True) -> bool:
        """Apply a move if the filters accept it and no hard constraint ever gets worse; else do nothing.

        Without `while_away` a constraint may be worse until the replacement has landed.
        """
        template, mark = self.template(move.pod), self.state.mark()
        constraints = self.ledger.hard_of((template,))
        before = excesses(constraints)
        self.state.unbind(move.pod)
        holds = not (while_away and worse(before, constraints))
        away = holds and not self.breaks_affinity_of(template, move.source)
        if away and self.accepts(template, move.target):
            self.state.bind(move.pod, move.target)
            if not worse(before, constraints):
                return True
        self.state.rollback(mark)
        return False

    def breaks_affinity_of(self, template: int, node: int) -> bool:
        """Whether a pod that has just left a node was the last that other pods' podAffinity found there."""
        return any(
            template in affinity_peers.counts.tally.members and _is_alone(affinity_peers, node)
            for affinity_peers in self._affinity_peers
        )

    def only_lacks_peers(self, template: int, nodes: Mask) -> bool:
        """Whether podAffinity alone, for want of the pods that it asks for, refuses these nodes to a pod."""
        plan, lacking = self.plan(template), self.problem.nodes.none
        nodes = plan.static & nodes
        for plugin in plan.changing:
            if isinstance(plugin, InterPodAffinity):
                lacking = plugin.lacks_peers(plan.template)
            elif (plugin.reject(plan.template)[nodes] != 0).any():
                return False
        return bool(lacking[nodes].all())

    @cached_property
    def affinity_peers(self) -> frozenset[int]:
        """The templates of pods that some required podAffinity asks for."""
        peers = self._affinity_peers
        return frozenset(number for one in peers for number in one.counts.tally.members)

    @cached_property
    def _affinity_peers(self) -> list[_AffinityPeers]:
        """The peers that podAffinity requires, whether or not the scheduler of its pods enforces that."""
        affinity, found = InterPodAffinity(self.problem, self.state), list[_AffinityPeers]()
        for template in self.problem.templates:
            if template.terminating or template.pod.spec.affinity is None:
                continue
            alone = (template.index,)
            for counts in affinity.affinity_peers(template):
                tally = self.state.tally(("carriers", alone), partial(Counter, alone))
                found.append(_AffinityPeers(counts, self.state.domain_counts(tally, counts.column)))
        return found


def _is_alone(affinity_peers: _AffinityPeers, node: int) -> bool:
    domain = affinity_peers.counts.column.codes[node]
    if domain < 0:
        return False
    return bool(affinity_peers.counts.sums()[domain] == 0 and affinity_peers.needing.sums()[domain] > 0)


class Phase(Enum):
    BEFORE = auto()
    LEAVING = auto()
    GONE = auto()
    LINGERING = auto()
    LANDED = auto()


class EvictionTimeline:
    """A trial cluster with doubles for the pods of some moves."""

    def __init__(self, problem: Problem, pods: Iterable[int], part: ConstraintSubset | None = None) -> None:
        """A timeline for any moves of some pods; it tracks the constraints of a subset, or all."""
        several = [*dict.fromkeys(pods)]
        self.problem = problem.with_leaving(several)
        self.trial = TrialCluster(self.problem, part)
        self._double = {pod: len(problem.pods) + number for number, pod in enumerate(several)}

    @classmethod
    def of(cls, trial: TrialCluster, moves: Iterable[Move]) -> EvictionTimeline:
        """A timeline for some moves on a trial cluster; it tracks only the constraints that they touch."""
        pods = [move.pod for move in moves]
        return cls(trial.problem, pods, trial.ledger.subset_of({trial.template(pod) for pod in pods}))

    def put(self, move: Move, phase: Phase) -> None:
        """Set the phase of a move, whichever it was in."""
        state = self.trial.state
        for pod in (move.pod, self._double[move.pod]):
            if state.node_of[pod] >= 0:
                state.unbind(pod)
        if phase is Phase.BEFORE:
            state.bind(move.pod, move.source)
        if phase in {Phase.LEAVING, Phase.LINGERING}:
            state.bind(self._double[move.pod], move.source)
        if phase in {Phase.LINGERING, Phase.LANDED}:
            state.bind(move.pod, move.target)

    def put_all(self, moves: Iterable[Move], phase: Phase) -> None:
        for move in moves:
            self.put(move, phase)

    def has_ended(self, move: Move) -> bool:
        """Whether the double of the moving pod is on no node: once evicted, the old pod has ended."""
        return bool(self.trial.state.node_of[self._double[move.pod]] < 0)

    def waits_for_the_end(self, move: Move) -> bool:
        """Whether the replacement is made only after the old pod: StatefulSet pods keep their names."""
        return set_key(self.problem.pods[move.pod]) is not None

    def own_phases(self, move: Move) -> tuple[Phase, ...]:
        """The phases in which the replacement may be scheduled."""
        return (Phase.GONE,) if self.waits_for_the_end(move) else (Phase.LEAVING, Phase.GONE)

    def while_unscheduled(self, move: Move) -> Iterator[None]:
        """Put a move into each phase in which its replacement may be scheduled; the last one is GONE."""
        for phase in self.own_phases(move):
            self.put(move, phase)
            yield
