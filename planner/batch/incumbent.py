"""The best plan so far, and what is known about how good any plan could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.batch.goals import SoftGoal, SpreadExcess, SpreadSkew
from planner.batch.pending import Pending
from planner.documents.plan import PODS_PLACED
from planner.proof.bounds import Bound, Claim, Measured, ObjectiveStage, judge
from planner.proof.clock import SEARCH_PROGRESS, report_best
from planner.scheduler.order import Placement, Step

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

#: Told the pods placed so far and the most that any plan could place.
Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What a search achieved stage by stage, and that no plan does better as far as it got.

    A stage's bound holds for plans that have the same values in all stages before.
    """

    values: Mapping[str, int]
    bounds: Mapping[str, int]
    source: str

    def claims(self) -> Iterator[Claim]:
        before: dict[str, int] = {}
        for name, bound in self.bounds.items():
            yield Claim(name, Bound(bound, self.source), dict(before))
            before[name] = self.values[name]


class Incumbent:
    """Keeps the best plan that was offered, and every proof."""

    def __init__(self, pending: Pending, soft_goals: Sequence[SoftGoal], watch: Watch | None) -> None:
        self._pending = pending
        self._soft_goals = soft_goals
        self._watch = watch
        self._names = [f"{PODS_PLACED}{priority}" for priority in pending.priorities]
        self._claims = list(self._plain())
        self._soft: list[int] | None = None
        self.steps: Sequence[Step] | None = None

    def _plain(self) -> Iterator[Claim]:
        """What is plain to see before anything is searched for."""
        for name, pods in zip(self._names, self._placeable(), strict=True):
            yield Claim(name, Bound(pods, "the count of pods that some node could take"))
        every = self._pending.of_priorities(self._pending.wanted)
        all_placed = dict(zip(self._names, every, strict=True))
        for goal in self._soft_goals:
            for bound, given in ((goal.bound(), {}), (goal.bound_of_all(), all_placed)):
                if bound is not None:
                    yield Claim(goal.name, Bound(bound, "the look at what is there already"), given)

    def _placeable(self) -> tuple[int, ...]:
        """Per priority, the pods that some node could take at all."""
        wanted, static, undecided = self._pending.wanted, self._pending.static, self._pending.undecided
        could = {t: pods for t, pods in wanted.items() if t in undecided or static[t].any()}
        return self._pending.of_priorities(could)

    def offer(self, steps: Sequence[Step]) -> None:
        """Keep a plan if it is better than the best so far."""
        soft: list[int] | None = None
        if self.steps is not None:
            new, old = self._pending.placed(steps), self._pending.placed(self.steps)
            if new < old:
                return
            if new == old:
                soft = self._measure(steps)
                if self._signed(soft) <= self._signed(self._soft_values()):
                    return
        self.steps, self._soft = steps, soft
        self.tell()

    def _soft_values(self) -> list[int]:
        """The values of the soft goals for the best plan."""
        if self._soft is None:
            self._soft = self._measure(self.steps or ())
        return self._soft

    def shape_value(self) -> int:
        """What the last stage is in the best plan."""
        return self._soft_values()[-1]

    def keep(self, x: Counts) -> None:
        """Require of a model that no softer stage but the last is worse than in the best plan."""
        for goal, value in zip(self._soft_goals[:-1], self._soft_values(), strict=False):
            reached = goal.express(x)
            x.require(reached >= value if goal.largest else reached <= value)

    def _measure(self, steps: Sequence[Step]) -> list[int]:
        """The values of the soft goals in the state that a plan leads to."""
        if not self._soft_goals:
            return []
        state, pods = self._pending.state, {t: iter(found) for t, found in self._pending.pods.items()}
        mark = state.mark()
        for template, node in steps:
            state.bind(next(pods[template]), node)
        values = self._read(steps)
        state.rollback(mark)
        return values

    def _read(self, steps: Sequence[Step]) -> list[int]:
        placement: Placement = Counter(steps)
        return [goal.value(placement) for goal in self._soft_goals]

    def measure_bound_plan(self) -> None:
        """Take the values of the soft goals from the state, in which the best plan has been bound."""
        self._soft = self._read(self.steps or ())

    def _signed(self, soft: Sequence[int]) -> list[int]:
        """The values so that more is better."""
        pairs = zip(soft, self._soft_goals, strict=True)
        return [value if goal.largest else -value for value, goal in pairs]

    def learn(self, proof: Proof) -> None:
        """Take note of what a model proved; none knows of labels that pods get from their nodes."""
        if not self._pending.problem.labels_follow_nodes:
            self._claims += (claim.assuming(self._pending.assumes) for claim in proof.claims())
        self.tell()

    def tell(self) -> None:
        """Report the best plan and its bound to the progress observer."""
        if self._watch is None and SEARCH_PROGRESS.get() is None:
            return
        most = sum(self.bounds())
        if self.steps is None:
            report_best(f"no plan yet, at most {most} pods")
            return
        if self._watch is not None:
            self._watch(len(self.steps), most)
        report_best(f"{len(self.steps)} pods placed, at most {most}{self._in_words()}")

    def _in_words(self) -> str:
        """The first of the softer stages that is open, where it is known what the plan has there."""
        soft = self._soft is not None and self.all_placed()
        for goal, stage in zip(
            self._soft_goals, [*self.stages()][len(self._names) :] if soft else (), strict=False
        ):
            if not stage.proved and stage.bound is not None:
                limit = "at most" if goal.largest else "at least"
                return f"; {goal.name} {stage.value}, {limit} {stage.bound.value}"
        return ""

    def promises(self, placement: Placement | None) -> bool:
        """Whether a placement, could it be had, would place as many pods as any plan could."""
        return placement is not None and all(stage.proved for stage in self._judged(placement))

    def all_placed(self) -> bool:
        """Whether there is a plan, and none places more pods."""
        return self.steps is not None and all(stage.proved for stage in self._pods())

    def perfect(self) -> bool:
        """Whether there is a plan, and none is better in any stage."""
        return self.steps is not None and all(stage.proved for stage in self.stages())

    def is_even(self) -> bool:
        """Whether there is a plan, and none places more pods or has them spread more evenly."""
        spread = {SpreadExcess.name, SpreadSkew.name}
        return self.all_placed() and all(stage.proved for stage in self.stages() if stage.name in spread)

    def _pods(self) -> Iterator[ObjectiveStage]:
        return self._judged(self.steps or ())

    def pods(self) -> dict[str, int]:
        """The pods that the best plan places, by stage."""
        return {stage.name: stage.value for stage in self._pods()}

    def bounds(self) -> list[int]:
        """The most pods that any plan could place, by stage, given what the plan has in the stages before."""
        return [stage.bound.value for stage in self._pods() if stage.bound is not None]

    def _judged(
        self, placement: Placement | Iterable[Step], soft: Iterable[Measured] = ()
    ) -> Iterator[ObjectiveStage]:
        """The stages that count pods, and perhaps softer ones."""
        pods = zip(self._names, self._pending.placed(placement), strict=True)
        return judge([*(Measured(name, value) for name, value in pods), *soft], self._claims)

    def stages(self) -> Iterator[ObjectiveStage]:
        """Every stage of the objective with the tightest bound that is known for it."""
        soft = zip(self._soft_goals, self._soft_values(), strict=True)
        return self._judged(
            self.steps or (), [Measured(goal.name, value, goal.largest) for goal, value in soft]
        )
