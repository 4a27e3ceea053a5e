"""Several engines asked the same question: what one of them reaches, none may have proved to be out of reach.

This refutes claims on clusters where nothing can be searched to the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from models import Cluster, InputError
from planner import consolidate, rebalance, solve
from planner.documents.plan import PODS_PLACED, Objective, PlacementPlan
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD
from planner.scheduler.scheduler import Scheduler
from tests.planner.consolidate.replay import failure_with
from tests.truth.findings import CORRECT, Finding, compare
from tests.truth.generator import Case
from tests.truth.large_paths import CONSOLIDATION_PATHS, PATHS, SOLVE_PATHS, lowered
from tests.truth.placing_claims import replayed
from tests.truth.random_binds import bound_at_random

Stages = Sequence[Objective]
_ORDERS = 8
_WITH_PINS = "with pins"
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "solve": {},
    "solve --allow-moves": {"allow_moves": True},
    "solve --final-state": {"final_state": True},
}


def cross_checked(case: Case, time_limit: float) -> Iterator[Finding]:
    """What the engines say against each other, and plans that the filters do not accept."""
    try:
        answers = {name: tuple(stages) for name, stages in _answers(case, time_limit)}
    except InputError:
        return
    except _Invalid as error:
        yield Finding("invalid", str(error))
        return
    for name, stages in answers.items():
        for engine, other in answers.items():
            if name != engine:
                yield from _beaten(name, stages, engine, other)


class _Invalid(Exception):
    """A plan with a step that must not be."""


def _beaten(name: str, stages: Stages, engine: str, others: Stages) -> Iterator[Finding]:
    """Claims of one engine that the plan of another refutes."""
    by_name = {stage.name: stage.value for stage in others}
    common = [*takewhile(lambda stage: _is_comparable(stage, by_name), stages)]
    values, best = [stage.value for stage in common], [by_name[stage.name] for stage in common]
    for finding in compare(common, values, best, (f"{name}, beaten by {engine}",)):
        if finding.fault in CORRECT:
            yield finding


def _is_comparable(stage: Objective, others: Mapping[str, int]) -> bool:
    """Whether a stage means the same in both; what comes after pins is proved whatever their number."""
    return stage.name in others and (stage.name != "pinned" or stage.value == others[stage.name])


def _answers(case: Case, time_limit: float) -> Iterator[tuple[str, Stages]]:
    """What each engine says, and what else is known to be possible."""
    cluster = Cluster.from_objects(case.objects)
    if case.command == "rebalance":
        for name in ("", *PATHS):
            with lowered(name or None):
                plan = rebalance(cluster, time_limit=time_limit, **case.options)
            yield name or "standard", plan.objective
        return
    if case.command == "consolidate":
        yield from _consolidated(cluster, case.options, time_limit)
        return
    options = {**case.options, **_OPTIONS[case.command]}
    for name, effort in {"standard": STANDARD, **SOLVE_PATHS}.items():
        placed = solve(cluster, time_limit=time_limit, effort=effort, **options)
        yield name, placed.objective
        if case.command != "solve --final-state" and (problems := list(replayed(cluster, placed))):
            raise _Invalid(f"{name}: {problems[0]}")
    if case.command == "solve --final-state":
        return
    if case.command == "solve --allow-moves":
        yield "without moves", _reached(solve(cluster, time_limit=time_limit).objective)
    for number in range(_ORDERS):
        yield f"order {number}", _in_some_order(cluster, placed, random.Random(f"{case.seed} {number}"))


def _consolidated(
    cluster: Cluster, options: Mapping[str, Any], time_limit: float
) -> Iterator[tuple[str, Stages]]:
    """Each plan's stages; what is said of all plans holds with pins, too."""
    for name in ("", *CONSOLIDATION_PATHS, _WITH_PINS):
        pins = {"pins": True} if name == _WITH_PINS else {}
        with lowered(name or None):
            plan = consolidate(cluster, time_limit=time_limit, **{**options, **pins})
        if (failed := failure_with(cluster, plan, options, 1)) is not None:
            raise _Invalid(f"{name or 'standard'}: {failed}")
        cost, moves, *_ = plan.objective
        # A plan's unit depends on the machines that it adds.
        told = {"value": round(plan.cost.after * 10**6), "bound": round(plan.cost.bound * 10**6)}
        # Pins and soft spread are told, and not minimised for their own sake.
        yield name or "standard", (cost.model_copy(update=told), moves)


def _reached(stages: Stages) -> Stages:
    """The same values, with no claim about what is possible."""
    return [stage.model_copy(update={"bound": None, "proved": False}) for stage in stages]


def _in_some_order(cluster: Cluster, plan: PlacementPlan, chance: random.Random) -> Stages:
    """What it comes to when pods are bound in some order, each to some node that the filters accept."""
    scheduler = Scheduler(Problem(cluster), preemption=False)
    problem, state = scheduler.problem, scheduler.state
    placed = {stage.name: 0 for stage in plan.objective if stage.name.startswith(PODS_PLACED)}
    waiting = [pod for pod in np.flatnonzero(state.node_of < 0).tolist() if _stage_of(problem, pod) in placed]
    for pod in bound_at_random(scheduler, waiting, chance):
        placed[_stage_of(problem, pod)] += 1
    counted = [stage for stage in plan.objective if stage.name in placed]
    return _reached([stage.model_copy(update={"value": placed[stage.name]}) for stage in counted])


def _stage_of(problem: Problem, pod: int) -> str:
    return f"{PODS_PLACED}{problem.pods[pod].priority}"
