"""DefaultPreemption: evicting pods of lower priority to make room for one that fits nowhere.

Kubernetes 1.34: evictions are tried on every node where they might help, until there is choice enough.
The node is chosen by fewest broken budgets, then the lowest highest priority among its victims, the
smallest sum of priorities, the fewest victims, the latest start of the most important.

As in the conformance runs, a pod that still waits for terminating victims at the end of its cycle does
not reserve its node against later pods; nominations that the snapshot shows do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from models.objects.pod import Pod
from models.objects.scheduler_config import DefaultPreemptionArgs
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.problem.nodes import Codes, Mask
from planner.problem.templates import Template
from planner.scheduler.evictions import NO_VICTIMS, Candidate, Evictions
from planner.scheduler.framework import Diagnosis, Framework, Plan, unavailable
from planner.scheduler.nominations import Nominations
from planner.scheduler.room_trials import Found, RoomTrials

_PREFIX = "preemption: "
_NEVER = f"{_PREFIX}not eligible due to preemptionPolicy=Never."
_TERMINATING = f"{_PREFIX}not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class PreemptionOutcome:
    """A node with the pods to evict there, or the reason why there is none."""

    node: int | None
    victims: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Trials:
    """The dry runs of a template; whether spread is the first thing that is asked after room.

    They go by arithmetic where room and spread are all that matters, else by all filters: every time, or, if
    `remembered`, until the node or the counts of spread change.
    """

    rooms: RoomTrials
    by_numbers: bool = False
    remembered: bool = False
    spread_next: bool = False


class Findings:
    """What the dry runs of one pod found: candidates until there are enough, and why other nodes are none.

    A node can have several reasons, so nodes and reasons are counted apart.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._clean = False
        self.candidates: list[Candidate] = []
        self._failed = 0
        self._reasons: Counter[str] = Counter()

    def add(self, candidate: Candidate) -> bool:
        """Take one more; whether there is choice enough: some that break no budget, and so many in all."""
        self.candidates.append(candidate)
        self._clean = self._clean or not candidate.broken_budgets
        return self._clean and len(self.candidates) >= self._enough

    def fail(self, reasons: Iterable[str], nodes: int = 1) -> None:
        """So many nodes that evictions do not open, for these reasons."""
        self._failed += nodes
        for reason in reasons:
            self._reasons[reason] += nodes

    def cheapest(self) -> Candidate:
        """The candidate that costs least by kube's criteria in their order.

        Where they tie, kube picks at random; here fewer pods still to be evicted, then the name, decide.
        """
        return min(self.candidates, key=lambda candidate: candidate.cost)

    def message(self, nodes: int) -> str:
        """kube's summary over all nodes; on those that were not tried evictions cannot help."""
        rest = Counter({_NOT_HELPFUL: nodes - self._failed})
        return _PREFIX + unavailable(nodes, self._reasons + rest)


def may_preempt(framework: Framework, template: Template) -> bool:
    """Whether the cluster has any pod that a pod of a template may preempt."""
    return (
        template.pod.spec.preemption_policy != "Never"
        and framework.profile.preemption is not None
        and bool((framework.problem.priorities < template.priority).any())
    )


class Preemption:
    """The DefaultPreemption plugin of one profile."""

    def __init__(self, framework: Framework, nominations: Nominations, args: DefaultPreemptionArgs) -> None:
        self._framework = framework
        self._problem = framework.problem
        self._nominations = nominations
        self._args = args
        self._evictions = Evictions(framework, nominations)
        self._room_trials: dict[Hashable, RoomTrials] = {}

    def attempt(self, plan: Plan, pod: int, diagnosis: Diagnosis) -> PreemptionOutcome:
        """A node and evictions that open it; its promises to pods of lower priority are withdrawn."""
        refused = self._ineligible(pod, diagnosis)
        if refused is not None:
            return PreemptionOutcome(None, message=refused)
        nodes = diagnosis.resolvable()
        found = self._dry_run(plan, pod, nodes)
        if not found.candidates:
            # As kube-scheduler does: what was promised to the pod is free for others.
            self._nominations.withdraw(pod)
            return PreemptionOutcome(None, message=found.message(diagnosis.nodes))
        chosen = found.cheapest()
        self._nominations.withdraw_below(chosen.node, self._problem.pods[pod].priority)
        going = tuple(victim for victim in chosen.victims if not self._problem.pods[victim].is_terminating)
        return PreemptionOutcome(chosen.node, going)

    def _ineligible(self, pod: int, diagnosis: Diagnosis) -> str | None:
        """Why a pod may not preempt, if so."""
        if self._problem.pods[pod].spec.preemption_policy == "Never":
            return _NEVER
        node = self._nominations.node_of(pod)
        if node is None or self._is_unresolvable(diagnosis, node):
            return None
        lower = self._evictions.lower_priority_pods(self._problem.pods[pod].priority).on(node)
        waits = any(_is_being_preempted(self._problem.pods[other]) for other in lower)
        return _TERMINATING if waits else None

    def _is_unresolvable(self, diagnosis: Diagnosis, node: int) -> bool:
        number = int(diagnosis.first[node])
        return number >= 0 and diagnosis.rejections[number].verdict.unresolvable

    def _enough(self, nodes: int) -> int:
        share = nodes * self._args.min_candidate_nodes_percentage // 100
        return min(max(share, self._args.min_candidate_nodes_absolute), nodes)

    def _dry_run(self, plan: Plan, pod: int, nodes: Codes) -> Findings:
        """What evictions on each node would achieve, node by node until there is choice enough."""
        findings = Findings(self._enough(len(nodes)))
        lower_pods, _ = self._evictions.lower_priority_pods(plan.template.priority).current()
        occupied = nodes[lower_pods[nodes] > 0]
        findings.fail((NO_VICTIMS,), len(nodes) - len(occupied))
        if not occupied.size:
            return findings
        trials = self._trials(plan)
        if trials is None:
            self._try_each(occupied, findings, lambda node: self._evictions.try_on(plan, pod, node))
            return findings
        self._try_what_may_help(plan, pod, occupied, trials, findings)
        return findings

    def _try_what_may_help(
        self, plan: Plan, pod: int, nodes: Codes, trials: _Trials, findings: Findings
    ) -> None:
        """Try the nodes that are not known beforehand to stay closed, and say why the others do."""
        rooms = trials.rooms
        rooms.look()
        simple = self._without_contest(plan, pod)
        asked = simple[nodes]
        short = np.where(asked, rooms.short()[nodes], 0)
        skewed = np.where(asked & (short == 0), rooms.skewed()[nodes], 0) if trials.spread_next else short * 0

        def try_on(node: int) -> Found:
            return self._evictions.try_on(plan, pod, node)

        def find(node: int) -> Found:
            if not simple[node]:
                return try_on(node)
            if trials.by_numbers:
                return rooms.by_numbers(node)
            return rooms.remembered(node, try_on) if trials.remembered else try_on(node)

        self._try_each(nodes[(short == 0) & (skewed == 0)], findings, find)
        if not findings.candidates:
            for reasons, times in rooms.reasons(short, skewed):
                findings.fail(reasons, times)

    def _try_each(self, nodes: Codes, findings: Findings, find: Callable[[int], Found]) -> None:
        """Try one node after the other until there is choice enough."""
        for node in nodes.tolist():
            found = find(node)
            if not isinstance(found, Candidate):
                findings.fail(found)
            elif findings.add(found):
                return

    def _trials(self, plan: Plan) -> _Trials | None:
        """How dry runs go for a template, where room is the first thing that is asked about a node."""
        match plan.changing:
            case (NodeResourcesFit() as fit, *others):
                pass
            case _:
                return None
        template = plan.template
        spread = next((plugin for plugin in others if isinstance(plugin, PodTopologySpread)), None)
        if spread is not None and not all(rule.counts_alike_everywhere for rule in spread.hard(template)):
            return _Trials(self._rooms(template, fit))
        further = [plugin for plugin in others if plugin is not spread]
        if not others:
            return _Trials(self._rooms(template, fit), by_numbers=True)
        rooms = self._rooms(template, fit, spread, apart=True)
        if not further:
            return _Trials(rooms, by_numbers=True, spread_next=True)
        remembered = all(plugin.is_local(template) for plugin in further)
        return _Trials(rooms, remembered=remembered, spread_next=others[0] is spread)

    def _rooms(
        self,
        template: Template,
        fit: NodeResourcesFit,
        spread: PodTopologySpread | None = None,
        *,
        apart: bool = False,
    ) -> RoomTrials:
        """The dry runs of a template; unless they are to be apart, of all that ask for as much room."""
        key = template.index if apart else (template.priority, template.requests_key)
        found = self._room_trials.get(key)
        if found is None:
            found = RoomTrials(self._framework.state, fit, template, self._evictions, spread)
            self._room_trials[key] = found
        return found

    def _without_contest(self, plan: Plan, pod: int) -> Mask:
        """The nodes that no static filter refuses and that are promised to no pod ahead of this one."""
        contested = self._nominations.contested(pod)
        if not contested:
            return plan.static
        mask = plan.static.copy()
        mask[contested] = False
        return mask


def _is_being_preempted(pod: Pod) -> bool:
    """Whether a pod is on its way out because the scheduler preempted it."""
    return pod.is_terminating and any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )
