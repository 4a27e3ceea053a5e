"""The best plan so far, and what is known about how good any plan could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.batch.goals import Wish
from planner.batch.pending import Pending
from planner.documents.plan import PODS_PLACED
from planner.scheduler.order import Placement, Step

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
        self._names = [f"{PODS_PLACED}{priority}" for priority in pending.priorities]
        placeable: dict[str, int | None] = dict(zip(self._names, self._placeable(), strict=True))
        self._plain = placeable | {wish.name: wish.bound() for wish in wishes}
        self._plain_if_all = placeable | {wish.name: wish.bound_of_all() for wish in wishes}
        self._soft: list[int] | None = None
        self.steps: Sequence[Step] | None = None

    def _placeable(self) -> tuple[int, ...]:
        """Per priority, the pods that some node could take at all."""
        pods = {
            number: found
            for number, found in self._pending.wanted.items()
            if self._pending.settled[number].any()
        }
        return self._pending.placed({(number, 0): found for number, found in pods.items()})

    def offer(self, steps: Sequence[Step]) -> None:
        """Keep a plan if it is better than the best so far."""
        if self.steps is not None:
            new, old = self._pending.placed(steps), self._pending.placed(self.steps)
            if new < old:
                return
            if new == old:
                soft = self._measure(steps)
                if self._signed(soft) <= self._signed(self._softness()):
                    return
                self.steps, self._soft = steps, soft
                return
        self.steps, self._soft = steps, None
        self._tell()

    def _softness(self) -> list[int]:
        """What the wishes say about the best plan."""
        if self._soft is None:
            self._soft = self._measure(self.steps or ())
        return self._soft

    def _measure(self, steps: Sequence[Step]) -> list[int]:
        """What the wishes say about the state that a plan leads to."""
        if not self._wishes:
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
        return [wish.value(placement) for wish in self._wishes]

    def settle(self) -> None:
        """Take what the wishes say from the state, in which the best plan has been bound."""
        self._soft = self._read(self.steps or ())

    def _signed(self, soft: Sequence[int]) -> list[int]:
        """The values so that more is better."""
        pairs = zip(soft, self._wishes, strict=True)
        return [value if wish.largest else -value for value, wish in pairs]

    def learn(self, proof: Proof) -> None:
        """Take note of what a model proved."""
        self._proofs.append(proof)
        self._tell()

    def _tell(self) -> None:
        if self._watch is not None and self.steps is not None:
            self._watch(len(self.steps), sum(stage.bound for stage in self._pods()))

    def promises(self, placement: Placement | None) -> bool:
        """Whether a placement, could it be had, would place as many pods as any plan could."""
        if placement is None:
            return False
        stages = self._bounded(self._names, self._pending.placed(placement))
        return all(stage.proved for stage in stages)

    def all_placed(self) -> bool:
        """Whether there is a plan, and none places more pods."""
        return self.steps is not None and all(stage.proved for stage in self._pods())

    def perfect(self) -> bool:
        """Whether there is a plan, and none is better in any stage."""
        return self.steps is not None and all(stage.proved for stage in self.stages())

    def _pods(self) -> Iterator[Stage]:
        return self._bounded(self._names, self._pending.placed(self.steps or ()))

    def stages(self) -> Iterator[Stage]:
        """Every stage of the objective with the tightest bound that is known for it."""
        names = [*self._names, *(wish.name for wish in self._wishes)]
        return self._bounded(names, [*self._pending.placed(self.steps or ()), *self._softness()])

    def _bounded(self, names: Iterable[str], values: Iterable[int]) -> Iterator[Stage]:
        largest = {name: True for name in self._names} | {wish.name: wish.largest for wish in self._wishes}
        proved, proofs = True, self._proofs
        left = sum(self._pending.wanted.values())
        for name, value in zip(names, values, strict=True):
            known = [proof.bounds[name] for proof in proofs if name in proof.bounds]
            plain, up = (self._plain if left else self._plain_if_all)[name], largest[name]
            left -= value if name in self._names else 0
            known += [] if plain is None else [plain]
            bound = value if not known else min(known) if up else max(known)
            proved = proved and bool(known) and (value >= bound if up else value <= bound)
            yield Stage(name, up, value, max(bound, value) if up else min(bound, value), proved)
            proofs = [proof for proof in proofs if proof.values.get(name) == value]
