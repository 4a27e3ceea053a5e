"""Room for pods that have no place: each comes to a node that other pods leave for gaps elsewhere.

These are ejection chains.  A pod that leaves goes to the tightest gap that takes it, or has others leave
there.  kube-scheduler leaves over 254 of 50,000 pods that fill 5,000 nodes in use by 90 %: with 553 pods on
other nodes all have a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import cache
from itertools import islice
from operator import le

import numpy as np

from planner.batch.pending import Pending
from planner.batch.placed_pods import PlacedPods
from planner.constraints.pod_topology_spread import PodTopologySpread, Rule
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof.effort import PRICE_OF_NUMBER, PRICE_OF_TURN
from planner.proof.meter import Meter

#: A node, and the templates of which a pod each leaves it.
_Opening = tuple[int, tuple[int, ...]]


class Ejections:
    """Finds places for the pods that have none."""

    def __init__(self, pending: Pending, meter: Meter, soft: Sequence[Rule], fixed: Collection[int]) -> None:
        """No topology spread constraint may have more too much, of ScheduleAnyway those that are `soft`.

        Pods of `fixed` templates stay where they are.
        """
        self._pending = pending
        self._meter = meter
        self._effort = meter.effort.ejections
        self._price = 8 * PRICE_OF_TURN + 2 * PRICE_OF_NUMBER * pending.problem.allocatable.size
        hard = {
            rule.identity: rule
            for number in pending.pods
            for plugin in pending.framework(number).profile.of(PodTopologySpread)
            for rule in plugin.hard(pending.template(number))
        }
        self._rules = (*soft, *hard.values())
        self._surplus: dict[Hashable, int] = {}
        self._fixed = fixed
        #: What the largest node has.
        self._most = np.maximum(pending.problem.allocatable.max(axis=1), 1)
        #: How large the pods of every template are, beside the largest node.
        self._sizes = (pending.room_needed / self._most).max(axis=1)

    def place(self, pods: PlacedPods) -> None:
        """As many waiting pods as this way have a place; of those of equal priority large ones first."""
        sizes, pending = self._sizes, self._pending
        for number in sorted(pods.waiting, key=lambda t: (-pending.priority(t), -sizes[t], t)):
            while pods.waiting[number] and number not in self._fixed and not self._meter.over():
                if not self._comes(pods, number, self._effort.depth, frozenset()):
                    break

    def _comes(self, pods: PlacedPods, number: int, depth: int, closed: frozenset[int]) -> bool:
        """Whether a waiting pod of a template came to a node, and all that made room for it to others."""
        gap = self._gap(number, closed)
        if gap is not None:
            pods.put({(number, gap): 1})
            return True
        if not depth:
            return False
        before, mark = self._too_many(), pods.mark()
        for node, others in self._openings(pods, number, depth, closed):
            self._meter.spend(self._price)
            pods.take(Counter((other, node) for other in others))
            if pods.within_budgets() and self._pending.accepts(number, node):
                pods.put({(number, node): 1})
                come = (self._comes(pods, other, depth - 1, closed | {node}) for other in others)
                if all(come) and all(map(le, self._too_many(), before)):
                    return True
            pods.go_back(mark)
        return False

    def _too_many(self) -> list[int]:
        """What every constraint has too much; counted again where the counts have another version."""
        found, known = list[int](), self._surplus
        for rule in self._rules:
            rule.counts.sums()
            key = rule.identity, rule.counts.version
            if key not in known:
                known[key] = int(rule.surplus().sum())
            found.append(known[key])
        return found

    def _gap(self, number: int, closed: frozenset[int]) -> int | None:
        """The tightest gap that takes a pod of a template."""
        feasible = self._pending.framework(number).feasible(self._pending.plan(number)).mask.copy()
        feasible[[*closed]] = False
        nodes = np.flatnonzero(feasible)
        if not nodes.size:
            return None
        room = np.maximum(self._pending.problem.allocatable[:, nodes], 1)
        return int(nodes[(self._free()[:, nodes] / room).min(axis=0).argmin()])

    def _free(self) -> Ints:
        free: Ints = self._pending.problem.allocatable - self._pending.state.used
        return free

    def _open(self, number: int, closed: frozenset[int]) -> Mask:
        """The nodes but some that all filters accept, save the one for room."""
        plan = self._pending.plan(number)
        mask = plan.static.copy()
        mask[[*closed]] = False
        for plugin in plan.changing:
            if plugin.wants(plan.template) is None:
                mask &= plugin.reject(plan.template) == 0
        return mask

    def _openings(
        self, pods: PlacedPods, number: int, depth: int, closed: frozenset[int]
    ) -> Iterator[_Opening]:
        """Where others would leave enough room: the smallest that do so alone, then a few large ones."""
        lacking = self._pending.room_needed[number] - self._free().T
        others, nodes = self._may_leave(pods, self._roomiest(self._open(number, closed), lacking), number)
        self._meter.spend(self._price)
        # Of a node the large ones first.
        order = np.lexsort((-self._sizes[others], nodes))
        others, nodes = others[order], nodes[order]

        @cache
        def goes(other: int) -> bool:
            return depth > 1 or self._gap(other, closed) is not None

        alone = np.flatnonzero((self._pending.room_needed[others] >= lacking[nodes]).all(axis=1))
        alone = alone[np.argsort(self._sizes[others[alone]], kind="stable")]
        single = zip(nodes[alone].tolist(), others[alone].tolist(), strict=True)
        yield from islice(((node, (other,)) for node, other in single if goes(other)), self._effort.openings)
        going = np.array([goes(other) for other in others.tolist()], np.bool_)
        yield from islice(self._groups(others[going], nodes[going], lacking), self._effort.openings)

    def _groups(self, others: Codes, nodes: Codes, lacking: Ints) -> Iterator[_Opening]:
        """The fewest pods, the first of each node, that leave what it lacks there together; two at least."""
        first = np.searchsorted(nodes, nodes)
        total = np.cumsum(self._pending.room_needed[others], axis=0)
        total = np.concatenate([np.zeros_like(lacking[:1]), total])
        rank = np.arange(len(nodes)) - first
        enough = (total[1:] - total[first] >= lacking[nodes]).all(axis=1)
        found = np.flatnonzero(enough & (rank > 0) & (rank < self._effort.together))
        seen = set[int]()
        for place in found[np.argsort(rank[found], kind="stable")].tolist():
            node = int(nodes[place])
            if node not in seen:
                seen.add(node)
                yield node, tuple(others[first[place] : place + 1].tolist())

    def _roomiest(self, within: Mask, lacking: Ints) -> Codes:
        """Of some nodes those that lack the least."""
        nodes = np.flatnonzero(within)
        if len(nodes) <= self._effort.nodes:
            return nodes
        lacks = (lacking[nodes] / self._most).max(axis=1)
        return np.sort(nodes[np.argpartition(lacks, self._effort.nodes)[: self._effort.nodes]])

    def _may_leave(self, pods: PlacedPods, nodes: Codes, number: int) -> tuple[Codes, Codes]:
        """Templates other than one that have pods on nodes, each with its node."""
        steps = [
            (other, node)
            for node in nodes.tolist()
            for other in pods.on.get(node, ())
            if other != number and other not in self._fixed
        ]
        found: Codes = np.array(steps, np.intp).reshape(-1, 2)
        return found[:, 0], found[:, 1]
