"""The reference scheduler: kube-scheduler's decisions, one pod at a time.

Queue, filter, score, bind; when nothing fits, preempt and try again.  All nodes are scored, and a
tie goes to the smallest node name; with a seed, nodes are sampled and ties drawn as the program does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, takewhile

from planner.constraints.dynamic_resources import GIVEN_BACK
from planner.problem.nodes import Feasible, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.requests import MOST
from planner.scheduler.draws import Draws
from planner.scheduler.framework import Diagnosis, Framework, Plan
from planner.scheduler.nominations import Nominations
from planner.scheduler.preemption import Preemption, PreemptionOutcome
from planner.scheduler.profile import build, profiles_of
from planner.scheduler.succession import WORTH_A_SUCCESSION, nodes_in_succession
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class DecisionDetails:
    """All that was known when a pod was decided: its diagnosis, and the scores where nodes competed."""

    diagnosis: Diagnosis
    feasible: Mask
    scores: Mapping[str, Ints | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchedulingDecision:
    """What became of one pending pod; positions of pods and nodes in the problem."""

    pod: int
    node: int | None
    message: str = ""
    nominated: int | None = None
    victims: tuple[int, ...] = ()
    explanation: DecisionDetails | None = None


class Scheduler:
    """kube-scheduler over a state of its own."""

    def __init__(
        self,
        problem: Problem,
        *,
        preemption: bool = True,
        seed: int | None = None,
        explain: bool = False,
        before: State | None = None,
    ) -> None:
        """Over the snapshot's own placement; quicker where that is, but for nodes and more pods, `before`."""
        self.problem = problem
        self.state = State(problem, before=before)
        self._draws = None if seed is None else Draws(problem, seed)
        self._explain = explain
        self._nominations = Nominations(problem, self.state)
        self._frameworks: dict[str, Framework] = {}
        self._preemptions: dict[str, Preemption] = {}
        self._preempts = preemption
        self._in_vain: dict[str, tuple[Framework, Preemption | None]] = {}
        #: By template and promised node the version in which a pod was refused, and the decision.
        self._refused: dict[tuple[int, int | None], tuple[tuple[int, int], SchedulingDecision]] = {}
        for name in profiles_of(problem.cluster.scheduler_config):
            self._frameworks[name], preemptor = self._made(name)
            if preemptor is not None:
                self._preemptions[name] = preemptor

    def _made(self, name: str, *, reserves: bool = True) -> tuple[Framework, Preemption | None]:
        """The plugins of a profile, and its preemption unless it has none."""
        config = profiles_of(self.problem.cluster.scheduler_config)[name]
        profile = build(config, self.problem, self.state, reserves=reserves)
        framework = Framework(self.problem, self.state, profile)
        if not self._preempts or profile.preemption is None:
            return framework, None
        return framework, Preemption(framework, self._nominations, profile.preemption)

    @cached_property
    def queue(self) -> list[int]:
        """The pending pods in the order in which they are taken; those of unknown schedulers are not."""
        return [pod for pod in self.problem.queue() if self._scheduler_name(pod) in self._frameworks]

    def run(self) -> Iterator[SchedulingDecision]:
        """Decide every pending pod, in the queue's order."""
        self.restore_nominations(self.queue)
        for _, alike in groupby(self.queue, lambda pod: int(self.problem.template_of[pod])):
            pods, placed = [*alike], 0
            for node in self._in_succession(pods):
                yield SchedulingDecision(pods[placed], node)
                placed += 1
            for pod in pods[placed:]:
                yield self.take(pod)
                self.state.forget_history()

    def _in_succession(self, pods: Sequence[int]) -> Iterator[int]:
        """Bind the first of some pods of one template in large steps, to the nodes of single decisions."""
        if self._draws is not None or self._explain or not self.would_bind(pods[0]):
            return
        some = [*takewhile(lambda pod: not self.problem.held_back(pod), pods)]
        plan, framework, done = self.plan_of(pods[0]), self.framework_of(pods[0]), 0
        while len(some) - done >= WORTH_A_SUCCESSION and not self._nominations:
            nodes = nodes_in_succession(framework, plan, len(some) - done)
            if not nodes.size:
                return
            self.state.bind_all(some[done : done + len(nodes)], nodes)
            self.state.forget_history()
            done += len(nodes)
            yield from nodes.tolist()
            if len(nodes) < WORTH_A_SUCCESSION:
                return

    def take(self, pod: int) -> SchedulingDecision:
        """Decide a pod, or say why the scheduler does not even look at it."""
        return self._gated(pod) or self.decide(pod)

    def would_bind(self, pod: int) -> bool:
        """Whether a pod is looked at, and is bound if a node is free."""
        failure = self.framework_of(pod).bind_failure(self.problem.template(pod))
        return failure is None and self._gated(pod) is None

    @property
    def schedulers(self) -> frozenset[str]:
        return frozenset(self._frameworks)

    def restore_nominations(self, pods: Iterable[int]) -> None:
        """Take over the nominations that the snapshot shows for these pods."""
        for pod in pods:
            self._nominations.restore(pod)

    @property
    def version(self) -> tuple[int, int]:
        """Equal versions mean equal answers: pods and promises are where they were."""
        return self.state.version, self._nominations.changes

    @property
    def promises(self) -> int:
        return len(self._nominations)

    def is_promised(self, pod: int) -> bool:
        return self._nominations.node_of(pod) is not None

    def nominate(self, pod: int, node: int) -> None:
        """Promise a node to a pod that waits until others there have ended."""
        self._nominations.nominate(pod, node)

    def forget_nominations(self, pods: Iterable[int]) -> None:
        for pod in pods:
            self._nominations.withdraw(pod)

    def framework_of(self, pod: int) -> Framework:
        """The plugins that decide about a pod."""
        return self._frameworks[self._scheduler_name(pod)]

    def plan_of(self, pod: int) -> Plan:
        """What these plugins have to ask about the template of a pod."""
        return self.framework_of(pod).plan(self.problem.template(pod))

    def leaves_open(self, pod: int) -> bool:
        """Whether there is a node of which the snapshot does not tell whether these plugins accept it."""
        return self.framework_of(pod).leaves_open(self.problem.template(pod))

    def diagnose(self, pod: int) -> Diagnosis:
        """Every node's first refusal of a pod now, nodes promised to others respected.

        Where other filters leave no node to a pod that could not be bound, these alone are told, as in its
        line.
        """
        framework, template = self.framework_of(pod), self.problem.template(pod)
        if framework.bind_failure(template) is not None:
            others, _ = self._for_nothing(self._scheduler_name(pod))
            found = self._nominations.diagnose(others, others.plan(template), pod)
            if found.refusal is not None or (found.first >= 0).all():
                return found
        return self._nominations.diagnose(framework, framework.plan(template), pod)

    def _scheduler_name(self, pod: int) -> str:
        return self.problem.pods[pod].spec.scheduler_name

    def _gated(self, pod: int) -> SchedulingDecision | None:
        """The decision about a pod that is not even looked at: not created, gated, or without its claims."""
        if line := self.problem.held_back(pod):
            return SchedulingDecision(pod, None, line)
        waits = self.framework_of(pod).waits_for(self.problem.template(pod))
        return None if waits is None else SchedulingDecision(pod, None, f"not looked at: {waits}")

    def decide(self, pod: int) -> SchedulingDecision:
        """One scheduling cycle: bind the pod to the best node, or say why not and make room.

        A pod like one that was refused, and before anything changed, is refused, too.
        """
        alike = int(self.problem.template_of[pod]), self._nominations.node_of(pod)
        before, known = self.version, self._refused.get(alike)
        if known is not None and known[0] == before:
            return replace(known[1], pod=pod)
        found = self._decided(pod)
        if found.node is None and self.version == before:
            self._refused[alike] = before, found
        return found

    def _decided(self, pod: int) -> SchedulingDecision:
        name = self._scheduler_name(pod)
        framework, preemption = self._frameworks[name], self._preemptions.get(name)
        template = self.problem.template(pod)
        failure = framework.bind_failure(template)
        if failure is not None:
            framework, preemption = self._for_nothing(name)
        plan = framework.plan(template)
        found = self._find(framework, plan, pod)
        if found is None:
            return self._fail(framework, preemption, plan, pod, binds=failure is None)
        node, explanation = found
        if failure is not None:
            return SchedulingDecision(pod, None, failure, explanation=explanation)
        self._bind(pod, node)
        return SchedulingDecision(pod, node, explanation=explanation)

    def places(self, pod: int) -> bool:
        """Decide a pod where only that matters: whether it gets a node."""
        return self.decide_briefly(pod).node is not None

    def decide_briefly(self, pod: int) -> SchedulingDecision:
        """The same as `decide`; why there is no node is not asked when there is no pod to evict."""
        template = self.problem.template(pod)
        framework = self.framework_of(pod)
        if template.priority > self._least_priority or framework.bind_failure(template) is not None:
            return self.decide(pod)
        found = self._find(framework, framework.plan(template), pod)
        if found is None:
            return SchedulingDecision(pod, None)
        self._bind(pod, found[0])
        return SchedulingDecision(pod, found[0])

    @cached_property
    def _least_priority(self) -> int:
        return int(self.problem.priorities.min(initial=MOST))

    def _for_nothing(self, name: str) -> tuple[Framework, Preemption | None]:
        """A profile for pods that cannot be bound: only the API server refuses them, after all is decided."""
        if name not in self._in_vain:
            self._in_vain[name] = self._made(name, reserves=False)
        return self._in_vain[name]

    def _find(self, framework: Framework, plan: Plan, pod: int) -> tuple[int, DecisionDetails | None] | None:
        """The best node for a pod: its nominated one when that fits, else the one that scores highest."""
        nominated = self._nominations.node_of(pod)
        if nominated is not None and self._nominations.fits(framework, plan, pod, nominated):
            only = Feasible(self.problem.nodes.only(nominated))
            return nominated, self._explained(framework, plan, pod, only)
        feasible = self._nominations.restrict(framework, plan, pod, framework.feasible(plan))
        if not feasible.count:
            return None
        if self._draws is None:
            return framework.best(plan, feasible), self._explained(framework, plan, pod, feasible)
        found = self._draws.find(framework, plan, feasible)
        explanation = self._explained(framework, plan, pod, found.feasible)
        return self._draws.pick(framework, plan, found), explanation

    def _explained(
        self, framework: Framework, plan: Plan, pod: int, feasible: Feasible
    ) -> DecisionDetails | None:
        if not self._explain:
            return None
        diagnosis = self._nominations.diagnose(framework, plan, pod)
        scores: dict[str, Ints | int] = {}
        if feasible.count > 1:
            scores = {name: score * weight for name, weight, score in framework.scores(plan, feasible)}
        return DecisionDetails(diagnosis, feasible.mask, scores)

    def _fail(
        self, framework: Framework, preemption: Preemption | None, plan: Plan, pod: int, *, binds: bool
    ) -> SchedulingDecision:
        """Nothing fits: say why, and let preemption make room when it can."""
        diagnosis = self._nominations.diagnose(framework, plan, pod)
        explanation = DecisionDetails(diagnosis, self.problem.nodes.none) if self._explain else None
        message = diagnosis.message()
        tail, last = framework.tail(plan, diagnosis)
        if preemption is None or not self.problem.nodes.size or last:
            return SchedulingDecision(pod, None, f"{message} {tail}".rstrip(), explanation=explanation)
        outcome = preemption.attempt(plan, pod, diagnosis)
        if outcome.node is None:
            tails = ", ".join(text for text in (tail, outcome.message) if text)
            return SchedulingDecision(pod, None, f"{message} {tails}", explanation=explanation)
        # A claim that was given back is not allocated for the next try, whatever room was made.
        binds = binds and tail != GIVEN_BACK
        node = self._retry(framework, plan, pod, outcome, binds=binds) if outcome.victims else None
        return SchedulingDecision(pod, node, message, outcome.node, outcome.victims, explanation)

    def _retry(
        self, framework: Framework, plan: Plan, pod: int, outcome: PreemptionOutcome, *, binds: bool
    ) -> int | None:
        """With the victims gone, bind the pod: to the node made ready for it when it fits there."""
        for victim in outcome.victims:
            self.state.unbind(victim)
        if outcome.node is not None:
            self._nominations.nominate(pod, outcome.node)
        found = self._find(framework, plan, pod)
        self._nominations.withdraw(pod)
        if found is None or not binds:
            return None
        self._bind(pod, found[0])
        return found[0]

    def _bind(self, pod: int, node: int) -> None:
        self._nominations.withdraw(pod)
        self.state.bind(pod, node)
