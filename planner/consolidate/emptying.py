"""A layout carried out: which of its nodes waves of evictions empty, whatever kube-scheduler chooses.

All nodes that go are cordoned first, so that no replacement comes to one of them.  What no safe wave empties
is given back: those nodes are kept.  They are cordoned, too, until all waves are over: the room on them would
make it less certain where replacements land.  Where nothing leads replacements they may land anywhere, and
nodes go as long as that leaves room for all (`open_landings`).  Hard constraints hold while the empty nodes
are there, and when they are deleted and their domains are gone.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from models import Cluster
from models.errors import InternalError
from planner.audit.findings import findings_of
from planner.consolidate.certain_moves import CertainMoves, SafeMove
from planner.consolidate.layout import Layout, Reserve, filled, moves_to
from planner.consolidate.loss import UNSURVIVED, UNTRIED, DomainLosses, never_over
from planner.consolidate.open_landings import OpenLandings
from planner.consolidate.setting import Setting, in_the_end
from planner.consolidate.surviving import SurvivedLoss, SurvivingNodes
from planner.consolidate.wave_order import EmptyingOrder, asking_about_each_other
from planner.eviction.budgets import Budgets
from planner.landing.landing import RESTRICTED, Landing, PinPolicy
from planner.moves.constraint_counts import ConstraintCounts
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter
from planner.state.state import State
from planner.waves.replay import first_failure
from planner.whatif.nodes import cordon

UNSAFE = "no safe wave empties it"
WORSE = "a constraint would be worse without it"
UNRESERVED = "without it too little room would be free"


@dataclass(frozen=True, slots=True)
class Emptied:
    """The nodes that waves empty, and those that are given back, each with its reason.

    The nodes of `meanwhile` are cordoned until all waves are over.
    """

    trial: TrialCluster
    removed: Mask
    waves: Sequence[Sequence[Landing]] = ()
    given_back: Mapping[int, str] = field(default_factory=dict)
    meanwhile: Mask | None = None
    #: Whether without all nodes of the layout pods would be left over when a domain is lost.
    is_lost: bool = False

    @property
    def moves(self) -> int:
        return sum(map(len, self.waves))

    @property
    def pinned(self) -> int:
        return sum(landing.kind in RESTRICTED for wave in self.waves for landing in wave)

    @property
    def places(self) -> Mapping[str, str]:
        """By pod that moves the node where it is planned to land."""
        problem = self.trial.problem
        landings = [landing for wave in self.waves for landing in wave]
        return {problem.pods[one.move.pod].key: problem.nodes.names[one.move.target] for one in landings}

    def end(self, cluster: Cluster) -> Cluster:
        """The cluster when the nodes that go are deleted."""
        return in_the_end(cluster, self.places, frozenset(self.trial.problem.nodes.names_of(self.removed)))

    @property
    def is_open(self) -> bool:
        """Whether some replacement may land on several nodes."""
        return any(int(landing.nodes.sum()) > 1 for wave in self.waves for landing in wave)

    def check(self) -> None:
        """Play the waves through; a plan that does not hold is a mistake of this program."""
        failure = first_failure(self.trial, self.waves, soft=False, while_away=False)
        if failure is not None:
            raise InternalError(f"a plan did not hold when it was played through: {failure}")


@dataclass(frozen=True)
class Emptying:
    """Plans the waves of layouts of a cluster.

    With `pins` replacements may be pinned, else nothing but cordons leads them.  Room of `reserve` stays free
    also where only some of a layout's nodes go.  With `losses` no more pods may be without a node than now
    when a domain is lost.
    """

    setting: Setting
    meter: Meter
    pins: bool
    reserve: Reserve | None = None
    losses: DomainLosses | None = None

    @property
    def _problem(self) -> Problem:
        return self.setting.problem

    @cached_property
    def _survival(self) -> SurvivingNodes | None:
        return None if self.losses is None else SurvivingNodes(self.setting, self.losses, self.meter)

    @cached_property
    def _hard(self) -> Counter[Hashable]:
        return _excess_of_each(self.setting.trial.ledger)

    @cached_property
    def _faults(self) -> Counter[tuple[str, str]]:
        return _faults(self._problem, self.setting.trial.state)

    def of(self, layout: Layout) -> Emptied:
        """The cheapest of a few plans that empty nodes of a layout, each with more of them given back.

        Pods of kept nodes move, too.
        """
        best = Emptied(self.setting.trial, self._problem.nodes.none)
        survived = self._surviving(layout)
        removed = survived.removed
        cost = self.setting.removable.cost
        planned = moves_to(self._problem, self.setting.movable, self.setting.before, layout)
        given_back = np.flatnonzero(layout.removed & ~removed).tolist()
        reasons = {node: survived.needed.get(node, UNTRIED) for node in given_back}
        too_many, is_lost = int(removed.sum()), bool(given_back)
        for number in range(1, effort.OPEN_ROUNDS + 1):
            stays = layout.removed & ~removed
            found = self._planned([move for move in planned if not stays[move.source]], removed)
            worse = self._why_worse(found)
            is_lost = is_lost or worse == UNSURVIVED
            if not worse:
                best = min(best, found, key=lambda one: (cost(one.removed), one.moves))
            if found.is_open:
                if worse or found.removed.sum() < removed.sum():
                    too_many = min(too_many, int(removed.sum()))
                removed = layout.removed.copy()
                kept = self._beyond(best.removed, too_many, layout, worse)
            else:
                kept = self._kept(found, removed, worse, is_last=number >= effort.EMPTYING_ROUNDS)
            reasons |= kept
            # Where only what lacks was given back each time, once more with half of them.
            closed_rounds = effort.EMPTYING_ROUNDS + (worse == UNSURVIVED)
            rounds = effort.OPEN_ROUNDS if found.is_open else closed_rounds
            # A request to stop does not end it before there is a plan.
            is_over = self.meter.limit_is_over if worse else self.meter.over
            if not kept or number >= rounds or is_over():
                break
            removed[[*kept]] = False
        idle = layout.removed & (self.setting.before.counts.per_node() == 0)
        if (idle & ~best.removed).any():
            best = min(best, self._without_moves(idle), key=lambda one: (cost(one.removed), one.moves))
        given_back = np.flatnonzero(layout.removed & ~best.removed).tolist()
        # What the last plan empties stays for what is said against that plan.
        against = _of_each(worse, int(found.removed.sum()))
        last = {node: against if worse and found.removed[node] else UNSAFE for node in given_back}
        told = {node: reasons.get(node, last[node]) for node in given_back}
        return replace(best, given_back=told, is_lost=is_lost)

    def _surviving(self, layout: Layout) -> SurvivedLoss:
        """The nodes of a layout that may go as far as losses are concerned."""
        if self._survival is None:
            return SurvivedLoss(layout.removed.copy())
        return self._survival.removed(layout)

    @property
    def _is_quick(self) -> bool:
        """Whether a trial of losses, if any is asked for, takes little time."""
        return self.losses is None or self.losses.is_quick(effort.SURVIVAL_WORK)

    def _without_moves(self, idle: Mask) -> Emptied:
        """Nodes that no pod has to leave, if they may go, or none."""
        found = Emptied(self._cordoned(idle), idle)
        return found if not self._why_worse(found) else Emptied(self.setting.trial, self._problem.nodes.none)

    def _cordoned(self, nodes: Mask) -> TrialCluster:
        """The cluster with some nodes cordoned, and its constraints."""
        if not nodes.any():
            return self.setting.trial
        # What earlier plans were made with refers to itself: it goes before as much is made again.
        gc.collect()
        changed = cordon(self._problem.cluster, *self._problem.nodes.names_of(nodes))
        return TrialCluster(self._problem.varied(self._problem.node_of, changed.nodes))

    def _planned(self, planned: Sequence[Move], removed: Mask) -> Emptied:
        """Waves that hold wherever replacements land, and which of the nodes they empty."""
        trial = self._cordoned(removed)
        pods: dict[int, list[int]] = {node: [] for node in np.flatnonzero(removed).tolist()}
        for pod in np.flatnonzero(self.setting.movable.weights).tolist():
            if int(self._problem.node_of[pod]) in pods:
                pods[int(self._problem.node_of[pod])].append(pod)
        left, moves, coupled = self._sequence(trial, planned, removed, pods)
        empty = removed.copy()
        empty[left] = False
        # What comes after the last eviction from a node that goes empties nothing.
        sources = [one.landing.move.source for one in moves]
        needed = max((n for n, source in enumerate(sources, 1) if empty[source]), default=0)
        order = EmptyingOrder(trial, Budgets(trial.problem), self.setting.limit, coupled)
        waves = order.of(moves[:needed])
        if not waves:
            return Emptied(self._cordoned(empty), empty)
        return Emptied(trial, empty, waves, meanwhile=removed & ~empty)

    def _sequence(
        self,
        trial: TrialCluster,
        planned: Sequence[Move],
        removed: Mask,
        pods: Mapping[int, Sequence[int]],
    ) -> tuple[list[int], Sequence[SafeMove], Iterable[Sequence[int]]]:
        """The nodes that are not empty after moves that hold, these moves, and which templates are coupled.

        They are as planned, pods of kept nodes first; what is left then leaves one node after the other.
        Where nothing leads replacements they may land anywhere, if nodes can go then.
        """
        others = [(move.pod, move.source) for move in planned if not removed[move.source]]
        leaving = [(pod, node) for node, several in pods.items() for pod in several]
        timeline = EvictionTimeline(trial.problem, [pod for pod, _ in (*leaving, *others)], trial.part)
        policy = self._policy(trial, int(np.count_nonzero(~removed)))
        if not policy and self.losses is None:
            filled = {node: several for node, several in pods.items() if several}
            is_over, most = self.meter.limit_is_over, self.setting.limit.most
            anywhere = OpenLandings(timeline, removed, filled, is_over, most)
            left_over = anywhere.run(self._order(filled))
            if anywhere.moves:
                return left_over, anywhere.moves, anywhere.coupled()
        sequence = CertainMoves(timeline, policy, planned, removed, self.meter.limit_is_over)
        left = leaving
        if policy.pinnable:
            left = sequence.follow([*others, *leaving])
        elif policy:
            left = sequence.follow(sequence.fill([*sequence.fill(others), *leaving]))
        waiting = {pod for pod, _ in left}
        stuck = {node: [pod for pod in several if pod in waiting] for node, several in pods.items()}
        # Where all pods have left, nothing remains to be done, whatever the clock says.
        stuck = {node: several for node, several in stuck.items() if several}
        return sequence.run(stuck, self._order(stuck)), sequence.moves, asking_about_each_other(trial)

    def _policy(self, trial: TrialCluster, kept: int) -> PinPolicy:
        """What leads replacements: pins, or cordons where few enough nodes are kept."""
        cordon = self.pins or kept <= effort.EMPTYING_CORDONED
        return PinPolicy.of(trial, self.setting.movable.templates, pins=self.pins, cordon=cordon)

    def _order(self, nodes: Iterable[int]) -> list[int]:
        """The emptiest node first."""
        return sorted(nodes, key=filled(self.setting.trial.state).__getitem__)

    def _kept(self, found: Emptied, removed: Mask, worse: str, *, is_last: bool) -> Mapping[int, str]:
        """Nodes that are given back before the waves are planned again; none where the plan does all.

        The last time half of them, not only what lacks: if that plan does not hold either, none go.
        """
        stuck = np.flatnonzero(removed & ~found.removed).tolist()
        gone = np.flatnonzero(found.removed).tolist()
        if worse and not stuck:
            if worse == UNSURVIVED and self._survival is not None and not is_last:
                more = self._survival.given_back(found.end(self._problem.cluster), found.removed)
                if more:
                    return dict.fromkeys(more, UNTRIED)
            return dict.fromkeys(self._fullest(gone, len(gone) // 2), _of_each(worse, len(gone)))
        return dict.fromkeys(self._fullest(stuck, len(stuck) // 2), UNSAFE)

    def _beyond(self, gone: Mask, too_many: int, layout: Layout, worse: str) -> Mapping[int, str]:
        """The nodes to give back where replacements land anywhere; none where no better plan is expected.

        Fewer that go leave more room for theirs: so many are tried as are between those that went and what
        was too many, at most twice as many as went.
        """
        went = int(gone.sum())
        size = min(2 * went or too_many, (went + too_many) // 2)
        if size - went <= went * effort.OPEN_GAIN:
            return {}
        others = np.flatnonzero(layout.removed & ~gone).tolist()
        return dict.fromkeys(self._fullest(others, size - went), worse or UNSAFE)

    def _fullest(self, nodes: Sequence[int], but: int) -> list[int]:
        """The nodes but so many, those that hold least."""
        return self._order(nodes)[but:]

    def _why_worse(self, found: Emptied) -> str:
        """Why the cluster is worse than before when the nodes are empty, or deleted; empty if it is not."""
        if self.reserve is not None and self.reserve.lacks(found.removed):
            return UNRESERVED
        if self._has_more(found.trial.problem, found.places):
            return WORSE
        end = found.end(self._problem.cluster)
        if self._has_more(Problem(end, self._problem), {}):
            return WORSE
        if self.losses is None or not found.removed.any():
            return ""
        # A plan that was made is not given up for want of a quick trial.
        is_over = never_over if self._is_quick else self.meter.limit_is_over
        return self.losses.why_worse(end, is_over)

    def _has_more(self, problem: Problem, places: Mapping[str, str]) -> bool:
        """Whether a cluster has more faults than before when some pods are elsewhere."""
        gc.collect()  # as above
        node_of = problem.node_of.copy()
        pods = [problem.pod_index[key] for key in places]
        node_of[pods] = [problem.nodes.index[name] for name in places.values()]
        state = State(problem, node_of)
        excess = _excess_of_each(ConstraintCounts(problem, state))
        return not (_faults(problem, state) <= self._faults and excess <= self._hard)


def _of_each(worse: str, nodes: int) -> str:
    """What is said of each of so many nodes without which pods are left over: it was not tried of each."""
    return UNTRIED if worse == UNSURVIVED and nodes > 1 else worse


def _faults(problem: Problem, state: State) -> Counter[tuple[str, str]]:
    """How often each plugin finds fault with each pod, or node: those that go make up for no others."""
    return Counter((found.plugin, found.pod or found.node) for found in findings_of(problem, state))


def _excess_of_each(ledger: ConstraintCounts) -> Counter[Hashable]:
    """The pods too many of every hard constraint, by what names it whatever nodes there are."""
    found = Counter[Hashable]()
    for one in ledger.hard:
        asked = one.rule.constraint
        terms = asked.topology_key, asked.max_skew, asked.min_domains
        policies = asked.node_affinity_policy, asked.node_taints_policy
        workload = one.asked.namespace, one.asked.workload
        found[workload, terms, policies, one.rule.counted.selection] += one.excess()
    return found
