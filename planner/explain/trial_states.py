"""States to try changes out on: a cluster at rest, perhaps with other nodes, shared by many pods.

What a change to nodes means for the pods ahead in the queue is the same for every pod behind them. So
a state in which some have gone first is kept, and the next pod goes on from there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.objects.node import Node
from models.objects.pod import Pod
from planner.explain.at_rest import AtRest
from planner.scheduler.scheduler import Scheduler

#: So many nodes in all the states that are kept, and so many states at least.
_NODES_KEPT, _LEAST_KEPT = 300_000, 2


@dataclass(frozen=True, slots=True)
class _Gone:
    """Pods alike that went first, the last of them perhaps in vain, and how to undo it."""

    pods: Sequence[int]
    refused: bool
    mark: int

    def stands_for(self, group: Sequence[int]) -> bool:
        """Whether another group of pods, tried at the same point, comes to the same."""
        tried = group[: len(self.pods)]
        return tried == self.pods and (self.refused or len(group) == len(tried))


class TrialState:
    """A scheduler over a cluster at rest, with other nodes or more pods; trials are undone."""

    def __init__(
        self,
        static: AtRest,
        nodes: Iterable[Node] | None,
        more: Sequence[Pod],
        variants: Mapping[str, Pod] | None = None,
        alike: int = 1,
    ) -> None:
        """With `more` pods, the first `alike`, and variants of a pending one, by what tells them apart."""
        base, variants = static.problem, variants or {}
        first = len(base.pods) + len(more)
        self.variants = {name: number for number, name in enumerate(variants, start=first)}
        """The numbers of the variants among the pods."""
        start, claiming = static.start
        problem = base.varied(start.problem.node_of, nodes, (*more, *variants.values()), alike)
        self.scheduler = Scheduler(problem, preemption=static.preemption, before=start)
        state = self.scheduler.state
        for pod, node in claiming:
            state.bind(pod, problem.nodes.index[base.nodes.names[node]])
        self._nominated = static.promised
        self._first = state.mark()
        self._gone: list[_Gone] = []
        #: Which pods came and left, in order, when groups of pods were tried without some that are deleted.
        self._moves_without: dict[Hashable, Sequence[tuple[int, int, bool]]] = {}

    def restore_nominations(self, pod: int, variant: int) -> None:
        """Take over what the snapshot promises to pending pods; the variant stands for its pod."""
        promised = (variant if other == pod else other for other in self._nominated)
        self.scheduler.restore_nominations(promised)

    def rest(self) -> int:
        """Go back to the cluster at rest, with the changes alone."""
        self._back_to(0)
        return self._first

    def place_first(self, groups: Sequence[Sequence[int]]) -> int:
        """Try the pods of each group until one is refused; the mark of the state after that."""
        kept = 0
        if not self._nominated:
            while kept < min(len(self._gone), len(groups)) and self._gone[kept].stands_for(groups[kept]):
                kept += 1
        self._back_to(kept)
        for group in groups[kept:]:
            mark = self.scheduler.state.mark()
            tried, refused = self.try_until_refused(group)
            self._gone.append(_Gone(tried, refused, mark))
        return self.scheduler.state.mark()

    def place_first_without(self, deleted: Sequence[int], groups: Sequence[Sequence[int]]) -> int:
        """Delete pods and try those of each group until one is refused; the mark of the state before that.

        What became of the groups is kept, and done again without asking, unless nodes are promised to pods.
        """
        state, mark = self.scheduler.state, self.rest()
        key = (*deleted,), (*map(tuple, groups),)
        known = self._moves_without.get(key)
        if known is None:
            for pod in deleted:
                state.unbind(pod)
            for group in groups:
                self.try_until_refused(group)
            if not self._nominated:
                self._moves_without[key] = [*state.moves_since(mark)]
        else:
            state.redo(known)
        return mark

    def try_until_refused(self, group: Sequence[int]) -> tuple[Sequence[int], bool]:
        """The pods that were tried, and whether the last of them was refused."""
        for number, pod in enumerate(group, start=1):
            if not self.scheduler.places(pod):
                return group[:number], True
        return group, False

    def _back_to(self, kept: int) -> None:
        if kept < len(self._gone):
            self.scheduler.state.rollback(self._gone[kept].mark)
            del self._gone[kept:]


class TrialStates:
    """The states with the changes that were tried last; what was changed is known by its key."""

    def __init__(self, static: AtRest) -> None:
        self._kept: OrderedDict[Hashable, TrialState] = OrderedDict()
        self._most = max(_LEAST_KEPT, _NODES_KEPT // max(1, static.problem.nodes.size))

    def get(
        self,
        key: Hashable,
        make: Callable[[], TrialState],
        serves: Callable[[TrialState], bool] = lambda _: True,
    ) -> TrialState:
        """The state under a key, made when it is not there (any more), or does not serve."""
        found = self._kept.get(key)
        if found is None or not serves(found):
            while len(self._kept) >= self._most:
                self._kept.popitem(last=False)
            found = self._kept[key] = make()
        self._kept.move_to_end(key)
        return found
