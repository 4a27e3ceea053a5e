"""The pods of a snapshot that are to be placed, by template, and the state they come to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.constraints import OF_NODES, Filter
from planner.constraints.family import PLENTY
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import Controllers
from planner.eviction.movable import movable
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.problem.volume_claims import Claims
from planner.proof.bounds import Assumption
from planner.scheduler.framework import Framework, filters_by_profile
from planner.scheduler.order import Placement, Step
from planner.scheduler.profile import make_filters, profiles_of, switched_off
from planner.scheduler.profiled_state import ProfiledState
from planner.scheduler.scheduler import Scheduler
from planner.state.state import State


class Pending(ProfiledState):
    """What is to be placed, and every plugin's answer about it.

    These are the pending pods that no gate holds back; on request also the running ones that may be
    evicted.  The state is without the latter.
    """

    def __init__(self, problem: Problem, *, moves: bool = False, jobs: bool = False) -> None:
        """With `moves` running pods may be evicted, with `jobs` those of Jobs as well that survive it."""
        self.controllers = Controllers(problem, jobs=jobs)
        #: Why running pods stay that could be evicted otherwise: their controllers, or they would not end.
        self.kept: list[str] = []
        #: Pods of which so many may be evicted at most.
        self.budgets: list[tuple[frozenset[int], int]] = []
        self._movable = self._read_movable(problem) if moves else []
        node_of = problem.node_of.copy()
        node_of[self._movable] = -1
        super().__init__(problem, State(problem, node_of))
        self._free: Ints = problem.allocatable - self.state.used
        self.scheduler = Scheduler(problem, preemption=False)
        self.running = self._read_running()
        self.pods = self._read_pods()
        #: The pods of every template: those that are pending, then those that run.
        self.every = {number: [*pods] for number, pods in self.pods.items()}
        for (number, _), running in self.running.items():
            self.every[number] += running
        self.wanted = {number: len(pods) for number, pods in self.every.items()}
        self.priorities = sorted({self.priority(number) for number in self.pods}, reverse=True)

    def _read_movable(self, problem: Problem) -> list[int]:
        """The running pods that may be evicted and that some profile would place again."""
        known, pods = profiles_of(problem.cluster.scheduler_config), problem.pods
        budgets, endings = Budgets(problem), problem.endings
        # A pod that runs although its claims wait has them bound meanwhile: where to, the snapshot is too old
        # to say, and so where a pod that replaces it may come.
        claims = Claims(problem.cluster, problem.nodes, pods)
        asked = [
            pod
            for pod in movable(problem)
            if pods[pod].spec.scheduler_name in known
            and not budgets.why_not(pod)
            and not claims.unbound(pods[pod])
        ]
        reasons = [self.controllers.why_not(pod) or endings.why_not_moved(pod) for pod in asked]
        self.kept = [reason for reason in reasons if reason]
        found = [pod for pod, reason in zip(asked, reasons, strict=True) if not reason]
        ordered = ((several, 1) for several in self.controllers.one_at_a_time(found) if len(several) > 1)
        self.budgets = [*budgets.limits(found), *self.controllers.limits(found), *ordered]
        return found

    def _read_running(self) -> dict[Step, list[int]]:
        """The pods of each template on each node that may be evicted; the first to go stands first."""
        running: dict[Step, list[int]] = defaultdict(list)
        for pod in sorted(self._movable, key=lambda pod: (self.problem.pods[pod].deletion_cost, pod)):
            running[int(self.problem.template_of[pod]), int(self.problem.node_of[pod])].append(pod)
        return dict(sorted(running.items(), key=lambda item: item[0][0]))

    def _read_pods(self) -> dict[int, list[int]]:
        """The pending pods of every template to be placed; the first to be taken stands last."""
        pods: dict[int, list[int]] = defaultdict(list)
        for pod in reversed(self.scheduler.queue):
            if not self.problem.held_back(pod):
                pods[int(self.problem.template_of[pod])].append(pod)
        for number, _ in self.running:
            pods.setdefault(number, [])
        return dict(pods)

    @cached_property
    def budgets_of_templates(self) -> list[tuple[set[int], int]]:
        """Templates, and how many of their pods may be evicted at most."""
        template_of = self.problem.template_of
        return [({int(template_of[pod]) for pod in pods}, allowed) for pods, allowed in self.budgets]

    def current_nodes(self) -> Iterator[tuple[int, int]]:
        """The running pods that may be evicted, each with its node."""
        return ((pod, int(self.problem.node_of[pod])) for pod in self._movable)

    def bind_where_they_run(self, gone: Container[int] = ()) -> None:
        """Bind the running pods that may be evicted, but for those that are gone, to their nodes."""
        for pod, node in self.current_nodes():
            if pod not in gone:
                self.state.bind(pod, node)

    def running_counts(self) -> dict[int, Ints]:
        """For every template how many pods that may be evicted each node has."""
        found = {number: np.zeros(self.problem.nodes.size, np.int64) for number, _ in self.running}
        for (number, node), pods in self.running.items():
            found[number][node] = len(pods)
        return found

    def template(self, number: int) -> Template:
        return self.problem.templates[number]

    def priority(self, number: int) -> int:
        return self.problem.templates[number].priority

    def fits(self, pod: int, node: int) -> bool:
        return self.accepts(int(self.problem.template_of[pod]), node)

    @cached_property
    def static(self) -> Mapping[int, Mask]:
        """For every template the nodes that no static rule refuses, whatever the state."""
        return {number: self.plan(number).static for number in self.pods}

    @cached_property
    def undecided(self) -> frozenset[int]:
        """The templates of which it is not told for some node with room whether it accepts a pod."""
        return frozenset(number for number in self.pods if self.leaves_open(number, self._with_room(number)))

    def _with_room(self, number: int) -> Mask:
        """The nodes that have room for a pod when those that may be evicted are gone; no plan makes more."""
        devices, found = {*self.problem.extended_rows}, self.problem.nodes.every
        for row, amount in self.wants(number):
            if row not in devices:
                found = found & (self._free[row] >= amount)
        return found

    @property
    def assumes(self) -> frozenset[Assumption]:
        """What bounds take for granted that know no more than the filters do."""
        return frozenset({Assumption.NOTHING_UNDECIDED} if self.undecided else ())

    def only_room_decides(self) -> bool:
        """Whether nothing but free resources keeps pods from the nodes that static rules leave them."""
        plans = [self.plan(number) for number in self.pods]
        return (
            all(plugin.wants(plan.template) is not None for plan in plans for plugin in plan.changing)
            and not self.budgets
        )

    def evictions_only_help(self) -> bool:
        """Whether a bind accepted beside pods that may be evicted, if any, is accepted without them, too."""
        plans = [self.plan(number) for number in self.pods if self.running]
        return not any(plugin.wants_pods(plan.template) for plan in plans for plugin in plan.changing)

    def room(self, wanted: Mapping[int, int], *, final_state: bool = False) -> dict[int, Ints]:
        """For every template the most of its wanted pods that each node could take, as the state is now.

        Of a `final_state` whatever its profile leaves out of what nodes have.
        """
        frameworks = self._complete if final_state else self.frameworks
        fitting: ArrayCache[Ints | None] = ArrayCache(self.problem.nodes.size)
        return {number: self._room(frameworks, number, wanted, fitting) for number in wanted}

    def room_on(self, nodes: Collection[int], wanted: Mapping[int, int]) -> dict[int, Ints]:
        """The same on some nodes, and none on all others."""
        chosen = self.problem.nodes.mask_of([*nodes])
        return {number: room * chosen for number, room in self.room(wanted).items()}

    def by_priority(self, pods: Mapping[int, int]) -> Counter[int]:
        found = Counter[int]()
        for number, count in pods.items():
            found[self.priority(number)] += count
        return found

    def _room(
        self,
        frameworks: Mapping[str, Framework],
        number: int,
        wanted: Mapping[int, int],
        fitting: ArrayCache[Ints | None],
    ) -> Ints:
        template = self.template(number)
        plan = frameworks[template.pod.spec.scheduler_name].plan(template)
        room = np.where(plan.static, PLENTY, 0)
        for plugin in plan.changing:
            most = _most(plugin, plan.template, wanted, fitting)
            if most is not None:
                np.minimum(room, most, out=room)
        # There is one for every template: half the size is a gigabyte less for 2,000 of 100,000 nodes.
        return np.minimum(room, wanted[number]).astype(np.int32)

    def free_room(self) -> Ints:
        """What is free on every node of each resource."""
        free: Ints = np.maximum(self.problem.allocatable - self.state.used, 0)
        return free

    def traits(self) -> Iterator[NDArray[Any]]:
        """What tells nodes apart: what rules look at first, then which pods fit, then what they offer."""
        for filters, templates in self.profiles():
            for plugin in filters:
                for number in templates:
                    yield from plugin.tells_apart(self.template(number))
        yield from self.static.values()
        yield from self.problem.allocatable

    def profiles(self, *, final_state: bool = False) -> list[tuple[tuple[Filter, ...], frozenset[int]]]:
        """Every profile's filters, and which of the templates are its own.

        Of a `final_state` with those about what nodes have, which hold for pods of all profiles.
        """
        frameworks = self._complete if final_state else self.frameworks
        return filters_by_profile(frameworks, map(self.template, self.pods))

    def running_by_profile(self) -> list[tuple[tuple[Filter, ...], frozenset[int]]]:
        """Every profile's filters, and the templates of the pods that run and stay where they are."""
        placed = np.unique(self.problem.template_of[self.state.node_of >= 0]).tolist()
        return filters_by_profile(self.frameworks, map(self.template, placed))

    @cached_property
    def _complete(self) -> Mapping[str, Framework]:
        """The frameworks with all filters about what nodes have, also those that a profile leaves out."""
        problem, state, found = self.problem, self.state, dict(self.frameworks)
        for name, config in profiles_of(problem.cluster.scheduler_config).items():
            profile = found[name].profile
            if missing := [kind for kind in switched_off(config) if kind in OF_NODES]:
                more = make_filters(missing, config, problem, state)
                found[name] = Framework(problem, state, replace(profile, filters=(*profile.filters, *more)))
        return found

    def placed(self, placement: Placement | Iterable[Step]) -> tuple[int, ...]:
        """The pods placed of every priority, the highest first."""
        counts: Counter[int] = Counter()
        if isinstance(placement, Mapping):
            for (template, _), pods in placement.items():
                counts[template] += pods
        else:
            counts.update(map(itemgetter(0), placement))
        return self.of_priorities(counts)

    def of_priorities(self, pods: Mapping[int, int]) -> tuple[int, ...]:
        """So many pods of every template, for every priority, the highest first."""
        found = self.by_priority(pods)
        return tuple(found[priority] for priority in self.priorities)


def _most(
    plugin: Filter, template: Template, wanted: Mapping[int, int], fitting: ArrayCache[Ints | None]
) -> Ints | None:
    """What a filter says of a template; where free room is all it asks for, once for each request."""
    wants = plugin.wants(template)
    if wants is None:
        return plugin.most(template, wanted)
    return fitting.get((plugin, *wants), lambda: plugin.most(template, wanted))
