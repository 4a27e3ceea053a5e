"""The whole batch at once: against recordings, against every order tried out, against every placement."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from ortools.sat.python import cp_model

from models import Cluster
from models.errors import NoAnswer
from planner import simulate, solve
from planner.audit.final_state import stands
from planner.audit.findings import audit
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.cpsat.variables import Batch, Counts, Holds
from planner.documents.plan import PlacementPlan
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD
from planner.scheduler.framework import Framework
from planner.scheduler.profile import build, profiles_of
from planner.state.state import State
from tests.builders import HOST, ZONE, Object, claim, cluster, csi_node, node, pod, spread, term, volume
from tests.strategies import clusters, relaxed

DATA = Path(__file__).parents[1] / "data" / "batch"
NOWHERE = -1


def recorded(name: str) -> list[Any]:
    """The batches of one file, each with its name as the test's; one takes as long as all others together."""
    long = {"batch-300134": [pytest.mark.long]}
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        cases = map(json.loads, lines)
        return [pytest.param(case, id=case["name"], marks=long.get(case["name"], ())) for case in cases]


def framework_of(problem: Problem, state: State) -> Framework:
    """The plugins of the only profile."""
    (config,) = profiles_of(problem.cluster.scheduler_config).values()
    return Framework(problem, state, build(config, problem, state))


def placed(plan: PlacementPlan) -> list[tuple[int, int | None, bool]]:
    """Value, bound and proof of the stages that count pods, the highest priority first."""
    stages = [stage for stage in plan.objective if stage.name.startswith("podsPlaced/")]
    return [(stage.value, stage.bound, stage.proved) for stage in stages]


def replays(found: Cluster, plan: PlacementPlan) -> bool:
    """Whether the filters accept every bind of a plan at its turn."""
    problem = Problem(found)
    state = State(problem)
    framework = framework_of(problem, state)
    for step in plan.steps:
        number = problem.pod_index[step.pod]
        if step.node is None:
            state.unbind(number)
            continue
        place = problem.nodes.index[step.node]
        if not framework.fits(framework.plan(problem.template(number)), place):
            return False
        state.bind(number, place)
    return True


@pytest.mark.parametrize("case", recorded("batch"))
def test_recorded_batches(case: dict[str, Any]) -> None:
    """At least what kube-scheduler places and what a valid final state can hold, in sequence, proved."""
    found = Cluster.from_objects(case["cluster"]["items"])
    plan = solve(found)
    assert len(plan.steps) >= max(case["kubeScheduler"], case["finalStateOptimum"])
    assert plan.status == "Optimal"
    assert replays(found, plan)
    assert len(plan.steps) + len(plan.unplaced) == case["pending"]
    assert len(solve(found, final_state=True).steps) == case["finalStateOptimum"]


def test_a_final_state_that_no_order_reaches() -> None:
    """Zone and hostname spread on 2 + 1 nodes: five of seven in sequence, proved, and what else there is."""
    case = recorded("stuck")[0].values[0]
    found = Cluster.from_objects(case["cluster"]["items"])
    plan = solve(found)
    assert (len(plan.steps), plan.status, len(plan.unplaced)) == (5, "Optimal", 2)
    assert replays(found, plan)
    assert any(note.startswith("7 pods could stand") for note in plan.notes)
    final = solve(found, final_state=True)
    assert (len(final.steps), final.verdicts.sequence, final.verdicts.final_state) == (7, False, True)


def test_a_final_state_that_was_not_found_is_not_made_up() -> None:
    """What went wrong: at its limit `--final-state` printed kube-scheduler's plan, and called it the best."""
    early = pod("early", app="web", spread=[spread(ZONE)])
    late = [pod(f"late-{n}", app="web", node_selector={ZONE: "a"}) for n in range(3)]
    found = cluster(node("a1", zone="a"), node("b1", zone="b", cordoned=True), early, *late)
    assert not solve(found).verdicts.final_state
    too_large = replace(STANDARD, exact=replace(STANDARD.exact, small_pairs=0))
    final = solve(found, final_state=True, effort=too_large)
    assert (final.verdicts.final_state, final.status) == (True, "Feasible")
    assert any(note.startswith("the batch is too large") for note in final.notes)


@pytest.mark.parametrize("case", recorded("stuck")[1:])
def test_stuck_batches_fit_as_a_whole(case: dict[str, Any]) -> None:
    """A grid that takes its pods only in a lucky order, and small pods that must leave room for a big one."""
    found = Cluster.from_objects(case["cluster"]["items"])
    plan = solve(found)
    assert len(plan.steps) == case["finalStateOptimum"] > case["kubeScheduler"]
    assert replays(found, plan)


@pytest.mark.parametrize(("policy", "told"), [("PreemptLowerPriority", True), ("Never", False)])
def test_that_kube_scheduler_might_preempt_is_told(policy: str, told: bool) -> None:
    """What went wrong: no plan was better than none, while kube-scheduler places the pod by an eviction."""
    high = pod("high", priority=9, cpu="1")
    high["spec"]["preemptionPolicy"] = policy
    found = cluster(node("n1", cpu="1"), pod("low", "n1", cpu="1"), high)
    notes = [note for note in solve(found).notes if note.startswith("kube-scheduler may preempt")]
    assert bool(notes) == told
    assert bool(simulate(found).decisions[0].victims) == told


def test_who_is_left_over_is_told_why() -> None:
    """Each pod has kube's line for the state that the plan leads to, and gated pods theirs."""
    gated = pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    found = cluster(node("n1", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1"), gated)
    plan = solve(found)
    assert [step.pod for step in plan.steps] == ["default/a"]
    messages = {left.pod: left.message for left in plan.unplaced}
    assert messages == {
        "default/b": "0/1 nodes are available: 1 Insufficient cpu.",
        "default/gated": "scheduling gated",
    }


def test_the_highest_priority_comes_first() -> None:
    """One important pod is worth more than any number of others."""
    small = [pod(f"small-{number}", cpu="1") for number in range(4)]
    plan = solve(cluster(node("n1", cpu="4"), *small, pod("big", cpu="4", priority=10)))
    assert [step.pod for step in plan.steps] == ["default/big"]
    assert placed(plan) == [(1, 1, True), (0, 0, True)]


def test_without_time_the_plan_is_kube_schedulers() -> None:
    """Nothing is claimed to be proved that was not looked at."""
    found = Cluster.from_objects(recorded("stuck")[2].values[0]["cluster"]["items"])
    plan = solve(found, time_limit=0)
    placed = [step.pod for step in plan.steps]
    assert placed == [decision.pod for decision in simulate(found).decisions if decision.node]
    assert plan.status == "Feasible"
    assert plan.cut
    assert any(note.startswith("cut short while looking for") for note in plan.notes)


def test_without_time_there_is_no_final_state() -> None:
    """kube-scheduler's plan would be no answer: it is not known whether its end satisfies anything."""
    found = Cluster.from_objects(recorded("stuck")[2].values[0]["cluster"]["items"])
    with pytest.raises(NoAnswer, match="the limit ended before a final state"):
        solve(found, final_state=True, time_limit=0)


@pytest.mark.parametrize("case", recorded("stuck"))
def test_a_plan_that_was_not_cut_is_the_same_at_a_larger_limit(case: dict[str, Any]) -> None:
    """With steps of fixed size only the limit itself can make a difference, and then it says so."""
    found = Cluster.from_objects(case["cluster"]["items"])
    plans = [solve(found, time_limit=limit) for limit in (3.0, 30.0)]
    assert not any(plan.cut for plan in plans)
    assert plans[0].to_json() == plans[1].to_json()


def test_the_same_batch_gives_the_same_bytes() -> None:
    """A plan that is proved is the same on every run."""
    pods = [pod(f"p{number}", app="web", cpu="1", spread=[spread(HOST)]) for number in range(5)]
    found = cluster(node("n1"), node("n2"), node("n3", cpu="1"), *pods)
    assert solve(found).to_json() == solve(found).to_json()


def test_a_priority_without_any_node_is_proved_to_get_nothing() -> None:
    """What went wrong: such a priority had all pods of the batch as its bound."""
    lost = pod("lost", node_selector={"no": "where"}, priority=5)
    plan = solve(cluster(node("n1", cpu="1"), lost, pod("a", cpu="1"), pod("b", cpu="1")))
    assert placed(plan) == [(0, 0, True), (1, 1, True)]


def test_a_long_batch_can_be_searched_for_an_order() -> None:
    """What went wrong: the search went one call deeper with every pod, and broke down at some hundred."""
    case = recorded("stuck")[0].values[0]
    items = [*case["cluster"]["items"], *(node(f"more-{n}", zone="far") for n in range(8))]
    found = Cluster.from_objects([*items, *(pod(f"plain-{n}") for n in range(300))])
    plan = solve(found)
    assert replays(found, plan)
    assert len(plan.steps) >= 305


def test_pods_that_share_a_volume_are_not_counted_twice() -> None:
    """What went wrong: two users of one volume seemed to need two of the node's slots for volumes."""
    slots = [csi_node(name, "disk", 1) for name in ("n1", "n2")]
    shared = [volume("v", csi={"driver": "disk", "volumeHandle": "v"}), claim("c", bound_to="v")]
    pods = [pod(name, cpu="200m", claims=["c"]) for name in ("a", "b")]
    plan = solve(cluster(node("n1"), node("n2"), *slots, *shared, *pods, pod("big", cpu="3900m")))
    assert len(plan.steps) == 3


@relaxed
@given(clusters(running=True, pods=6))
def test_no_order_of_binds_does_better(objects: list[Object]) -> None:
    """Every order of admissible binds is tried: a proved plan is the best of them, any other no better."""
    found = Cluster.from_objects(objects)
    plan, best = solve(found), best_by_trying(found)
    worth = tuple(value for value, _, _ in placed(plan))
    assert replays(found, plan)
    assert worth <= best
    if plan.status == "Optimal":
        assert worth == best


def best_by_trying(found: Cluster) -> tuple[int, ...]:
    """The most pods per priority, the highest first, that any order of admissible binds places."""
    problem = Problem(found)
    state = State(problem)
    framework = framework_of(problem, state)
    waiting = Counter(int(problem.template_of[pod]) for pod in problem.queue())
    pods = {t: [p for p in problem.queue() if problem.template_of[p] == t] for t in waiting}
    priorities = sorted({problem.templates[t].priority for t in waiting}, reverse=True)
    seen: set[frozenset[tuple[tuple[int, int], int]]] = set()

    def explore(placed: Counter[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
        key = frozenset(placed.items())
        if key in seen:
            return
        seen.add(key)
        per_priority = Counter({p: 0 for p in priorities})
        for (template, _), number in placed.items():
            per_priority[problem.templates[template].priority] += number
        yield tuple(per_priority[priority] for priority in priorities)
        for template in waiting:
            used = sum(number for (t, _), number in placed.items() if t == template)
            if used == waiting[template]:
                continue
            mask = framework.feasible(framework.plan(problem.templates[template])).mask
            for place in [n for n in range(problem.nodes.size) if mask[n]]:
                mark = state.mark()
                state.bind(pods[template][used], place)
                yield from explore(placed + Counter([(template, place)]))
                state.rollback(mark)

    return max(explore(Counter()))


class _Collected(cp_model.CpSolverSolutionCallback):
    """Every solution of a model, as the counts that are not zero."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts
        self.found: set[frozenset[tuple[tuple[int, int], int]]] = set()

    def on_solution_callback(self) -> None:
        """Keep one solution."""
        items = (((t, n), self.value(variable)) for t, n, variable in self._counts.coming())
        self.found.add(frozenset((key, number) for key, number in items if number))


def is_faultless(problem: Problem, node_of: Codes) -> bool:
    """Whether the audit finds nothing."""
    return audit(problem, node_of).violations == 0


@relaxed
@given(clusters(running=False, pods=4))
def test_encodings_allow_exactly_what_the_audit_does_not_object_to(objects: list[Object]) -> None:
    """All placements that the solver's model admits are all those without a violation, and no others."""
    problem = Problem(Cluster.from_objects(objects))
    assert encoded(problem) == unobjectionable(problem)


@relaxed
@given(clusters(running=False, pods=4))
def test_encodings_of_final_states_allow_exactly_those_that_stand(objects: list[Object]) -> None:
    """Where a pod is no peer of its own, too."""
    problem = Problem(Cluster.from_objects(objects))
    assert encoded(problem, Holds.IN_A_FINAL_STATE) == unobjectionable(problem, stands)


def encoded(problem: Problem, holds: Holds = Holds.AT_THE_END) -> set[frozenset[tuple[tuple[int, int], int]]]:
    """The placements that satisfy every family's encoding when all is placed."""
    state = State(problem)
    framework = framework_of(problem, state)
    waiting = Counter(int(problem.template_of[pod]) for pod in problem.queue())
    room = Pending(problem).room(waiting)
    counts = Counts(Batch(problem, waiting, room), holds)
    for plugin in framework.profile.filters:
        plugin.encode(counts)
    solver, collected = cp_model.CpSolver(), _Collected(counts)
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    solver.solve(counts.cp, collected)
    return collected.found


def unobjectionable(
    problem: Problem, accepted: Callable[[Problem, Codes], bool] = is_faultless
) -> set[frozenset[tuple[tuple[int, int], int]]]:
    """The placements without a violation, every pod on a node that its own rules and labels allow."""
    framework = framework_of(problem, State(problem))
    queue = problem.queue()
    groups = [
        [p for p in queue if problem.template_of[p] == t] for t in sorted({*problem.template_of[queue]})
    ]
    found = set()
    for choice in product(*(list(places(framework, problem, pods)) for pods in groups)):
        node_of = problem.node_of.copy()
        for pods, chosen in zip(groups, choice, strict=True):
            for number, place in zip(pods, chosen, strict=True):
                node_of[number] = place
        if accepted(problem, node_of):
            steps = Counter(
                (int(problem.template_of[p]), int(node_of[p])) for p in queue if node_of[p] != NOWHERE
            )
            found.add(frozenset(steps.items()))
    return found


def places(framework: Framework, problem: Problem, pods: list[int]) -> Iterator[tuple[int, ...]]:
    """Every way to put alike pods on nodes that their own rules, and the keys they spread over, allow."""
    template = problem.template(pods[0])
    mask = framework.plan(template).static.copy()
    for plugin in framework.profile.filters:
        if isinstance(plugin, PodTopologySpread):
            for rule in plugin.hard(template):
                mask &= rule.column.present
    for key in {need.topology_key for need in needs(problem, pods[0])}:
        mask &= problem.nodes.column(key).present
    options = [NOWHERE, *[n for n in range(problem.nodes.size) if mask[n]]]
    return combinations_with_replacement(options, len(pods))


def needs(problem: Problem, number: int) -> tuple[Any, ...]:
    """The required affinity terms of a pod."""
    affinity = problem.pods[number].spec.affinity
    near = None if affinity is None else affinity.pod_affinity
    return () if near is None else near.required


#: For every relational family a cluster in which it alone keeps pods from places.
TELLING: dict[type[Filter], list[Object]] = {
    NodeResourcesFit: [node("n1", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1")],
    NodePorts: [node("n1"), pod("a", ports=[80]), pod("b", ports=[80])],
    PodTopologySpread: [
        node("n1", zone="a"),
        node("n2", zone="b"),
        *(pod(name, app="web", spread=[spread(ZONE)]) for name in ("a", "b", "c")),
    ],
    InterPodAffinity: [
        node("n1"),
        node("n2"),
        pod("loner", app="db", apart=[term(HOST, "web")]),
        pod("friend", app="web", near=[term(HOST, "db")]),
    ],
}


@pytest.mark.parametrize("family", TELLING, ids=lambda family: family.name)
def test_an_encoding_that_forbids_nothing_is_noticed(
    family: type[Filter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agreement above can fail: without a family's encoding the solver allows what the audit does not."""
    problem = Problem(cluster(*TELLING[family]))
    allowed = unobjectionable(problem)
    assert encoded(problem) == allowed
    monkeypatch.setattr(family, "encode", Filter.encode)
    monkeypatch.setattr(family, "most", Filter.most)
    assert encoded(problem) > allowed


@pytest.mark.parametrize("family", TELLING, ids=lambda family: family.name)
def test_an_encoding_that_forbids_too_much_is_noticed(
    family: type[Filter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor may an encoding keep away pods that nothing speaks against."""

    def forbid_first_node(_: Filter, x: Counts) -> None:
        for template in x.batch.templates:
            x.require(x.total({template.index: 1}, [0]) <= 0)

    problem = Problem(cluster(*TELLING[family]))
    monkeypatch.setattr(family, "encode", forbid_first_node)
    assert not encoded(problem) >= unobjectionable(problem)
