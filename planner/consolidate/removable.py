"""Which nodes may go, what each of them costs, and why the others stay.

A node goes when every pod that it holds may be evicted and finds another node; pods of DaemonSets, mirror
pods and pods that end already go with it.  Control-plane nodes and virtual nodes stay unless the user names
them, and so do nodes that an annotation keeps, nodes whose kubelet does not answer while they hold pods, as
evictions do not end there, nodes with pods that stay Terminating, and nodes that a preemptor waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from models.objects.annotations import NO_DISRUPTION, SCALE_DOWN_DISABLED
from models.objects.node import CONTROL_PLANE, Node
from models.objects.selectors import LabelSelector
from planner.eviction.movable import is_tied
from planner.moves.movable import Movable
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.whatif.victims import as_of


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The nodes that are looked at, by name or by their labels, and those that are kept in any case.

    Without names and labels all are looked at.
    """

    keep: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    selector: LabelSelector | None = None
    #: Machines that may be added, or not.
    machines: frozenset[str] = frozenset()

    def looks_at(self, node: Node) -> bool:
        """Whether a node may be chosen to go."""
        if node.name in self.named or node.name in self.machines:
            return True
        if self.selector is None:
            return not self.named
        return self.selector.matches(node.metadata.labels)


@dataclass(frozen=True, slots=True)
class StayingNode:
    """Why a node stays: a reason, and the pod that holds it, if one does."""

    reason: str
    pod: int | None = None


@dataclass(frozen=True, slots=True)
class Removable:
    """For every node whether it may go and what it costs, in whole units of price."""

    mask: Mask
    prices: Ints
    kept: Mapping[int, StayingNode] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, movable: Movable, prices: Ints, choice: NodeChoice) -> Removable:
        """The nodes of a problem, given which of its pods may move."""
        holders, promised = _holders(problem, movable), _promised(problem)
        kept: dict[int, StayingNode] = {}
        for number, node in enumerate(problem.nodes.nodes):
            ends = problem.endings.is_ready(number) or not _needs_evictions(problem, number)
            reason = _why_kept(node, choice, ends=ends)
            if reason:
                kept[number] = StayingNode(reason)
            elif number in holders:
                kept[number] = holders[number]
            elif number in promised:
                kept[number] = StayingNode("a pending pod is nominated to it", promised[number])
        mask = problem.nodes.every.copy()
        mask[[*kept]] = False
        return cls(mask, prices, kept)

    @property
    def fixed_cost(self) -> int:
        """The price of the nodes that stay in any case."""
        return int(self.prices[~self.mask].sum())

    def cost(self, removed: Mask) -> int:
        return int(self.prices[~removed].sum())

    def without(self, nodes: Iterable[int]) -> Removable:
        """The same, with some more nodes that stay."""
        mask = self.mask.copy()
        mask[[*nodes]] = False
        return Removable(mask, self.prices)


def goes_with_its_node(problem: Problem, pod: int) -> bool:
    """Whether a pod needs no other node when its own goes."""
    found = problem.pods[pod]
    return found.is_terminating or is_tied(found)


def _holders(problem: Problem, movable: Movable) -> dict[int, StayingNode]:
    """For every node that holds pods that may not be evicted, or do not end, the first of them."""
    found: dict[int, StayingNode] = {}
    now = as_of(problem.cluster)
    for pod in np.flatnonzero((problem.node_of >= 0) & (movable.weights == 0)).tolist():
        node = int(problem.node_of[pod])
        if not goes_with_its_node(problem, pod):
            found.setdefault(node, StayingNode(f"holds a pod {movable.reasons[pod]}", pod))
        elif not is_tied(problem.pods[pod]):
            stuck = problem.endings.why_stuck(pod, now)
            if stuck is not None:
                found.setdefault(node, StayingNode(f"holds a Terminating pod: {stuck.words}", pod))
    return found


def _needs_evictions(problem: Problem, node: int) -> bool:
    """Whether a node holds pods that do not go with it."""
    there = np.flatnonzero(problem.node_of == node).tolist()
    return not all(is_tied(problem.pods[pod]) for pod in there)


def _promised(problem: Problem) -> dict[int, int]:
    """For every node to which pending pods are nominated, the first of them: it comes when room is made."""
    nominated = ((pod, problem.pods[pod].status.nominated_node_name) for pod in problem.queue())
    index = problem.nodes.index
    return {index[name]: pod for pod, name in reversed([*nominated]) if name in index}


def _why_kept(node: Node, choice: NodeChoice, *, ends: bool) -> str:
    """Why a node stays whatever its pods are; empty if it may go.

    `ends` says whether evictions end there, or none are needed.
    """
    labels, annotations, name = node.metadata.labels, node.metadata.annotations, node.name
    is_named = name in choice.named | choice.machines
    checks = (
        (name in choice.keep, "named by --keep"),
        (not is_named and not CONTROL_PLANE.isdisjoint(labels), "a control-plane node"),
        (not is_named and node.is_virtual, "a virtual node: no machine goes with it"),
        (not choice.looks_at(node), "not among --nodes"),
        (annotations.get(SCALE_DOWN_DISABLED) == "true", f"annotated with {SCALE_DOWN_DISABLED}"),
        (annotations.get(NO_DISRUPTION) == "true", f"annotated with {NO_DISRUPTION}"),
        (not ends, "not ready: evictions do not end there"),
    )
    return next((reason for applies, reason in checks if applies), "")
