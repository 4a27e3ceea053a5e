"""The pending pods of a snapshot that no gate holds back, by template, and the state they come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from planner.constraints import Filter
from planner.constraints.family import PLENTY
from planner.framework import Framework
from planner.nodes import Ints, Mask
from planner.order import Placement, Step
from planner.problem import Problem
from planner.profile import build, profiles_of
from planner.scheduler import Scheduler
from planner.state import State
from planner.templates import Template


class Pending:
    """What is to be placed, and every plugin's opinion on it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.state = State(problem)
        self.frameworks = {
            name: Framework(problem, self.state, build(config, problem, self.state))
            for name, config in profiles_of(problem.cluster.scheduler_config).items()
        }
        self.scheduler = Scheduler(problem, preemption=False)
        self.pods = self._read_pods()
        self.wanted = {number: len(pods) for number, pods in self.pods.items()}
        self.priorities = sorted({self.priority(number) for number in self.pods}, reverse=True)

    def _read_pods(self) -> dict[int, list[int]]:
        """The pods of every template; the first to be taken stands last."""
        pods: dict[int, list[int]] = defaultdict(list)
        for pod in reversed(self.scheduler.queue):
            if not self.problem.pods[pod].spec.scheduling_gates:
                pods[int(self.problem.template_of[pod])].append(pod)
        return dict(pods)

    def template(self, number: int) -> Template:
        """A template by its number."""
        return self.problem.templates[number]

    def priority(self, number: int) -> int:
        """The priority of a template's pods."""
        return self.problem.templates[number].priority

    def framework(self, number: int) -> Framework:
        """The profile that schedules a template."""
        return self.frameworks[self.problem.templates[number].pod.spec.scheduler_name]

    @cached_property
    def settled(self) -> Mapping[int, Mask]:
        """For every template the nodes that no settled rule refuses, whatever the state."""
        return {number: self.framework(number).plan(self.template(number)).settled for number in self.pods}

    def room(self, wanted: Mapping[int, int]) -> dict[int, Ints]:
        """For every template the most of its wanted pods that each node could take, as the state is now."""
        return {number: self._room(number, wanted) for number in wanted}

    def _room(self, number: int, wanted: Mapping[int, int]) -> Ints:
        plan = self.framework(number).plan(self.template(number))
        room = np.where(plan.settled, PLENTY, 0)
        for plugin in plan.changing:
            most = plugin.most(plan.template, wanted)
            if most is not None:
                room = np.minimum(room, most)
        return np.minimum(room, wanted[number])

    def profiles(self) -> list[tuple[tuple[Filter, ...], frozenset[int]]]:
        """Every profile's filters, and which of the templates are its own."""
        own: dict[str, set[int]] = defaultdict(set)
        for number in self.pods:
            own[self.template(number).pod.spec.scheduler_name].add(number)
        return [(self.frameworks[name].profile.filters, frozenset(numbers)) for name, numbers in own.items()]

    def placed(self, placement: Placement | Iterable[Step]) -> tuple[int, ...]:
        """The pods placed of every priority, the highest first."""
        placed = dict.fromkeys(self.priorities, 0)
        steps = placement.items() if isinstance(placement, Mapping) else ((step, 1) for step in placement)
        for (template, _), pods in steps:
            placed[self.priority(template)] += pods
        return tuple(placed.values())
