"""What a bound is, and the only place that says `proved`.

A claim says that no plan does better in a stage of the objective, given what the plan has in the stages
before.  Its bound comes from somewhere and may hold for some plans only; a stage is proved when the
plan reaches a bound and all stages before are proved.  A plan that beats a bound shows that the bound
is wrong, so that is an InternalError and never a proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from models.errors import InternalError
from planner.documents.plan import Objective, Status


class Assumption(StrEnum):
    """What is taken for granted of all plans that a bound speaks of."""

    #: Every eviction comes before the first bind: what the models of `solve --allow-moves` know.
    EVICTIONS_FIRST = "EvictionsFirst"
    #: No pod comes to a node of which the snapshot does not tell whether it may: for devices that are not
    #: allocated yet, or volumes that the reader had no right to list.
    NOTHING_UNDECIDED = "NothingUndecided"
    #: No hard constraint is ever worse than before a move, and no pod without affinity peers that it needs: a
    #: rule that every plan of `rebalance` has to keep.
    NOTHING_WORSE = "NothingWorse"
    #: Pods that may not be evicted are where they are, and no pod starts or ends meanwhile: a rule that every
    #: plan of `consolidate` has to keep.
    PROTECTED_STAY = "ProtectedPodsStay"


#: Assumptions that are rules of a command, and so part of its question: no plan may break them.  All
#: others leave plans out that a cluster would accept, so that what is proved is so on a condition.
RULES = frozenset({Assumption.NOTHING_WORSE, Assumption.PROTECTED_STAY})


@dataclass(frozen=True, slots=True)
class Bound:
    """What no plan beats, as far as it keeps to what is assumed; and which method found that out."""

    value: int
    source: str
    assumes: frozenset[Assumption] = frozenset()


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound on one stage, for plans that have exactly the given values in some stages before."""

    stage: str
    bound: Bound
    given: Mapping[str, int] = field(default_factory=dict)

    def assuming(self, more: Collection[Assumption]) -> Claim:
        """The same with more that is taken for granted."""
        return replace(self, bound=replace(self.bound, assumes=self.bound.assumes.union(more)))

    def speaks_of(self, values: Mapping[str, int]) -> bool:
        """Whether a plan with these values in the stages before is meant."""
        return all(values.get(name) == value for name, value in self.given.items())


@dataclass(frozen=True, slots=True)
class Measured:
    """What a plan has in one stage of the objective, and whether more is better."""

    name: str
    value: int
    largest: bool = True


@dataclass(frozen=True, slots=True)
class ObjectiveStage:
    """What a plan has in one stage, and the tightest bound; None where nothing is known."""

    measured: Measured
    bound: Bound | None
    proved: bool

    @property
    def name(self) -> str:
        return self.measured.name

    @property
    def value(self) -> int:
        return self.measured.value

    def objective(self) -> Objective:
        """The stage as documents have it."""
        return Objective(
            name=self.name,
            goal="max" if self.measured.largest else "min",
            value=self.value,
            bound=None if self.bound is None else self.bound.value,
            proved=self.proved,
            assumes=() if self.bound is None else tuple(sorted(self.bound.assumes)),
        )


def judge(
    plan: Iterable[Measured], claims: Sequence[Claim], *, breaks: Collection[Assumption] = ()
) -> Iterator[ObjectiveStage]:
    """The stages of a plan, the most important first, each with its verdict.

    Claims whose assumptions the plan `breaks` do not speak of it.
    """
    values: dict[str, int] = {}
    proved = True
    for measured in plan:
        known = [
            claim.bound
            for claim in claims
            if claim.stage == measured.name
            and claim.speaks_of(values)
            and claim.bound.assumes.isdisjoint(breaks)
        ]
        bound = _tightest(measured, known)
        proved = proved and bound is not None and bound.value == measured.value
        yield ObjectiveStage(measured, bound, proved)
        values[measured.name] = measured.value


def status_of(stages: Iterable[ObjectiveStage]) -> Status:
    """What a document says of a plan with these stages in one word."""
    stages = [*stages]
    if not all(stage.proved for stage in stages):
        return "Feasible"
    conditions = {name for stage in stages if stage.bound is not None for name in stage.bound.assumes - RULES}
    return "ConditionallyOptimal" if conditions else "Optimal"


def _tightest(measured: Measured, known: Iterable[Bound]) -> Bound | None:
    """The bound nearest to the value; of equal ones the one that assumes least."""
    sign = 1 if measured.largest else -1
    tightest: Bound | None = None
    for bound in known:
        if sign * (measured.value - bound.value) > 0:
            raise InternalError(
                f"{measured.name}: a plan has {measured.value}, and {bound.source} says that no plan "
                f"has {'more' if measured.largest else 'fewer'} than {bound.value}"
            )
        if tightest is None or (sign * bound.value, len(bound.assumes)) < (
            sign * tightest.value,
            len(tightest.assumes),
        ):
            tightest = bound
    return tightest
