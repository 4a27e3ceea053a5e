"""Quotas for cells of nodes without a model: domains level, and in each of them a price for what is scarce.

Every template spreads its pods evenly over the domains of its constraint.  Within a domain its pods prefer
cells where what they request is cheap; prices rise where more is requested than is free and fall where less
is, which is dual ascent on the linear relaxation.  Where a batch leaves some room to spare a few dozen rounds
are enough, and whole numbers of pods are as good.  No other constraint is looked at: distributing the quotas
over nodes and binding the pods in turn show whether all are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from planner.batch.pending import Pending
from planner.constraints.pod_topology_spread import PodTopologySpread, Rule
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof.effort import PRICE_OF_NUMBER, PRICE_OF_TURN, CellEffort
from planner.proof.meter import Meter
from planner.scheduler.order import Placement

_Floats = NDArray[np.float64]
#: Keeps a quotient finite; what is divided is 0 then.
_TINY = np.finfo(np.float64).tiny
#: Pods divided by the exponential of this are still finite.
_LOWEST = -600.0


class LevelQuotas:
    """Shares out a whole batch over cells; `soft` constraints are to come out even as well."""

    def __init__(
        self,
        pending: Pending,
        cells: NodeGroups,
        room: Mapping[int, Ints],
        soft: Collection[Rule],
        free: Ints | None = None,
    ) -> None:
        """`free` is what nodes may take of each resource, if that is less than what is free there."""
        self._pending = pending
        self._cells = cells
        self._soft = {rule.identity: rule for rule in soft}
        self._templates = [pending.template(number) for number in pending.wanted]
        self._room = np.array([cells.sums(room[number]) for number in pending.wanted], np.int64)
        #: In which domain, of those of all templates, the pods of a template are in a cell; -1 where in none.
        self._domain: Codes = np.full(self._room.shape, -1, np.intp)
        requests = np.array([template.requests for template in self._templates])
        asked = requests.any(axis=0)
        self._requests: Ints = requests[:, asked]
        free = pending.free_room() if free is None else free
        self._free: Ints = np.array([cells.sums(amounts) for amounts in free[asked]])
        self._pods = self._spread()
        self._open: Mask = self._room > 0
        taken = self._requests[:, :, np.newaxis] / np.maximum(self._free, 1)
        #: Template x resource x cell: the part that a pod takes of all that is free, where it may come.
        self._taken: _Floats = np.where(self._open[:, np.newaxis], taken, 0.0)

    def quotas(self, meter: Meter) -> Placement | None:
        """Pods by template and cell; None where no way was found to share out all of them."""
        shares = self._shares(meter)
        found = None if shares is None else self._whole(shares, meter.effort.cells)
        if found is None or not self._is_even(found):
            return None
        numbers = [template.index for template in self._templates]
        rows, cells = np.nonzero(found)
        pods = found[rows, cells].tolist()
        return {
            (numbers[row], cell): count
            for row, cell, count in zip(rows.tolist(), cells.tolist(), pods, strict=True)
        }

    def _spread(self) -> Ints:
        """How many pods of a template come to each of its domains, one template after the other."""
        pods: list[Ints] = []
        total, left = 0, self._free.astype(np.float64)
        for row, template in enumerate(self._templates):
            rule, room = self._rule(row), self._room[row]
            wanted = self._pending.wanted[template.index]
            of = np.zeros(len(room), np.intp) if rule is None else rule.column.codes[self._cells.first]
            codes = np.where(room > 0, of, -1)
            number = 1 if rule is None else len(rule.column.values)
            free = np.maximum(_by_domain(self._free, codes, number), 1)
            if rule is None:
                coming = np.array([wanted])
            else:
                in_domain = _by_domain(room[np.newaxis], codes, number)[0].astype(np.int64)
                counted = np.where(rule.counts.domains, in_domain, 0)
                emptiness = (_by_domain(left, codes, number) / free).min(axis=0, initial=1.0)
                coming = _level(rule.counts.sums(), counted, wanted, emptiness)
            taken = self._requests[row][:, np.newaxis] * coming / free
            inside = codes >= 0
            left[:, inside] -= self._free[:, inside] * taken[:, codes[inside]]
            self._domain[row] = np.where(inside, codes + total, -1)
            pods.append(coming)
            total += len(coming)
        return np.concatenate(pods)

    def _rule(self, row: int) -> Rule | None:
        """The constraint of a template with the most domains, of those whose domains the cells tell apart."""
        template = self._templates[row]
        rules = [
            rule
            for plugin in self._pending.framework(template.index).profile.of(PodTopologySpread)
            for rule in (
                *plugin.hard(template),
                *(found for found in plugin.soft(template).rules if found.identity in self._soft),
            )
            if self._cells.tells(rule.column.codes)
        ]
        return max(rules, key=lambda rule: len(rule.column.values), default=None)

    def _shares(self, meter: Meter) -> _Floats | None:
        """Pods by template and cell that need not be whole; None where prices do not make them fit."""
        effort = meter.effort.cells
        aim, enough = effort.level_fullness
        coming = np.where(self._open.any(axis=1), [*self._pending.wanted.values()], 0)
        if (coming @ self._requests > self._free.sum(axis=1) * enough).any():
            return None
        size = self._taken.sum(axis=(1, 2)) / np.maximum(self._open.sum(axis=1), 1)
        relative = self._taken / np.maximum(size, _TINY)[:, np.newaxis, np.newaxis]
        prices = np.zeros(self._free.shape)
        for _ in range(effort.level_rounds):
            meter.spend(PRICE_OF_TURN + PRICE_OF_NUMBER * self._taken.size)
            costs = np.einsum("trc,rc->tc", relative, prices)
            least = np.where(self._open, costs, np.inf).min(axis=1, keepdims=True)
            shares = self._in_proportion(self._room * np.exp(np.clip(least - costs, _LOWEST, 0.0)))
            load = np.einsum("trc,tc->rc", self._taken, shares)
            if (load <= enough).all():
                return shares
            prices = np.maximum(prices + effort.level_step * (load / aim - 1.0), 0.0)
        return None

    def _in_proportion(self, weights: _Floats) -> _Floats:
        """The pods of every domain in proportion to the weights of its cells."""
        inside = self._domain >= 0
        total = np.bincount(self._domain[inside], weights=weights[inside], minlength=len(self._pods))
        per_weight = np.divide(self._pods, total, out=np.zeros(len(total)), where=total > 0)
        shares: _Floats = weights * np.append(per_weight, 0.0)[self._domain]
        return shares

    def _whole(self, shares: _Floats, effort: CellEffort) -> Ints | None:
        """Whole numbers of pods: each part of a template's pods goes where most is still due to its kind."""
        found = np.zeros_like(self._room)
        due = np.zeros(self._free.shape)
        for row, taken in enumerate(self._taken):
            due += taken * shares[row]
            for domain in sorted(set(self._domain[row].tolist()) - {-1}):
                cells = np.flatnonzero(self._domain[row] == domain)
                here, left = taken[:, cells], int(self._pods[domain])
                while left:
                    pods = min(left, 1 + int(effort.level_part / max(here.max(), _TINY)))
                    open_to = self._room[row, cells] - found[row, cells] >= pods
                    if not open_to.any():
                        return None
                    chosen = cells[np.argmax(np.where(open_to, (due[:, cells] * here).sum(axis=0), -np.inf))]
                    found[row, chosen] += pods
                    due[:, chosen] -= taken[:, chosen] * pods
                    left -= pods
        return found if (self._requests.T @ found <= self._free).all() else None

    def _is_even(self, found: Ints) -> bool:
        """Whether the soft constraints whose domains the cells tell apart have no pods too many."""
        rows = {template.index: row for row, template in enumerate(self._templates)}
        return all(
            _is_even(rule, found[[rows[t] for t in rule.tally.members if t in rows]].sum(axis=0), self._cells)
            for rule in self._soft.values()
            if self._cells.tells(rule.column.codes) and self._cells.tells(rule.counts.eligible)
        )


def _is_even(rule: Rule, coming: Ints, cells: NodeGroups) -> bool:
    """Whether a constraint has no pods too many where so many of those that it counts come to each cell."""
    codes, counted = rule.column.codes[cells.first], rule.counts.eligible[cells.first]
    counted = counted & (codes >= 0)
    sums = rule.counts.sums() + np.bincount(
        codes[counted], weights=coming[counted], minlength=len(rule.column.values)
    ).astype(np.int64)
    pods = sums[rule.counts.domains]
    if not pods.size:
        return True
    least = 0 if rule.few_domains else int(pods.min())
    return int(pods.max()) - least <= rule.constraint.max_skew


def _by_domain(amounts: Ints | _Floats, codes: Codes, number: int) -> _Floats:
    """Amounts by kind and cell added up over the cells of each domain; those with the code -1 are in none."""
    sums = [np.bincount(codes + 1, weights=cells, minlength=number + 1)[1:] for cells in amounts]
    return np.reshape(sums, (len(amounts), number))


def _level(there: Ints, room: Ints, pods: int, emptiness: _Floats) -> Ints:
    """How many of some pods come to each domain, so that those with the fewest are filled up first.

    What does not go into all of them alike comes to those with the most free room.
    """
    low, high = int(there.min(initial=0)), int(there.max(initial=0)) + pods
    while low < high:
        level = (low + high + 1) // 2
        if int(np.clip(level - there, 0, room).sum()) <= pods:
            low = level
        else:
            high = level - 1
    found: Ints = np.clip(low - there, 0, room)
    more = np.flatnonzero((there + found <= low) & (found < room))
    found[more[np.argsort(-emptiness[more], kind="stable")][: pods - int(found.sum())]] += 1
    return found
