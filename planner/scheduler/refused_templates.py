"""Templates of which a pod was refused, kept until something changes that may help one.

A pod that comes to a node takes room, and one that leaves gives it back there alone.  Further away it matters
to the templates whose filters watch it: spread constraints and affinity.  With preemption that is no
different: a pod that comes and could be evicted again leaves what evictions can reach as it was.
"""

from __future__ import annotations

from collections import defaultdict

from planner.problem.nodes import Mask
from planner.scheduler.scheduler import Scheduler


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
