"""Asking all plugins of a profile about one template: which nodes fit, which is best, and why not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.constraints.dynamic_resources import NOTHING_TO_GIVE_BACK
from planner.constraints.family import Filter, Score, Verdict
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import ALL, Codes, Feasible, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.sequences import length_of_start
from planner.problem.templates import Template
from planner.scheduler.profile import Profile
from planner.state.state import State

_NO_NOTES = "not found"
_NOT_NAMED = Verdict(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), unresolvable=True)


#: How many sets of feasible nodes a template keeps.
_REMEMBERED = 16

#: From so many binds on, asking about all of them at once is cheaper than asking one by one.
_WORTH_ARRAYS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be asked about a template; the static rest is computed once."""

    template: Template
    refusal: tuple[str, str] | None
    static: Mask
    changing: tuple[Filter, ...]
    named: Mask | None
    scores: tuple[tuple[Score, int], ...]

    def room(self, wanted: Mapping[int, int]) -> Ints:
        """The most of its wanted pods that each node could take, as the state is now."""
        room = np.where(self.static, wanted[self.template.index], 0)
        for plugin in self.changing:
            most = plugin.most(self.template, wanted)
            if most is not None:
                room = np.minimum(room, most)
        return room


class Rejection(NamedTuple):
    """Which plugin refused a node first, and why; `plugin` is empty when the node was not even looked at."""

    plugin: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Every node's first refusal: an index into `rejections` per node, -1 where the pod fits."""

    nodes: int
    refusal: tuple[str, str] | None
    rejections: tuple[Rejection, ...]
    first: Ints

    def message(self) -> str:
        """The line that kube-scheduler prints."""
        if not self.nodes:
            return "no nodes available to schedule pods"
        if self.refusal is not None:
            return f"0/{self.nodes} nodes are available: {self.refusal[1]}."
        counts: Counter[str] = Counter()
        for number, times in enumerate(np.bincount(self.first[self.first >= 0]).tolist()):
            for reason in self.rejections[number].verdict.reasons:
                counts[reason] += times
        return unavailable(self.nodes, counts)

    def refused_by(self, plugin: str) -> dict[str, Mask]:
        """The nodes that a plugin was the first to refuse, by its first reason."""
        return {
            found.verdict.reasons[0]: self.first == number
            for number, found in enumerate(self.rejections)
            if found.plugin == plugin
        }

    def resolvable(self) -> Ints:
        """The nodes on which evictions might help."""
        helped = [not rejection.verdict.unresolvable for rejection in self.rejections]
        return np.flatnonzero(np.append(np.array(helped, np.bool_), False)[self.first])


def unavailable(nodes: int, reasons: Counter[str]) -> str:
    """kube's summary of why no node took a pod: reasons with their counts, sorted as text."""
    lines = sorted(f"{times} {reason}" for reason, times in reasons.items() if times)
    detail = f": {', '.join(lines)}" if lines else ""
    return f"0/{nodes} nodes are available{detail}."


#: A sum of so many is a new array.
_SUMMANDS = 2


class Framework:
    """One profile's plugins over one state."""

    def __init__(self, problem: Problem, state: State, profile: Profile) -> None:
        self.problem = problem
        self.state = state
        self.profile = profile
        self._plans: ArrayCache[Plan] = ArrayCache(problem.nodes.size, part=1 / 8, at_once=True)
        #: By template, the nodes that were feasible when the stamps of all its filters were the same.
        self._seen: ArrayCache[dict[Hashable, Feasible]] = ArrayCache(problem.nodes.size)

    def plan(self, template: Template) -> Plan:
        """What has to be asked about a template."""
        return self._plans.get(template.index, lambda: self._make_plan(template))

    def _make_plan(self, template: Template) -> Plan:
        static, changing, named = self.problem.nodes.every, [], None
        for plugin in self.profile.pre_filters:
            reason = plugin.refusal(template)
            if reason is not None:
                return Plan(template, (plugin.name, reason), self.problem.nodes.none, (), None, ())
            if (names := plugin.named_nodes(template)) is not None:
                named = self._named(names)
        for plugin in self.profile.filters:
            if not plugin.concerns(template):
                continue
            if plugin.static:
                static = static & (plugin.reject(template) == 0)
            else:
                changing.append(plugin)
        if named is not None:
            static = static & named
        scores = tuple((score, weight) for score, weight in self.profile.scores if score.prefers(template))
        return Plan(template, None, static, tuple(changing), named, scores)

    def _named(self, names: Iterable[str]) -> Mask:
        index = self.problem.nodes.index
        return self.problem.nodes.mask_of([index[name] for name in names if name in index])

    def feasible(self, plan: Plan) -> Feasible:
        """The nodes that all filters accept now."""
        template = plan.template
        answers = [plugin.reject(template) for plugin in plan.changing]
        stamp = tuple([plugin.stamp(template) for plugin in plan.changing])
        seen = self._seen.get(template.index, dict)
        found = seen.get(stamp)
        if found is None:
            mask = plan.static
            for codes in answers:
                mask = mask & (codes == 0)
            if len(seen) >= _REMEMBERED:
                seen.clear()
            found = seen[stamp] = Feasible(mask)
        return found

    def leaves_open(self, template: Template, within: Mask | None = None) -> bool:
        """Whether it is not told of some node, of those `within`, whether all filters accept it."""
        told = (plugin.undecided(template) for plugin in self.profile.filters)
        undecided = [nodes for nodes in told if nodes is not None]
        if not undecided:
            return False
        plan = self.plan(template)
        where = plan.static if plan.refusal is None else self.problem.nodes.every
        where = where if within is None else where & within
        return any(bool((nodes & where).any()) for nodes in undecided)

    def accepts(self, plan: Plan, nodes: Codes) -> Mask:
        accepted = plan.static[nodes]
        for plugin in plan.changing:
            accepted = accepted & (plugin.reject(plan.template, nodes) == 0)
        return accepted

    def fits(self, plan: Plan, node: int) -> bool:
        if not plan.static[node]:
            return False
        return all(plugin.admits(plan.template, node) for plugin in plan.changing)

    def accepted(self, plan: Plan, nodes: Codes) -> int:
        """How many pods of a template, each going to the next of these nodes, all filters accept in turn.

        At least so many: where a filter can only be asked about one after the other, it is 0.
        """
        sure = length_of_start(plan.static[nodes])
        for plugin in plan.changing:
            sure = plugin.accepted(plan.template, nodes[:sure]) if sure else 0
        return sure

    def bind_in_turn(self, plan: Plan, pods: list[int], nodes: Codes) -> int:
        """Take pods from the end of a list and bind each to the next of these nodes while that is sure to be
        accepted; how many were bound.
        """
        sure = self.accepted(plan, nodes) if len(nodes) >= _WORTH_ARRAYS else 0
        if sure:
            self.state.bind_all([pods.pop() for _ in range(sure)], nodes[:sure])
        return sure

    def rejection(self, plan: Plan, node: int) -> Rejection | None:
        """Which plugin refuses one node now, if any does."""
        if plan.named is not None and not plan.named[node]:
            return Rejection("", _NOT_NAMED)
        here = np.array([node])
        for plugin in self._asked(plan):
            code = int(plugin.reject(plan.template, here)[0])
            if code:
                return Rejection(plugin.name, plugin.verdict(plan.template, code))
        return None

    def _asked(self, plan: Plan) -> Iterator[Filter]:
        """The filters that can refuse a template, in kube's order."""
        for plugin in self.profile.filters:
            if plugin in plan.changing or (plugin.static and plugin.concerns(plan.template)):
                yield plugin

    def diagnose(self, plan: Plan) -> Diagnosis:
        """Every node's first refusal."""
        size = self.problem.nodes.size
        first = np.full(size, -1, np.int64)
        rejections: list[Rejection] = []
        if plan.refusal is not None:
            return Diagnosis(size, plan.refusal, (), first)
        if plan.named is not None:
            first[~plan.named] = 0
            rejections.append(Rejection("", _NOT_NAMED))
        for plugin in self._asked(plan):
            codes = np.where(first < 0, plugin.reject(plan.template, ALL), 0)
            for code in sorted(set(codes[codes != 0].tolist())):
                first[codes == code] = len(rejections)
                rejections.append(Rejection(plugin.name, plugin.verdict(plan.template, code)))
        return Diagnosis(size, None, tuple(rejections), first)

    def waits_for(self, template: Template) -> str | None:
        """Why the program does not even look at a pod before something else happens, if so."""
        claims = self.profile.claims
        return None if claims is None else claims.waits_for(template)

    def bind_failure(self, template: Template) -> str | None:
        """What the program prints because it cannot bind the pod to whatever node it chooses, if so."""
        claims = self.profile.claims
        return (
            claims.bind_failure(template)
            if claims is not None and template.pod.spec.resource_claims
            else None
        )

    def tail(self, plan: Plan, diagnosis: Diagnosis) -> tuple[str, bool]:
        """What the message goes on with before preemption speaks, and whether that is the end of it."""
        claims = self.profile.claims
        if claims is None or not diagnosis.nodes:
            return "", False
        if diagnosis.refusal is not None:
            # Refused before the plugin was asked: it finds none of its notes, and no plugin follows.
            own = diagnosis.refusal[0] == claims.name
            return (NOTHING_TO_GIVE_BACK, False) if own else (_NO_NOTES, True)
        return claims.before_preemption(plan.template, diagnosis.refused_by(claims.name)), False

    def scores(self, plan: Plan, feasible: Feasible) -> Iterator[tuple[str, int, Ints | int]]:
        """Every plugin's weight and score for all nodes; only the feasible ones mean anything."""
        for plugin, weight in plan.scores:
            score = plugin.score(plan.template, feasible)
            if score is not None:
                yield plugin.name, weight, score

    def totals(self, plan: Plan, feasible: Feasible) -> Ints:
        """The weighted scores of every node added up; only the feasible ones mean anything."""
        weighed = [
            score if weight == 1 else score * weight
            for _, weight, score in self.scores(plan, feasible)
            if not isinstance(score, int)
        ]
        if len(weighed) < _SUMMANDS:
            # A score is live: the sum has to be an array of its own.
            weighed = [np.zeros(self.problem.nodes.size, np.int64), *weighed]
        return sum(weighed[1:], weighed[0])

    def best(self, plan: Plan, feasible: Feasible) -> int:
        """The feasible node with the highest total; a tie goes to the smallest name."""
        if feasible.count == 1:
            return int(feasible.mask.argmax())
        return feasible.best(self.totals(plan, feasible))


def filters_by_profile(
    frameworks: Mapping[str, Framework], templates: Iterable[Template]
) -> list[tuple[tuple[Filter, ...], frozenset[int]]]:
    """Every profile's filters, and which of some templates are its own.

    Those of schedulers without a profile count as the first one's.
    """
    own, first = defaultdict[str, set[int]](set), next(iter(frameworks))
    for template in templates:
        name = template.pod.spec.scheduler_name
        own[name if name in frameworks else first].add(template.index)
    return [(frameworks[name].profile.filters, frozenset(numbers)) for name, numbers in own.items()]
