"""How many pods a DoNotSchedule constraint leaves beside one, where evictions on one node change its counts.

A pod fits when `matching pods of the domain + 1 if it matches itself - global minimum <= maxSkew`.  Evictions
on a node lower the count of its domain alone.  Where that lowers the minimum, too, the domain is the emptiest
one, and the pod fits there however many of the evicted pods stay; so the minimum of before will do.
"""

from __future__ import annotations

import numpy as np

from planner.constraints.pod_topology_spread.rule import NO_LABEL, SKEWED, Rule
from planner.problem.nodes import Ints
from planner.state.state import State

#: More pods than there are: where no eviction on the node makes a difference.
FAR = 1 << 40


class SpreadSlack:
    """One constraint of a template, asked about evictions of pods below a priority."""

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
