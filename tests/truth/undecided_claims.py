"""What commands say without a condition, beside what is true once all is known that is left open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from models import Cluster
from planner import capacity, check, consolidate, rebalance, simulate, solve
from planner.documents.plan import Document, Objective, PlacementPlan
from planner.simulation.survive import survive
from tests.builders import ZONE, Object
from tests.truth.findings import Finding
from tests.truth.placing_claims import replayed
from tests.truth.undecided import completed, drawn

_SECONDS = 3.0
#: What notes say where something is left open.
_SAID = ("undecided", "may not be listed", "not known whether")
_OPTIONS: Sequence[dict[str, Any]] = ({}, {"allow_moves": True}, {"final_state": True})


def refuted(number: int, completions: int) -> Iterator[Finding]:
    """Claims about the cluster of a number that do not hold in one of its completions."""
    found, draw = drawn(number), Random(number)
    options = draw.choice(_OPTIONS)
    known = [completed(found, draw) for _ in range(completions)]
    yield from _plan_refuted(found.objects, known, options)
    yield from _bounds_refuted(found.objects, known)
    yield from _unsaid(found.objects, known)


def _plan_refuted(
    objects: list[Object], known: Sequence[list[Object]], options: dict[str, Any]
) -> Iterator[Finding]:
    """A plan of `solve` whose binds a completion refuses, or a bound that it beats."""
    plan = _solved(objects, options)
    for item in known:
        if not plan.verdicts.sequence:
            continue
        for fault in replayed(Cluster.from_objects(item), plan):
            yield Finding("invalid", fault)
    yield from _beaten(plan.objective, [_solved(item, options).objective for item in known])


def _solved(objects: list[Object], options: dict[str, Any]) -> PlacementPlan:
    return solve(Cluster.from_objects(objects), time_limit=_SECONDS, **options)


def _beaten(stages: Sequence[Objective], others: Sequence[Sequence[Objective]]) -> Iterator[Finding]:
    """The bounds without a condition that the plan of another cluster is better than.

    A stage is about plans that have in those before what this one has.
    """
    for other in others:
        values: Mapping[str, int] = {stage.name: stage.value for stage in other}
        for stage in stages:
            value = values.get(stage.name, 0)
            if stage.bound is None or stage.name not in values:
                break
            sign = 1 if stage.goal == "max" else -1
            if not stage.assumes and sign * value > sign * stage.bound:
                yield Finding("bound", f"{stage}, and there may be {value}")
            if value != stage.value or not stage.proved:
                break


def _bounds_refuted(objects: list[Object], known: Sequence[list[Object]]) -> Iterator[Finding]:
    """Bounds of the other commands that the answer about a completion is better than."""
    here = Cluster.from_objects(objects)
    there = [Cluster.from_objects(item) for item in known]
    moves = rebalance(here, time_limit=_SECONDS)
    stages = [stage.model_copy(update={"assumes": _limits(stage)}) for stage in moves.objective]
    yield from _beaten(stages, [rebalance(item, time_limit=_SECONDS).objective for item in there])
    cost = consolidate(here, time_limit=_SECONDS).cost
    for item in there:
        after = consolidate(item, time_limit=_SECONDS).cost.after
        if after < cost.bound:
            yield Finding("bound", f"cost {cost.bound} of consolidate, and there may be {after}")
    rows = {row.workload: row for row in capacity(here, best=True, time_limit=_SECONDS).workloads}
    for item in there:
        for other in capacity(item, best=True, time_limit=_SECONDS).workloads:
            bound = rows[other.workload].bound
            if bound is not None and max(other.more, other.best or 0) > bound:
                yield Finding("bound", f"{rows[other.workload]}, and there may be {other}")


def _limits(stage: Objective) -> tuple[str, ...]:
    """What is assumed beside the rules of the command."""
    return tuple(name for name in stage.assumes if name not in {"NothingWorse", "ProtectedPodsStay"})


def _unsaid(objects: list[Object], known: Sequence[list[Object]]) -> Iterator[Finding]:
    """Answers that are others in a completion, with no word of what is left open."""
    here = Cluster.from_objects(objects)
    asked = {"simulate": _placed, "survive": _survives, "capacity": _more}
    for name, ask in asked.items():
        document, answer = ask(here)
        if any(word in text for text in _texts(document) for word in _SAID):
            continue
        for item in known:
            _, other = ask(Cluster.from_objects(item))
            if other != answer:
                yield Finding("false", f"{name}: {answer}, and with all known {other}")


def _texts(document: Document) -> Iterator[str]:
    """All notes and lines of the scheduler."""
    yield from document.notes
    yield document.to_json()


def _placed(cluster: Cluster) -> tuple[Document, object]:
    found = simulate(cluster)
    return found, {row.pod: row.node for row in found.decisions}


def _survives(cluster: Cluster) -> tuple[Document, object]:
    if not any(ZONE in node.metadata.labels for node in cluster.nodes):
        return check(cluster), None
    found = survive(cluster, ZONE)
    return found, found.failures > 0


def _more(cluster: Cluster) -> tuple[Document, object]:
    found = capacity(cluster)
    return found, {row.workload: row.more for row in found.workloads}
