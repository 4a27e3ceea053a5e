"""The stages of an objective: what the plan has, what no plan betters, and if that is proved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cli.output.blocks import Sentence, Table, rows_of
from planner.documents.plan import Objective
from planner.proof.bounds import RULES

#: What a proof may take for granted, as half a sentence.
_ASSUMED = {
    "EvictionsFirst": "among those that evict first",
    "NothingUndecided": "among those that place no pod where that is undecided",
    "NothingWorse": "among those that make nothing worse on the way",
    "ProtectedPodsStay": "among those that leave protected pods where they are",
}
#: What a stage counts, in words.
_COUNTED = {
    "podsPlaced": "pods placed",
    "moves": "moves",
    "hardExcess": "pods too many under DoNotSchedule",
    "softExcess": "pods too many under ScheduleAnyway",
    "softSpreadExcess": "pods too many under ScheduleAnyway",
    "softSpreadSkew": "skew under ScheduleAnyway",
    "preferredAffinity": "preferred affinities met",
    "fullestNodePercent": "per cent in use of the fullest node",
    "nodesUsed": "nodes used",
    "podsElsewhere": "pods elsewhere than with kube-scheduler",
    "disruption": "weight of the pods that are moved",
    "pinned": "pinned moves",
    "skew": "skew in all",
    "controllersVictims": "pods that the controllers take anyhow",
}


def stages(objective: Sequence[Objective]) -> Table:
    """The table of stages."""
    rows = [[stage.name, str(stage.value), _bound(stage), _proved(stage)] for stage in objective]
    return Table(("STAGE", "VALUE", "BOUND", "PROVED"), rows_of(rows), noun="stage")


def in_words(objective: Sequence[Objective]) -> Sentence | None:
    """How far the plan may be from the best, at the first stage at which it is not proved to be it."""
    found = next(((place, stage) for place, stage in enumerate(objective) if not stage.proved), None)
    if found is None:
        return None
    place, stage = found
    kind, _, priority = stage.name.partition("/")
    what = _COUNTED.get(kind, stage.name) + (f" of priority {priority}" if priority else "")
    if stage.bound is None:
        return Sentence(f"Not proved: {stage.value} {what} is the best that was found; no bound is known.")
    words = ["no plan", *assumed([stage]), *(["that is as good before"] if place else [])]
    limit = f"has {'more' if stage.goal == 'max' else 'fewer'} than {stage.bound}"
    return Sentence(
        f"Not proved: {stage.value} {what} is the best that was found; {' '.join(words)} {limit}."
    )


def assumed(objective: Iterable[Objective]) -> list[str]:
    """What the proofs of some stages take for granted."""
    return list(dict.fromkeys(_ASSUMED[name] for stage in objective for name in stage.assumes))


def is_conditional(stage: Objective) -> bool:
    """Whether the bound leaves out plans that a cluster would accept."""
    return not RULES.issuperset(stage.assumes)


def _bound(stage: Objective) -> str:
    return "unknown" if stage.bound is None else str(stage.bound)


def _proved(stage: Objective) -> str:
    """Whether it is, and for which plans."""
    return ", ".join(["yes", *assumed([stage])]) if stage.proved else "no"
