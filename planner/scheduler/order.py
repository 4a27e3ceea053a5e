"""From a placement to a sequence of binds that a cluster accepts one after the other.

Replayed in any old order a valid placement breaks the filters all the time: the first pods of a
constraint pile up before the others come.  Taking at every step the admissible bind whose domains hold
the fewest pods of the constraint keeps all of them level.  Where that gets stuck, a small placement is
searched depth first for another order: of 270 final states two more have one, and of 21 batches that nearly
fill their nodes one more is proved.  Where every sequence can be gone through it changes no total.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.problem.nodes import Codes, Ints
from planner.problem.sequences import rank_among_equals
from planner.problem.templates import Template
from planner.proof.meter import Meter
from planner.scheduler.framework import Framework
from planner.scheduler.profiled_state import ProfiledState
from planner.state.state import State

#: A pod of a template comes to a node.
Step = tuple[int, int]
#: How many pods of a template go where.
Placement = Mapping[Step, int]


class Orderer:
    """Finds admissible orders on a state, which it leaves as it found it."""

    def __init__(self, profiled: ProfiledState) -> None:
        self._profiled = profiled
        self._problem, self._state = profiled.problem, profiled.state

    def follow(self, phases: Iterable[Placement], waiting: Mapping[int, Sequence[int]]) -> list[Step]:
        """The steps of a placement in an admissible order, as far as keeping domains level leads.

        The placement may come in parts, each to be finished as far as possible before the next.
        """
        mark = self._state.mark()
        pods = {template: list(found) for template, found in waiting.items()}
        steps = [step for part in phases for step in self._come(_by_template(part), pods)]
        self._state.rollback(mark)
        return steps

    def _come(self, wanted: dict[int, Counter[int]], pods: dict[int, list[int]]) -> Iterator[Step]:
        """Template by template in an order worked out beforehand; then whatever had to wait."""
        left: dict[int, Counter[int]] = defaultdict(Counter)
        for number, nodes in wanted.items():
            template = self._problem.templates[number]
            framework = self._framework(template)
            plan = framework.plan(template)
            order = _level(framework, template, nodes)
            bound = framework.bind_in_turn(plan, pods[number], order)
            yield from ((number, node) for node in order[:bound].tolist())
            for node in order[bound:].tolist():
                if framework.fits(plan, node):
                    self._state.bind(pods[number].pop(), node)
                    yield number, node
                else:
                    left[number][node] += 1
        if left:
            yield from self._follow(left, pods)

    def _follow(self, left: dict[int, Counter[int]], pods: dict[int, list[int]]) -> Iterator[Step]:
        queues = {number: _Queue(self._problem.templates[number], wanted) for number, wanted in left.items()}
        progress = True
        while progress:
            progress = False
            for number, queue in queues.items():
                framework = self._framework(queue.template)
                while (node := queue.next(framework)) is not None:
                    progress = True
                    self._state.bind(pods[number].pop(), node)
                    yield number, node

    def extend(self, steps: Sequence[Step], waiting: Mapping[int, Sequence[int]]) -> list[Step]:
        """The steps, and after them as many more as the scheduler itself would make with what is left."""
        if len(steps) == sum(map(len, waiting.values())):
            return list(steps)
        mark = self._state.mark()
        pods = {template: list(found) for template, found in waiting.items()}
        for template, node in steps:
            self._state.bind(pods[template].pop(), node)
        found = [*steps, *self._fill(pods)]
        self._state.rollback(mark)
        return found

    def _fill(self, pods: dict[int, list[int]]) -> Iterator[Step]:
        by_priority = sorted(pods, key=lambda number: -self._problem.templates[number].priority)
        progress = True
        while progress:
            progress = False
            for template in by_priority:
                while pods[template] and (node := self._best(self._problem.templates[template])) is not None:
                    progress = True
                    self._state.bind(pods[template].pop(), node)
                    yield template, node

    def search(
        self, placement: Placement, waiting: Mapping[int, Sequence[int]], meter: Meter
    ) -> list[Step] | None:
        """An order in which the whole placement is admissible; None when the effort allowed found none."""
        mark = self._state.mark()
        tries = _Search(self, self._state, placement, waiting, meter)
        found = tries.order if tries.go() else None
        self._state.rollback(mark)
        return found

    def accepting(self, number: int, wanted: Counter[int]) -> list[int]:
        """The wanted nodes that accept a template now, those in the emptiest domains first."""
        queue = _Queue(self._problem.templates[number], wanted)
        found: list[int] = queue.accepting(self._framework(queue.template)).tolist()
        return found

    def _best(self, template: Template) -> int | None:
        framework = self._framework(template)
        plan = framework.plan(template)
        feasible = framework.feasible(plan)
        return framework.best(plan, feasible) if feasible.count else None

    def _framework(self, template: Template) -> Framework:
        return self._profiled.framework(template.index)


class _Queue:
    """The nodes that pods of one template are still to come to."""

    def __init__(self, template: Template, wanted: Mapping[int, int]) -> None:
        self.template = template
        some = sorted(node for node, pods in wanted.items() if pods)
        self._nodes = np.array(some, np.intp)
        self._left = np.array([wanted[node] for node in some], np.int64)

    def next(self, framework: Framework) -> int | None:
        """The node to bind to now, taken from the queue; None when no node accepts a pod."""
        accepting = self.accepting(framework)
        if not accepting.size:
            return None
        node = int(accepting[0])
        self._take(node)
        return node

    def _take(self, node: int) -> None:
        position = int(np.searchsorted(self._nodes, node))
        self._left[position] -= 1
        if not self._left[position]:
            self._nodes = np.delete(self._nodes, position)
            self._left = np.delete(self._left, position)

    def accepting(self, framework: Framework) -> Codes:
        """The nodes that accept the template now, those in the emptiest domains first."""
        if not self._nodes.size:
            return self._nodes
        nodes = self._nodes[framework.accepts(framework.plan(self.template), self._nodes)]
        domain_loads = _domain_loads(framework, self.template, nodes)
        return nodes[np.lexsort((nodes, *domain_loads))] if domain_loads else nodes


class _Search:
    """Depth first through the orders of a placement; what is left over is tried only once."""

    def __init__(
        self,
        orderer: Orderer,
        state: State,
        placement: Placement,
        waiting: Mapping[int, Sequence[int]],
        meter: Meter,
    ) -> None:
        self._orderer = orderer
        self._state = state
        self._left = _by_template(placement)
        self._pods = {template: list(found) for template, found in waiting.items()}
        self._patience = meter.effort.orders.tried
        self._meter = meter
        self._marks: list[int] = []
        self._bound: list[int] = []
        self._seen: set[frozenset[tuple[int, int, int]]] = set()
        self.order: list[Step] = []

    def go(self) -> bool:
        """Whether an order was found; then it stands in `order`."""
        branches = [iter(self._steps())]
        while branches:
            step = next(branches[-1], None)
            if step is None:
                branches.pop()
                if self.order:
                    self._back()
                continue
            self._forward(step)
            if not any(self._left.values()):
                return True
            if self._is_new():
                branches.append(iter(self._steps()))
            else:
                self._back()
        return not any(self._left.values())

    def _is_new(self) -> bool:
        """Whether what is left over was not tried before, and the effort allows it."""
        left = frozenset((t, n, pods) for t, nodes in self._left.items() for n, pods in nodes.items())
        if left in self._seen or self._patience <= 0 or self._meter.over():
            return False
        self._seen.add(left)
        self._patience -= 1
        return True

    def _steps(self) -> list[Step]:
        return [
            (template, node)
            for template, nodes in self._left.items()
            for node in self._orderer.accepting(template, nodes)
        ]

    def _forward(self, step: Step) -> None:
        template, node = step
        self._marks.append(self._state.mark())
        self._left[template] -= Counter([node])
        self._bound.append(self._pods[template].pop())
        self._state.bind(self._bound[-1], node)
        self.order.append(step)

    def _back(self) -> None:
        template, node = self.order.pop()
        self._state.rollback(self._marks.pop())
        self._left[template][node] += 1
        self._pods[template].append(self._bound.pop())


def _by_template(placement: Placement) -> dict[int, Counter[int]]:
    left: dict[int, Counter[int]] = defaultdict(Counter)
    for (template, node), pods in placement.items():
        left[template][node] += pods
    return dict(left)


def _level(framework: Framework, template: Template, wanted: Mapping[int, int]) -> Codes:
    """The nodes in an order that keeps the domains of the template's constraints level

    For every constraint, the finest first, a pod's level is how many its domain holds when it comes.
    """
    some = sorted(node for node, pods in wanted.items() if pods)
    nodes = np.repeat(np.array(some, np.intp), [wanted[node] for node in some])
    rules = [rule for plugin in framework.profile.of(PodTopologySpread) for rule in plugin.hard(template)]
    for rule in sorted(rules, key=lambda rule: -len(rule.column.values)):
        codes = rule.column.codes[nodes]
        level = rule.counts.padded()[codes] + rank_among_equals(codes)
        nodes = nodes[np.argsort(level, kind="stable")]
    return nodes


def _domain_loads(framework: Framework, template: Template, nodes: Codes) -> list[Ints]:
    """For every node, how many pods its domains hold: a row for each constraint of the template."""
    for plugin in framework.profile.filters:
        if isinstance(plugin, PodTopologySpread):
            return [rule.counts.padded()[rule.column.codes[nodes]] for rule in plugin.hard(template)]
    return []
