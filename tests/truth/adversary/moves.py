"""Planned moves as the adversary plays them: which pod goes, what makes the next, where that may land."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from planner.documents.move_plan import MoveStep, OnNodes, Place
from tests.truth import manifests
from tests.truth.manifests import Object

Choice = Literal["any", "best"]


@dataclass(frozen=True)
class PlannedMove:
    """One move of a wave.

    `choice` says which of the nodes that the filters leave the scheduler may take: any of them, or one with
    the highest score.  `number` is unique in the plan.
    """

    number: int
    wave: int
    pod: str
    source: str
    workload: str
    lands: frozenset[str]
    choice: Choice
    pin: Place | None = None
    cordon: tuple[str, ...] = ()

    @property
    def steered(self) -> bool:
        """Whether something else than filters and scores holds the replacement."""
        return self.pin is not None or bool(self.cordon)


def moves_of(steps: Sequence[MoveStep], nodes: Sequence[Object]) -> list[list[PlannedMove]]:
    """The waves of a plan."""
    waves: dict[int, list[PlannedMove]] = {}
    for number, step in enumerate(steps):
        waves.setdefault(step.wave, []).append(_move(number, step, nodes))
    return [waves[wave] for wave in sorted(waves)]


def _move(number: int, step: MoveStep, nodes: Sequence[Object]) -> PlannedMove:
    pin = (step.pin or step.lands) if step.landing == "pinned" else None
    return PlannedMove(
        number,
        step.wave,
        step.pod,
        step.source,
        step.workload,
        names_of(step.lands, nodes),
        "best" if step.landing == "scores" else "any",
        pin,
        step.cordon,
    )


def names_of(place: Place, nodes: Sequence[Object]) -> frozenset[str]:
    """The nodes that a place names, or that have its labels."""
    if isinstance(place, OnNodes):
        return frozenset(place.nodes)
    return frozenset(
        node["metadata"]["name"]
        for node in nodes
        if all(
            (node["metadata"].get("labels") or {}).get(key) in values for key, values in place.labels.items()
        )
    )


def narrowed(spec: Object, place: Place) -> Object:
    """A pod's spec that may run on the nodes of a place only, and where it might run before."""
    terms = _terms(place)
    affinity = dict(spec.get("affinity") or {})
    chosen = dict(affinity.get("nodeAffinity") or {})
    before = (chosen.get(manifests.REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    both = [
        {key: [*(old.get(key) or ()), *(new.get(key) or ())] for key in {*old, *new}}
        for old in before
        for new in terms
    ]
    chosen[manifests.REQUIRED] = {"nodeSelectorTerms": both}
    return {**spec, "affinity": {**affinity, "nodeAffinity": chosen}}


def _terms(place: Place) -> list[Object]:
    if isinstance(place, OnNodes):
        return [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
            for name in place.nodes
        ]
    labels: Mapping[str, tuple[str, ...]] = place.labels
    return [
        {
            "matchExpressions": [
                {"key": k, "operator": "In", "values": [*found]} for k, found in labels.items()
            ]
        }
    ]
