"""Large neighbourhood search: what the batch has on a few nodes is arranged anew, with all else as it is.

Where a batch nearly fills its nodes, a model of all of them takes long to find the last pods a place, and
longer to find out how even ScheduleAnyway constraints could be.  Of a few nodes both is quickly said.  They
are drawn where something is to be gained: nodes with room, for pods for which others make none; one in a
domain with too many pods and one in a domain with the fewest; and with them any others, whose pods may change
places.

Without it two batches for 60 nodes, 95 % full, have 4 pods too many under ScheduleAnyway, with it 1; two for
40 nodes, 98 % full, 863 and 2, and one pod less is placed (`benchmarks/nearly_full.py --each 2`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from planner.batch.ejections import Ejections
from planner.batch.goals import MovedFromScheduler, SpreadExcess, SpreadSkew
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.batch.placed_pods import PlacedPods
from planner.constraints.pod_topology_spread import Rule, excess, skew
from planner.problem.nodes import Codes, Mask
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step

#: Pods too many of ScheduleAnyway constraints and the price of those without a place; the skew; pods
#: that have left home.
_Cost = tuple[int, int, int]


class NeighbourhoodSearch:
    """Looks for more pods and a better spread, beginning with a plan that is known."""

    def __init__(
        self, pending: Pending, meter: Meter, home: Placement | None = None, work: float | None = None
    ) -> None:
        """What a few nodes are arranged for last of all is that pods are at `home`, if that is given.

        Where running pods may be evicted, ScheduleAnyway constraints do not count.  `work` is the most that
        is done a few nodes at a time.
        """
        self._pending = pending
        self._home = Counter(home)
        self._nearer = None if home is None else MovedFromScheduler(pending, self._home)
        self._effort = meter.effort.neighbourhoods
        self._whole, self._meter = meter, meter.step(self._effort.work if work is None else work)
        self._random = random.Random(0)
        self._rules = () if pending.running else SpreadExcess(pending).rules
        self._least_skew = {
            rule: int(rule.always_uneven(pending.wanted, pending.static)) for rule in self._rules
        }
        #: What claims are bound to depends on the order of binds: pods with volumes stay where they are.
        self._fixed = {number for number in pending.wanted if pending.template(number).pod.spec.volumes}
        self._running = pending.running_counts()
        #: Whether a few nodes at a time change next to nothing.
        self._is_large = len(pending.pods) * pending.problem.nodes.size > self._effort.pairs

    def improve(self, steps: Sequence[Step], best: Incumbent, orderer: Orderer) -> Sequence[Step]:
        """Offer better plans than some steps, as long as any are found; the last of them."""
        return self._offer(self.every_better(Counter(steps), best.promises), steps, best, orderer)

    def with_room_made(self, steps: Sequence[Step], best: Incumbent, orderer: Orderer) -> Sequence[Step]:
        """Offer a plan with more pods that come in as others make room for them; the steps if none do."""
        effort = self._whole.effort.ejections
        work = effort.first_work if self._nearer is None else effort.work
        found = None if best.promises(Counter(steps)) else self.more_placed(Counter(steps), work)
        return self._offer([] if found is None else [found], steps, best, orderer)

    def _offer(
        self, placements: Iterable[Counter[Step]], steps: Sequence[Step], best: Incumbent, orderer: Orderer
    ) -> Sequence[Step]:
        """Offer placements as long as an order leads to them; the last steps."""
        pods = self._pending.pods
        for placement in placements:
            ordered = orderer.extend(orderer.follow([placement], pods), pods)
            best.offer(ordered)
            if len(ordered) < placement.total():
                # A few nodes at a time, what has no order may promise more than any plan has.
                break
            steps = ordered
        return steps

    def every_better(
        self, placement: Counter[Step], is_full: Callable[[Placement], bool]
    ) -> Iterator[Counter[Step]]:
        """Ever better placements, as long as any are found; of full ones no more pods are asked for.

        A pod without a place has a price, in pods too many.  It rises when nothing is found at the last one.
        """
        more = None if is_full(placement) else self.more_placed(placement, self._whole.effort.ejections.work)
        if more is not None:
            placement = more
            yield placement
        prices = iter(self._effort.prices if self._rules else self._effort.prices[:1])
        price = next(prices, None)
        while price is not None and not self._meter.over():
            full = is_full(placement)
            if full and self._is_large:
                break
            less = self._with_less_cost(placement, price, is_full=full)
            if less is not None:
                placement = less
                yield placement
            elif full:
                break
            else:
                price = next(prices, None)

    def more_placed(self, placement: Counter[Step], work: float) -> Counter[Step] | None:
        """A placement with more pods that come in as others make room for them; None if none does."""
        mark = self._pending.state.mark()
        pods = PlacedPods(self._pending, placement, self._home)
        meter = self._whole.step(work)
        Ejections(self._pending, meter, self._rules, self._fixed).place(pods)
        if self._rules and self._nearer is None:
            # A pod more is worth any number that are too many; near a plan others place all, less near.
            Ejections(self._pending, meter, (), self._fixed).place(pods)
        self._pending.state.rollback(mark)
        found = pods.placement()
        return found if found.total() > placement.total() else None

    def _with_less_cost(self, placement: Placement, price: int, *, is_full: bool) -> Counter[Step] | None:
        """A placement that costs less; None if so many tries found none.  A full one has no room for more."""
        mark = self._pending.state.mark()
        tries = self._effort.tries + self._pending.problem.nodes.size // 4
        pods = PlacedPods(self._pending, placement, self._home)
        start = now = self._cost(pods, price)
        for _ in range(tries):
            left = Counter[int]() if is_full else self._left(pods)
            nodes = self._draw(pods, left)
            if not nodes or self._meter.over():
                break
            here, before = pods.mark(), pods.on_nodes(nodes, self._fixed)
            pods.take(before)
            found = self._arranged(pods, before, left, nodes, price)
            if found is not None:
                pods.put(found)
            if found is None or self._cost(pods, price) > now:
                pods.go_back(here)
            now = self._cost(pods, price)
        self._pending.state.rollback(mark)
        return pods.placement() if now < start else None

    def _cost(self, pods: PlacedPods, price: int) -> _Cost:
        """What the pods without a place cost, how uneven the others are spread, and how many left home."""
        too_many = sum(int(rule.surplus().sum()) for rule in self._rules)
        left = sum(map(len, pods.waiting.values()))
        return too_many + price * left, sum(rule.skew() for rule in self._rules), pods.gone.total()

    # Which nodes

    def _left(self, pods: PlacedPods) -> Counter[int]:
        """Pods of a few templates that have no place and may have one."""
        static, fixed = self._pending.static, self._fixed
        some = [n for n, those in pods.waiting.items() if those and n not in fixed and static[n].any()]
        chosen = self._random.sample(some, min(len(some), self._effort.templates))
        return Counter({number: len(pods.waiting[number]) for number in chosen})

    def _draw(self, pods: PlacedPods, left: Collection[int]) -> set[int]:
        """A few nodes where something may be gained; none if nothing is to be gained anywhere."""
        uneven = [rule for rule in self._rules if rule.surplus().any()]
        uneven = uneven or [rule for rule in self._rules if rule.skew() > self._least_skew[rule]]
        if self._running and self._nearer is not None and not left:
            return self._away(pods, self._nearer)
        some: set[int] = set()
        if left and not (uneven and self._random.random() < self._effort.for_spread):
            some = self._roomy(left)
        else:
            drawn = self._random.sample(uneven, len(uneven))
            some = next(filter(None, (self._ends(pods, rule) for rule in drawn)), some)
        every = range(self._pending.problem.nodes.size)
        size = min(self._random.choice(self._effort.nodes), len(every))
        while some and len(some) < size:
            some.add(self._random.choice(every))
        return some

    def _away(self, pods: PlacedPods, nearer: MovedFromScheduler) -> set[int]:
        """A node with a pod that is not at home, one that such a pod has left, and others of either kind."""
        more, less = nearer.differences(pods.placement())
        if not more or not less:
            return set()
        number, node = self._random.choice(more)
        back = [other for template, other in less if template == number]
        some = {node, *self._random.sample(back, min(len(back), 1))}
        others = sorted({other for _, other in more + less} - some)
        size = self._random.choice(self._effort.nodes) - len(some)
        return some.union(self._random.sample(others, min(len(others), size)))

    def _roomy(self, left: Collection[int]) -> set[int]:
        """Some of the nodes with the most room that pods without a place may come to."""
        open_to: Mask = np.any([self._pending.static[number] for number in left], axis=0)
        nodes = np.flatnonzero(open_to)
        capacity = self._pending.problem.allocatable[:, nodes]
        free = np.where(
            capacity > 0, 1 - self._pending.state.used[:, nodes] / np.maximum(capacity, 1), 1
        ).min(axis=0)
        most = nodes[np.argsort(-free, kind="stable")[: self._effort.roomiest]].tolist()
        return set(self._random.sample(most, min(len(most), 2)))

    def _ends(self, pods: PlacedPods, rule: Rule) -> set[int]:
        """A node with pods of the batch in a domain that is too full, one open to them in the emptiest."""
        sums, domains = rule.counts.sums(), rule.counts.domains
        too_full = rule.surplus() > 0
        full = too_full if too_full.any() else domains & (sums == sums[domains].max())
        wanted = self._pending.wanted.keys() - self._fixed
        counted = {number for number in wanted if rule.tally.members.get(number)}
        inside = np.flatnonzero(self._within(rule, full)).tolist()
        sources = [node for node in inside if not counted.isdisjoint(pods.on.get(node, ()))]
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
        self, pods: PlacedPods, inside: Placement, left: Counter[int], nodes: Collection[int], price: int
    ) -> Counter[Step] | None:
        """What was on some nodes, and more that has no place, at the least cost; None if not found."""
        from planner.cpsat.model import BatchModel, Goal
        from planner.cpsat.variables import Batch

        pending, there = self._pending, Counter[int]()
        for (template, _), number in inside.items():
            there[template] += number
        wanted = there + left
        here = pending.problem.nodes.mask_of([*nodes])
        running = {number: self._running[number] * here for number in wanted if number in self._running}
        batch = Batch(pending.problem, wanted, pending.room_on(nodes, wanted), running=running)
        profiles = [(filters, own & wanted.keys()) for filters, own in pending.profiles()]
        model = BatchModel(batch, profiles)
        work = self._effort.once_work
        model.at_least(pending.by_priority(there))
        for templates, allowed in pending.budgets_of_templates:
            # What ran here has left so far; what has left other nodes is away for good.
            mine = templates & running.keys()
            away = sum(pods.gone[number] for number in templates) - sum(int(running[t].sum()) for t in mine)
            model.evict_at_most(mine, allowed - away)
        touched = [rule for rule in self._rules if wanted.keys() & rule.tally.members.keys()]
        goals = list[Goal]()
        if touched or left:
            placed = sum(model.counts.placed(number) for number in wanted) if left else 0
            cost = excess(model.counts, touched) - price * placed
            goals.append(Goal(SpreadExcess.name, cost, False, work, open=True))
        if touched and not left:
            goals.append(Goal(SpreadSkew.name, skew(model.counts, touched), False, work, open=True))
        if running:
            goals.append(model.moves(work, open=True))
        elif self._nearer is not None:
            goals.append(Goal(self._nearer.name, self._nearer.express(model.counts), False, work, open=True))
        stay = {step: int(running[step[0]][step[1]]) for step in inside if step[0] in running}
        staying = {step: min(inside[step], most) for step, most in stay.items()}
        hint = {step: number - staying.get(step, 0) for step, number in inside.items()}
        found = model.solve(goals, hint if left else None, self._meter, staying)
        return None if found is None else Counter(found.phases[0]) + Counter(found.staying)
