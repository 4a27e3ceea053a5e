"""Which bystanders have to leave a full node before a pod fits there, the most promising first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.nodes import Codes, Ints, Mask
from planner.rebalance.board import Board
from planner.rebalance.elsewhere import Elsewhere

#: So many bystanders leave a node together at most, and on so many nodes that is looked into.
_TOGETHER, _GLANCES = 4, 64


@dataclass(frozen=True, slots=True)
class Opening:
    """A node that is to take a pod, and who leaves it before."""

    node: int
    bystanders: tuple[int, ...]


class Openings:
    """Finds openings; `may_go` says which pods may still be moved, `turns` how busy every node was."""

    def __init__(self, board: Board, elsewhere: Elsewhere, may_go: Mask, turns: Ints) -> None:
        self._board = board
        self._elsewhere = elsewhere
        self._may_go = may_go
        self._turns = turns
        self._answers: dict[tuple[int, int], bool] = {}

    def of(self, template: int, good: Mask, wanted: int, *, straight: bool) -> Iterator[Opening]:
        """Openings for a template on good nodes, first those that serve most of so many pods wanted.

        With `straight` every bystander has a node with room to go to; else it is smaller than the pod.
        """
        state, kinds = self._board.state, self._board.problem.template_of
        pods = np.flatnonzero(self._may_go)
        pods = pods[good[state.node_of[pods]] & (kinds[pods] != template)]
        if not straight:
            size = self._elsewhere.size
            pods = pods[size[kinds[pods]] <= size[template]]
        self._answers.clear()
        may_go = self._can_go if straight else _always
        yield from self._single(template, pods, wanted, may_go)
        yield from self._together(template, pods, may_go)

    def _can_go(self, pod: int) -> bool:
        """Whether a pod has a node with room; asked once for all of a kind that leave the same domains."""
        template = self._board.template(pod)
        if not self._elsewhere.roomy(template).any():
            return False
        key = template, int(self._board.domains(template)[self._board.state.node_of[pod]])
        found = self._answers.get(key)
        if found is None:
            places = self._elsewhere.open_to(pod) & self._elsewhere.roomy(template)
            found = self._answers[key] = bool(places.any())
        return found

    def _single(
        self, template: int, pods: Codes, wanted: int, may_go: Callable[[int], bool]
    ) -> Iterator[Opening]:
        """Bystanders that make room alone, those first that make room for several."""
        nodes, kinds = self._board.state.node_of[pods], self._board.problem.template_of[pods]
        free = self._elsewhere.free()[:, nodes] + self._elsewhere.leaves[kinds].T
        spare = self._elsewhere.spare(template, free)
        fits = np.flatnonzero((spare >= 0).all(axis=0))
        asked = self._elsewhere.wants[template]
        served = np.clip((spare[:, fits] // asked[asked > 0][:, np.newaxis]).min(axis=0), 0, wanted - 1)
        order = np.lexsort((self._elsewhere.size[kinds[fits]], self._turns[nodes[fits]], -served))
        tried: set[tuple[int, int]] = set()
        for pod, kind, node in zip(
            pods[fits][order].tolist(), kinds[fits][order].tolist(), nodes[fits][order].tolist(), strict=True
        ):
            if (kind, node) not in tried and may_go(pod):
                tried.add((kind, node))
                yield Opening(node, (pod,))

    def _together(self, template: int, pods: Codes, may_go: Callable[[int], bool]) -> Iterator[Opening]:
        """Bystanders that make room only together, as few as possible."""
        nodes, kinds = self._board.state.node_of[pods], self._board.problem.template_of[pods]
        free = self._elsewhere.free()
        for row, amounts in zip(free, self._elsewhere.leaves.T, strict=True):
            np.add.at(row, nodes, amounts[kinds])
        hopeful = np.unique(nodes)
        spare = self._elsewhere.spare(template, free[:, hopeful])
        hopeful = hopeful[(spare >= 0).all(axis=0)]
        found = []
        for node in hopeful[np.argsort(self._turns[hopeful], kind="stable")].tolist():
            leaving = self._few(template, node, [pod for pod in pods[nodes == node].tolist() if may_go(pod)])
            if leaving:
                found.append(Opening(node, leaving))
            if len(found) == _GLANCES:
                break
        yield from sorted(found, key=lambda opening: len(opening.bystanders))

    def _few(self, template: int, node: int, pods: Sequence[int]) -> tuple[int, ...]:
        """Pods of a node that make room together: the largest first, without any that is not needed."""
        size, kinds = self._elsewhere.size, self._board.problem.template_of
        leaves, free = self._elsewhere.leaves, self._elsewhere.free()[:, [node]]
        chosen: list[int] = []
        for pod in sorted(pods, key=lambda pod: -size[kinds[pod]]):
            if (self._elsewhere.spare(template, free) >= 0).all() or len(chosen) == _TOGETHER:
                break
            chosen.append(pod)
            free = free + leaves[kinds[pod]][:, np.newaxis]
        for pod in list(chosen):
            without = free - leaves[kinds[pod]][:, np.newaxis]
            if (self._elsewhere.spare(template, without) >= 0).all():
                chosen.remove(pod)
                free = without
        return tuple(chosen) if (self._elsewhere.spare(template, free) >= 0).all() else ()


def _always(pod: int) -> bool:
    return pod >= 0
