"""The softer stages of the objective, each as a number of a state and as an expression of a model.

After the pods placed: how even ScheduleAnyway constraints come out, how many preferences are met, and
the shape that was asked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from planner.audit.summary import makes_used, occupied
from planner.batch.pending import Pending
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread, Rule, excess, skew
from planner.problem.nodes import Ints, Mask
from planner.problem.requests import CPU, MEMORY, PODS
from planner.problem.templates import Template
from planner.scheduler.order import Placement, Step

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts


#: How full a node is at most, as far as that is counted.
_MOST_PERCENT = 10**12
#: So many bits the sums of one constraint may have, well below what the solver takes.
_BITS_OF_SOLVER = 58


class PlanShape(StrEnum):
    """What a plan looks like where all else is equal."""

    SPREAD = "spread"
    PACK = "pack"
    STABLE = "stable"


class SoftGoal(ABC):
    """One stage: to be made as small as possible, or as large."""

    name: ClassVar[str]
    largest: ClassVar[bool] = False

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    @abstractmethod
    def value(self, placement: Placement) -> int:
        """What the stage counts now that the pods of a placement have been bound."""

    @abstractmethod
    def express(self, x: Counts) -> Any:
        """The same in the solver's terms."""

    def bound(self) -> int | None:
        """What it could be at best whatever comes, as far as it is plain to see before anything came."""
        return 0

    def bound_of_all(self) -> int | None:
        """The same if every pod finds a place."""
        return self.bound()

    def _templates(self) -> Iterator[Template]:
        return (self._pending.template(number) for number in self._pending.pods)

    def _all_ask_for_room(self) -> bool:
        """Whether every pod is refused where what it requests is not free."""
        return all(
            any(isinstance(one, NodeResourcesFit) for one in asked) for asked, _ in self._pending.profiles()
        )


class _SoftSpread(SoftGoal):
    def __init__(self, pending: Pending) -> None:
        super().__init__(pending)
        rules: dict[Any, Rule] = {}
        for number in pending.pods:
            for family in pending.framework(number).profile.of(PodTopologySpread):
                rules |= {rule.identity: rule for rule in family.soft_rules((pending.template(number),))}
        self.rules = tuple(rules.values())


class SpreadExcess(_SoftSpread):
    """Pods above what ScheduleAnyway constraints call even."""

    name = "softSpreadExcess"

    def value(self, placement: Placement) -> int:
        return sum(int(rule.surplus().sum()) for rule in self.rules)

    def express(self, x: Counts) -> Any:
        return excess(x, self.rules)


class SpreadSkew(_SoftSpread):
    """The skew of ScheduleAnyway constraints."""

    name = "softSpreadSkew"

    def value(self, placement: Placement) -> int:
        return sum(rule.skew() for rule in self.rules)

    def bound_of_all(self) -> int | None:
        wanted, places = self._pending.wanted, self._pending.static
        return sum(rule.always_uneven(wanted, places) for rule in self.rules)

    def express(self, x: Counts) -> Any:
        return skew(x, self.rules)


class Preferences(SoftGoal):
    """The weights of preferred node and pod affinity terms that pods have met."""

    name = "preferredAffinity"
    largest = True

    def value(self, placement: Placement) -> int:
        preference_score = {
            number: self._preference_scores(number) for number in {template for template, _ in placement}
        }
        return sum(int(preference_score[number][node]) * pods for (number, node), pods in placement.items())

    def _preference_scores(self, number: int) -> Ints:
        profile, template = self._pending.framework(number).profile, self._pending.template(number)
        total = np.zeros(self._pending.problem.nodes.size, np.int64)
        for affinity in profile.of(NodeAffinityPlugin):
            total += affinity.preference_score(template)
        for affinity_peers in profile.of(InterPodAffinity):
            total += affinity_peers.preference_score(template)
        return total

    def express(self, x: Counts) -> Any:
        parts: list[Any] = []
        for template in self._templates():
            profile = self._pending.framework(template.index).profile
            parts += [family.express_preference(x, template) for family in profile.of(InterPodAffinity)]
            for family in profile.of(NodeAffinityPlugin):
                preference_score = x.at_best(family.preference_score(template))
                parts += [
                    preference_score[cell] * x.total({template.index: 1}, (cell,))
                    for cell in x.cells_of(template.index)
                    if preference_score[cell]
                ]
        return sum(parts)

    def bound(self) -> int | None:
        return None

    def any(self) -> bool:
        """Whether any pod prefers anything."""
        for template in self._templates():
            profile = self._pending.framework(template.index).profile
            if any(
                family.preference_score(template).any() for family in profile.of(NodeAffinityPlugin)
            ) or any(family.prefers_affinity_peers(template) for family in profile.of(InterPodAffinity)):
                return True
        return False


class FullestNode(SoftGoal):
    """How full the fullest node is, by cpu or memory, in per cent."""

    name = "fullestNodePercent"

    def __init__(self, pending: Pending) -> None:
        super().__init__(pending)
        problem = pending.problem
        self._rows = [problem.resource_index[name] for name in (CPU, MEMORY)]
        self._bound = self._percent()

    def _percent(self) -> int:
        room = self._pending.problem.allocatable[self._rows]
        used = self._pending.state.used[self._rows]
        percent = -(-100 * used // np.maximum(room, 1))
        return min(int(percent[room > 0].max(initial=0)), _MOST_PERCENT)

    def value(self, placement: Placement) -> int:
        return self._percent()

    def express(self, x: Counts) -> Any:
        problem, state = self._pending.problem, self._pending.state
        most = self._most()
        percent = x.integer(self._bound, most, self.name)
        for row in self._rows:
            wants = {t.index: t.amounts[row] for t in x.batch.templates if t.amounts[row]}
            room, used = problem.allocatable[row], state.used[row]
            # A node without any is not looked at, whatever comes to it; nor are cells that have one.
            summed = np.where(x.at_best(-room), x.summed(room), 0).tolist()
            for cell, (there, taken) in enumerate(zip(summed, x.summed(used), strict=True)):
                unit = math.gcd(there, taken, *wants.values())
                asked = sum(amount * x.batch.wanted[t] for t, amount in wants.items())
                # Rounded in favour of the plan where the sums are more than the solver adds up.
                largest = max(most * there, 100 * (taken + asked))
                unit *= 1 + (largest // max(unit, 1) >> _BITS_OF_SOLVER)
                # What may be fuller than is counted is left out: the model promises more there, never less.
                if 0 < 100 * (taken + asked) <= _MOST_PERCENT * there:
                    coming = x.total({t: 100 * amount // unit for t, amount in wants.items()}, (cell,))
                    x.require(coming + 100 * taken // unit <= percent * -(-there // unit))
        return percent

    def _most(self) -> int:
        """What it may become: more than 100 where no filter asks whether there is room."""
        if all(self._pending.wants(number) for number in self._pending.pods):
            return max(self._bound, 100)
        room = self._pending.problem.allocatable[self._rows]
        # Where no filter asks whether there is room, a hundred times the load may be more than 64 bits hold.
        load = self._pending.state.used[self._rows].astype(object)
        for number, pods in self._pending.wanted.items():
            load += pods * self._pending.template(number).requests[self._rows, np.newaxis]
        return min(int((-(-100 * load // np.maximum(room, 1)))[room > 0].max(initial=100)), _MOST_PERCENT)

    def bound(self) -> int | None:
        return self._bound

    def bound_of_all(self) -> int:
        """With all nodes as full as that there is room in sum for what comes."""
        if not self._all_ask_for_room():
            return self._bound
        pending, rows = self._pending, self._rows
        needs = sum(pending.template(t).requests[rows] * pods for t, pods in pending.wanted.items())
        fuller = range(self._bound, 100)
        return self._bound + bisect_left(
            fuller, True, key=lambda percent: bool((self._free(percent).sum(axis=1) >= needs).all())
        )

    def free(self, percent: int) -> Ints:
        """What every node can take of each resource so that it is no fuller than that."""
        free = self._pending.free_room()
        free[self._rows] = self._free(percent)
        return free

    def _free(self, percent: int) -> Ints:
        """The same of cpu and memory."""
        room = self._pending.problem.allocatable[self._rows] * percent // 100
        free: Ints = np.maximum(room - self._pending.state.used[self._rows], 0)
        return free


class NodesUsed(SoftGoal):
    """Nodes that hold any pod but those that every node has."""

    name = "nodesUsed"

    def _used(self) -> Mask:
        return occupied(self._pending.state)

    def value(self, placement: Placement) -> int:
        return int(np.count_nonzero(self._used()))

    def express(self, x: Counts) -> Any:
        """Of cells of several nodes as many as would do, were each the one with the most room."""
        used = self._used()
        number = [x.integer(0, most, self.name) for most in x.summed((~used).astype(np.int64))]
        for amounts, there, each in self._limits(x):
            for cell in x.reached(amounts):
                x.require(x.total(amounts, (cell,)) <= there[cell] + each[cell] * number[cell])
        return int(np.count_nonzero(used)) + sum(number)

    def more(self, x: Counts, quotas: Placement) -> Mask:
        """The nodes not in use, those with the most room first, that quotas of cells need at least."""
        used, rows = self._used(), {number: row for row, number in enumerate(x.batch.wanted)}
        pods = np.zeros((len(rows), x.cells.size), np.int64)
        for (number, cell), count in quotas.items():
            pods[rows[number], cell] = count
        needed = np.zeros(x.cells.size, np.int64)
        for amounts, there, each in self._limits(x):
            load = sum(amount * pods[rows[number]] for number, amount in amounts.items())
            np.maximum(needed, -((np.array(there) - load) // np.maximum(each, 1)), out=needed)
        free, needs = self.room()
        size = (free / np.maximum(needs, 1)[:, np.newaxis])[needs > 0].min(axis=0, initial=1.0)
        chosen = np.zeros_like(used)
        for nodes, most in zip(x.cells.members(), needed.tolist(), strict=True):
            others = nodes[~used[nodes]]
            chosen[others[np.argsort(-size[others], kind="stable")][:most]] = True
        return chosen

    def _limits(self, x: Counts) -> Iterator[tuple[Mapping[int, int], list[int], list[int]]]:
        """What pods that come take of a cell: of this nodes in use have so much, another so much at most."""
        used, kinds = self._used(), [template for template in x.batch.templates if makes_used(template)]
        for template in kinds:
            room = x.batch.room[template.index]
            yield {template.index: 1}, x.summed(room * used), x.at_best(room * ~used)
        if not self._all_ask_for_room():
            return
        for row, free in zip(self._rows(), self.room()[0], strict=True):
            amounts = {template.index: int(template.requests[row]) for template in kinds}
            if unit := math.gcd(*amounts.values()):
                yield (
                    {number: amount // unit for number, amount in amounts.items() if amount},
                    [x.filled(room) // unit for room in x.summed(free * used)],
                    [x.filled(room) // unit for room in x.at_best(free * ~used)],
                )

    def bound(self) -> int | None:
        return int(np.count_nonzero(self._used()))

    def _rows(self) -> list[int]:
        return [self._pending.problem.resource_index[name] for name in (CPU, MEMORY, PODS)]

    def room(self) -> tuple[Ints, Ints]:
        """What is free on every node of cpu, memory and pods, and what comes needs of it together."""
        problem, pending, rows = self._pending.problem, self._pending, self._rows()
        free: Ints = np.maximum(problem.allocatable[rows] - pending.state.used[rows], 0)
        needs = np.zeros(len(rows), np.int64)
        for number, pods in pending.wanted.items():
            needs += pending.template(number).requests[rows] * pods * makes_used(pending.template(number))
        return free, needs


class MovedFromScheduler(SoftGoal):
    """Pods that come to another node than kube-scheduler would choose."""

    name = "podsElsewhere"

    def __init__(self, pending: Pending, reference: Counter[Step]) -> None:
        super().__init__(pending)
        self._reference = reference

    def value(self, placement: Placement) -> int:
        return sum((Counter(placement) - self._reference).values())

    def differences(self, placement: Counter[Step]) -> tuple[list[Step], list[Step]]:
        """Where a placement has more pods than it is compared with, and where fewer."""
        return list(placement - self._reference), list(self._reference - placement)

    def bound_of_all(self) -> int:
        """As many as kube-scheduler leaves without a node."""
        placed = Counter[int]()
        for (number, _), pods in self._reference.items():
            placed[number] += pods
        return sum((Counter(self._pending.wanted) - placed).values())

    def express(self, x: Counts) -> Any:
        away: list[Any] = []
        there = {number: np.zeros(self._pending.problem.nodes.size, np.int64) for number in x.batch.wanted}
        for (number, node), placed in self._reference.items():
            if number in there:
                there[number][node] = placed
        for number, wanted in x.batch.wanted.items():
            usually = x.summed(there[number])
            for cell in x.cells_of(number):
                usual = usually[cell]
                pods = x.total({number: 1}, (cell,))
                if usual:
                    more = x.integer(0, wanted, self.name)
                    x.require(more >= pods - usual)
                    pods = more
                away.append(pods)
        return sum(away)


def soft_goals(pending: Pending, shape: PlanShape | None, reference: Counter[Step]) -> list[SoftGoal]:
    """The stages that can make a difference, in their order; that of a shape if one is asked for."""
    found: list[SoftGoal] = []
    if SpreadExcess(pending).rules:
        found += [SpreadExcess(pending), SpreadSkew(pending)]
    preferences = Preferences(pending)
    if preferences.any():
        found.append(preferences)
    if shape is not None and pending.pods:
        found.append(_shape(pending, shape, reference))
    return found


def _shape(pending: Pending, shape: PlanShape, reference: Counter[Step]) -> SoftGoal:
    match shape:
        case PlanShape.SPREAD:
            return FullestNode(pending)
        case PlanShape.PACK:
            return NodesUsed(pending)
        case PlanShape.STABLE:
            return MovedFromScheduler(pending, reference)
