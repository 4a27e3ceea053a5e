"""PodDisruptionBudgets, as the eviction API sees them and as preemption does.

The disruption controller's own count is used where the snapshot has one.  Else it is computed here as the
controller would: percentages of the pods that should be there, rounded up.  Preemption computes nothing: for
it a budget without a status allows no disruption.

How many pods should be there: for `maxUnavailable` and percentages the controller adds up the replicas that
the controllers of the budget's pods ask for: of the Deployment, or of the ReplicaSet, ReplicationController
or StatefulSet.  A pod that is Terminating is no pod more.  Deliberate difference: pods without a controller
and those of one without replicas (Jobs, DaemonSets), for which it counts none or gives up, and pods whose
controller is not known, count themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from models import Cluster
from models.controllers.owners import Workloads, is_healthy, is_live
from models.controllers.reconcile import workloads_of
from models.objects.disruption import PodDisruptionBudget
from models.objects.pod import Pod
from models.objects.selectors import LabelSelector
from models.objects.share import pods_of_share
from models.objects.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet
from planner.problem.problem import Problem

#: The workloads that ask for a number of pods.
Scaled = Deployment | ReplicaSet | ReplicationController | StatefulSet


class ExpectedPods:
    """The replicas that are expected under each of some budgets, while their pods are added."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scales: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
        self._others: dict[int, int] = defaultdict(int)
        self._all: dict[int, int] = defaultdict(int)

    def add(self, budget: int, pod: Pod) -> None:
        """A pod that the budget of this number covers."""
        self._all[budget] += 1
        scaled = self._scaled(pod)
        if scaled is not None:
            self._scales[budget][scaled.kind, scaled.key] = scaled.spec.replicas
        else:
            self._others[budget] += is_live(pod)

    def of(self, number: int, budget: PodDisruptionBudget) -> int:
        """How many pods should be there; with a number of pods that must stay, those that are."""
        if budget.spec.asks_nothing:
            return 0
        if budget.spec.max_unavailable is None and isinstance(budget.spec.min_available, int):
            return self._all[number]
        return sum(self._scales[number].values()) + self._others[number]

    @cached_property
    def _workloads(self) -> Workloads:
        return workloads_of(self._cluster)

    def _scaled(self, pod: Pod) -> Scaled | None:
        """The workload whose replicas count; None where it is not known, or asks for no number."""
        owner, above = self._workloads.controller_of(pod), self._workloads.above(pod)
        # The replicas of any other kind of owner of a ReplicaSet are not looked at.
        asked = (above, owner) if above is not None and above.kind == "Deployment" else (owner,)
        for item in asked:
            if isinstance(item, Scaled) and "replicas" in item.spec.model_fields_set:
                return item
        return None


Label = tuple[str, str]


#: Why a pod stays whose budget has nothing left.
ALLOWS_NONE = "under a PodDisruptionBudget that allows no eviction"
#: Why a pod stays whatever its budgets have left: the eviction API refuses it.
TWO = "under two PodDisruptionBudgets"


@dataclass(frozen=True, slots=True)
class PodsOfCluster:
    """The pods of a cluster for which no Problem has been made: each is of a template of its own."""

    cluster: Cluster

    @property
    def pods(self) -> Sequence[Pod]:
        return self.cluster.pods

    @property
    def template_of(self) -> Sequence[int]:
        return range(len(self.cluster.pods))


#: The pods that budgets are asked about, by number.
CountedPods = Problem | PodsOfCluster


class CoveringBudgets:
    """The budgets of a snapshot, and which of them cover a pod."""

    def __init__(self, problem: CountedPods) -> None:
        self._problem = problem
        self.budgets = problem.cluster.pod_disruption_budgets
        #: Budgets by a label that their pods must have, so that a pod is matched against few of them.
        self._by_label: dict[tuple[str, Label | None], list[int]] = defaultdict(list)
        for number, budget in enumerate(self.budgets):
            if budget.spec.selector is not None:
                for label in _labels_asked(budget.spec.selector):
                    self._by_label[budget.namespace, label].append(number)
        #: Pods of a template have the same values of every label that a budget looks at.
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, pod: int) -> tuple[int, ...]:
        """Their numbers, whether or not its eviction counts against them."""
        if not self._by_label:
            return ()
        template = int(self._problem.template_of[pod])
        found = self._known.get(template)
        if found is None:
            found = self._known[template] = self._covering(self._problem.pods[pod])
        return found

    def _covering(self, pod: Pod) -> tuple[int, ...]:
        asked = {
            number
            for label in (*pod.metadata.labels.items(), None)
            for number in self._by_label.get((pod.namespace, label), ())
        }
        return tuple(number for number in sorted(asked) if self.budgets[number].covers(pod))


class Budgets(CoveringBudgets):
    """The budgets of a snapshot, which of them cover a pod, and how many evictions each allows."""

    def __init__(self, problem: CountedPods) -> None:
        super().__init__(problem)
        self._expected = ExpectedPods(problem.cluster)
        self._health = self._healthy_and_desired()
        self.allowed = [self._allowed(number) for number in range(len(self.budgets))]

    def asked(self, pod: int) -> tuple[int, ...]:
        """The budgets that the eviction of a pod is counted against.

        None for a pod that is Pending, nor for one that is not ready and whose only budget lets it go: with
        AlwaysAllow, or while enough others are healthy.
        """
        covering, found = self.of(pod), self._problem.pods[pod]
        if found.is_starting:
            return ()
        if not covering or not found.is_unready:
            return covering
        return () if len(covering) == 1 and self._lets_unhealthy_go(covering[0]) else covering

    def why_not(self, pod: int) -> str:
        """Why the eviction API refuses a pod now, if so."""
        covering = self.asked(pod)
        if len(covering) > 1:
            return TWO
        if covering and self.allowed[covering[0]] < 1:
            return ALLOWS_NONE
        return ""

    def limits(self, pods: Iterable[int]) -> Iterator[tuple[frozenset[int], int]]:
        """For every budget that does not allow all: its pods among these, and how many may be evicted."""
        return ((found, self.allowed[number]) for number, found in self.short(pods))

    def short(self, pods: Iterable[int]) -> Iterator[tuple[int, frozenset[int]]]:
        """Every budget that does not allow the eviction of all its pods among these, and those pods."""
        members: dict[int, set[int]] = defaultdict(set)
        for pod in pods:
            for number in self.asked(pod):
                members[number].add(pod)
        for number, found in members.items():
            if len(found) > self.allowed[number]:
                yield number, frozenset(found)

    def spare(self, number: int) -> int:
        """How many pods of a budget are healthy beyond what it wants; less than nothing where some lack."""
        healthy, desired = self._health[number]
        return healthy - desired

    def desired(self, number: int) -> int:
        """How many pods a budget wants to be healthy."""
        return self._health[number][1]

    def _allowed(self, number: int) -> int:
        """As the disruption controller has told, or would: nothing where it expects no pods."""
        budget = self.budgets[number]
        if budget.status is not None:
            return budget.status.disruptions_allowed
        return max(0, self.spare(number)) if self._expected.of(number, budget) else 0

    def _lets_unhealthy_go(self, number: int) -> bool:
        """Whether a pod that is not ready may be evicted whatever else the budget allows."""
        budget = self.budgets[number]
        if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
            return True
        healthy, desired = self._health[number]
        return healthy >= desired > 0

    def _healthy_and_desired(self) -> list[tuple[int, int]]:
        """The healthy and the desired pods of each budget, counted here where it has no status."""
        healthy = Counter[int]()
        if any(budget.status is None for budget in self.budgets):
            for number, pod in enumerate(self._problem.pods):
                for budget in self.of(number):
                    self._expected.add(budget, pod)
                    healthy[budget] += is_healthy(pod)
        return [
            (healthy[number], desired(budget, self._expected.of(number, budget)))
            if budget.status is None
            else (budget.status.current_healthy, budget.status.desired_healthy)
            for number, budget in enumerate(self.budgets)
        ]


def _labels_asked(selector: LabelSelector) -> Iterable[Label | None]:
    """Labels of which every selected pod has one; [None] where the selector fixes no value."""
    for key, operator, values in selector.requirements:
        if operator == "In":
            return [(key, value) for value in values]
    return [None]


def desired(budget: PodDisruptionBudget, pods: int) -> int:
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, pods - pods_of_share(spec.max_unavailable, pods, round_up=True))
    return 0 if spec.min_available is None else pods_of_share(spec.min_available, pods, round_up=True)


def draws_on(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector, status = budget.spec.selector, budget.status
    if budget.namespace != pod.namespace or selector is None or selector.empty or not pod.metadata.labels:
        return False
    counted = status is not None and pod.name in status.disrupted_pods
    return not counted and selector.matches(pod.metadata.labels)


def allowance(budget: PodDisruptionBudget) -> int:
    """How many evictions a budget allows now, as its controller last counted."""
    return budget.status.disruptions_allowed if budget.status else 0
