"""The cluster of a drain: pods that find no node are refused template by template, and asked why at the end.

A drain of most nodes refuses thousands of pods in each of thousands of waves.  Why one is refused is of
interest for those alone that are left, and then as it was when they were refused: the journal of the state
goes back there.

A pod that comes to a node takes room, and one that leaves gives it back there alone.  Further away it matters
to the templates whose filters watch it: spread constraints and affinity.  With preemption that is no
different: a pod that comes and could be evicted again leaves what evictions can reach as it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import takewhile

from models.errors import InternalError
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.simulation.drain.timeless_queue import TimelessQueue
from planner.simulation.rollout.cluster_simulation import ClusterSimulation


class RefusedTemplates:
    """Which templates are refused still, by the journal of a state that forgets nothing."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._state = scheduler, scheduler.state
        self._problem = scheduler.problem
        self._static: dict[int, Mask] = {}
        """For the refused templates the nodes to which their pods could come."""
        self._watched: dict[int, frozenset[int] | None] = {}
        self._watched_by: dict[int, set[int]] = defaultdict(set)
        self._position = self._state.mark()

    def add(self, pod: int) -> None:
        """A pod was refused just now, and so would be all others of its template."""
        self._catch_up()
        template = int(self._problem.template_of[pod])
        watched = self._watches(template, pod)
        if watched is not None:
            self._static[template] = self._scheduler.plan_of(pod).static
            for other in watched:
                self._watched_by[other].add(template)

    def holds(self, template: int) -> bool:
        """Whether nothing has happened since that could help a pod of the template."""
        self._catch_up()
        return template in self._static

    def _watches(self, template: int, pod: int) -> frozenset[int] | None:
        """The templates whose pods elsewhere matter; None where more than that may."""
        if template not in self._watched:
            self._watched[template] = self._all_watched(pod)
        return self._watched[template]

    def _all_watched(self, pod: int) -> frozenset[int] | None:
        template, plan = self._problem.template(pod), self._scheduler.plan_of(pod)
        if plan.refusal is not None or template.pod.spec.resource_claims:
            return None
        found: set[int] = set()
        for plugin in plan.changing:
            watched = plugin.watches(template)
            # What is counted over many nodes is watched on a pod's own node, too.
            if watched is None or (plugin.is_local(template) and plugin.wants_pods(template)):
                return None
            found.update(watched)
        return frozenset(found)

    def _catch_up(self) -> None:
        """Drop the templates that what has happened may help."""
        for pod, node, came in self._state.moves_since(self._position):
            for template in self._watched_by.get(int(self._problem.template_of[pod]), ()):
                self._static.pop(template, None)
            if not came:
                helped = [number for number, static in self._static.items() if static.item(node)]
                for template in helped:
                    del self._static[template]
        self._position = self._state.mark()


class DrainSimulation(ClusterSimulation):
    """Pods, nodes and the scheduler of a drain, in which no time passes."""

    _queue: TimelessQueue

    def __init__(
        self,
        problem: Problem,
        doubles: Mapping[int, int],
        absent: Collection[int],
        *,
        preemption: bool,
        seed: int | None = None,
    ) -> None:
        self._alike: dict[int, dict[int, None]] = {}
        """The pods that wait for a node by template, and some that do no more."""
        self._finds_one_at = -1
        super().__init__(problem, doubles, absent, preemption=preemption, seed=seed)
        self._refused_templates = RefusedTemplates(self.scheduler)

    def _new_queue(self) -> TimelessQueue:
        return TimelessQueue()

    def _wait(self, pod: int) -> None:
        super()._wait(pod)
        scheduler = self.problem.pods[pod].spec.scheduler_name
        if pod not in self.messages and scheduler in self.scheduler.schedulers:
            self._alike.setdefault(int(self.problem.template_of[pod]), {})[pod] = None

    def schedule(self, most: int) -> bool:
        """Try every waiting pod until none can be helped; whether that changed anything."""
        before = self._changes
        while len(self.happened) < most:
            if not self._queue.has_new and self._finds_none_any():
                self._queue.refuse_all(self.scheduler.state.mark())
                break
            if not self.schedule_one():
                break
        return self._changes > before

    def _answer(self, pod: int, template: int) -> None:
        if self._refused_templates.holds(template):
            self._refuse_unasked(pod)
        else:
            self._decide(pod, template)

    def _decide(self, pod: int, template: int) -> SchedulingDecision:
        decision = super()._decide(pod, template)
        self._remember(decision)
        return decision

    def _remember(self, decision: SchedulingDecision) -> bool:
        """Keep in mind that a pod was refused, if it was and nothing was done about it; whether that is so.

        Where pods that end already would make room, a pod that comes there is evicted, too: that is not kept.
        """
        refused = decision.node is None and not decision.victims
        if refused and decision.nominated is None:
            self._refused_templates.add(decision.pod)
        return refused

    def _refuse(self, pod: int, template: int, message: str) -> None:
        super()._refuse(pod, template, message)
        self._queue.note(pod, None)

    def _refuse_unasked(self, pod: int) -> None:
        """Refuse a pod as the last one like it, and leave it for later why."""
        self._queue.refused(pod, int(self.problem.priorities[pod]), self.now)
        self._queue.note(pod, self.scheduler.state.mark())

    def _finds_none_any(self) -> bool:
        """Whether no pod that waits finds a node now; only asked again once something has changed."""
        mark = self.scheduler.state.mark()
        if self._finds_one_at == mark:
            return False
        for template, pods in [*self._alike.items()]:
            for pod in [*takewhile(lambda pod: pod not in self.waiting, pods)]:
                del pods[pod]
            if not pods:
                del self._alike[template]
            elif not self._refused_templates.holds(template) and not self._finds_none(
                next(iter(pods)), template
            ):
                self._finds_one_at = mark
                return False
        return True

    def _finds_none(self, pod: int, template: int) -> bool:
        """Whether the scheduler would refuse a pod, and evict none for it; tried and undone."""
        state = self.scheduler.state
        if self._refusals.get(template, (-1, ""))[0] == self._changes:
            return False
        mark = state.mark()
        refused = self._remember(self.scheduler.decide(pod))
        state.rollback(mark)
        return refused

    def explain(self) -> None:
        """Say of all pods that wait why they were refused the last time."""
        state, left = self.scheduler.state, defaultdict[int, dict[int, list[int]]](dict)
        for pod, mark in self._queue.notes().items():
            if pod in self.waiting and mark is not None:
                left[mark].setdefault(int(self.problem.template_of[pod]), []).append(pod)
        undone = [*state.moves_since(min(left, default=state.mark()))]
        for mark in sorted(left, reverse=True):
            state.rollback(mark)
            for pods in left[mark].values():
                decision = self.scheduler.decide(pods[0])
                if decision.node is not None or decision.victims:
                    raise InternalError(f"{self.problem.pods[pods[0]].key} was refused and is not any more")
                self.messages.update(dict.fromkeys(pods, decision.message))
        state.redo(undone)
