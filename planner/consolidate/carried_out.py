"""Layouts carried out in the cluster with the machines that they add, and repaired where waves fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from planner.consolidate.emptying import Emptied, Emptying
from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import Layout, PlanLimits, Reserve
from planner.consolidate.loss import DomainLosses
from planner.consolidate.loss_room import room_for_losses
from planner.consolidate.setting import Setting
from planner.problem.nodes import Mask
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The waves of a layout, and the cluster with the machines that it adds."""

    setting: Setting
    emptied: Emptied

    @property
    def cost(self) -> Decimal:
        """What all nodes that are kept or added cost."""
        return self.setting.removable.cost(self.emptied.removed) * self.setting.prices.unit

    @property
    def key(self) -> tuple[Decimal, int, int]:
        """The cheapest is the best, then the one with the fewest moves, then the one with the fewest pins."""
        return self.cost, self.emptied.moves, self.emptied.pinned


@dataclass(frozen=True, slots=True)
class CarryingOut:
    """How layouts are carried out: with pins or without.

    With `losses` a search has so many thousandths to spare when a domain is lost; None: what every plan has.
    """

    pins: bool
    meter: Meter
    losses: DomainLosses | None = None
    to_spare: int | None = None

    def limits(self, setting: Setting, most_moves: int | None = None) -> PlanLimits:
        """The limits of a search in a setting."""
        reserve = _reserve(setting)
        if self.losses is not None:
            other = room_for_losses(self.losses, setting, self.to_spare)
            reserve = other if reserve is None else reserve.with_(other)
        return PlanLimits(reserve, most_moves)

    def of(self, setting: Setting, layout: Layout) -> CarriedOut:
        """The waves of a layout; machines that are not used in the end are not added."""
        fewer = setting.only(~layout.removed)
        layout = setting.translated(layout, fewer)
        reserve = _reserve(fewer)
        found = Emptying(fewer, self.meter, self.pins, reserve, self.losses).of(layout)
        reached = _reached(fewer, found)
        idle = fewer.added & (reached.counts.per_node() == 0) & ~_landed_on(found)
        if reserve is not None and found.removed.any():
            idle = _dispensable(idle, found.removed, reserve)
        if not idle.any():
            return CarriedOut(fewer, found)
        # Without an idle machine a lost domain may leave pods over, so that other nodes are given back.
        without = self.of(fewer, Layout(reached.counts, found.removed | idle))
        return min(without, CarriedOut(fewer, found), key=lambda one: one.key)

    def repaired(self, best: CarriedOut, most_moves: int | None) -> CarriedOut:
        """The cheapest plan when nodes that were not emptied are kept, and others go as autoscalers do it."""
        setting, kept = best.setting, {*best.emptied.given_back}
        for _ in range(effort.EMPTYING_REPAIRS):
            if self.meter.over():
                break
            task = setting.task(self.limits(setting, most_moves))
            task = replace(task, removable=setting.removable.without(kept))
            removal = NodeRemoval(task, self.meter, setting.problem.nodes.none)
            removal.run(np.flatnonzero(best.emptied.removed).tolist())
            if self.meter.over():
                break
            found = self.of(setting, task.read(removal.removed))
            best = min(best, found, key=lambda one: one.key)
            given_back = {*found.emptied.given_back}
            if found.setting is not setting or given_back <= kept:
                break
            kept |= given_back
        return best


def _reserve(setting: Setting) -> Reserve | None:
    room = setting.question.thousandths
    return Reserve.of(setting.trial, setting.movable, room) if room else None


def _dispensable(idle: Mask, removed: Mask, reserve: Reserve) -> Mask:
    """Those of some idle machines without which enough room is free."""
    found: Mask = idle & False
    for node in np.flatnonzero(idle).tolist():
        found[node] = True
        found[node] = not reserve.lacks(removed | found)
    return found


def _landed_on(found: Emptied) -> Mask:
    none = found.trial.problem.nodes.none
    lands: Mask = np.logical_or.reduce([none, *(one.nodes for wave in found.waves for one in wave)])
    return lands


def _reached(setting: Setting, found: Emptied) -> Layout:
    """Where pods are after all waves."""
    moves = [landing.move for wave in found.waves for landing in wave]
    return setting.before.after(setting.trial, moves, found.removed)
