"""NodeResourcesFit: room for what a pod requests.

Kubernetes 1.34: a node fits when it has a pod slot left and, for every resource requested,
`request <= allocatable - sum of the requests on the node`.  A request larger than allocatable
cannot be helped by evictions.  Scoring counts cpu and memory with defaults for containers that
request none: LeastAllocated prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio
follows a curve.

The formulas are written so that they work for arrays of nodes and for the numbers of one node alike:
after a bind only one node has to be looked at again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from models.objects.scheduler_config import NodeResourcesFitArgs, UtilizationShapePoint
from planner.constraints.family import MAX_SCORE, PLENTY, Filter, Rejects, Score, Verdict, Violation
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import ALL, Codes, Feasible, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, in_words
from planner.problem.sequences import length_of_start, rank_among_equals
from planner.problem.templates import Template
from planner.state.load_arrays import (
    LoadArray,
    any_of,
    at,
    at_least_0,
    divisors,
    everywhere,
    no_more_than,
    positive,
    quotient,
)
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_TOO_MANY_PODS = "Too many pods"
#: Rows of `State.scored`, where containers without a request count too.
_COUNTED_APART = {CPU: 0, MEMORY: 1}
#: Set in a reject code when some request exceeds what the node could ever give.
_UNRESOLVABLE = 1 << 62
#: So many resources, and the pod slots, have a bit of their own below that.
_MOST_BITS = 60
_CURVE_SCALE = MAX_SCORE // 10


class NodeResourcesFit(Filter, Score):
    """Refuses nodes without room; likes empty, full or fitting ones as configured."""

    name = "NodeResourcesFit"

    def __init__(self, problem: Problem, state: State, args: NodeResourcesFitArgs | None = None) -> None:
        super().__init__(problem, state)
        args = args or NodeResourcesFitArgs()
        self._strategy = args.scoring_strategy
        ratio = self._strategy.requested_to_capacity_ratio
        self._curve = _curve(ratio.shape) if ratio is not None and ratio.shape else np.zeros(101, np.int64)
        self._args = args
        self._pods_row = problem.resource_index[PODS]
        #: A node that has none of these leaves them to DynamicResources.
        self._extended = frozenset(problem.extended_rows)
        #: What some profile ignores is not counted the same by all.
        self._disputed = frozenset(_ignored_rows(problem))
        rows = problem.resource_index
        self._scored = [(rows[r.name], r.weight) for r in self._strategy.resources if r.name in rows]
        self._divisors = divisors(problem.allocatable)
        self._everywhere = everywhere(problem.allocatable)
        self._patterns: dict[tuple[tuple[bool, ...], bool], int] = {}
        self._checked: dict[int, tuple[int, ...]] = {}
        self._rejects: ArrayCache[LoadArray] = ArrayCache(self.nodes.size)
        self._scores: ArrayCache[LoadArray] = ArrayCache(self.nodes.size)

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        return self._judged(template).current() if where is ALL else self._judge(template, where)

    def admits(self, template: Template, node: int) -> bool:
        return not self._judge(template, node)

    def accepted(self, template: Template, nodes: Codes) -> int:
        if len(self._rows(template)) > _MOST_BITS:
            return 0
        used = self.state.used[:, nodes] + np.outer(template.requests, rank_among_equals(nodes))
        return length_of_start(self._judge(template, ALL, used, self.problem.allocatable[:, nodes]) == 0)

    def _judged(self, template: Template) -> LoadArray:
        return self._rejects.get(
            template.requests_key,
            lambda: LoadArray(self.state, lambda where: self._judge(template, where)),
        )

    def stamp(self, template: Template) -> Hashable:
        return self._judged(template).version

    def wants(self, template: Template) -> list[tuple[int, int]]:
        """What has to be free on a node for the template: rows of the resource table and amounts."""
        return [(row, template.amounts[row]) for row in (self._pods_row, *self._rows(template))]

    def _rows(self, template: Template) -> tuple[int, ...]:
        """The resources a template requests, in the order in which kube lists what is missing."""
        rows = self._checked.get(template.index)
        if rows is None:
            rows = self._checked[template.index] = tuple(
                row for row in np.flatnonzero(template.requests).tolist() if self._is_checked(row)
            )
        return rows

    def _is_checked(self, row: int) -> bool:
        name = self.problem.resources[row]
        return name != PODS and not self._args.ignores(name)

    def reject_without(self, template: Template, gone: Ints) -> Rejects:
        """The answer for every node if so much less were used there; a row for every resource."""
        return np.asarray(self._judge(template, ALL, self.state.used - gone))

    def left_on(self, template: Template, node: int) -> list[int]:
        """What would be left of all that a template wants with one more pod of it on a node.

        Of what a node leaves to devices there is no end.
        """
        room, used = self.problem.allocatable[:, node].tolist(), self.state.used[:, node].tolist()
        return [
            PLENTY if row in self._extended and not room[row] else room[row] - used[row] - amount
            for row, amount in self.wants(template)
        ]

    def _judge(
        self, template: Template, where: Where, used: Ints | None = None, room: Ints | None = None
    ) -> Any:
        """A bit for every resource that is short, the first for pod slots."""
        used = self.state.used if used is None else used
        if len(self._rows(template)) > _MOST_BITS:
            return self._judge_in_full(template, where, used)
        room = self.problem.allocatable if room is None else room
        codes = (at(used, self._pods_row, where) >= at(room, self._pods_row, where)) * 1
        for bit, row in enumerate(self._rows(template), start=1):
            request, offered = template.amounts[row], at(room, row, where)
            short = request > offered - at(used, row, where)
            if row in self._extended:
                short = short & (offered > 0)
            if any_of(short):
                codes = codes | short * (1 << bit) | (short & (request > offered)) * _UNRESOLVABLE
        return codes

    def _judge_in_full(self, template: Template, where: Where, used: Ints) -> Any:
        """The same for more resources than a number has bits: a number for each set of them that is short."""
        rows = np.array([row for row, _ in self.wants(template)])
        wanted = np.array([amount for _, amount in self.wants(template)])[:, np.newaxis]
        nodes = np.atleast_1d(np.arange(self.nodes.size)[where])
        room = self.problem.allocatable[np.ix_(rows, nodes)]
        judged = (room > 0) | ~np.isin(rows, list(self._extended))[:, np.newaxis]
        short = judged & (wanted > room - used[np.ix_(rows, nodes)])
        unresolvable = (short & (wanted > room)).any(axis=0)
        codes = [
            self._pattern(*found) for found in zip(map(tuple, short.T), unresolvable.tolist(), strict=True)
        ]
        return codes[0] if isinstance(where, int) else np.array(codes, np.int64)

    def _pattern(self, short: tuple[bool, ...], unresolvable: bool) -> int:
        if not any(short):
            return 0
        return self._patterns.setdefault((short, unresolvable), len(self._patterns) + 1)

    def verdict(self, template: Template, code: int) -> Verdict:
        if len(self._rows(template)) > _MOST_BITS:
            return self._verdict_in_full(template, code)
        reasons = [_TOO_MANY_PODS] if code & 1 else []
        for bit, row in enumerate(self._rows(template), start=1):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self.problem.resources[row]}")
        return Verdict(tuple(reasons), unresolvable=bool(code & _UNRESOLVABLE))

    def _verdict_in_full(self, template: Template, code: int) -> Verdict:
        short, unresolvable = list(self._patterns)[code - 1]
        names = ["", *(f"Insufficient {self.problem.resources[row]}" for row in self._rows(template))]
        names[0] = _TOO_MANY_PODS
        reasons = tuple(name for name, missing in zip(names, short, strict=True) if missing)
        return Verdict(reasons, unresolvable=unresolvable)

    def is_of_node(self, template: Template) -> bool:
        return True

    def score(self, template: Template, feasible: Feasible) -> Ints:
        return self._scores.get(
            template.asked_key,
            lambda: LoadArray(self.state, lambda where: self._rate(template, where)),
        ).current()

    def _rate(self, template: Template, where: Where) -> Any:
        """The weighted mean of the resources' ratings, over those that the node has."""
        total: Any = 0
        weights: Any = 0
        for row, weight in self._scored:
            load = self._load(template, row, where)
            if load is None:
                continue
            rating, counts = self._rating(load, row, where)
            total = total + (rating if weight == 1 else rating * weight)
            weights = weights + counts * weight
        if self._strategy.type == "RequestedToCapacityRatio":
            return np.floor(total / np.maximum(weights, 1) + 0.5)
        return total // positive(weights)

    def _rating(self, load: Any, row: int, where: Where) -> tuple[Any, Any]:
        """What a resource contributes, and whether it counts: 1, 0, or for every node which."""
        room, divisor = at(self.problem.allocatable, row, where), at(self._divisors, row, where)
        exists = 1 if self._everywhere[row] else (room > 0) * 1
        match self._strategy.type:
            case "LeastAllocated":
                return at_least_0(quotient((room - load) * MAX_SCORE, divisor)), exists
            case "MostAllocated":
                return quotient(no_more_than(load, room) * MAX_SCORE, divisor), exists
            case _:
                used = np.where((room == 0) | (load > room), 100, quotient(load * 100, divisor))
                rating = self._curve[used] * exists
                return rating, (rating > 0) * 1

    def _load(self, template: Template, row: int, where: Where) -> Any | None:
        """What a node would carry with the pod on it; None when the resource is no matter."""
        name, asked = self.problem.resources[row], template.asked[row]
        if name in _COUNTED_APART:
            return at(self.state.scored, _COUNTED_APART[name], where) + asked
        if not asked and name != EPHEMERAL_STORAGE:
            return None
        return at(self.state.used, row, where) + asked

    def wants_pods(self, template: Template) -> bool:
        return False

    def is_local(self, template: Template) -> bool:
        return True

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        first, *others = self.wants(template)
        fitting = self._fits(*first)
        for row, amount in others:
            np.minimum(fitting, self._fits(row, amount), out=fitting)
        return fitting

    def takes(self, template: Template) -> Ints | None:
        return self.most(template, {})

    def _fits(self, row: int, amount: int) -> Ints:
        """How often an amount of a resource is free on every node; no limit where that is left to devices."""
        fits: Ints = self._free(row) // amount
        return np.where(self._left_to_devices(row), PLENTY, fits) if row in self._extended else fits

    def _free(self, row: int) -> Ints:
        """What every node has left of a resource."""
        free: Ints = np.maximum(self.problem.allocatable[row] - self.state.used[row], 0)
        return free

    def _left_to_devices(self, row: int) -> Mask:
        """The nodes on which another rule says whether there is enough of a resource."""
        return (self.problem.allocatable[row] == 0) if row in self._extended else self.nodes.none

    def encode(self, x: Counts) -> None:
        """On every node, the requests of the pods that come fit into what is free, pod slots included.

        Pods that run there already may stay even on a node that has less than they request, as long as
        no pod comes.  What some profile ignores, its pods take past any limit: of that only the pods of
        the profile at hand are counted.
        """
        wants: dict[int, dict[int, int]] = defaultdict(dict)
        for template in x.judged():
            for row, amount in self.wants(template):
                if row not in self._disputed or template.index in x.carriers:
                    wants[row][template.index] = amount
        for row, amounts in wants.items():
            unit = math.gcd(*amounts.values())
            scaled = {number: amount // unit for number, amount in amounts.items()}
            all_of_them = sum(amount * x.batch.wanted[number] for number, amount in scaled.items())
            # More than all pods together request is never needed, and would only make sums of nodes large.
            free = np.minimum(self._free(row) // unit, all_of_them)
            free = np.where(self._left_to_devices(row), all_of_them, free)
            x.limit((self.name, row, *scaled), scaled, free, tight=True)
        if x.is_final_state:
            self._encode_disputed(x)

    def _encode_disputed(self, x: Counts) -> None:
        """Where a pod comes whose profile looks at a resource, pods that take it unasked are counted, too."""
        for row in self._disputed:
            own = [t.index for t in x.judged() if t.index in x.carriers and row in self._rows(t)]
            every = {t.index: t.amounts[row] for t in x.batch.templates if t.requests[row]}
            free = np.where(self._left_to_devices(row), PLENTY, self._free(row)).tolist()
            for cell in x.reached(own):
                comes = x.any_of((self.name, "disputed", row, *own, cell), own, (cell,))
                if comes is not None:
                    x.require_if(comes, x.total(every, (cell,)) <= free[cell])

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        rows, nodes = [row for row, _ in self.wants(template)], self.state.node_of[pods]
        short = self.state.used[rows][:, nodes] > self.problem.allocatable[rows][:, nodes]
        return not any(
            (missing & ~self._left_to_devices(row)[nodes]).any()
            for row, missing in zip(rows, short, strict=True)
        )

    def violations(self) -> Iterator[Violation]:
        """Nodes on which more is requested than is allocatable, per resource that no profile ignores."""
        for row, name in enumerate(self.problem.resources):
            if row in self._disputed:
                continue
            used, room = self.state.used[row], self.problem.allocatable[row]
            for node in np.flatnonzero((used > room) & (used > 0)).tolist():
                there, asked = in_words(name, int(room[node])), in_words(name, int(used[node]))
                message = f"{self.nodes.names[node]} has {there} {name} for {asked} requested"
                yield Violation(self.name, "", self.nodes.names[node], message)


def _ignored_rows(problem: Problem) -> Iterator[int]:
    """The rows of the resource table that some profile ignores."""
    config = problem.cluster.scheduler_config
    known = [] if config is None else [profile.args(NodeResourcesFitArgs) for profile in config.profiles]
    for row, name in enumerate(problem.resources):
        if any(args.ignores(name) for args in known):
            yield row


def _curve(shape: Sequence[UtilizationShapePoint]) -> Ints:
    """The score for every utilisation from 0 to 100 per cent, linear between the points."""
    return np.array([_curve_at(percent, shape) for percent in range(101)], np.int64)


def _curve_at(percent: int, shape: Sequence[UtilizationShapePoint]) -> int:
    before = shape[0]
    for point in shape:
        if percent <= point.utilization:
            if point is before:
                return point.score * _CURVE_SCALE
            rise = (point.score - before.score) * _CURVE_SCALE * (percent - before.utilization)
            return before.score * _CURVE_SCALE + int(rise / (point.utilization - before.utilization))
        before = point
    return before.score * _CURVE_SCALE
