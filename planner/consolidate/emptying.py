"""A layout carried out: which of its nodes waves of evictions empty, whatever kube-scheduler chooses.

All nodes that go are cordoned first, so that no replacement comes to one of them.  What no safe wave empties
is given back: those nodes are kept.  They are cordoned, too, until all waves are over: the room on them would
make it less certain where replacements land.  Hard constraints hold while the empty nodes are there, and when
they are deleted and their domains are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from models import Cluster
from planner.audit.findings import findings_of
from planner.consolidate.layout import Layout, moves_to
from planner.consolidate.removable import KeptNode
from planner.errors import InternalError
from planner.eviction.budgets import Budgets
from planner.landing.landing import HELD, Landing
from planner.moves.movable import Movable
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import HOSTNAME, Mask
from planner.problem.problem import Problem
from planner.proof import effort
from planner.proof.meter import Meter
from planner.waves.open_waves import WaveRules
from planner.waves.replay import first_failure
from planner.waves.wave_planner import WavePlan, WavePlanner
from planner.whatif.nodes import cordon

UNSAFE = "no safe wave empties it"
TOLERATES = "a replacement that tolerates the cordon could land on it"
WORSE = "a constraint would be worse without it"


@dataclass(frozen=True, slots=True)
class Emptied:
    """The nodes that waves empty, and those that are given back, each with its reason.

    The nodes of `meanwhile` are cordoned until all waves are over.
    """

    trial: TrialCluster
    removed: Mask
    waves: Sequence[Sequence[Landing]] = ()
    given_back: Mapping[int, KeptNode] = field(default_factory=dict)
    meanwhile: Mask | None = None

    @property
    def moves(self) -> int:
        """How many pods move."""
        return sum(map(len, self.waves))

    @property
    def pinned(self) -> int:
        """How many replacements are pinned."""
        return sum(landing.kind in HELD for wave in self.waves for landing in wave)


class Emptying:
    """Plans the waves of layouts of a cluster."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, before: Layout, meter: Meter, *, pins: bool
    ) -> None:
        """With `pins` replacements may be pinned, else nothing but evictions leads there."""
        self._trial = trial
        self._problem = trial.problem
        self._movable = movable
        self._before = before
        self._meter = meter
        self._pins = pins
        self._hard = trial.ledger.excess(hard=True)
        self._findings = sum(1 for _ in findings_of(self._problem, trial.state))

    def of(self, layout: Layout, cost: Callable[[Mask], int]) -> Emptied:
        """The cheapest of a few plans that empty nodes of a layout, each with more of them given back."""
        removed, cordoned = layout.removed.copy(), layout.removed.copy()
        given_back, dropped = dict[int, KeptNode](), set[int]()
        best = self._without_moves(layout)
        for _ in range(effort.EMPTYING_ROUNDS):
            moves = [
                move
                for move in moves_to(self._problem, self._movable, self._before, layout)
                if move.pod not in dropped and (removed[move.source] or not layout.removed[move.source])
            ]
            trial = self._cordoned(cordoned)
            plan = self._planned(trial, moves)
            found = self._emptied(trial, plan, removed, cordoned, given_back)
            if not self._is_worse(found):
                best = min(best, found, key=lambda one: (cost(one.removed), one.moves))
            kept = self._kept(found, plan, removed)
            if (not kept and not plan.left) or self._meter.over():
                break
            dropped |= {move.pod for move in plan.left if not removed[move.source]}
            removed[[*kept]] = False
            cordoned[[node for node, why in kept.items() if why.reason == WORSE]] = False
            given_back |= kept
        return best

    def _without_moves(self, layout: Layout) -> Emptied:
        """The nodes of a layout that are empty from the beginning."""
        idle = layout.removed & (self._before.counts.sum(axis=0) == 0)
        found = Emptied(self._cordoned(idle), idle)
        return Emptied(self._trial, self._problem.nodes.none) if self._is_worse(found) else found

    def _emptied(
        self,
        trial: TrialCluster,
        plan: WavePlan,
        removed: Mask,
        cordoned: Mask,
        given_back: Mapping[int, KeptNode],
    ) -> Emptied:
        """What a plan empties: of the nodes that are to go those with no move left, on which none lands."""
        stuck = {move.source: KeptNode(UNSAFE, move.pod) for move in plan.left if removed[move.source]}
        back = {**given_back, **stuck, **_reachable(plan, removed)}
        empty = removed.copy()
        empty[[*back]] = False
        # What comes after the last eviction from a node that goes empties nothing.
        needed = [n for n, wave in enumerate(plan.waves, 1) if any(empty[one.move.source] for one in wave)]
        waves = plan.waves[: max(needed, default=0)]
        return Emptied(trial, empty, waves, back, cordoned & ~empty if waves else self._problem.nodes.none)

    def _cordoned(self, nodes: Mask) -> TrialCluster:
        """The cluster with some nodes cordoned, and its constraints."""
        if not nodes.any():
            return self._trial
        cluster: Cluster = self._problem.cluster
        for node in np.flatnonzero(nodes).tolist():
            cluster = cordon(cluster, self._problem.nodes.names[node])
        return TrialCluster(Problem(cluster))

    def _planned(self, trial: TrialCluster, moves: Sequence[Move]) -> WavePlan:
        """Waves that hold when they are replayed, and the moves that are in none."""
        pin_policy = PinPolicy.of(trial, self._movable.templates, cordon=False) if self._pins else NO_PINS
        rules = WaveRules(
            Budgets(trial.problem), self._movable.weights, pin_policy=pin_policy, needs_all=True
        )
        planner = WavePlanner(trial, rules, self._meter)
        plan = planner.of(moves, self._values(trial, moves), lambda: ())
        if (failure := first_failure(trial, plan.waves, soft=False)) is not None:
            plan = planner.single_file(moves)
            if first_failure(trial, plan.waves, soft=False) is not None:
                raise InternalError(f"a plan did not hold when it was played through: {failure}")
        return plan

    def _values(self, trial: TrialCluster, moves: Sequence[Move]) -> Mapping[str, int]:
        """What the moves leave where each lands as it was planned."""
        mark = trial.state.mark()
        for move in moves:
            trial.make(move)
        hard = trial.ledger.excess(hard=True)
        trial.state.rollback(mark)
        return {"hardExcess": hard, "softExcess": 0, "moves": len(moves)}

    def _kept(self, found: Emptied, plan: WavePlan, removed: Mask) -> Mapping[int, KeptNode]:
        """Nodes that are given back before the waves are planned again; none where the plan does all."""
        sources = Counter(move.source for move in plan.left if removed[move.source])
        back = {node: found.given_back[node] for node, _ in sources.most_common((len(sources) + 1) // 2)}
        back |= _reachable(plan, removed)
        if back or not self._is_worse(found):
            return back
        nodes = self._last_of_domains(found.removed) or np.flatnonzero(found.removed).tolist()
        return {node: KeptNode(WORSE) for node in nodes}

    def _is_worse(self, found: Emptied) -> bool:
        """Whether the cluster is worse than before when the nodes are empty, or when they are deleted."""
        places = {
            self._problem.pods[landing.move.pod].key: self._problem.nodes.names[landing.move.target]
            for wave in found.waves
            for landing in wave
        }
        return any(
            self._has_more(cluster)
            for cluster in (
                moved(found.trial.problem.cluster, places),
                deleted(moved(self._problem.cluster, places), self._names(found.removed)),
            )
        )

    def _has_more(self, cluster: Cluster) -> bool:
        trial = TrialCluster(Problem(cluster))
        findings = sum(1 for _ in findings_of(trial.problem, trial.state))
        return trial.ledger.excess(hard=True) > self._hard or findings > self._findings

    def _names(self, nodes: Mask) -> frozenset[str]:
        return frozenset(self._problem.nodes.names[node] for node in np.flatnonzero(nodes).tolist())

    def _last_of_domains(self, removed: Mask) -> list[int]:
        """One node of every domain that goes altogether."""
        found = set()
        for key, domain in lost_domains(self._trial, removed):
            column = self._problem.nodes.column(key)
            found.add(int(np.flatnonzero(column.codes == column.code_of[domain])[0]))
        return sorted(found)


def _reachable(plan: WavePlan, removed: Mask) -> Mapping[int, KeptNode]:
    """The nodes that are to be empty on which some replacement may land all the same."""
    found: dict[int, KeptNode] = {}
    for wave in plan.waves:
        for landing in wave:
            for node in np.flatnonzero(landing.nodes & removed).tolist():
                found.setdefault(node, KeptNode(TOLERATES, landing.move.pod))
    return found


def lost_domains(trial: TrialCluster, removed: Mask) -> list[tuple[str, str]]:
    """The domains of constraints, nodes aside, of which no node is left."""
    keys = {found.rule.column.key for found in trial.ledger.constraints} - {HOSTNAME}
    columns = [trial.problem.nodes.column(key) for key in sorted(keys)]
    return [
        (column.key, value)
        for column in columns
        for code, value in enumerate(column.values)
        if not (column.present & ~removed)[column.codes == code].any()
    ]


def moved(cluster: Cluster, places: Mapping[str, str]) -> Cluster:
    """The cluster with some pods, by their keys, on other nodes."""
    pods = (
        pod.model_copy(update={"spec": pod.spec.model_copy(update={"node_name": places[pod.key]})})
        if pod.key in places
        else pod
        for pod in cluster.pods
    )
    return replace(cluster, pods=tuple(pods))


def deleted(cluster: Cluster, names: frozenset[str]) -> Cluster:
    """The cluster without some nodes, and without what still ran on them."""
    return replace(
        cluster,
        nodes=tuple(node for node in cluster.nodes if node.name not in names),
        pods=tuple(pod for pod in cluster.pods if pod.node_name not in names),
        csi_nodes=tuple(item for item in cluster.csi_nodes if item.name not in names),
        volume_attachments=tuple(
            item for item in cluster.volume_attachments if item.spec.node_name not in names
        ),
    )
