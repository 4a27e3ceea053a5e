"""DefaultPreemption: evicting pods of lower priority to make room for one that fits nowhere.

Kubernetes 1.34: evictions are tried on every node where they might help, until there is choice enough.
The node is chosen by fewest broken budgets, then the lowest highest priority among its victims, the
smallest sum of priorities, the fewest victims, the latest start of the most important.

As in the conformance runs, a pod that still waits for terminating victims at the end of its cycle does
not reserve its node against later pods; nominations that the snapshot shows do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from models.objects.pod import Pod
from models.objects.scheduler_config import DefaultPreemptionArgs
from planner.constraints.node_resources import NodeResourcesFit
from planner.problem.nodes import Codes, Mask
from planner.scheduler.evictions import NO_VICTIMS, Candidate, Evictions
from planner.scheduler.framework import Diagnosis, Framework, Plan, unavailable
from planner.scheduler.nominations import Nominations
from planner.scheduler.room_trials import RoomTrials

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
        trials = self._trials(plan)
        if trials is None:
            self._try_each(plan, pod, occupied, findings)
            return findings
        short = trials.short()
        by_room = self._only_room_matters(plan, pod)
        hopeless = by_room[occupied] & (short[occupied] != 0)
        self._try_each(plan, pod, occupied[~hopeless], findings, (trials, by_room))
        if not findings.candidates:
            for reasons, times in trials.reasons(short[occupied[hopeless]]):
                findings.fail(reasons, times)
        return findings

    def _try_each(
        self,
        plan: Plan,
        pod: int,
        nodes: Codes,
        findings: Findings,
        rooms: tuple[RoomTrials, Mask] | None = None,
    ) -> None:
        """Try one node after the other: by room where that is all that matters, else by all filters."""
        for node in nodes.tolist():
            if rooms is not None and rooms[1][node]:
                found: Candidate | tuple[str, ...] = rooms[0].candidate(node)
            else:
                found = self._evictions.try_on(plan, pod, node)
            if not isinstance(found, Candidate):
                findings.fail(found)
            elif findings.add(found):
                return

    def _trials(self, plan: Plan) -> RoomTrials | None:
        """Dry runs by room, when evictions can change nothing else that matters to the pod."""
        match plan.changing:
            case (NodeResourcesFit() as fit,):
                pass
            case _:
                return None
        template = plan.template
        key = template.priority, template.requests_key
        found = self._room_trials.get(key)
        if found is None:
            lower = self._evictions.lower_priority_pods(template.priority)
            found = RoomTrials(self._framework.state, fit, template, lower, self._evictions)
            self._room_trials[key] = found
        return found

    def _only_room_matters(self, plan: Plan, pod: int) -> Mask:
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
