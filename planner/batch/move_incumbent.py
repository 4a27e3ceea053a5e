"""The best plan with moves so far, and what is known about how good any plan could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.batch.every_sequence import FoundSequence
from planner.batch.incumbent import Watch
from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.batch.steps import Action, ActionOrder, ActionSequence, arrangement_of, evicted
from planner.documents.plan import MOVES, PODS_PLACED
from planner.moves.constraint_counts import ConstraintCounts, TrackedConstraint, excesses, worse
from planner.proof.bounds import Assumption, Bound, Claim, Measured, ObjectiveStage, judge
from planner.proof.clock import report_best
from planner.proof.meter import Meter
from planner.scheduler.order import Step
from planner.state.state import State

#: Pods of every priority, the highest first.
Placed = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """Evictions and binds in their order, and the stages of the objective with their verdicts."""

    actions: Sequence[Action]
    stages: Sequence[ObjectiveStage]


class MoveIncumbent:
    """Keeps the best plan that was offered, and the bounds on its pods and its moves."""

    def __init__(
        self, pending: Pending, actions: Sequence[Action], meter: Meter, watch: Watch | None
    ) -> None:
        """`actions` are the plan to beat, which moves nothing."""
        self._pending = pending
        self._watch = watch
        self._sequencer = ActionOrder(pending, meter)
        self._excess_limit = HardExcessLimit(pending)
        self._all_pods = pending.of_priorities(pending.wanted)
        self._source = "the model over cells of nodes"
        #: Whether what the plan has can be had with all evictions before the first bind.
        self._evicts_first = True
        self.actions = actions
        self.placed = self._count(actions)
        self.bounds = self._all_pods
        self.least_moves = 0

    def offer(self, arrangement: Arrangement, *, thorough: bool = False) -> None:
        """Keep a plan if it places more than the best so far, or as many with fewer evictions."""
        found = self._sequencer.sequence(arrangement, thorough=thorough)
        if not self._within_budgets(found.actions):
            return
        better = (self._count(found.actions), -_moves(found.actions)) > (self.placed, -self.moves())
        if better and self._excess_limit.allows(found.actions):
            self._keep(found)
            self.tell()

    def offer_unmoved(self, actions: Sequence[Action]) -> None:
        """Keep a plan without evictions if it places more."""
        if self._count(actions) > self.placed:
            self._keep(ActionSequence(actions, evicts_first=True))

    def keep_sequence(self, found: FoundSequence) -> None:
        """Keep a sequence that is known to be better."""
        self._keep(self._sequencer.after(found.evictions, found.binds))

    def _keep(self, found: ActionSequence) -> None:
        self.actions, self._evicts_first = found
        before, self.placed = self.placed, self._count(self.actions)
        if any(now < then for now, then in zip(self.placed, before, strict=True)):
            # The least moves were those of plans with as many pods of every priority.
            self.least_moves = 0

    def may_end(self) -> bool:
        """Whether evictions may lead to what the state is at this moment."""
        return self._excess_limit.is_no_worse()

    def _count(self, actions: Sequence[Action]) -> Placed:
        arrangement = arrangement_of(actions, self._pending)
        return self._pending.placed(Counter(arrangement.coming) + Counter(arrangement.staying))

    def _within_budgets(self, actions: Sequence[Action]) -> bool:
        going = set(evicted(actions))
        return all(len(going & pods) <= allowed for pods, allowed in self._pending.budgets)

    def moves(self) -> int:
        return _moves(self.actions)

    def arrangement(self) -> Arrangement:
        return arrangement_of(self.actions, self._pending)

    def placement(self) -> Counter[Step]:
        """How many pods of every template are on each node at the end."""
        found = self.arrangement()
        return Counter(found.coming) + Counter(found.staying)

    def all_placed(self) -> bool:
        """Whether no plan places more."""
        return self.placed >= self.bounds

    def has_least_moves(self) -> bool:
        """Whether it is plain that no plan with these pods has fewer moves."""
        return self.moves() <= self.least_moves

    def open_stage(self) -> int:
        """The first priority whose bound is not reached, by its place."""
        return next(i for i, bound in enumerate(self.bounds) if self.placed[i] < bound)

    def tighten(self, found: Mapping[str, int]) -> None:
        """Take over bounds where they are better; each presumes that those before it are reached."""
        bounds: Placed = ()
        for stage, priority in enumerate(self._pending.priorities):
            # What is known of a stage says nothing where another bound is reached before it.
            known = self.bounds if bounds == self.bounds[:stage] else self._all_pods
            bounds += (found.get(f"{PODS_PLACED}{priority}", known[stage]),)
        self.bounds = min(self.bounds, bounds)
        self.tell()

    def lower(self, stage: int) -> None:
        """One pod less at a stage; what that leaves to the stages after it is open again."""
        self.bounds = (*self.bounds[:stage], self.bounds[stage] - 1, *self._all_pods[stage + 1 :])

    def needs_moves(self, least: int) -> None:
        """No plan with as many pods has fewer moves."""
        self.least_moves = max(self.least_moves, least)
        self.tell()

    def nothing_is_better(self) -> None:
        """All sequences were gone through."""
        self._source, self.bounds = "the search through all sequences", self.placed
        self.least_moves = self.moves()

    def tell(self) -> None:
        """Report the best plan and its bounds to the progress observer."""
        placed, most = sum(self.placed), sum(self.bounds)
        if self._watch is not None:
            self._watch(placed, most)
        least = f", at least {self.least_moves}" if placed == most else ""
        report_best(f"{placed} pods in place, at most {most}; {self.moves()} moves{least}")

    def moved(self) -> Moved:
        """The best plan with all that is known about it."""
        names = [f"{PODS_PLACED}{priority}" for priority in self._pending.priorities]
        moves = Measured(MOVES, self.moves(), largest=False)
        measured = [Measured(name, pods) for name, pods in zip(names, self.placed, strict=True)]
        breaks = set[Assumption]() if self._evicts_first else {Assumption.EVICTIONS_FIRST}
        return Moved(self.actions, tuple(judge([*measured, moves], self._claims(names), breaks=breaks)))

    def _claims(self, names: Sequence[str]) -> list[Claim]:
        """What is known of every stage; each bound presumes that those before it are reached."""
        anyhow = self._pending.evictions_only_help()
        first = self._pending.assumes.union(() if anyhow else {Assumption.EVICTIONS_FIRST})
        # No model knows of labels that pods get from their nodes.
        follow = self._pending.problem.labels_follow_nodes
        given: dict[str, int] = {}
        claims = [Claim(MOVES, Bound(0, "the count of evictions"))]
        for name, bound, pods in zip(names, self.bounds, self._all_pods, strict=True):
            claims.append(Claim(name, Bound(pods, "the count of pods")))
            if not follow:
                claims.append(Claim(name, Bound(bound, self._source, first), dict(given)))
            given[name] = bound
        if follow:
            return claims
        least = Bound(self.least_moves, "the model of moves", first)
        return [*claims, Claim(MOVES, least, dict(zip(names, self.placed, strict=True)))]


class HardExcessLimit:
    """What evictions may lead to: no hard spread constraint has more too much than in the snapshot.

    A plan without evictions may end as it likes.
    `pending.state` is without the pods that may be evicted, and is left so.
    """

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    @cached_property
    def _hard(self) -> Sequence[TrackedConstraint]:
        return ConstraintCounts(self._pending.problem, self._pending.state).hard

    @cached_property
    def _before(self) -> Sequence[int]:
        problem = self._pending.problem
        return excesses(ConstraintCounts(problem, State(problem)).hard)

    def allows(self, actions: Sequence[Action]) -> bool:
        """Whether a plan may end as it does."""
        gone = set(evicted(actions))
        if not gone:
            return True
        state = self._pending.state
        mark = state.mark()
        self._pending.bind_where_they_run(gone)
        for action in actions:
            if action.node is not None:
                state.bind(action.pod, action.node)
        fine = self.is_no_worse()
        state.rollback(mark)
        return fine

    def is_no_worse(self) -> bool:
        """Whether the state as it is now has no more too much anywhere than the snapshot."""
        return not worse(self._before, self._hard)


def _moves(actions: Sequence[Action]) -> int:
    return sum(action.node is None for action in actions)
