"""What a document claims, beside what exhaustive search finds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from models import Cluster
from models.objects.pod import Pod
from planner import rebalance, scale_down, solve
from planner.documents.move_plan import MovePlan
from planner.documents.plan import Objective, PlacementPlan, ScaleDown
from planner.errors import PlannerError
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.truth import moving, placing, removing
from tests.truth.generator import Case
from tests.truth.moving import Moved, Moving
from tests.truth.placing import Placed, Placing
from tests.truth.wishes import Wishes
from tests.truth.world import State, World

#: `false`: proved and untrue.  `bound`: truth beats a claimed bound.  `missed`: truth is better and nobody
#: claimed otherwise.  `invalid`: the plan does what it must not.  `beyond`: the plan is better than anything
#: the search found, so the search is wrong or the plan stretches the rules.  `worse`: more freedom, fewer
#: pods.  `crash`: the planner contradicts itself.  `away`: no fault; truth would be better if a constraint
#: might be worse while a pod is away.
#: `cut`: missed, and the document says that the limit ended the search.
#: `softer`: the same of a stage of `solve` that comes after the pods.
Fault = Literal["false", "bound", "missed", "softer", "invalid", "beyond", "worse", "crash", "away", "cut"]
TIME_LIMIT = 10.0
#: So many states with the most pods are looked at for their softer stages.
_MOST_STATES = 20_000
CORRECT: frozenset[Fault] = frozenset(("false", "bound", "invalid", "worse", "crash"))


@dataclass(frozen=True)
class Finding:
    """One thing that is not as claimed."""

    fault: Fault
    text: str
    truth: tuple[str, ...] = ()


@dataclass
class Judgement:
    """What was found about a case, and what it took."""

    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    search: float = 0.0
    complete: bool = True
    proved: bool = False

    @property
    def faults(self) -> Counter[Fault]:
        """How often each fault was found."""
        return Counter(finding.fault for finding in self.findings)


def judge(case: Case, time_limit: float = TIME_LIMIT) -> Judgement:
    """Ask the planner and the search, and compare."""
    found = Judgement()
    try:
        found.findings += _JUDGES[case.command](case, time_limit, found)
    except PlannerError as error:
        found.findings.append(Finding("crash", f"{type(error).__name__}: {error}"))
    return found


def _better(one: Sequence[int], other: Sequence[int], goals: Sequence[str]) -> bool:
    """Whether the first list of stages is better where they differ first."""
    for first, second, goal in zip(one, other, goals, strict=True):
        if first != second:
            return first > second if goal == "max" else first < second
    return False


def compare(
    stages: Sequence[Objective], values: Sequence[int], truth: Sequence[int], witness: tuple[str, ...]
) -> Iterator[Finding]:
    """Each stage's claim; `values` is what the plan has, counted here, and `truth` the best there is.

    Only differences count, so it does not matter from where a stage counts.
    """
    goals = [stage.goal for stage in stages]
    line = ", ".join(
        f"{s.name}={v} (said {s.value}, bound {s.bound}{', proved' if s.proved else ''}) truth {t}"
        for s, v, t in zip(stages, values, truth, strict=True)
    )
    if _better(values, truth, goals):
        yield Finding("beyond", line, witness)
        return
    if not _better(truth, values, goals):
        return
    for stage, value, best in zip(stages, values, truth, strict=True):
        slack = None if stage.bound is None else stage.bound - stage.value
        if value == best:
            if slack != 0:
                # The solver's own placement may be better here, and the bounds below are about that.
                break
            continue
        if stage.proved:
            yield Finding("false", line, witness)
            return
        gain = best - value if stage.goal == "max" else value - best
        room = None if slack is None else (slack if stage.goal == "max" else -slack)
        if room is not None and gain > room:
            yield Finding("bound", line, witness)
            return
        break
    if any(stage.proved for stage, value, best in zip(stages, values, truth, strict=True) if value != best):
        yield Finding("false", f"a later stage is proved: {line}", witness)
        return
    yield Finding("missed", line, witness)


# solve


def _judge_solve(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = solve(cluster, time_limit=time_limit, prefer="pack" if case.seed & 4 else "spread")
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    world = World(case.objects)
    wishes = Wishes(world)
    yield from placing_findings(world, cluster, plan, found, wishes)


def _judge_moves(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = solve(cluster, time_limit=time_limit, allow_moves=True)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    world = World(case.objects)
    yield from placing_findings(world, cluster, plan, found, None)
    plain = solve(cluster, time_limit=time_limit)
    priorities = Placing(world, moves=True).priorities
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
    world: World, cluster: Cluster, plan: PlacementPlan, found: Judgement, wishes: Wishes | None
) -> Iterator[Finding]:
    """What is wrong with a plan and its claims; with moves there are no softer stages, so no wishes."""
    problems = list(_replayed(cluster, plan))
    yield from (Finding("invalid", problem) for problem in problems)
    search = Placing(world, moves=wishes is None, every=wishes is not None)
    end = _end(world, plan)
    evictions = sum(step.action == "evict" for step in plan.steps)
    if evictions:
        yield from _evictions_wrong(world, plan, end)
    started = time.perf_counter()
    truth = search.run()
    found.search, found.complete = time.perf_counter() - started, truth.complete
    stages, values, best = _placed_stages(plan, truth, search.value(end)[0], evictions)
    witness = tuple(placing.told(world, truth))
    for finding in compare(stages, values, best, witness):
        if not truth.complete and finding.fault == "beyond":
            continue
        yield finding
    counted = len(search.priorities)
    if plan.status == "Optimal" and best[:counted] > values[:counted]:
        yield Finding("false", f"Optimal, and {values} pods where {best} are possible", witness)
    if wishes is not None and values == best and truth.complete:
        yield from _softer(world, plan, wishes, end, truth)


def _softer(
    world: World, plan: PlacementPlan, wishes: Wishes, end: State, truth: Placed
) -> Iterator[Finding]:
    """What is said of the softer stages, beside all states with as many pods."""
    stages = [stage for stage in plan.objective if stage.name in wishes.stages]
    if not stages or len(truth.best) > _MOST_STATES:
        return
    counts = [wishes.stages[stage.name] for stage in stages]
    signs = [-1 if stage.goal == "max" else 1 for stage in stages]

    def rank(state: State) -> list[int]:
        return [sign * count(state) for sign, count in zip(signs, counts, strict=True)]

    best = min(truth.best, key=rank)
    values = [count(end) for count in counts]
    for stage, value in zip(stages, values, strict=True):
        if stage.value != value:
            yield Finding("invalid", f"{stage.name} is said to be {stage.value} and is {value}")
    truth.best = [best]
    witness = tuple(placing.told(world, truth))
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


def _end(world: World, plan: PlacementPlan) -> State:
    """What a plan leads to."""
    kind_of, node_of = _whereabouts(world)
    state = world.start
    for step in plan.steps:
        if step.action == "evict":
            state -= world.delta[kind_of[step.pod]][node_of[step.pod]]
        else:
            state += world.delta[kind_of[step.pod]][world.names.index(step.node or "")]
    return state


def _whereabouts(world: World) -> tuple[dict[str, int], dict[str, int]]:
    """The kind of every pod, and the node of those that run."""
    kinds: dict[str, int] = {}
    nodes: dict[str, int] = {}
    for number, kind in enumerate(world.kinds):
        kinds |= dict.fromkeys(kind.names, number)
        for node, names in kind.running.items():
            kinds |= dict.fromkeys(names, number)
            nodes |= dict.fromkeys(names, node)
    return kinds, nodes


def _replayed(cluster: Cluster, plan: PlacementPlan) -> Iterator[str]:
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


def _evictions_wrong(world: World, plan: PlacementPlan, end: State) -> Iterator[Finding]:
    """Evictions that are not allowed, budgets overdrawn, constraints that end up worse."""
    kind_of, _ = _whereabouts(world)
    drawn: Counter[int] = Counter()
    for step in plan.steps:
        if step.action == "evict":
            kind = world.kinds[kind_of[step.pod]]
            drawn.update(world.covering(kind.pod))
            if not kind.movable:
                yield Finding("invalid", f"{step.pod} must not be evicted")
    for budget, times in drawn.items():
        if times > world.budgets[budget][1]:
            yield Finding("invalid", f"a budget for {world.budgets[budget][1]} is drawn on {times} times")
    for before, after in zip(world.excess(world.start), world.excess(end), strict=True):
        if after > before:
            yield Finding("invalid", f"a hard constraint has {after} too many where it had {before}")


# rebalance


def _judge_rebalance(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = rebalance(cluster, time_limit=time_limit, **case.options)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    options = case.options
    findings = moving_findings(
        World(case.objects), plan, found, options.get("max_moves"), soft=options.get("soft", False)
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


def _can_be_pinned(pod: Pod) -> bool:
    """Whether a change to the template that a pod comes from rolls nothing out."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind in {"ReplicaSet", "ReplicationController"}


def _moves_only(pods: Collection[str], line: str) -> bool:
    """Whether a move of the truth, told with all pods that are alike, is one of these pods."""
    alike = line.partition("[")[2].partition("]")[0].split(", ")
    return {*alike} <= {*pods}


def moving_findings(
    world: World, plan: MovePlan, found: Judgement, most: int | None = None, *, soft: bool = False
) -> Iterator[Finding]:
    """What is wrong with so many moves at most, and with what is said about them."""
    yield from (Finding("crash", note) for note in plan.notes if "had been judged to hold" in note)
    search = Moving(world, soft=soft)
    end, weight, problems = _moved(world, search, plan)
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
    witness = tuple(moving.told(world, truth))
    values, least = [names[s.name] for s in stages], [best[s.name] for s in stages]
    # Who weighs less may need a pin, and fewer pins come first: that is not searched for.
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
    looser = Moving(world, away=False).run()
    hard = (truth.excess, truth.moves)
    if most is None and not soft and looser.complete and (looser.excess, looser.moves) < hard:
        text = f"excess {looser.excess} after {looser.moves} moves, {hard[0]} after {hard[1]} without"
        yield Finding("away", text, tuple(moving.told(world, looser)))


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


def _moved(world: World, search: Moving, plan: MovePlan) -> tuple[State, int, list[str]]:
    """Where the moves lead, what they weigh, and what is wrong with them."""
    kind_of, node_of = _whereabouts(world)
    state, weight = world.start, 0
    for step in plan.steps:
        kind, source, target = kind_of[step.pod], node_of[step.pod], world.names.index(step.node)
        if not world.kinds[kind].movable:
            return state, weight, [f"{step.pod} must not be moved"]
        allowed = {(k, s, t) for k, s, t, _ in search.next(state)}
        if (kind, source, target) not in allowed:
            return state, weight, [f"{step.pod} cannot move from {step.source} to {step.node} at its turn"]
        state += world.delta[kind][target] - world.delta[kind][source]
        node_of[step.pod] = target
        weight += search.weights[kind]
    return state, weight, []


# scale-down


def _judge_scale_down(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    if not case.replicas:
        return
    started = time.perf_counter()
    plan = scale_down(cluster, case.replicas, time_limit=time_limit)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    yield from removing_findings(World(case.objects), case.replicas, plan, found)


def removing_findings(
    world: World, replicas: dict[str, int], plan: ScaleDown, found: Judgement
) -> Iterator[Finding]:
    """What is wrong with the choice of victims."""
    search = removing.Removing(world, replicas, plan.controller.victims)
    started = time.perf_counter()
    truth = search.run()
    found.search = time.perf_counter() - started
    if truth is None:
        found.complete = False
        return
    have = search.worth(plan.best.victims)
    if not search.is_possible(plan.best.victims):
        yield Finding("invalid", f"no deletion costs lead to the victims {plan.best.victims}")
        return
    names = ("hardExcess", "softExcess", "skew", "controllersVictims")
    for name, value, stage in zip(names, have, plan.objective, strict=True):
        if stage.value != value:
            yield Finding("invalid", f"{name} is said to be {stage.value} and is {value}")
    witness = (f"victims {', '.join(truth.victims)}",)
    yield from compare(plan.objective, have, truth.worth, witness)


_JUDGES = {
    "solve": _judge_solve,
    "solve --allow-moves": _judge_moves,
    "rebalance": _judge_rebalance,
    "scale-down": _judge_scale_down,
}
