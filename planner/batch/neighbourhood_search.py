"""Large neighbourhood search: what the batch has on a few nodes is arranged anew, with all else as it is.

Where a batch nearly fills its nodes, a model of all of them takes long to find the last pods a place, and
longer to find out how even ScheduleAnyway constraints could be.  Of a few nodes both is quickly said.  They
are drawn where something is to be gained: nodes with room, for pods that have no place; one in a domain with
too many pods and one in a domain with the fewest; and with them any others, whose pods may change places.

Without it two batches for 60 nodes, 95 % full, have 34 pods too many under ScheduleAnyway, with it 1; two for
40 nodes, 98 % full, 1,449 and 3, and one pod less is placed (`benchmarks/nearly_full.py --each 2`).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from planner.batch.goals import SoftGoal, SpreadExcess, SpreadSkew
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.constraints.pod_topology_spread import Rule, excess, skew
from planner.problem.nodes import Codes, Mask
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step

#: Pods too many of ScheduleAnyway constraints and the price of those without a place; then the skew.
_Cost = tuple[int, int]


class NeighbourhoodSearch:
    """Looks for more pods and a better spread, beginning with a plan that is known."""

    def __init__(
        self, pending: Pending, orderer: Orderer, meter: Meter, shape: SoftGoal | None = None
    ) -> None:
        """What a few nodes are arranged for last of all is `shape`, if that is given."""
        self._pending = pending
        self._shape = shape
        self._orderer = orderer
        self._meter = meter
        self._effort = meter.effort.neighbourhoods
        self._random = random.Random(0)
        self._state = pending.state
        self._rules = SpreadExcess(pending).rules
        self._least_skew = {
            rule: int(rule.always_uneven(pending.wanted, pending.static)) for rule in self._rules
        }
        #: What claims are bound to depends on the order of binds: pods with volumes stay where they are.
        self._fixed = {number for number in pending.wanted if pending.template(number).pod.spec.volumes}
        #: The pods on every node by template, and those that have no place.
        self._on: dict[int, dict[int, list[int]]] = {}
        self._waiting: dict[int, list[int]] = {}

    def improve(self, steps: Sequence[Step], best: Incumbent) -> Sequence[Step]:
        """Offer better plans than some steps, as long as any are found; the last of them.

        A pod without a place has a price, in pods too many.  It rises when nothing is found at the last one.
        """
        placement, prices = Counter(steps), iter(self._effort.prices)
        price = next(prices, None)
        while price is not None and not self._meter.over():
            is_full = best.promises(placement)
            found = self._better(placement, price, is_full=is_full)
            if found is not None:
                ordered = self._in_order(found)
                best.offer(ordered)
                if len(ordered) < sum(found.values()):
                    # A few nodes at a time, what has no order may promise more than any plan has.
                    break
                placement, steps = found, ordered
            elif is_full:
                break
            else:
                price = next(prices, None)
        return steps

    def _in_order(self, placement: Placement) -> list[Step]:
        return self._orderer.extend(self._orderer.follow([placement], self._pending.pods), self._pending.pods)

    def _better(self, placement: Placement, price: int, *, is_full: bool) -> Counter[Step] | None:
        """A placement that costs less; None if so many tries found none.  A full one has no room for more."""
        mark, tries = self._state.mark(), self._effort.tries + self._pending.problem.nodes.size // 4
        self._waiting = {number: [*pods] for number, pods in self._pending.pods.items()}
        self._on = defaultdict(dict)
        self._put(placement)
        start = now = self._cost(price)
        for _ in range(tries):
            left = Counter[int]() if is_full else self._left()
            nodes = self._draw(left)
            if not nodes or self._meter.over():
                break
            before = self._take(nodes)
            found = self._arranged(before, left, nodes, price)
            if found is None:
                self._put(before)
                continue
            self._put(found)
            if self._cost(price) > now:
                self._take(nodes)
                self._put(before)
            now = self._cost(price)
        end = {
            (number, node): len(pods) for node, there in self._on.items() for number, pods in there.items()
        }
        self._state.rollback(mark)
        return Counter(end) if now < start else None

    def _put(self, placement: Placement) -> None:
        """Put waiting pods where a placement has them."""
        for (number, node), count in placement.items():
            pods = [self._waiting[number].pop() for _ in range(count)]
            self._state.bind_all(pods, np.full(count, node, np.intp))
            self._on[node][number] = self._on[node].get(number, []) + pods

    def _take(self, nodes: Collection[int]) -> dict[Step, int]:
        """Take pods off some nodes: how many of each template were there."""
        found: dict[Step, int] = {}
        for node in sorted(nodes):
            for number in [number for number in self._on[node] if number not in self._fixed]:
                pods = self._on[node].pop(number)
                self._state.unbind_all(pods)
                self._waiting[number] += pods
                found[number, node] = len(pods)
        return found

    def _cost(self, price: int) -> _Cost:
        """What the pods without a place cost, and how uneven the others are spread."""
        too_many = sum(int(rule.surplus().sum()) for rule in self._rules)
        left = sum(map(len, self._waiting.values()))
        return too_many + price * left, sum(rule.skew() for rule in self._rules)

    # Which nodes

    def _left(self) -> Counter[int]:
        """Pods of a few templates that have no place and may have one."""
        static, fixed = self._pending.static, self._fixed
        some = [n for n, pods in self._waiting.items() if pods and n not in fixed and static[n].any()]
        chosen = self._random.sample(some, min(len(some), self._effort.templates))
        return Counter({number: len(self._waiting[number]) for number in chosen})

    def _draw(self, left: Collection[int]) -> set[int]:
        """A few nodes where something may be gained; none if nothing is to be gained anywhere."""
        uneven = [rule for rule in self._rules if rule.surplus().any()]
        uneven = uneven or [rule for rule in self._rules if rule.skew() > self._least_skew[rule]]
        some: set[int] = set()
        if left and not (uneven and self._random.random() < self._effort.for_spread):
            some = self._roomy(left)
        else:
            drawn = self._random.sample(uneven, len(uneven))
            some = next(filter(None, map(self._ends, drawn)), some)
        every = range(self._pending.problem.nodes.size)
        size = min(self._random.choice(self._effort.nodes), len(every))
        while some and len(some) < size:
            some.add(self._random.choice(every))
        return some

    def _roomy(self, left: Collection[int]) -> set[int]:
        """Some of the nodes with the most room that pods without a place may come to."""
        open_to: Mask = np.any([self._pending.static[number] for number in left], axis=0)
        nodes = np.flatnonzero(open_to)
        capacity = self._pending.problem.allocatable[:, nodes]
        free = np.where(capacity > 0, 1 - self._state.used[:, nodes] / np.maximum(capacity, 1), 1).min(axis=0)
        most = nodes[np.argsort(-free, kind="stable")[: self._effort.roomiest]].tolist()
        return set(self._random.sample(most, min(len(most), 2)))

    def _ends(self, rule: Rule) -> set[int]:
        """A node with pods of the batch in a domain that is too full, one open to them in the emptiest."""
        sums, domains = rule.counts.sums(), rule.counts.domains
        too_full = rule.surplus() > 0
        full = too_full if too_full.any() else domains & (sums == sums[domains].max())
        wanted = self._pending.wanted.keys() - self._fixed
        counted = {number for number in wanted if rule.tally.members.get(number)}
        inside = np.flatnonzero(self._within(rule, full)).tolist()
        sources = [node for node in inside if not counted.isdisjoint(self._on.get(node, ()))]
        if not sources:
            return set()
        open_to: Mask = np.any([self._pending.static[number] for number in counted], axis=0)
        emptiest = domains & (sums == sums[domains].min())
        targets: Codes = np.flatnonzero(self._within(rule, emptiest) & open_to)
        if not targets.size:
            return set()
        return {self._random.choice(sources), self._random.choice(targets.tolist())}

    @staticmethod
    def _within(rule: Rule, domains: Mask) -> Mask:
        """The nodes of some domains that count."""
        found: Mask = rule.counts.eligible & np.append(domains, False)[rule.column.codes]
        return found

    # How they are arranged

    def _arranged(
        self, inside: Placement, left: Counter[int], nodes: Collection[int], price: int
    ) -> Placement | None:
        """The pods on some nodes, and more that have no place, at the least cost; None if not found."""
        from planner.cpsat.model import BatchModel, Goal
        from planner.cpsat.variables import Batch

        pending, there = self._pending, Counter[int]()
        for (template, _), pods in inside.items():
            there[template] += pods
        wanted = there + left
        batch = Batch(pending.problem, wanted, pending.room_on(nodes, wanted))
        profiles = [(filters, own & wanted.keys()) for filters, own in pending.profiles()]
        model = BatchModel(batch, profiles)
        work = self._effort.once_work
        model.at_least(pending.by_priority(there))
        touched = [rule for rule in self._rules if wanted.keys() & rule.tally.members.keys()]
        placed = sum(model.counts.placed(number) for number in wanted) if left else 0
        cost = excess(model.counts, touched) - price * placed
        goals = [Goal(SpreadExcess.name, cost, False, work, open=True)]
        if not left:
            goals.append(Goal(SpreadSkew.name, skew(model.counts, touched), False, work, open=True))
        if self._shape is not None:
            goals.append(Goal(self._shape.name, self._shape.express(model.counts), False, work, open=True))
        found = model.solve(goals, inside if left else None, self._meter)
        return None if found is None else found.phases[0]
