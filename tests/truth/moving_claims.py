"""What `rebalance` claims, beside what exhaustive search finds."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from models import Cluster
from models.objects.pod import Pod
from planner import rebalance
from planner.documents.move_plan import MovePlan
from planner.documents.plan import Objective
from tests.truth import moving
from tests.truth.adversary.plans import against_moves
from tests.truth.digits import State, whereabouts
from tests.truth.findings import Finding, Judgement, compare
from tests.truth.generator import Case
from tests.truth.moving import Moved, Moving
from tests.truth.tiny_cluster import TinyCluster


def judge_rebalance(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = rebalance(cluster, time_limit=time_limit, **case.options)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    options = case.options
    findings = moving_findings(
        TinyCluster(case.objects), plan, found, options.get("max_moves"), soft=options.get("soft", False)
    )
    evict_only = options.get("evict_only", False)
    # Without pins the best may be out of reach.
    less = evict_only or any("would have to be pinned" in note for note in plan.notes)
    held = {pod.key for pod in cluster.pods if not _can_be_pinned(pod)}
    yield from (
        finding
        for finding in findings
        if not (
            finding.fault == "missed" and (less or any(_moves_only(held, line) for line in finding.truth))
        )
    )
    for step in plan.steps:
        narrowed = step.owner.startswith(("ReplicaSet/", "ReplicationController/"))
        pinned, cordoned = (step.landing == kind for kind in ("pinned", "cordoned"))
        if (pinned and (evict_only or not narrowed)) or (cordoned and not options.get("cordon")):
            yield Finding("invalid", f"{step.pod} is {step.landing}")


def judge_unsearched(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    """The adversary's view of a plan where volumes have a say: there is no search for the best moves."""
    started = time.perf_counter()
    plan = rebalance(Cluster.from_objects(case.objects), time_limit=time_limit, **case.options)
    found.seconds = time.perf_counter() - started
    found.proved, found.complete = plan.status == "Optimal", False
    verdict = against_moves(
        case.objects,
        plan,
        max_unavailable=case.options.get("max_unavailable", 1),
        soft=case.options.get("soft", False),
    )
    yield from (Finding("invalid", str(failure)) for failure in verdict.failures)


def _can_be_pinned(pod: Pod) -> bool:
    """Whether a change to the template that a pod comes from rolls nothing out."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind in {"ReplicaSet", "ReplicationController"}


def _moves_only(pods: Collection[str], line: str) -> bool:
    """Whether a move of the truth, told with all pods that are alike, is one of these pods."""
    alike = line.partition("[")[2].partition("]")[0].split(", ")
    return {*alike} <= {*pods}


def moving_findings(
    tiny: TinyCluster, plan: MovePlan, found: Judgement, most: int | None = None, *, soft: bool = False
) -> Iterator[Finding]:
    """What is wrong with so many moves at most, and with what is said about them."""
    yield from (Finding("crash", note) for note in plan.notes if "had been judged to hold" in note)
    search = Moving(tiny, soft=soft)
    end, weight, problems = _moved(tiny, search, plan)
    yield from (Finding("invalid", problem) for problem in problems)
    if problems:
        return
    started = time.perf_counter()
    truth = search.run()
    found.search, found.complete = time.perf_counter() - started, truth.complete
    excess = ("hardExcess", "softExcess") if soft else ("hardExcess",)
    names = dict(zip(excess, search.rank(end), strict=True)) | {
        "moves": len(plan.steps),
        "disruption": weight,
    }
    best = dict(zip(excess, truth.rank, strict=True)) | {"moves": truth.moves, "disruption": truth.weight}
    stages = [stage for stage in plan.objective if stage.name in names]
    yield from _counted_wrong(stages, names)
    if most is not None and most < truth.moves:
        # What is lightest among fewer moves than it takes in the end was not searched for.
        rank = truth.ranks[most]
        best = dict(zip(excess, rank, strict=True)) | {"moves": truth.ranks.index(rank)}
        stages = [stage for stage in stages if stage.name in best]
    witness = tuple(moving.told(tiny, truth.path))
    values, least = [names[s.name] for s in stages], [best[s.name] for s in stages]
    # What weighs less may need a pin, and fewer pins come first: that is not searched for.
    lighter = [s.name for s, one, other in zip(stages, values, least, strict=True) if one != other]
    for finding in compare(stages, values, least, witness):
        if finding.fault == "missed" and lighter == ["disruption"]:
            continue
        if finding.fault == "missed" and plan.cut:
            yield replace(finding, fault="cut")
            continue
        if finding.fault != "beyond" or truth.complete:
            yield finding
    if most is not None and len(plan.steps) > most:
        yield Finding("invalid", f"{len(plan.steps)} moves where {most} are allowed")
    yield from _curve_wrong(plan, truth)
    looser = Moving(tiny, away=False).run()
    hard = (truth.excess, truth.moves)
    if most is None and not soft and looser.complete and (looser.excess, looser.moves) < hard:
        text = f"excess {looser.excess} after {looser.moves} moves, {hard[0]} after {hard[1]} without"
        yield Finding("away", text, tuple(moving.told(tiny, looser.path)))


def _counted_wrong(stages: Sequence[Objective], names: dict[str, int]) -> Iterator[Finding]:
    for stage in stages:
        if stage.value != names[stage.name]:
            yield Finding("invalid", f"{stage.name} is said to be {stage.value} and is {names[stage.name]}")


def _curve_wrong(plan: MovePlan, truth: Moved) -> Iterator[Finding]:
    """Points of the curve below which the truth is, or which nothing reaches."""
    for point in plan.curve:
        if point.moves >= len(truth.curve) and not truth.complete:
            continue
        least = truth.curve[min(point.moves, len(truth.curve) - 1)]
        if point.proved and least < point.hard_excess:
            yield Finding("false", f"after {point.moves} moves {point.hard_excess} proved, truth {least}")
        elif least > point.hard_excess and truth.complete:
            yield Finding("beyond", f"after {point.moves} moves {point.hard_excess}, truth {least}")


def _moved(tiny: TinyCluster, search: Moving, plan: MovePlan) -> tuple[State, int, list[str]]:
    """Where the moves lead, what they weigh, and what is wrong with them."""
    kind_of, node_of = whereabouts(tiny)
    state, weight = tiny.start, 0
    for step in plan.steps:
        kind, source, target = kind_of[step.pod], node_of[step.pod], tiny.names.index(step.node)
        if not tiny.kinds[kind].movable:
            return state, weight, [f"{step.pod} must not be moved"]
        allowed = {(k, s, t) for k, s, t, _ in search.next(state)}
        if (kind, source, target) not in allowed:
            return state, weight, [f"{step.pod} cannot move from {step.source} to {step.node} at its turn"]
        state += tiny.delta[kind][target] - tiny.delta[kind][source]
        node_of[step.pod] = target
        weight += search.weights[kind]
    return state, weight, []
