"""What spread constraints say while pods of one template come one after the other.

Nodes are in one cell when they are in the same domains and, for labels of which every node has a value of its
own, hold as many pods: to the constraints they are alike.  So a pod that comes is a matter of some cells and
some sums, whatever number of nodes there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized

import numpy as np

from planner.constraints.family import MAX_SCORE
from planner.constraints.pod_topology_spread.rule import Rule
from planner.problem.nodes import HOSTNAME, Ints, Mask
from planner.problem.selection import Members

#: For every rule the domain, or the count where that is the node's own, and whether pods there are counted;
#: then whether the node is scored.
Cell = tuple[int, ...]

#: Of more domains that nodes share there are too many cells.
_MOST_DOMAINS = 32


class _Followed:
    """One rule and its counts as plain numbers, as pods come."""

    def __init__(self, rule: Rule, template: int, place: int, *, scores: bool) -> None:
        column, counts = rule.column, rule.counts
        self._rule, self._place = rule, place
        self._amount = rule.tally.members.get(template, 0)
        #: Whether every node is a domain of its own.
        self._is_own = len(column.values) == np.count_nonzero(column.present)
        self._is_host = column.key == HOSTNAME
        sums = counts.sums()
        self._sums: list[int] = sums.tolist()
        self._levels = Counter[int](sums[counts.domains].tolist())
        # A score over hosts counts the pods on every node.
        by_node = scores and self._is_host
        held = rule.tally.counts if by_node else counts.padded()[column.codes]
        self.places: Ints = np.where(column.present, held, -1) if self._is_own else column.codes
        self.counted: Mask = column.present if by_node else counts.eligible
        self._few = rule.few_domains
        self._slack = rule.constraint.max_skew - 1
        self._most = 0
        self._weight = 0.0

    @staticmethod
    def is_possible(rule: Rule, template: int) -> bool:
        """Whether nodes come in few enough cells, and pods of the template are counted on all or none."""
        members, column = rule.tally.members, rule.column
        own = len(column.values) == np.count_nonzero(column.present)
        narrowed = isinstance(members, Members) and template in members.where
        # Scores count by node over hosts, also where nodes share a host name.
        shared = column.key != HOSTNAME and len(column.values) <= _MOST_DOMAINS
        return not narrowed and (own or shared)

    def placed(self, cell: list[int]) -> None:
        """Count a pod that comes to a node of the cell, which becomes the cell of that node."""
        held, is_counted = cell[self._place], cell[self._place + 1]
        if not (is_counted and self._amount):
            return
        before = held if self._is_own else self._sums[held]
        self._levels[before] -= 1
        if not self._levels[before]:
            del self._levels[before]
        self._levels[before + self._amount] += 1
        if self._is_own:
            cell[self._place] += self._amount
        else:
            self._sums[held] += self._amount

    def limit(self) -> None:
        """Work out how many pods a domain may hold when one more comes."""
        minimum = 0 if self._few else min(self._levels)
        self._most = minimum + self._rule.constraint.max_skew - self._rule.own

    def accepts(self, cell: Cell) -> bool:
        """Whether the constraint lets a pod come to the nodes of a cell."""
        held = cell[self._place]
        return held >= 0 and (held if self._is_own else self._sums[held]) <= self._most

    def weigh(self, cells: Iterable[Cell], sizes: Mapping[Cell, Sized], nodes: int) -> None:
        """Work out the weight of the topology among the nodes that are scored."""
        if self._is_host:
            domains = nodes
        elif self._is_own:
            missing = [len(sizes[cell]) for cell in cells if cell[self._place] < 0]
            domains = nodes - sum(missing) + bool(missing)
        else:
            domains = len({cell[self._place] for cell in cells})
        self._weight = math.log(domains + 2)

    def cost(self, cell: Cell) -> float:
        """What the constraint adds to the raw score of a cell."""
        held = cell[self._place]
        if held < 0:
            return 0.0
        return (held if self._is_own else self._sums[held]) * self._weight + self._slack


class SpreadInSuccession:
    """All constraints of a template, as its pods come one after the other."""

    def __init__(self, hard: Sequence[Rule], soft: Sequence[Rule], labelled: Mask, template: int) -> None:
        """`labelled` are the nodes that are scored."""
        self._hard = [_Followed(rule, template, 2 * n, scores=False) for n, rule in enumerate(hard)]
        first = len(hard)
        self._soft = [_Followed(rule, template, 2 * n, scores=True) for n, rule in enumerate(soft, first)]
        self._rules, self._labelled = (*self._hard, *self._soft), labelled

    @staticmethod
    def is_possible(rules: Iterable[Rule], template: int) -> bool:
        """Whether the constraints can be followed so."""
        return all(_Followed.is_possible(rule, template) for rule in rules)

    @property
    def rows(self) -> Ints:
        """The cell of every node, as a column."""
        rows = [part for rule in self._rules for part in (rule.places, rule.counted)]
        return np.stack([*rows, self._labelled]).astype(np.int64)

    def placed(self, cell: Cell) -> Cell:
        """The cell of a node of this one once a pod has come to it."""
        after = [*cell]
        for rule in self._rules:
            rule.placed(after)
        return tuple(after)

    def scored(self, sizes: Mapping[Cell, Sized]) -> list[tuple[Cell, int]]:
        """The cells that no constraint refuses a pod, and the plugin's score of their nodes."""
        for rule in self._hard:
            rule.limit()
        accepted = [cell for cell in sizes if all(rule.accepts(cell) for rule in self._hard)]
        if not self._soft:
            return [(cell, 0) for cell in accepted]
        scored = [cell for cell in accepted if cell[-1]]
        nodes = sum(len(sizes[cell]) for cell in scored)
        for rule in self._soft:
            rule.weigh(scored, sizes, nodes)
        raw = {cell: math.floor(self._cost(cell) + 0.5) for cell in scored}
        top, least = max(raw.values(), default=0), min(raw.values(), default=0)
        of_each = {
            cell: MAX_SCORE * (top + least - one) // top if top else MAX_SCORE for cell, one in raw.items()
        }
        return [(cell, of_each.get(cell, 0)) for cell in accepted]

    def _cost(self, cell: Cell) -> float:
        cost = 0.0
        for rule in self._soft:
            cost += rule.cost(cell)
        return cost
