"""The model of a region: how many pods of each template leave every site, and how many come.

Stages: what hard constraints have too much, the moves, their weights, what soft constraints have too
much.  Each stage is solved with what the stages before achieved as a constraint.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ortools.sat.python import cp_model

from planner.cpsat.lexicographic import Reached, StageGoal, reach
from planner.cpsat.region import Place, Region, RegionConstraint
from planner.cpsat.solver import Solved, solved
from planner.cpsat.spread import DomainPods, Spread
from planner.proof.meter import Meter

HARD_EXCESS, SOFT_EXCESS, MOVES, DISRUPTION = "hardExcess", "softExcess", "moves", "disruption"


@dataclass(frozen=True, slots=True)
class Shift:
    """Pods by template and site that leave and that come; every stage's value and bound."""

    leaving: Counter[tuple[int, int]]
    coming: Counter[tuple[int, int]]
    values: Mapping[str, int]
    bounds: Mapping[str, int]


class MoveModel:
    """Variables and constraints of a region."""

    def __init__(
        self,
        region: Region,
        *,
        most_moves: int | None = None,
        hard_excess: int | None = None,
        arriving: bool = False,
    ) -> None:
        """A model of a region; with `hard_excess` only of what has just so much too much.

        With `arriving` no domain to which a pod comes has too much by the constraints of that pod: it was
        within bounds when the pod came, and nothing may get worse afterwards.
        """
        self.cp = cp_model.CpModel()
        self._region = region
        self._arriving = arriving
        self._leave = {
            (t, site): self.cp.new_int_var(0, len(weights), "")
            for t, sites in region.leaving.items()
            for site, weights in sites.items()
        }
        self._movable = {t: sum(map(len, sites.values())) for t, sites in region.leaving.items()}
        self._come = {
            (t, site): self.cp.new_int_var(0, self._movable[t], "")
            for t, sites in region.open.items()
            if self._movable[t]
            for site in sites
        }
        self._conserve()
        self._keep_room()
        self._excess: dict[bool, list[Any]] = {True: [], False: []}
        for constraint in region.constraints:
            self._count(constraint)
        self._limit()
        if most_moves is not None:
            self.cp.add(cp_model.LinearExpr.sum([*self._leave.values()]) <= most_moves)
        if hard_excess is not None:
            # Known beforehand it is a constraint and no objective, which is proved far sooner.
            self.cp.add(cp_model.LinearExpr.sum(self._excess[True]) == hard_excess)

    def _limit(self) -> None:
        """No more evictions from a node, or from a namespace, than a policy allows."""
        for keys, most in self._region.limits:
            leaves = [self._leave[key] for key in keys if key in self._leave]
            self.cp.add(cp_model.LinearExpr.sum(leaves) <= most)

    def _conserve(self) -> None:
        """Every pod that leaves comes somewhere."""
        for t in self._region.templates:
            leaves = [variable for (number, _), variable in self._leave.items() if number == t]
            comes = [variable for (number, _), variable in self._come.items() if number == t]
            self.cp.add(cp_model.LinearExpr.sum(leaves) == cp_model.LinearExpr.sum(comes))

    def _keep_room(self) -> None:
        """No pod comes to a node without room for it."""
        at: dict[int, list[int]] = {}
        for t, site in self._come:
            at.setdefault(site, []).append(t)
        for site, free in self._region.room.items():
            for row, amount in free.items():
                self._keep_room_of(site, row, amount, at.get(site, ()))

    def _keep_room_of(self, site: int, row: int, free: int, coming: Iterable[int]) -> None:
        wants = {t: dict(found).get(row, 0) for t, found in self._region.wants.items()}
        come = [(self._come[t, site], wants[t]) for t in coming if wants[t]]
        if not come:
            return
        leave = [(self._leave[t, site], -wants[t]) for t in wants if wants[t] and (t, site) in self._leave]
        variables, amounts = zip(*come, *leave, strict=True)
        unit = math.gcd(*amounts)
        free //= unit
        used = cp_model.LinearExpr.weighted_sum(variables, [amount // unit for amount in amounts])
        if free >= 0:
            self.cp.add(used <= free)
            return
        # An overcommitted node takes pods only when it has room again.
        some = self.cp.new_bool_var("")
        arriving = cp_model.LinearExpr.sum([variable for variable, _ in come])
        self.cp.add(arriving == 0).only_enforce_if(~some)
        self.cp.add(used <= free).only_enforce_if(some)

    def _change(self, templates: Iterable[int], sites: Sequence[int]) -> tuple[Any, int, int]:
        """By how many pods a count changes, and by how many at most down and up."""
        gone, come, down, up = [], [], 0, 0
        for t in sorted(templates):
            leaving = [site for site in sites if (t, site) in self._leave]
            gone += [self._leave[t, site] for site in leaving]
            down += sum(len(self._region.leaving[t][site]) for site in leaving)
            here = [self._come[t, site] for site in sites if (t, site) in self._come]
            come += here
            up += self._movable[t] if here else 0
        signs = [*([-1] * len(gone)), *([1] * len(come))]
        return cp_model.LinearExpr.weighted_sum([*gone, *come], signs), down, up

    def _count(self, constraint: RegionConstraint) -> None:
        """A variable for what each domain of a constraint has too much."""
        counted = [self._pods(place, constraint.members) for place in constraint.places]
        spread = Spread(self.cp, counted, constraint.max_skew, few_domains=constraint.few_domains)
        for place, domain in zip(constraint.places, counted, strict=True):
            if not spread.may_exceed(domain):
                continue
            if place.domains > 1:
                # Where the others are among these domains is not known: only carriers count for certain.
                asking = self._pods(place, constraint.members.intersection(constraint.carriers))
                over = spread.excess(replace(asking, most=domain.most))
            else:
                over = spread.excess(domain, self._asking(place, constraint.carriers))
            self._excess[constraint.hard].append(over)
            if self._arriving and place.domains == 1:
                self._arrive(over, constraint.kept_out, place)

    def _pods(self, place: Place, templates: Iterable[int]) -> DomainPods:
        """The pods of some templates that a place counts, with those that never move."""
        change, down, up = self._change(templates, place.sites)
        return DomainPods(place.pods + change, place.pods - down, place.pods + up, place.domains)

    def _asking(self, place: Place, carriers: Iterable[int]) -> DomainPods:
        """The pods with the constraint, wherever they are in a domain."""
        change, down, up = self._change(carriers, place.asking)
        return DomainPods(place.carriers + change, place.carriers - down, place.carriers + up)

    def _arrive(self, over: Any, kept_out: Iterable[int], place: Place) -> None:
        """Nothing is too much where one of those comes that are kept out else."""
        coming = [self._come[t, site] for t in kept_out for site in place.sites if (t, site) in self._come]
        if coming:
            some = self.cp.new_bool_var("")
            self.cp.add(cp_model.LinearExpr.sum(coming) == 0).only_enforce_if(~some)
            self.cp.add(over == 0).only_enforce_if(some)

    def _objectives(self, names: Sequence[str]) -> Iterator[StageGoal]:
        every = {
            HARD_EXCESS: cp_model.LinearExpr.sum(self._excess[True]),
            SOFT_EXCESS: cp_model.LinearExpr.sum(self._excess[False]),
            MOVES: cp_model.LinearExpr.sum([*self._leave.values()]),
        }
        for name in names:
            yield StageGoal(name, every[name] if name in every else self._disruption())

    def _disruption(self) -> Any:
        """The weights of the cheapest pods of every site, as many as leave."""
        terms = []
        for (t, site), variable in self._leave.items():
            weights = self._region.leaving[t][site]
            if weights[0] == weights[-1]:
                terms.append(weights[0] * variable)
                continue
            cost = self.cp.new_int_var(0, sum(weights), "")
            for number, weight in enumerate(weights):
                self.cp.add(cost >= sum(weights[:number]) + weight * (variable - number))
            terms.append(cost)
        return cp_model.LinearExpr.sum(terms)

    def solve(self, stages: Sequence[str], meter: Meter, work: float) -> Shift | None:
        """The best that so much work on each stage finds; None when nothing was found."""
        found: Shift | None = None
        weight = self._only_weight()
        # Where all pods weigh the same the moves say what they weigh, and nothing is left to choose.
        asked = [*takewhile(lambda name: not (weight and name == DISRUPTION), stages)]
        for reached in reach(self.cp, self._objectives(asked), lambda _: self._solved(meter, work)):
            found = self._read(reached, found)
            if meter.over():
                return found
        complete = found is not None and len(found.values) == len(asked) < len(stages)
        return _weighed(found, weight) if found is not None and complete else found

    def _solved(self, meter: Meter, work: float) -> Solved:
        return solved(self.cp, meter.part(work), work, linear=True)

    def _only_weight(self) -> int:
        """The weight that all pods share, if they do."""
        weights = {w for sites in self._region.leaving.values() for found in sites.values() for w in found}
        return weights.pop() if len(weights) == 1 else 0

    def _read(self, reached: Reached, before: Shift | None) -> Shift:
        value = reached.solver.value
        leaving = Counter({key: n for key, v in self._leave.items() if (n := value(v))})
        coming = Counter({key: n for key, v in self._come.items() if (n := value(v))})
        both = leaving & coming
        return Shift(
            leaving - both,
            coming - both,
            {**(before.values if before else {}), reached.name: reached.value},
            {**(before.bounds if before else {}), reached.name: max(0, reached.bound)},
        )


def _weighed(found: Shift, weight: int) -> Shift:
    """With equal weights the moves say how much they weigh."""
    return replace(
        found,
        values={**found.values, DISRUPTION: weight * found.values[MOVES]},
        bounds={**found.bounds, DISRUPTION: weight * found.bounds[MOVES]},
    )
