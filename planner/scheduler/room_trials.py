"""Dry runs of evictions that are remembered, and where they are in vain known for all nodes at once.

Where evictions can change nothing that matters to a pod but room and the counts of its spread
constraints, a dry run is plain arithmetic on one node's numbers.  All that it depends on is what is free
there, how many pods the constraints leave, and what each pod of lower priority is, so alike nodes are one dry
run.  It stays valid until a pod comes to the node or leaves it, or the counts are others, so the next pod of
the same needs finds nearly all of them made.  So does one with filters that look at the node alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.pod_topology_spread.rule import NO_LABEL, SKEWED, Rule
from planner.problem.nodes import Ints
from planner.problem.templates import Template
from planner.scheduler.evictions import Candidate, Evictions
from planner.state.state import State

#: More pods than there are: where no eviction on the node makes a difference.
FAR = 1 << 40


class SpreadSlack:
    """How many pods a hard constraint leaves beside one, where evictions on one node change its counts.

    A pod fits when `matching pods of the domain + 1 if it matches itself - global minimum <= maxSkew`.
    Evictions on a node lower the count of its domain alone.  Where that lowers the minimum, too, the domain
    is the emptiest one, and the pod fits there however many of the evicted pods stay; so the minimum of
    before will do.
    """

    def __init__(self, state: State, rule: Rule, priority: int) -> None:
        self._state = state
        self._rule = rule
        self.members = frozenset(rule.tally.members)
        templates = state.problem.templates
        self._lower = [number for number in self.members if templates[number].priority < priority]

    def slack(self) -> Ints:
        """For every node how many matching pods more its domain may hold beside the pod; or less than 0."""
        rule, counts = self._rule, self._rule.counts
        sums, codes = counts.sums(), rule.column.codes
        most = rule.constraint.max_skew - rule.own
        left = np.append(most + rule.minimum() - sums, -FAR)[codes]
        # Where pods are not counted it makes no difference whether they go.
        return np.where(counts.eligible, left, np.where(left >= 0, FAR, -FAR))

    def evictable(self) -> Ints:
        """How many matching pods below the priority every node holds."""
        state = self._state
        nodes = [state.node_of[state.problem.pods_of(number)] for number in self._lower]
        if not nodes:
            return np.zeros(state.problem.nodes.size, np.int64)
        found = np.concatenate(nodes)
        return np.bincount(found[found >= 0], minlength=state.problem.nodes.size)

    def refused(self, slack: Ints) -> Ints:
        """For every node 0 where evictions there are enough for the constraint, else why not."""
        short = slack + np.where(self._rule.counts.eligible, self.evictable(), 0) < 0
        return np.where(self._rule.column.codes < 0, NO_LABEL, short * SKEWED)


#: Beyond so many different dry runs those that were remembered are dropped.
_REMEMBERED = 100_000

#: Evictions that open a node, or why none do.
Found = Candidate | tuple[str, ...]


class RoomTrials:
    """The dry runs for pods of one priority with one set of requests, and the same spread constraints."""

    def __init__(
        self,
        state: State,
        fit: NodeResourcesFit,
        template: Template,
        evictions: Evictions,
        spread: PodTopologySpread | None = None,
    ) -> None:
        self._state = state
        self._fit = fit
        self._spread = spread
        self._template = template
        self._rows = [row for row, _ in fit.wants(template)]
        self._lower = evictions.lower_priority_pods(template.priority)
        self._evictions = evictions
        self._epoch, self._position = state.epoch, len(state.log)
        rules = spread.hard(template) if spread is not None else ()
        self._rules = [SpreadSlack(state, rule, template.priority) for rule in rules]
        self._slack: list[Ints] = []
        self._made: dict[int, tuple[tuple[int, ...], Found]] = {}
        self._held: dict[int, list[int]] = {}
        #: For alike nodes, which of their lower-priority pods have to go, and how many budgets that breaks.
        self._alike: dict[Hashable, tuple[tuple[int, ...], int]] = {}

    def look(self) -> None:
        """Take note of what pods have come and gone since the last dry runs."""
        state = self._state
        self._slack = [rule.slack() for rule in self._rules]
        if self._epoch != state.epoch:
            self._made.clear()
        else:
            for node in state.log[self._position :]:
                self._made.pop(node, None)
        self._epoch, self._position = state.epoch, len(state.log)

    def short(self) -> Ints:
        """For every node 0 where evictions make room, else a code for what would still be short."""
        _, load = self._lower.current()
        return np.asarray(self._fit.reject_without(self._template, load))

    def reasons(self, short: Ints, skewed: Ints) -> Iterator[tuple[tuple[str, ...], int]]:
        """What codes of both kinds say in kube's words, each list of reasons with the number of nodes."""
        for plugin, codes in ((self._fit, short), (self._spread, skewed)):
            for code, times in zip(*np.unique(codes[codes != 0], return_counts=True), strict=True):
                if plugin is not None:
                    yield plugin.verdict(self._template, int(code)).reasons, int(times)

    def skewed(self) -> Ints:
        """For every node 0 where the spread constraints let the pod come once evictions are made."""
        found: Ints = np.zeros(self._state.problem.nodes.size, np.int64)
        for rule, slack in zip(self._rules, self._slack, strict=True):
            found = np.where(found == 0, rule.refused(slack), found)
        return found

    def by_numbers(self, node: int) -> Found:
        """The fewest evictions that open a node which they do open; room and spread are all that matters."""
        return self.remembered(node, self._make)

    def remembered(self, node: int, try_out: Callable[[int], Found]) -> Found:
        """What a dry run found, unless the node or the counts of spread constraints have changed."""
        slack = tuple([values.item(node) for values in self._slack]) if self._slack else ()
        known = self._made.get(node)
        if known is None or known[0] != slack:
            known = self._made[node] = slack, try_out(node)
        return known[1]

    def _make(self, node: int) -> Candidate:
        lower = self._lower.on(node)
        slack = (values.item(node) for values in self._slack)
        spare = (*self._fit.left_on(self._template, node), *slack)
        key = (spare, tuple(map(self._kind, lower)))
        known = self._alike.get(key)
        if known is None:
            if len(self._alike) >= _REMEMBERED:
                self._alike.clear()
            known = self._alike[key] = self._dry_run(node, lower, spare)
        going, broken_budgets = known
        return self._evictions.candidate(node, [lower[place] for place in going], broken_budgets)

    def _takes(self, pod: int) -> list[int]:
        """What a pod holds of all that is wanted, and of what each spread constraint leaves."""
        number = int(self._state.problem.template_of[pod])
        found = self._held.get(number)
        if found is None:
            amounts = self._state.problem.templates[number].amounts
            counted = [int(number in rule.members) for rule in self._rules]
            found = self._held[number] = [*(amounts[row] for row in self._rows), *counted]
        return found

    def _kind(self, pod: int) -> Hashable:
        """All of a lower-priority pod that a dry run looks at, its place in the order apart."""
        return int(self._state.problem.template_of[pod]), self._evictions.budgets_of(pod)

    def _dry_run(self, node: int, lower: Sequence[int], spare: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Which of the pods have to go, and how many budgets that breaks; `spare` is left if none does."""
        left = [sum(amounts) for amounts in zip(spare, *map(self._takes, lower), strict=True)]

        def may_stay(pod: int) -> bool:
            rest = [amount - held for amount, held in zip(left, self._takes(pod), strict=True)]
            if min(rest) < 0:
                return False
            left[:] = rest
            return True

        found = self._evictions.fewest(node, lower, may_stay)
        return tuple(lower.index(victim) for victim in found.victims), found.broken_budgets
