"""Plans that begin with single evictions, for constraints that no safe wave repairs; the rest comes later.

The state after these evictions is known, however ties break.  So the rest is a plan of its own, made for
that state.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from models.objects.pod import Pod
from planner.eviction.protections import SOFT
from planner.landing.landing import Landing
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof import effort
from planner.rebalance.alternatives import Alternatives, MoveTask
from planner.rebalance.search.single_evictions import SingleEvictions
from planner.waves.replay import first_failure
from planner.waves.wave_planner import WavePlan


@dataclass(frozen=True, slots=True)
class EvictionsFirst:
    """Searches for such plans; the trial cluster is left as it was."""

    task: MoveTask

    def better_than(self, best: WavePlan) -> WavePlan:
        """A plan that leaves less, if one is found; what each leaves broken is repaired first in the next."""
        first, tried = list[Landing](), set[Hashable]()
        for _ in range(effort.PLANS_WITH_EVICTIONS_FIRST):
            broken = [identity for identity in self._broken(best) if identity not in tried]
            known = len(first)
            for identity in broken:
                first += self._repair(identity, first)
            tried.update(broken)
            if len(first) == known or self.task.wave_meter.over():
                break
            best = min(best, self._beginning_with(first), key=lambda one: one.key)
        return best

    def _broken(self, plan: WavePlan) -> Sequence[Hashable]:
        """The hard constraints that a plan leaves broken."""
        with self.task.trial.after(plan.moves):
            return [d.asked.identity for d in self.task.trial.ledger.constraints if d.hard and d.excess()]

    def _repair(self, identity: Hashable, first: Sequence[Landing]) -> Sequence[Landing]:
        """The evictions that repair a constraint after `first`."""
        task = self._after(first)
        constraint = next(d for d in task.trial.ledger.constraints if d.asked.identity == identity)
        return SingleEvictions(task.trial, task.movable, constraint, task.wave_meter).run()

    def _beginning_with(self, first: Sequence[Landing]) -> WavePlan:
        """A plan that begins with some evictions, or nothing if it does not hold."""
        task, kinds = self._after(first), self.task.protections.kinds
        rest = Alternatives(task).plan().best if task.trial.ledger.broken(kinds) else task.nothing
        waves = [*([landing] for landing in first), *rest.waves]
        if first_failure(self.task.trial, waves, soft=SOFT in kinds) is not None:
            return self.task.nothing
        weight = rest.weight + sum(int(task.rules.weights[landing.move.pod]) for landing in first)
        return replace(rest, waves=waves, weight=weight)

    def _after(self, first: Sequence[Landing]) -> MoveTask:
        """The same task after some evictions, whose pods stay."""
        problem, part = self.task.trial.problem, self.task.trial.part
        target = {problem.pods[one.move.pod].key: problem.nodes.names[one.move.target] for one in first}
        pods = [_on(pod, target[pod.key]) if pod.key in target else pod for pod in problem.cluster.pods]
        trial = TrialCluster(Problem(replace(problem.cluster, pods=tuple(pods))), part)
        return replace(self.task.without([one.move.pod for one in first], "moved before"), trial=trial)


def _on(pod: Pod, node: str) -> Pod:
    """A pod on another node."""
    found: Pod = pod.model_copy(update={"spec": pod.spec.model_copy(update={"node_name": node})})
    return found
