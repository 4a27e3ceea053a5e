"""Limits on evictions: a policy's for each node and namespace, and the evictions that Jobs survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from planner.eviction.protections import Protections
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster


class EvictionLimits:
    """Which limits count the eviction of a pod, and how many evictions each has left."""

    def __init__(self, trial: TrialCluster, movable: Movable, protections: Protections) -> None:
        self._trial = trial
        self._quotas = movable.quotas
        self._rules = protections
        self._used = Counter[Hashable]()
        #: The pods that have moved; they do not move again.
        self.moved = set[int]()

    def of(self, template: int, node: int) -> Iterator[tuple[Hashable, int]]:
        """The limits that count a pod of a template leaving a node, and how many each allows in all."""
        if self._rules.most_per_node is not None:
            yield ("node", node), self._rules.most_per_node
        if self._rules.most_per_namespace is not None:
            namespace = self._trial.problem.templates[template].namespace
            yield ("namespace", namespace), self._rules.most_per_namespace
        for number, (templates, most) in enumerate(self._quotas):
            if template in templates:
                yield ("job", number), most

    def remember(self, moves: Iterable[Move]) -> None:
        """Count moves against the limits."""
        for move in moves:
            self.moved.add(move.pod)
            self._used.update(key for key, _ in self._of_move(move))

    def allow(self, moves: Iterable[Move]) -> bool:
        """Whether these evictions are within the limits, too."""
        more, most = Counter[Hashable](), dict[Hashable, int]()
        for move in moves:
            found = dict(self._of_move(move))
            more.update(found.keys())
            most |= found
        return all(self._used[key] + number <= most[key] for key, number in more.items())

    def _of_move(self, move: Move) -> Iterator[tuple[Hashable, int]]:
        return self.of(self._trial.template(move.pod), move.source)
