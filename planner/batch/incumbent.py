"""The best plan so far, and what is known about how good any plan could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.batch.goals import Wish
from planner.batch.pending import Pending
from planner.order import Placement, Step
from planner.plan import PODS_PLACED

#: Told the pods placed so far and the most that any plan could place.
Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What a model achieved stage by stage, and that no plan does better as far as it got.

    A stage's bound holds for plans that have the model's values in all stages before.
    """

    values: Mapping[str, int]
    bounds: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the objective: what the plan has, what any plan as good before could have."""

    name: str
    largest: bool
    value: int
    bound: int
    proved: bool


class Incumbent:
    """Keeps the best plan that was offered, and every proof."""

    def __init__(self, pending: Pending, wishes: Sequence[Wish], watch: Watch | None) -> None:
        self._pending = pending
        self._wishes = wishes
        self._watch = watch
        self._proofs: list[Proof] = []
        self._plain = {wish.name: wish.bound() for wish in wishes}
        self._names = [f"{PODS_PLACED}{priority}" for priority in pending.priorities]
        self._plain_pods = self._trivial_bounds()
        self._values: list[int] | None = None
        self.steps: Sequence[Step] = ()

    def _trivial_bounds(self) -> dict[str, int]:
        """Per priority, the pods that some node could take at all."""
        bounds = dict.fromkeys(self._pending.priorities, 0)
        for number, pods in self._pending.pods.items():
            if self._pending.settled[number].any():
                bounds[self._pending.priority(number)] += len(pods)
        return dict(zip(self._names, bounds.values(), strict=True))

    def offer(self, steps: Sequence[Step]) -> None:
        """Keep a plan if it is better than the best so far."""
        if self._values is not None and self._pending.placed(steps) < self._pending.placed(self.steps):
            return
        values = [*self._pending.placed(steps), *self._measure(steps)]
        if self._values is None or self._signed(values) > self._signed(self._values):
            self._values, self.steps = values, steps
            self._tell()

    def _measure(self, steps: Sequence[Step]) -> Iterator[int]:
        """What the wishes say about the state that a plan leads to."""
        if not self._wishes:
            return
        state, pods = self._pending.state, {t: iter(found) for t, found in self._pending.pods.items()}
        mark = state.mark()
        for template, node in steps:
            state.bind(next(pods[template]), node)
        placement: Placement = Counter(steps)
        values = [wish.value(placement) for wish in self._wishes]
        state.rollback(mark)
        yield from values

    def _signed(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values so that more is better."""
        pods = len(self._names)
        return (
            *values[:pods],
            *(
                value if wish.largest else -value
                for value, wish in zip(values[pods:], self._wishes, strict=True)
            ),
        )

    def learn(self, proof: Proof) -> None:
        """Take note of what a model proved."""
        self._proofs.append(proof)
        self._tell()

    def _tell(self) -> None:
        if self._watch is not None:
            bound = sum(stage.bound for stage in self.stages() if stage.name in self._plain_pods)
            self._watch(len(self.steps), bound)

    def promises(self, placement: Placement | None) -> bool:
        """Whether a placement, could it be had, would place as many pods as any plan could."""
        if placement is None:
            return False
        most = [stage.bound for stage in self.stages() if stage.name in self._plain_pods]
        return list(self._pending.placed(placement)) == most

    def all_placed(self) -> bool:
        """Whether no plan places more pods."""
        return all(stage.proved for stage in self.stages() if stage.name in self._plain_pods)

    def perfect(self) -> bool:
        """Whether no plan is better in any stage."""
        return all(stage.proved for stage in self.stages())

    def stages(self) -> Iterator[Stage]:
        """Every stage of the objective with the tightest bound that is known for it."""
        assert self._values is not None, "a plan is offered first"
        largest = [*(True for _ in self._names), *(wish.largest for wish in self._wishes)]
        names = [*self._names, *(wish.name for wish in self._wishes)]
        proved, proofs = True, self._proofs
        for name, value, up in zip(names, self._values, largest, strict=True):
            bounds = [proof.bounds[name] for proof in proofs if name in proof.bounds]
            plain = self._plain_pods.get(name, self._plain.get(name))
            known = [*bounds, *(() if plain is None else (plain,))]
            bound = value if not known else min(known) if up else max(known)
            reached = bool(known) and (value >= bound if up else value <= bound)
            proved = proved and reached
            yield Stage(name, up, value, max(bound, value) if up else min(bound, value), proved)
            proofs = [proof for proof in proofs if proof.values.get(name) == value]
