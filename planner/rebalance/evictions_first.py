"""Plans that begin with single evictions, for constraints that no safe wave repairs; the rest comes later.

The state after these evictions is known, however ties break.  So the rest is a plan of its own, made for
that state.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from models.objects.pod import Pod
from planner.eviction.protections import SOFT, Protections
from planner.landing.landing import Landing
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.alternatives import Alternatives
from planner.rebalance.search.search import MoveSearch
from planner.rebalance.search.single_evictions import SingleEvictions
from planner.waves.limits import WaveRules
from planner.waves.replay import first_failure
from planner.waves.wave_plan import WavePlan

_MOVED = "moved before"


@dataclass(frozen=True, slots=True)
class EvictionsFirst:
    """Searches for such plans; the trial cluster is left as it was."""

    trial: TrialCluster
    movable: Movable
    protections: Protections
    rules: WaveRules
    meter: Meter
    wave_meter: Meter

    def better_than(self, best: WavePlan) -> WavePlan:
        """A plan that leaves less, if one is found; what each leaves broken is repaired first in the next."""
        first, tried = list[Landing](), set[Hashable]()
        for _ in range(effort.PLANS_WITH_EVICTIONS_FIRST):
            broken = [identity for identity in self._broken(best) if identity not in tried]
            known = len(first)
            for identity in broken:
                first += self._repair(identity, first)
            tried.update(broken)
            if len(first) == known or self.wave_meter.over():
                break
            best = min(best, self._beginning_with(first), key=lambda one: one.key)
        return best

    @property
    def is_bounded(self) -> bool:
        """Whether evictions are limited: single evictions and the rest could not share such limits."""
        rules = self.protections
        return bool(self.movable.quotas) or (rules.most, rules.most_per_node, rules.most_per_namespace) != (
            None,
            None,
            None,
        )

    def _broken(self, plan: WavePlan) -> Sequence[Hashable]:
        """The hard constraints that a plan leaves broken."""
        mark = self.trial.state.mark()
        for wave in plan.waves:
            for landing in wave:
                self.trial.make(landing.move)
        found = [
            constraint.asked.identity
            for constraint in self.trial.ledger.constraints
            if constraint.hard and constraint.excess()
        ]
        self.trial.state.rollback(mark)
        return found

    def _repair(self, identity: Hashable, first: Sequence[Landing]) -> Sequence[Landing]:
        """The evictions that repair a constraint after `first`."""
        trial = self._after(first)
        constraint = next(
            constraint for constraint in trial.ledger.constraints if constraint.asked.identity == identity
        )
        return SingleEvictions(trial, self._without(first), constraint, self.wave_meter).run()

    def _beginning_with(self, first: Sequence[Landing]) -> WavePlan:
        """A plan that begins with some evictions, or nothing if it does not hold."""
        trial, movable = self._after(first), self._without(first)
        rest = self._nothing(trial)
        if trial.ledger.broken(self.protections.kinds):
            search = MoveSearch(trial, movable, self.protections, self.meter)
            alternatives = Alternatives(
                trial, movable, self.protections, self.rules, None, self.meter, self.wave_meter
            )
            rest, _ = alternatives.of(search, search.run())
        waves = [*([landing] for landing in first), *rest.waves]
        if first_failure(self.trial, waves, soft=SOFT in self.protections.kinds) is not None:
            return self._nothing(self.trial)
        weight = rest.weight + sum(int(self.rules.weights[landing.move.pod]) for landing in first)
        return replace(rest, waves=waves, weight=weight)

    def _nothing(self, trial: TrialCluster) -> WavePlan:
        """No moves at all."""
        hard, soft = (trial.ledger.excess(hard=kind) for kind in (True, False))
        return WavePlan((), (), (hard, soft if SOFT in self.protections.kinds else 0), soft_excess_left=soft)

    def _without(self, first: Sequence[Landing]) -> Movable:
        return self.movable.without([landing.move.pod for landing in first], _MOVED)

    def _after(self, first: Sequence[Landing]) -> TrialCluster:
        """A trial cluster after some moves."""
        problem = self.trial.problem
        target = {problem.pods[one.move.pod].key: problem.nodes.names[one.move.target] for one in first}
        pods = [_on(pod, target[pod.key]) if pod.key in target else pod for pod in problem.cluster.pods]
        return TrialCluster(Problem(replace(problem.cluster, pods=tuple(pods))), self.trial.part)


def _on(pod: Pod, node: str) -> Pod:
    """A pod on another node."""
    found: Pod = pod.model_copy(update={"spec": pod.spec.model_copy(update={"node_name": node})})
    return found
