"""DefaultPreemption: evicting pods of lower priority to make room for one that fits nowhere.

Kubernetes 1.34: on every node where evictions might help, all pods of lower priority are taken away;
if the pod fits then, they are put back one by one, the most important first and those whose
disruption budget would be broken before the others, as long as the pod still fits.  Who stays out is
a victim.  The node is chosen by fewest broken budgets, then the lowest highest priority among its
victims, the smallest sum of priorities, the fewest victims, the latest start of the most important.

As in the conformance runs, a pod that still waits for terminating victims at the end of its turn does
not reserve its node against later pods; nominations that the snapshot shows do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from models.objects.pod import Pod
from models.objects.scheduler_config import DefaultPreemptionArgs
from planner.constraints.node_resources import NodeResourcesFit
from planner.eviction.budgets import allowance, draws_on
from planner.scheduler.framework import Diagnosis, Framework, Plan, unavailable
from planner.scheduler.free_room import FreeRoom
from planner.scheduler.nominations import Nominations

_PREFIX = "preemption: "
_NEVER = f"{_PREFIX}not eligible due to preemptionPolicy=Never."
_TERMINATING = f"{_PREFIX}not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"
_PRIORITY_SHIFT = 1 << 31
_NOT_STARTED = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A node with the pods to evict there, or the reason why there is none."""

    node: int | None
    victims: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that evictions would open, and what they would cost; victims most important first."""

    node: int
    victims: tuple[int, ...]
    broken_budgets: int


class Preemption:
    """The DefaultPreemption plugin of one profile."""

    def __init__(self, framework: Framework, nominations: Nominations, args: DefaultPreemptionArgs) -> None:
        self._framework = framework
        self._problem = framework.problem
        self._state = framework.state
        self._nominations = nominations
        self._args = args
        self._budgets = framework.problem.cluster.pod_disruption_budgets
        self._budgets_known: dict[int, tuple[int, ...]] = {}

    def attempt(self, plan: Plan, pod: int, diagnosis: Diagnosis) -> Outcome:
        """A node where evictions make room, and which; the promises it made to lesser pods are off."""
        refused = self._ineligible(pod, diagnosis)
        if refused is not None:
            return Outcome(None, message=refused)
        candidates, failures = self._dry_run(plan, pod, diagnosis.resolvable().tolist())
        if not candidates:
            failures[_NOT_HELPFUL] += diagnosis.nodes - failures.total()
            return Outcome(None, message=_PREFIX + unavailable(diagnosis.nodes, failures))
        chosen = self._cheapest(candidates)
        self._nominations.withdraw_below(chosen.node, self._problem.pods[pod].priority)
        going = tuple(victim for victim in chosen.victims if not self._problem.pods[victim].is_terminating)
        return Outcome(chosen.node, going)

    def _ineligible(self, pod: int, diagnosis: Diagnosis) -> str | None:
        """Why a pod may not preempt, if so."""
        if self._problem.pods[pod].spec.preemption_policy == "Never":
            return _NEVER
        node = self._nominations.node_of(pod)
        if node is None or self._is_unresolvable(diagnosis, node):
            return None
        waits = any(_is_being_preempted(self._problem.pods[other]) for other in self._lower(pod, node))
        return _TERMINATING if waits else None

    def _is_unresolvable(self, diagnosis: Diagnosis, node: int) -> bool:
        number = int(diagnosis.first[node])
        return number >= 0 and diagnosis.rejections[number].verdict.unresolvable

    def _lower(self, pod: int, node: int) -> list[int]:
        """The pods on a node with a lower priority."""
        priority = self._problem.pods[pod].priority
        return [other for other in self._state.pods_on[node] if self._problem.pods[other].priority < priority]

    def _dry_run(self, plan: Plan, pod: int, nodes: Sequence[int]) -> tuple[list[Candidate], Counter[str]]:
        """What evictions on each node would achieve, until there is choice enough."""
        enough = self._enough(len(nodes))
        clean: list[Candidate] = []
        breaking: list[Candidate] = []
        worth_trying, failures = self._screen(plan, pod, nodes)
        for node in worth_trying:
            found = self._try(plan, pod, node)
            if isinstance(found, Candidate):
                (breaking if found.broken_budgets else clean).append(found)
                if clean and len(clean) + len(breaking) >= enough:
                    break
            else:
                failures.update(found)
        return clean + breaking, failures

    def _screen(self, plan: Plan, pod: int, nodes: Sequence[int]) -> tuple[Sequence[int], Counter[str]]:
        """The nodes worth a try, and what is wrong with the rest: seen at once where only room matters."""
        lower = np.flatnonzero(
            (self._state.node_of >= 0) & (self._problem.priorities < plan.template.priority)
        )
        has_lower = np.bincount(self._state.node_of[lower], minlength=self._problem.nodes.size) > 0
        having = [node for node in nodes if has_lower[node]]
        failures = Counter({_NO_VICTIMS: len(nodes) - len(having)})
        fit = self._only_room(plan)
        if fit is None or self._nominations.any_waiting:
            return having, failures
        codes = fit.reject_without(plan.template, self._state.load_of(lower))
        worth_trying = []
        for node in having:
            if codes[node]:
                failures.update(fit.verdict(plan.template, int(codes[node])).reasons)
            else:
                worth_trying.append(node)
        return worth_trying, failures

    def _only_room(self, plan: Plan) -> NodeResourcesFit | None:
        """The plugin, when evictions can change nothing else that matters to the pod."""
        match plan.changing:
            case (NodeResourcesFit() as fit,):
                return fit
            case _:
                return None

    def _enough(self, nodes: int) -> int:
        share = nodes * self._args.min_candidate_nodes_percentage // 100
        return min(max(share, self._args.min_candidate_nodes_absolute), nodes)

    def _try(self, plan: Plan, pod: int, node: int) -> Candidate | tuple[str, ...]:
        """The fewest evictions that open one node with lesser pods, or why none do."""
        lower = sorted(self._lower(pod, node), key=self._importance)
        room = self._room(plan, pod, node)
        if room is not None and room.without(lower):
            return self._candidate(node, lower, room.take_back)
        mark = self._state.mark()
        for other in lower:
            self._state.unbind(other)
        refused = self._nominations.rejection(self._framework, plan, pod, node)
        found: Candidate | tuple[str, ...]
        if refused is not None:
            found = refused.verdict.reasons
        else:
            found = self._candidate(node, lower, lambda other: self._put_back(plan, pod, other, node))
        self._state.rollback(mark)
        return found

    def _candidate(self, node: int, lower: Sequence[int], may_stay: Callable[[int], bool]) -> Candidate:
        """Who has to go when everybody who may stay does, those with a breaking budget asked first."""
        breaking, others = self._by_budget(lower)
        broken = [other for other in breaking if not may_stay(other)]
        victims = broken + [other for other in others if not may_stay(other)]
        return Candidate(node, tuple(sorted(victims, key=self._importance)), len(broken))

    def _room(self, plan: Plan, pod: int, node: int) -> FreeRoom | None:
        """The node's room, when evictions can change nothing else that matters to the pod."""
        fit = self._only_room(plan)
        if fit is None or not plan.settled[node] or self._nominations.any_ahead(pod, node):
            return None
        return FreeRoom(self._state, fit.wants(plan.template), node)

    def _put_back(self, plan: Plan, pod: int, other: int, node: int) -> bool:
        """Let a pod stay if the preemptor fits beside it."""
        mark = self._state.mark()
        self._state.bind(other, node)
        if self._nominations.fits(self._framework, plan, pod, node):
            return True
        self._state.rollback(mark)
        return False

    def _importance(self, pod: int) -> tuple[int, datetime]:
        """Sorts the most important first: by priority, then by who has run longest."""
        return -self._problem.pods[pod].priority, _started(self._problem.pods[pod])

    def _by_budget(self, pods: Iterable[int]) -> tuple[list[int], list[int]]:
        """The pods whose eviction would break a budget, counting one after the other, and the rest."""
        left = [allowance(budget) for budget in self._budgets]
        breaking: list[int] = []
        others: list[int] = []
        for number in pods:
            broken = False
            for position in self._budgets_of(number):
                left[position] -= 1
                broken = broken or left[position] < 0
            (breaking if broken else others).append(number)
        return breaking, others

    def _budgets_of(self, number: int) -> tuple[int, ...]:
        """The budgets that an eviction of a pod draws on."""
        found = self._budgets_known.get(number)
        if found is None:
            pod = self._problem.pods[number]
            found = self._budgets_known[number] = tuple(
                position for position, budget in enumerate(self._budgets) if draws_on(budget, pod)
            )
        return found

    def _cheapest(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate that costs least by kube's criteria in their order.

        Where they tie, kube picks at random; here fewer pods still to be evicted, then the name, decide.
        """
        pods = self._problem.pods

        def cost(candidate: Candidate) -> tuple[float, ...]:
            priorities = [pods[victim].priority for victim in candidate.victims]
            first = min(_started(pods[v]) for v in candidate.victims if pods[v].priority == priorities[0])
            return (
                candidate.broken_budgets,
                priorities[0],
                sum(priority + _PRIORITY_SHIFT for priority in priorities),
                len(priorities),
                -(first - datetime.min.replace(tzinfo=UTC)).total_seconds(),
                sum(not pods[victim].is_terminating for victim in candidate.victims),
            )

        return min(candidates, key=cost)


def _started(pod: Pod) -> datetime:
    return pod.status.start_time or _NOT_STARTED


def _is_being_preempted(pod: Pod) -> bool:
    """Whether a pod is on its way out because the scheduler preempted it."""
    return pod.is_terminating and any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )
