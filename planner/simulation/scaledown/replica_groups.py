"""A scale-down in numbers: replicas alike in every constraint, and how the constraints count them.

Replicas of one controller that stand in the same domains of every constraint are one group: it does
not matter which of them goes.  So a choice is a number for every group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from models.objects.pod import Pod
from planner.audit import spread_counts
from planner.constraints.pod_topology_spread import HARD, Rule
from planner.cpsat.replicas import Removal, ReplicaConstraint, ReplicaGroup
from planner.problem.nodes import Codes, Mask
from planner.problem.problem import Problem
from planner.problem.selection import Members
from planner.problem.templates import Template
from planner.state.state import State
from planner.whatif.scaling import Replicas


def in_numbers(
    problem: Problem, state: State, groups: Sequence[Replicas], templates: Sequence[Template]
) -> Removal:
    """The choice among the open replicas, all of which are in the state still."""
    rules = spread_counts.asked(problem, state, templates)
    pods = [(number, pod) for number, group in enumerate(groups) for pod in group.pods]
    positions = np.array([problem.pod_index.get(pod.key, -1) for _, pod in pods], np.intp)
    # The last entry is for pods that take no part, such as those on nodes that are not in the snapshot.
    nodes, kinds = (np.append(codes, -1)[positions] for codes in (state.node_of, problem.template_of))
    columns = [np.array([number for number, _ in pods], np.intp)]
    for found in rules:
        columns += _domains_of(found, nodes, kinds, len(problem.templates))
    rows, group_of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    replica_groups = _replica_groups_of(rows, group_of.ravel().tolist(), pods, groups)
    constraints = tuple(
        _demand(problem, state, found, rows[:, 1 + 2 * n : 3 + 2 * n], positions)
        for n, found in enumerate(rules)
    )
    return Removal(replica_groups, tuple(group.going for group in groups), constraints)


def _domains_of(found: spread_counts.AskedRule, nodes: Codes, kinds: Codes, templates: int) -> list[Codes]:
    """For every pod the domain in which a constraint counts it, and the one where it asks for it; or -1."""
    carrier = np.zeros(templates + 1, np.bool_)
    carrier[list(found.carriers)] = True
    # The code -1 of a pod without a node, or without a template, finds the last entry.
    here = np.append(found.rule.column.codes, -1)[nodes]
    counted = _counted(found.rule, nodes, kinds, templates)
    return [np.where(counted, here, -1), np.where(carrier[kinds], here, -1)]


def _counted(rule: Rule, nodes: Codes, kinds: Codes, templates: int) -> Mask:
    """Which pods a constraint counts where they are; labels that they have from their nodes may decide."""
    members = rule.tally.members
    member = np.zeros(templates + 1, np.bool_)
    member[list(members)] = True
    found: Mask = member[kinds] & np.append(rule.counts.eligible, False)[nodes]
    for number, where in (members.where if isinstance(members, Members) else {}).items():
        found &= (kinds != number) | np.append(where, False)[nodes]
    return found


def _replica_groups_of(
    rows: Codes, group_of: Sequence[int], pods: Sequence[tuple[int, Pod]], groups: Sequence[Replicas]
) -> tuple[ReplicaGroup, ...]:
    taken = {pod.key for group in groups for pod in group.victims}
    members: list[list[Pod]] = [[] for _ in rows]
    for replica_group, (_, pod) in zip(group_of, pods, strict=True):
        members[replica_group].append(pod)
    return tuple(
        ReplicaGroup(int(row[0]), tuple(found), sum(pod.key in taken for pod in found))
        for row, found in zip(rows, members, strict=True)
    )


def _demand(
    problem: Problem, state: State, found: spread_counts.AskedRule, rows: Codes, candidates: Codes
) -> ReplicaConstraint:
    rule = found.rule
    sums = rule.counts.sums()
    fixed = state.node_of >= 0
    fixed[candidates[candidates >= 0]] = False
    fixed &= np.isin(problem.template_of, found.carriers)
    held = set(rule.column.codes[state.node_of[fixed]].tolist())
    return ReplicaConstraint(
        hard=rule.constraint.when_unsatisfiable == HARD,
        max_skew=rule.constraint.max_skew,
        floor_is_zero=rule.few_domains,
        counts={code: int(sums[code]) for code in np.flatnonzero(rule.counts.domains).tolist()},
        replica_groups=_by_domain(rows[:, 0]),
        carriers=_by_domain(rows[:, 1]),
        held=frozenset(held - {-1}),
    )


def _by_domain(codes: Codes) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for replica_group, code in enumerate(codes.tolist()):
        if code >= 0:
            found[code].append(replica_group)
    return dict(found)
