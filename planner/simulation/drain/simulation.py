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

from models.errors import InternalError
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
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
        if self._position == self._state.mark():
            return
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

    def __init__(
        self,
        problem: Problem,
        doubles: Mapping[int, int],
        absent: Collection[int],
        *,
        preemption: bool,
        seed: int | None = None,
    ) -> None:
        self._unasked: dict[int, int] = {}
        """The pods that were refused as the last one like them was, and the mark of the state then."""
        super().__init__(problem, doubles, absent, preemption=preemption, seed=seed)
        self._refused_templates = RefusedTemplates(self.scheduler)

    def _wait(self, pod: int) -> None:
        self._unasked.pop(pod, None)
        super()._wait(pod)

    def _answer(self, pod: int) -> None:
        if self._refused_templates.holds(int(self.problem.template_of[pod])):
            self._queue.refused(pod, int(self.problem.priorities[pod]), self.now)
            self._unasked[pod] = self.scheduler.state.mark()
        else:
            self._decide(pod)

    def _decide(self, pod: int) -> SchedulingDecision:
        decision = super()._decide(pod)
        # Where pods that end already would make room, a pod that comes there is evicted, too.
        if decision.node is None and not decision.victims and decision.nominated is None:
            self._refused_templates.add(pod)
        self._unasked.pop(pod, None)
        return decision

    def explain(self) -> None:
        """Say of all pods that wait why they were refused the last time."""
        state, left = self.scheduler.state, defaultdict[int, dict[int, list[int]]](dict)
        for pod, mark in self._unasked.items():
            if pod in self.waiting:
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
