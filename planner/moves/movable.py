"""Which pods may be moved, what each move costs, and why the others stay.

A pod may be moved when a controller makes another one in its place.  What protects a pod beyond that
are Descheduler's default rules, and the annotations that cluster-autoscaler and Descheduler know.  What its
controller does after an eviction is asked of `planner.eviction.controllers`, and no policy changes that.
Pods outside the chosen scope stay, and so do those that would not end (`planner.problem.endings`).  A budget
that allows nothing, and two budgets over one pod, are refused by the eviction API: such pods stay too.  So do
pods whose profile does not run a filter that could refuse them a node, spread aside: nothing keeps their
replacements from nodes where they break something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from operator import attrgetter

import numpy as np

from models.objects.pod import Pod
from planner.constraints import Filter
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import Controllers
from planner.eviction.movable import asks_to_stay, has_local_storage, keeps_local_data
from planner.eviction.protections import Protections
from planner.problem.derived import forget
from planner.problem.nodes import Codes, Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.problem.volume_claims import Claims
from planner.scheduler.profile import make_filters, profiles_of, switched_off
from planner.state.state import State

#: Something that is counted, and how many of it are allowed.
Limit = tuple[Hashable, int]


class LimitUse:
    """How much of every limit is used."""

    def __init__(self) -> None:
        self._used = Counter[Hashable]()

    def allow(self, more: Iterable[Limit]) -> bool:
        """Whether so many more are allowed, one of each limit every time that it is named."""
        several = [*more]
        numbers = Counter(key for key, _ in several)
        return all(self._used[key] + numbers[key] <= most for key, most in several)

    def use(self, more: Iterable[Limit]) -> None:
        """Count one more of each limit every time that it is named."""
        self._used.update(key for key, _ in more)


class Movable:
    """For every pod whether it may be moved, and the cost of moving it: its weight, 0 if it stays."""

    def __init__(
        self,
        problem: Problem,
        protections: Protections,
        budgets: Budgets,
        left_alone: Mapping[int, str] | None = None,
        *,
        jobs: bool = False,
    ) -> None:
        """The pods of a problem; `left_alone` gives the reason for each pod that stays for another reason.

        With `jobs` pods of Jobs may be moved if the Job survives the eviction.
        """
        self._problem = problem
        self.controllers = Controllers(problem, jobs=jobs)
        self._left_alone = left_alone or {}
        self.protections = protections
        self._budgets = budgets
        self._profiles = profiles_of(problem.cluster.scheduler_config)
        self._unchecked = UncheckedFilters(problem)
        self._claims = Claims(problem.cluster, problem.nodes, problem.pods)
        self._pod_rules = [*self._rules_of_pods()]
        self._of_template = [self._template_stays(template) for template in problem.templates]
        self.reasons: dict[int, str] = {}
        self.weights: Ints = np.zeros(len(problem.pods), np.int64)
        self._weigh()

    def without(self, pods: Iterable[int], reason: str) -> Movable:
        """A copy in which some more pods stay, for a reason."""
        found, more = copy(self), [*pods]
        forget(found, Movable._by_template, Movable.quotas)
        found.reasons = {**self.reasons, **dict.fromkeys(more, reason)}
        found.weights = self.weights.copy()
        found.weights[more] = 0
        return found

    def _weigh(self) -> None:
        """Rank the movable pods by priority and deletion cost: 1 for the cheapest rank, then 2, 3, ...."""
        costs: dict[int, tuple[int, int]] = {}
        pods, template_of = self._problem.pods, self._problem.template_of.tolist()
        for pod in np.flatnonzero(self._problem.node_of >= 0).tolist():
            reason = (
                self._left_alone.get(pod)
                or self._of_template[template_of[pod]]
                or self.controllers.why_not(pod)
                or self._pod_stays(pod)
            )
            if reason:
                self.reasons[pod] = reason
            else:
                costs[pod] = (pods[pod].priority, pods[pod].deletion_cost)
        ranks = {cost: rank for rank, cost in enumerate(sorted(set(costs.values())), start=1)}
        self.weights[[*costs]] = [*map(ranks.__getitem__, costs.values())]

    def _template_stays(self, template: Template) -> str:
        """Why no pod of a template may go, if so."""
        rules, pod = self.protections, template.pod
        kind = "" if template.owner is None else template.owner.kind
        volumes = pod.spec.volumes
        claims = any(v.persistent_volume_claim or v.ephemeral for v in volumes)
        checks = (
            (not kind or kind == "Node", "without a controller"),
            (kind == "DaemonSet" and rules.daemon_sets, "of a DaemonSet"),
            (template.terminating, "terminating"),
            (pod.spec.scheduler_name not in self._profiles, "of another scheduler"),
            (bool(unchecked := self._unchecked.of(template)), f"of a profile without {unchecked}"),
            (
                rules.priority_from is not None and template.priority >= rules.priority_from,
                "of too high a priority",
            ),
            (rules.claims and claims, "with volume claims"),
            # They have been bound since the snapshot: to what, and so to which nodes, is not known.
            (claims and bool(self._claims.unbound(pod)), "with volume claims that wait"),
            (rules.resource_claims and bool(pod.spec.resource_claims), "with resource claims"),
            (template.namespace in rules.excluded, "of another namespace"),
            (bool(rules.included) and template.namespace not in rules.included, "of another namespace"),
            (self._too_few(template), "with too few replicas"),
        )
        return next((reason for applies, reason in checks if applies), "")

    def _too_few(self, template: Template) -> bool:
        wanted = self.protections.min_replicas
        return wanted > 1 and self._replicas[_owner_key(template)] < wanted

    @cached_property
    def _replicas(self) -> Counter[object]:
        """How many pods each owner has."""
        found: Counter[object] = Counter()
        for template, pods in zip(
            self._problem.templates, self._problem.pods_per_template.tolist(), strict=True
        ):
            found[_owner_key(template)] += pods
        return found

    def _pod_stays(self, pod: int) -> str:
        """Why one pod of a movable template may not go, if so."""
        found = self._problem.pods[pod]
        for applies, reason in self._pod_rules:
            if applies(found):
                return reason
        if endless := self._problem.endings.why_not_moved(pod):
            return endless
        if self.protections.without_budget and not self._budgets.of(pod):
            return "without a PodDisruptionBudget"
        return self._budgets.why_not(pod) if self._budgets.budgets else ""

    def _rules_of_pods(self) -> Iterator[tuple[Callable[[Pod], bool], str]]:
        """The rules to check for every pod; only those in force, as there are tens of thousands of pods."""
        rules = self.protections
        yield attrgetter("is_mirror"), "mirrored by a kubelet"
        if rules.local_storage:
            # Pods of one template may differ in volumes that no filter looks at.
            yield keeps_local_data if rules.safe_to_evict else has_local_storage, "with local storage"
        yield asks_to_stay, "with an annotation against eviction"
        if (selector := rules.selector) is not None:
            yield lambda pod: not selector.matches(pod.metadata.labels), "outside the policy's labels"
        if rules.min_age is not None and self.now is not None:
            since = self.now - rules.min_age
            yield lambda pod: (pod.metadata.creation_timestamp or since) > since, "too young"

    @cached_property
    def now(self) -> datetime | None:
        """The newest time stamp of any pod in the snapshot: the result does not depend on the clock."""
        return max((time for pod in self._problem.pods for time in _times(pod)), default=None)

    @cached_property
    def quotas(self) -> tuple[tuple[frozenset[int], int], ...]:
        """Templates of which only so many pods may be evicted: those of a Job with few retries left."""
        limits = self.controllers.limits(np.flatnonzero(self.weights).tolist())
        template_of = self._problem.template_of
        return tuple((frozenset(template_of[[*pods]].tolist()), most) for pods, most in limits)

    @cached_property
    def _by_template(self) -> dict[int, Codes]:
        pods = np.flatnonzero(self.weights)
        templates = self._problem.template_of[pods]
        return {template: pods[templates == template] for template in np.unique(templates).tolist()}

    def of(self, template: int) -> Codes:
        return self._by_template.get(template, np.empty(0, np.intp))

    def overdrawn(self, pods: Sequence[int]) -> Iterator[int]:
        """Pods of Jobs that would fail by all these evictions, as many as have to stay to prevent that.

        A search keeps to the evictions that a Job survives, but a pod may move more than once.
        """
        times, controllers = Counter(pods), self.controllers
        for job, impact in controllers.impacts(pods):
            if impact.outcome == "Fails":
                own = [pod for pod in times if controllers.job_of(pod) is job]
                kept = [pod for pod in own if times[pod] == 1][: controllers.jobs.retries(job)]
                every = np.flatnonzero(self.weights).tolist()
                yield from (pod for pod in every if pod not in kept and controllers.job_of(pod) is job)

    @property
    def templates(self) -> KeysView[int]:
        return self._by_template.keys()


def _times(pod: Pod) -> Iterator[datetime]:
    changed = (item.last_transition_time for item in pod.status.conditions)
    yield from filter(None, (pod.metadata.creation_timestamp, pod.status.start_time, *changed))


def _owner_key(template: Template) -> object:
    owner = template.owner
    return template.namespace, None if owner is None else (owner.kind, owner.name)


class UncheckedFilters:
    """For every profile the filters that are switched off, evaluated all the same."""

    def __init__(self, problem: Problem) -> None:
        state: State | None = None
        self._off: dict[str, tuple[Filter, ...]] = {}
        for name, config in profiles_of(problem.cluster.scheduler_config).items():
            if kinds := switched_off(config):
                state = State(problem) if state is None else state
                self._off[name] = make_filters(kinds, config, problem, state)

    def of(self, template: Template) -> str:
        """The name of the first disabled filter that could reject a node for the template; else empty."""
        off = self._off.get(template.pod.spec.scheduler_name, ())
        return next((plugin.name for plugin in off if _could_refuse(plugin, template)), "")


def _could_refuse(plugin: Filter, template: Template) -> bool:
    if plugin.compares or not plugin.concerns(template):
        return False
    return not plugin.static or bool((plugin.reject(template) != 0).any())
