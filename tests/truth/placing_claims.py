"""What `solve` claims, beside what exhaustive search finds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from models import Cluster
from planner import solve
from planner.documents.plan import PODS_PLACED, Objective, PlacementPlan
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.truth import placing
from tests.truth.digits import State, whereabouts
from tests.truth.final import FinalPlacing
from tests.truth.findings import Finding, Judgement, compare
from tests.truth.generator import Case
from tests.truth.oracle import Oracle
from tests.truth.placing import Placed, Placing
from tests.truth.soft_stages import SoftStages
from tests.truth.tiny_cluster import TinyCluster
from tests.truth.whole_placements import WholePlacements

#: So many states with the most pods are looked at for their softer stages.
_MOST_STATES = 20_000
#: So many placements are gone through where claims have a say.
_MOST_PLACEMENTS = 6_000


def judge_final(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    """The pods of `solve --final-state`, against every placement that holds when all are placed."""
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    prefer = case.options.get("prefer", "spread")
    plan = solve(cluster, time_limit=time_limit, final_state=True, prefer=prefer, effort=case.effort)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    tiny = TinyCluster(case.objects)
    if plan.status == "Optimal" and not plan.verdicts.final_state:
        yield Finding("invalid", f"what is proved to be the best does not stand: {plan.steps}")
    if any(item["kind"] == "PersistentVolumeClaim" for item in case.objects):
        yield from _final_with_claims(case, plan, found)
        return
    search = FinalPlacing(tiny)
    started = time.perf_counter()
    truth = search.run()
    found.search, found.complete = time.perf_counter() - started, truth.complete
    placed = Placed(search.priorities, truth.value, truth.value, 0, truth.complete, truth.states)
    stages, values, best = _placed_stages(plan, placed, search.value(_end(tiny, plan)), 0)
    for finding in compare(stages, values, best, (str(tiny.places(truth.best)),)):
        if truth.complete or finding.fault != "beyond":
            yield finding


def _final_with_claims(case: Case, plan: PlacementPlan, found: Judgement) -> Iterator[Finding]:
    """A state that does not stand, and claims, against every placement of every pod."""
    whole, started = WholePlacements(case.objects), time.perf_counter()
    came = {step.pod: step.node for step in plan.steps if step.node}
    if fault := whole.fault(came):
        yield Finding("invalid", f"{fault}: {came}")
    truth = whole.most_final(_MOST_PLACEMENTS)
    found.search, found.complete = time.perf_counter() - started, truth.complete
    placed = Placed(tuple(whole.priorities), truth.value, truth.value, 0, truth.complete, truth.seen)
    stages, values, best = _placed_stages(plan, placed, whole.value(came), 0)
    for finding in compare(stages, values, best, tuple(map(str, truth.steps))):
        if truth.complete or finding.fault != "beyond":
            yield finding


def judge_with_claims(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    """The pods placed where volumes have a say, against every order of binds; no softer stages."""
    cluster = Cluster.from_objects(case.objects)
    moves = case.command == "solve --allow-moves"
    started = time.perf_counter()
    plan = solve(cluster, time_limit=time_limit, allow_moves=moves, effort=case.effort)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    yield from (Finding("invalid", problem) for problem in replayed(cluster, plan))
    stages = [stage for stage in plan.objective if stage.name.startswith(PODS_PLACED)]
    priorities = [int(stage.name.removeprefix(PODS_PLACED)) for stage in stages]
    started = time.perf_counter()
    truth = Oracle(case.objects, priorities).run(moves=moves)
    found.search, found.complete = time.perf_counter() - started, truth.complete
    values = _ran(cluster, plan, priorities)
    for finding in compare(stages, values, truth.value, truth.steps):
        if truth.complete or finding.fault != "beyond":
            yield finding


def judge_solve(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    prefer = case.options.get("prefer", "pack" if case.seed & 4 else "spread")
    plan = solve(cluster, time_limit=time_limit, prefer=prefer, effort=case.effort)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    tiny = TinyCluster(case.objects)
    softer = SoftStages(tiny)
    yield from placing_findings(tiny, cluster, plan, found, softer)


def judge_moves(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = solve(cluster, time_limit=time_limit, allow_moves=True, effort=case.effort)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    tiny = TinyCluster(case.objects)
    yield from placing_findings(tiny, cluster, plan, found, None)
    plain = solve(cluster, time_limit=time_limit, effort=case.effort)
    priorities = Placing(tiny, moves=True).priorities
    one, other = (_ran(cluster, some, priorities) for some in (plan, plain))
    if one < other:
        yield Finding("worse", f"with moves {one}, without {other}, priorities {priorities}")


def _ran(cluster: Cluster, plan: PlacementPlan, priorities: Iterable[int]) -> tuple[int, ...]:
    """How many more pods of each priority run after a plan."""
    gained: Counter[int] = Counter()
    priority = {pod.key: pod.priority for pod in cluster.pods}
    for step in plan.steps:
        gained[priority[step.pod]] += 1 if step.action == "bind" else -1
    return tuple(gained[priority] for priority in priorities)


def placing_findings(
    tiny: TinyCluster, cluster: Cluster, plan: PlacementPlan, found: Judgement, softer: SoftStages | None
) -> Iterator[Finding]:
    """What is wrong with a plan and its claims; with moves there are no softer stages."""
    problems = list(replayed(cluster, plan))
    yield from (Finding("invalid", problem) for problem in problems)
    search = Placing(tiny, moves=softer is None, every=softer is not None)
    end = _end(tiny, plan)
    evictions = sum(step.action == "evict" for step in plan.steps)
    if evictions:
        yield from _evictions_wrong(tiny, plan, end)
    started = time.perf_counter()
    truth = search.run()
    found.search, found.complete = time.perf_counter() - started, truth.complete
    stages, values, best = _placed_stages(plan, truth, search.value(end)[0], evictions)
    witness = tuple(placing.told(tiny, truth))
    for finding in compare(stages, values, best, witness):
        if not truth.complete and finding.fault == "beyond":
            continue
        yield finding
    counted = len(search.priorities)
    if plan.status == "Optimal" and best[:counted] > values[:counted]:
        yield Finding("false", f"Optimal, and {values} pods where {best} are possible", witness)
    if softer is not None and values == best and truth.complete:
        yield from _softer(tiny, plan, softer, end, truth)


def _softer(
    tiny: TinyCluster, plan: PlacementPlan, softer: SoftStages, end: State, truth: Placed
) -> Iterator[Finding]:
    """What is said of the softer stages, beside all states with as many pods."""
    stages = [stage for stage in plan.objective if stage.name in softer.stages]
    if not stages or len(truth.best) > _MOST_STATES:
        return
    counts = [softer.stages[stage.name] for stage in stages]
    signs = [-1 if stage.goal == "max" else 1 for stage in stages]

    def rank(state: State) -> list[int]:
        return [sign * count(state) for sign, count in zip(signs, counts, strict=True)]

    best = min(truth.best, key=rank)
    values = [count(end) for count in counts]
    for stage, value in zip(stages, values, strict=True):
        if stage.value != value:
            yield Finding("invalid", f"{stage.name} is said to be {stage.value} and is {value}")
    truth.best = [best]
    witness = tuple(placing.told(tiny, truth))
    for finding in compare(stages, values, [count(best) for count in counts], witness):
        yield replace(finding, fault="softer") if finding.fault == "missed" else finding


def _placed_stages(
    plan: PlacementPlan, truth: Placed, value: Sequence[int], evictions: int
) -> tuple[list[Objective], list[int], list[int]]:
    """The stages that count pods and evictions, with the plan's figures and the best ones."""
    stages, values, best = [], [], []
    by_name = {stage.name: stage for stage in plan.objective}
    for priority, have, most in zip(truth.priorities, value, truth.value, strict=True):
        stage = by_name.get(f"podsPlaced/{priority}")
        if stage is None:
            stage = Objective(name=f"podsPlaced/{priority}", value=0, bound=0, proved=False)
            if have == most:
                continue
        stages.append(stage)
        values.append(have)
        best.append(most)
    if "moves" in by_name:
        stages.append(by_name["moves"])
        values.append(evictions)
        best.append(truth.evictions)
    return stages, values, best


def _end(tiny: TinyCluster, plan: PlacementPlan) -> State:
    """What a plan leads to."""
    kind_of, node_of = whereabouts(tiny)
    state = tiny.start
    for step in plan.steps:
        if step.action == "evict":
            state -= tiny.delta[kind_of[step.pod]][node_of[step.pod]]
        else:
            state += tiny.delta[kind_of[step.pod]][tiny.names.index(step.node or "")]
    return state


def replayed(cluster: Cluster, plan: PlacementPlan) -> Iterator[str]:
    """Steps that the planner's own scheduler does not accept at their turn."""
    scheduler = Scheduler(Problem(cluster), preemption=False)
    problem, state = scheduler.problem, scheduler.state
    for step in plan.steps:
        pod = problem.pod_index[step.pod]
        if step.action == "evict":
            if state.node_of[pod] < 0:
                yield f"{step.pod} is evicted and does not run"
                return
            state.unbind(pod)
            continue
        framework = scheduler.framework_of(pod)
        node = problem.nodes.index[step.node or ""]
        if state.node_of[pod] >= 0 or problem.pods[pod].spec.scheduling_gates:
            yield f"{step.pod} is bound and does not wait"
            return
        if not framework.fits(framework.plan(problem.template(pod)), node):
            yield f"the filters do not accept {step.pod} on {step.node}"
        state.bind(pod, node)


def _evictions_wrong(tiny: TinyCluster, plan: PlacementPlan, end: State) -> Iterator[Finding]:
    """Evictions that are not allowed, budgets overdrawn, constraints that end up worse."""
    kind_of, _ = whereabouts(tiny)
    evicted = [step.pod for step in plan.steps if step.action == "evict"]
    for pod in evicted:
        if not tiny.kinds[kind_of[pod]].movable:
            yield Finding("invalid", f"{pod} must not be evicted")
    if not tiny.may_be_evicted_together([tiny.kinds[kind_of[pod]].pod for pod in evicted]):
        yield Finding("invalid", f"{', '.join(evicted)} must not be evicted together")
    for before, after in zip(tiny.excess(tiny.start), tiny.excess(end), strict=True):
        if after > before:
            yield Finding("invalid", f"a hard constraint has {after} too many where it had {before}")
