"""The order of moves where room is scarce: large pods before small ones that could take their room.

Wherever a small pod lands, it may break up the only gap that a large one fits into.  So it comes to a domain
only if at least as many larger pods are still to leave that domain as are to come to it.  A pod that leaves a
node to which a larger one is to come makes room for it, and goes early.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Mask


class LargestFirst:
    """Puts moves into the order in which room lasts longest."""

    def __init__(self, trial: TrialCluster, moves: Iterable[Move]) -> None:
        self._trial = trial
        template_of = {move.pod: trial.template(move.pod) for move in moves}
        classes = {t: math.frexp(float(trial.sizes[t]))[1] for t in {*template_of.values()}}
        #: Pods of about the same size are of one class.
        self._size_of = {pod: classes[template] for pod, template in template_of.items()}
        #: The sets of nodes of all domains seen so far, and by template and domain code the index into them.
        self._domains: list[Mask] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._by_nodes: dict[bytes, int] = {}
        #: For every class the nodes in domains that larger pods need, when moves were last grouped.
        self._needed: dict[int, Mask] = {}

    def size(self, move: Move) -> int:
        """The class of a pod's size."""
        return self._size_of[move.pod]

    def key(self, move: Move) -> int:
        """The sort key that puts the largest first."""
        return -self.size(move)

    def near(self, move: Move, node: int) -> Mask:
        """The nodes in the same domains as a node, for the constraints of a move's pod."""
        return self._domains[self._domain(move, node)]

    def _domain(self, move: Move, node: int) -> int:
        template = self._trial.template(move.pod)
        domains = self._trial.domains(template)
        key = template, int(domains[node])
        found = self._numbers.get(key)
        if found is None:
            nodes = domains == domains[node]
            found = self._numbers[key] = self._by_nodes.setdefault(nodes.tobytes(), len(self._domains))
            if found == len(self._domains):
                self._domains.append(nodes)
        return found

    def groups(self, ready: Iterable[Move], left: Sequence[Move]) -> list[list[Move]]:
        """Ready moves that take nothing from larger ones: the largest, then class by class all others.

        Of every class those that make way come first, node by node, and once more with the rest.
        """
        allowed = self._allowed(ready, left)
        ways = self.making_way(allowed, left)
        found: list[list[Move]] = []
        for size in dict.fromkeys(map(self.size, allowed)):
            alike = [[move for move in moves if self.size(move) == size] for moves in (*ways, allowed)]
            found += alike if found else [alike[-1], *alike[:-1]]
        return found

    def making_way(self, ready: Iterable[Move], left: Iterable[Move]) -> list[list[Move]]:
        """Ready moves that leave a node to which a larger one is to come, node by node.

        First for the largest, and of the node that needs the fewest: a gap that is too small serves no pod.
        """
        leaving: dict[int, list[Move]] = {}
        for move in ready:
            leaving.setdefault(move.source, []).append(move)
        found: list[tuple[int, int, list[Move]]] = []
        for move in left:
            before = [m for m in leaving.get(move.target, ()) if self.size(m) < self.size(move)]
            if before:
                found.append((self.key(move), len(before), before))
        return [moves for *_, moves in sorted(found, key=lambda one: one[:2])]

    def _allowed(self, ready: Iterable[Move], left: Sequence[Move]) -> list[Move]:
        """The ready moves that take no room from larger ones that are left; the largest first."""
        self._needed = self._needed_by_larger(left)
        allowed = [move for move in ready if not self.needed(move)[move.target]]
        # A pod that stays in its domain frees a node there, and fewer nodes serve it than serve newcomers.
        return sorted(
            allowed, key=lambda m: (self.key(m), self._domain(m, m.source) != self._domain(m, m.target))
        )

    def needed(self, move: Move) -> Mask:
        """The nodes in domains that larger pods than a move's need, when moves were last grouped."""
        return self._needed[self.size(move)]

    def _needed_by_larger(self, left: Iterable[Move]) -> dict[int, Mask]:
        """For every class the nodes to whose domains more pods of a larger one are to come than to leave."""
        coming: dict[int, Counter[int]] = {}
        for move in left:
            counts = coming.setdefault(self.size(move), Counter())
            counts[self._domain(move, move.target)] += 1
            counts[self._domain(move, move.source)] -= 1
        found, needed = dict[int, Mask](), np.zeros(self._trial.problem.nodes.size, np.bool_)
        for size, counts in sorted(coming.items(), reverse=True):
            found[size] = needed
            balance = np.zeros(self._trial.problem.nodes.size, np.int64)
            for domain, number in counts.items():
                if number:
                    balance += number * self._domains[domain]
            needed = needed | (balance > 0)
        return found
