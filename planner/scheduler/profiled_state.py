"""A state with the frameworks of all profiles over it: what trial clusters and batches are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from models.objects.scheduler_config import KubeSchedulerProfile
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.scheduler.framework import Framework, Plan
from planner.scheduler.profile import build, profiles_of
from planner.state.state import State


class ProfiledState:
    """Asks the profile of a template, whichever of several that is, about the state as it is now."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem = problem
        self.state = state
        self.frameworks = {
            name: Framework(problem, state, build(config, problem, state))
            for name, config in profiles_of(problem.cluster.scheduler_config).items()
        }

    def framework(self, template: int) -> Framework:
        """The profile that schedules a template; the default one where its scheduler is not configured here.

        Such pods are neither placed nor moved, but what they request and count is needed all the same.
        """
        found = self.frameworks.get(self.problem.templates[template].pod.spec.scheduler_name)
        return self._default if found is None else found

    @cached_property
    def _default(self) -> Framework:
        profile = build(KubeSchedulerProfile(), self.problem, self.state)
        return Framework(self.problem, self.state, profile)

    def plan(self, template: int) -> Plan:
        """How the profile of a template filters and scores it."""
        return self.framework(template).plan(self.problem.templates[template])

    def accepts(self, template: int, node: int) -> bool:
        """Whether all filters accept one more pod of a template on a node now."""
        return self.framework(template).fits(self.plan(template), node)

    def leaves_open(self, template: int, within: Mask | None = None) -> bool:
        """Whether the snapshot does not tell of some node, of those `within`, whether it may accept a pod."""
        return self.framework(template).leaves_open(self.problem.templates[template], within)

    def wants(self, template: int) -> Sequence[tuple[int, int]]:
        """What has to be free on a node for a pod of a template: rows of the resource table and amounts."""
        filters = self.framework(template).profile.filters
        found = (plugin.wants(self.problem.templates[template]) for plugin in filters)
        return next((amounts for amounts in found if amounts is not None), ())

    @cached_property
    def room_needed(self) -> Ints:
        """For every template, how much of each resource has to be free on a node for a pod of it."""
        found = np.zeros((len(self.problem.templates), len(self.problem.resources)), np.int64)
        for template in range(len(found)):
            for row, amount in self.wants(template):
                found[template, row] = amount
        return found
