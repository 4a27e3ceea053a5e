"""How many replicas fit where their order cannot matter: room by node, and one spread constraint at most.

Where resources alone decide, every node takes as many as fit.  With one DoNotSchedule constraint the
emptiest domain always takes one more while it has room, so the minimum ends at the domain that is full first,
and every other domain holds at most maxSkew more than that.  A constraint over single nodes whose emptiest
node has no room left is no more than a number for each node: its minimum cannot rise.
"""

from __future__ import annotations

import numpy as np

from models.controllers.expand import MOST_NEW_PODS
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.pod_topology_spread.rule import Rule
from planner.problem.nodes import Ints
from planner.scheduler.framework import Plan


def at_most(plan: Plan) -> int:
    """No more than so many fit, in whatever order."""
    room = _by_node(plan)
    return int(np.minimum(room, plan.room({plan.template.index: int(room.sum())})).sum())


def order_matters(plan: Plan) -> bool:
    """Whether it may matter in which order the replicas come, and to which node of a domain."""
    found = _room_and_rules(plan)
    return found is None or len(found[1]) > 1


def in_any_order(plan: Plan) -> Ints | None:
    """By node, how many fit, within a domain on any node of it; None where the order may matter."""
    found = _room_and_rules(plan)
    if found is None or len(found[1]) > 1:
        return None
    room, rules = found
    return _spread(rules[0], plan, room) if rules else room


def _room_and_rules(plan: Plan) -> tuple[Ints, list[Rule]] | None:
    """How many every node takes, and the constraints that say more than that; None where others decide, too.

    Or where a constraint counts a replica on some of the nodes alone.
    """
    spread = [plugin for plugin in plan.changing if isinstance(plugin, PodTopologySpread)]
    takes = [plugin.takes(plan.template) for plugin in plan.changing if plugin not in spread]
    known = [one for one in takes if one is not None]
    if plan.refusal is not None or len(known) < len(takes):
        return None
    room: Ints = np.minimum.reduce([np.where(plan.static, MOST_NEW_PODS, 0), *known])
    rules = list[Rule]()
    for rule in (rule for plugin in spread for rule in plugin.hard(plan.template)):
        if not _counts_alike(rule, plan, room):
            return None
        limit = _fixed_limit(rule, plan, room)
        if limit is None:
            rules.append(rule)
        else:
            room = np.minimum(room, limit)
    return room, rules


def _counts_alike(rule: Rule, plan: Plan, room: Ints) -> bool:
    """Whether a constraint counts a replica on every node that has room for one, or on none."""
    uncounted = (room > 0) & rule.column.present & ~rule.counts.eligible
    counted = rule.counts_alike_everywhere and not uncounted.any()
    return counted or plan.template.index not in rule.tally.members


def _fixed_limit(rule: Rule, plan: Plan, room: Ints) -> Ints | None:
    """What a constraint lets every node take whatever comes, where its domains are nodes and that is certain.

    `room` has no less than what comes to a node at most.
    """
    codes, counts = rule.column.codes, rule.counts
    here = counts.padded()[codes]
    single = np.count_nonzero(codes >= 0) == len(rule.column.values)
    if not single or plan.template.index not in rule.tally.members:
        return None
    emptiest = counts.eligible & (here == rule.minimum())
    if not (rule.few_domains or (emptiest & (room == 0)).any()):
        return None
    return np.where(codes >= 0, np.maximum(rule.allowed() - here, 0), 0)


def _by_node(plan: Plan) -> Ints:
    """How many every node takes by its resources, pod slots among them.

    Where the profile does not ask for resources it is as many as are created at all.
    """
    fits = [p.most(plan.template, {}) for p in plan.changing if isinstance(p, NodeResourcesFit)]
    room = np.where(plan.static, MOST_NEW_PODS, 0).astype(np.int64)
    found: Ints = np.minimum.reduce([room, *(one for one in fits if one is not None)])
    return found


def _spread(rule: Rule, plan: Plan, room: Ints) -> Ints:
    """What one constraint leaves of the room, filled node by node."""
    if not rule.counts.domains.any():
        return np.zeros_like(room)
    codes, sums = rule.column.codes, rule.counts.sums().copy()
    room = np.where(codes >= 0, room, 0)
    by_domain = np.bincount(codes[codes >= 0], weights=room[codes >= 0], minlength=len(sums)).astype(np.int64)
    counts = plan.template.index in rule.tally.members
    if not counts:
        accepted = sums + rule.own - rule.minimum() <= rule.constraint.max_skew
        return np.where(accepted[codes] & (codes >= 0), room, 0)
    least = 0 if rule.few_domains else int((sums + by_domain)[rule.counts.domains].min())
    takes = np.clip(least + rule.constraint.max_skew - sums, 0, by_domain)
    return _filled(codes, room, takes)


def _filled(codes: Ints, room: Ints, takes: Ints) -> Ints:
    """So many a domain, to its nodes in their order."""
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    before = np.cumsum(room[order]) - room[order]
    starts = np.searchsorted(codes[order], np.arange(len(takes)))
    first = np.append(before, 0)[np.minimum(starts, len(before))]
    there = before - first[codes[order]]
    found = np.zeros_like(room)
    found[order] = np.clip(takes[codes[order]] - there, 0, room[order])
    return found
