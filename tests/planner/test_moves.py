"""Solving with moves: recorded packings, every choice tried out, and which pods may be evicted at all."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from models import Cluster
from planner import InputError, solve
from planner.batch.moves import work_of_round
from planner.batch.pending import Pending
from planner.documents.plan import MOVES, PlacementPlan
from planner.eviction.movable import why_not
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD
from planner.state.state import State
from tests import builders
from tests.builders import HOST, Object, cluster, node, pod, spread, term
from tests.planner.test_solve import framework_of, recorded, replays
from tests.seeds import EFFORT
from tests.strategies import clusters, relaxed

FOUND = Path(__file__).parents[1] / "data" / "found"

#: Every size and every fullness once, in a long run; all 65 are in benchmarks/packing.py.
_ALL = ("4x4-p4-u1.0", "4x8-p1-u1.0", "8x4-p1-u0.95", "8x8-p4-u0.9", "16x4-p2-u0.95", "32x8-p4-u0.95")
TELLING = _ALL if EFFORT > 1 else _ALL[:1]


@pytest.mark.parametrize("case", [c for c in recorded("packing") if any(t in c.id for t in TELLING)])
def test_recorded_packings(case: dict[str, Any]) -> None:
    """At every priority and above at least what a plain model placed, in order, and proved."""
    found = Cluster.from_objects(case["cluster"]["items"])
    plan = solve(found, allow_moves=True)
    assert replays(found, plan)
    assert plan.status == "Optimal"
    placed = {int(s.name.partition("/")[2]): s.value for s in plan.objective if s.name != MOVES}
    for row in case["plainCpSat8s"]:
        assert sum(pods for priority, pods in placed.items() if priority >= row["priority"]) >= row["placed"]
    assert sum(placed.values()) >= case["kubeSchedulerPlaced"]
    assert plan.objective[-1].value == sum(step.action == "evict" for step in plan.steps)


OWNER = "ReplicaSet/web"


def fragmented(**words: Any) -> list[Object]:
    """Two nodes with 2 of 4 cpu free each, and a pending pod that needs 3."""
    running = [pod(f"web-{n}", on=n, cpu="2", owner=OWNER, app="web", **words) for n in ("n1", "n2")]
    return [node("n1"), node("n2"), *running, pod("big", cpu="3")]


def budget(allowed: int) -> Object:
    """A disruption budget over the pods of the app `web`."""
    return builders.budget("web", "web", allowed)


def test_a_priority_that_runs_on_overloaded_nodes_alone_takes_no_part() -> None:
    """No pod moves from or to a node that has more than it has room for; the rest is packed all the same."""
    over = [pod(f"much-{n}", on="over", cpu="3", owner="ReplicaSet/much", priority=5) for n in range(2)]
    plan = solve(cluster(*fragmented(), node("over"), *over), allow_moves=True)
    assert [step[1] for step in steps(plan) if step[0] == "evict"] in (["web-n1"], ["web-n2"])
    assert plan.status == "Optimal"


def steps(plan: PlacementPlan) -> list[tuple[str, str, str | None, str | None]]:
    """The steps without their namespaces."""
    return [(s.action, s.pod.removeprefix("default/"), s.source, s.node) for s in plan.steps]


def test_a_pod_moves_to_let_another_in() -> None:
    """One of two half empty nodes is emptied, the pod right before it comes to the other."""
    plan = solve(cluster(*fragmented()), allow_moves=True)
    assert steps(plan) == [
        ("evict", "web-n1", "n1", None),
        ("bind", "web-n1", "n1", "n2"),
        ("bind", "big", None, "n1"),
    ]
    assert [(s.name, s.value, s.bound, s.proved) for s in plan.objective] == [
        ("podsPlaced/0", 3, 3, True),
        ("moves", 1, 1, True),
    ]


def test_without_the_option_nothing_moves() -> None:
    """The same cluster, and the pod stays pending."""
    assert solve(cluster(*fragmented())).steps == ()


def test_nothing_moves_where_everybody_fits() -> None:
    """Moves are proved to be needless, and the plan is kube-scheduler's."""
    plan = solve(cluster(node("n1"), pod("a", on="n1", owner=OWNER), pod("b")), allow_moves=True)
    assert steps(plan) == [("bind", "b", None, "n1")]
    assert plan.objective[-1].value == plan.objective[-1].bound == 0


def test_the_cheaper_of_two_alike_pods_goes() -> None:
    """controller.kubernetes.io/pod-deletion-cost decides between pods of one kind on a node."""
    objects = [node("n1", cpu="2"), node("n2", cpu="1"), pod("big", cpu="1500m", only_on=[])]
    objects[2] = pod("big", cpu="1", node_selector={"kubernetes.io/hostname": "n1"})
    for name, cost in (("a", "5"), ("b", "-5")):
        running = pod(name, on="n1", cpu="1", owner=OWNER)
        running["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
        objects.append(running)
    plan = solve(cluster(*objects), allow_moves=True)
    assert [s for s in steps(plan) if s[0] == "evict"] == [("evict", "b", "n1", None)]


def test_lower_priority_gives_way() -> None:
    """Where there is no room for both, the pod of lower priority is evicted and stays pending."""
    lower = pod("low", on="n1", cpu="3", owner=OWNER, priority=1)
    plan = solve(cluster(node("n1"), lower, pod("high", cpu="3", priority=9)), allow_moves=True)
    assert steps(plan) == [("evict", "low", "n1", None), ("bind", "high", None, "n1")]
    assert [left.pod for left in plan.unplaced] == ["default/low"]
    assert plan.status == "Optimal"


def test_equal_priority_does_not_give_way_for_nothing() -> None:
    """No pod is evicted when no more pods run afterwards."""
    running = pod("first", on="n1", cpu="3", owner=OWNER)
    plan = solve(cluster(node("n1"), running, pod("second", cpu="3")), allow_moves=True)
    assert plan.steps == ()
    assert [left.pod for left in plan.unplaced] == ["default/second"]


@pytest.mark.parametrize(("allowed", "moves"), [(0, 0), (1, 1)])
def test_budgets_hold(allowed: int, moves: int) -> None:
    """A budget that allows no disruption keeps its pods where they are."""
    plan = solve(cluster(*fragmented(), budget(allowed)), allow_moves=True)
    assert sum(step.action == "evict" for step in plan.steps) == moves


def test_a_budget_without_a_status_is_counted() -> None:
    """Two pods run, one has to stay: one may go."""
    uncounted = {key: value for key, value in budget(0).items() if key != "status"}
    plan = solve(cluster(*fragmented(), uncounted), allow_moves=True)
    assert plan.objective[-1].value == 1


def test_a_pod_under_two_budgets_stays() -> None:
    """The eviction API would refuse it."""
    other = budget(1)
    other["metadata"] = {**other["metadata"], "name": "other"}
    assert solve(cluster(*fragmented(), budget(1), other), allow_moves=True).steps == ()


def test_a_budget_limits_how_many_go() -> None:
    """Three pods would have to go for two others, and two may."""
    running = [pod(f"w{n}", on="n1", cpu="1", owner=OWNER, app="web") for n in range(4)]
    wanted = [
        pod(f"p{n}", cpu=cpu, priority=5, node_selector={"kubernetes.io/hostname": "n1"})
        for n, cpu in enumerate(("1", "2"))
    ]
    free = solve(cluster(node("n1"), *running, *wanted, budget(3)), allow_moves=True)
    held = solve(cluster(node("n1"), *running, *wanted, budget(2)), allow_moves=True)
    assert [plan.objective[0].value for plan in (free, held)] == [2, 1]
    assert [plan.objective[-1].value for plan in (free, held)] == [3, 1]
    assert held.status == "Optimal"


BOUND_TO_STAY: dict[str, Object] = {
    "it is terminating": pod("p", on="n1", owner=OWNER, gone=True),
    "it belongs to its node": pod("p", on="n1", owner="DaemonSet/agent"),
    "no controller would recreate it": pod("p", on="n1"),
    "its priority is the system's": pod("p", on="n1", owner=OWNER, priority=2_000_000_000),
    "it has local storage": pod("p", on="n1", owner=OWNER, volumes=[{"name": "v", "emptyDir": {}}]),
}


@pytest.mark.parametrize("reason", BOUND_TO_STAY)
def test_who_is_not_evicted(reason: str) -> None:
    """Pods that nothing would bring back, or that an annotation protects, stay where they are."""
    found = cluster(node("n1"), BOUND_TO_STAY[reason])
    assert why_not(found.pods[0]) == reason
    assert not list(Pending(Problem(found), moves=True).current_nodes())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        ("descheduler.alpha.kubernetes.io/prefer-no-eviction", ""),
    ],
)
def test_annotations_protect(key: str, value: str) -> None:
    """What other tools take as a request to be left alone."""
    running = pod("p", on="n1", owner=OWNER)
    assert why_not(cluster(node("n1"), running).pods[0]) is None
    running["metadata"]["annotations"] = {key: value}
    assert why_not(cluster(node("n1"), running).pods[0]) == "an annotation asks not to evict it"


def test_an_annotation_gives_local_storage_up() -> None:
    """Its owner says that the data may be lost; nothing else of a pod is overruled by that."""
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    scratch = BOUND_TO_STAY["it has local storage"]
    given_up = {**scratch, "metadata": {**scratch["metadata"], "annotations": safe}}
    assert why_not(cluster(node("n1"), given_up).pods[0]) is None
    assert why_not(cluster(node("n1"), pod("p", on="n1", annotations=safe)).pods[0]) is not None


def test_a_full_node_may_keep_what_it_has() -> None:
    """What went wrong before: a node with more on it than it has seemed to need evictions."""
    running = [pod(f"w{n}", on="n1", cpu="3", owner=OWNER) for n in range(2)]
    plan = solve(cluster(node("n1"), node("n2"), *running, pod("a", cpu="4")), allow_moves=True)
    assert steps(plan) == [("bind", "a", None, "n2")]


def test_an_overfull_node_is_left_alone() -> None:
    """Moves elsewhere are proved to be the fewest, with no eviction from a node that no pod comes to."""
    heavy = [pod(f"w{n}", on="n0", cpu="3", owner=OWNER) for n in range(2)]
    plan = solve(cluster(node("n0"), *heavy, *fragmented()), allow_moves=True)
    assert (plan.status, plan.objective[-1].value, plan.objective[-1].bound) == ("Optimal", 1, 1)
    assert {step.source for step in plan.steps} <= {None, "n1", "n2"}


def test_moves_are_a_sequence() -> None:
    """A final state that no order leads to cannot be had by moving pods."""
    with pytest.raises(InputError, match="exclude each other"):
        solve(cluster(node("n1")), allow_moves=True, final_state=True)


@pytest.mark.long
def test_the_same_bytes_on_every_run() -> None:
    """A plan that is proved is the same on every run."""
    found = Cluster.from_objects(recorded("packing")[15].values[0]["cluster"]["items"])
    assert solve(found, allow_moves=True).to_json() == solve(found, allow_moves=True).to_json()


def test_spread_holds_while_pods_move() -> None:
    """A constraint of the moved pods themselves is kept at every bind."""
    words: Any = {"app": "web", "owner": OWNER, "cpu": "2", "spread": [spread()]}
    running = [pod("a", on="n1", **words), pod("b", on="n2", **words)]
    objects = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="b"), *running]
    wanted = pod("big", cpu="4", node_selector={"kubernetes.io/hostname": "n2"})
    plan = solve(cluster(*objects, wanted), allow_moves=True)
    assert replays(cluster(*objects, wanted), plan)
    assert [s for s in steps(plan) if s[1] == "b"][-1] == ("bind", "b", "n2", "n3")


@relaxed
@given(clusters(running=True, pods=5))
def test_no_choice_of_moves_does_better(objects: list[Object]) -> None:
    """All evictions and all orders are tried.

    No plan is better than the best of them; a proved one is as good as the best that evicts first.
    """
    for item in objects:
        if item["kind"] == "Pod":
            item["metadata"]["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
            ]
    found = Cluster.from_objects(objects)
    plan = solve(found, allow_moves=True)
    assert replays(found, plan)
    worth = (*(s.value for s in plan.objective[:-1]), -plan.objective[-1].value)
    assert worth <= best_by_trying(found, evicting_first=False)
    if all(stage.proved for stage in plan.objective):
        assert worth >= best_by_trying(found, evicting_first=True)


def best_by_trying(found: Cluster, *, evicting_first: bool) -> tuple[int, ...]:
    """The most pods per priority, the highest first, then the fewest evictions, among all sequences."""
    problem = Problem(found)
    pending = Pending(problem, moves=True)
    current_nodes = dict(pending.current_nodes())
    state = State(problem)
    framework = framework_of(problem, state)
    queue = [p for pods in pending.pods.values() for p in pods]
    priorities = pending.priorities
    seen: set[tuple[frozenset[Any], frozenset[int]]] = set()
    template_of = problem.template_of

    def explore(gone: frozenset[int], bound: dict[int, int]) -> Iterator[tuple[int, ...]]:
        counts = Counter((int(template_of[p]), n) for p, n in bound.items())
        key = (frozenset(counts.items()), gone)
        if key in seen:
            return
        seen.add(key)
        here = [*bound, *(p for p in current_nodes if p not in gone)]
        placed = Counter(problem.pods[p].priority for p in here)
        yield (*(placed[priority] for priority in priorities), -len(gone))
        for pod_number in [p for p in current_nodes if p not in gone]:
            if evicting_first and bound:
                break
            mark = state.mark()
            state.unbind(pod_number)
            yield from explore(gone | {pod_number}, bound)
            state.rollback(mark)
        waiting = [p for p in (*queue, *gone) if p not in bound]
        for pod_number in {int(template_of[p]): p for p in waiting}.values():
            mask = framework.feasible(framework.plan(problem.template(pod_number))).mask
            for place in [n for n in range(problem.nodes.size) if mask[n]]:
                mark = state.mark()
                state.bind(pod_number, place)
                yield from explore(gone, {**bound, pod_number: place})
                state.rollback(mark)

    return max(explore(frozenset(), {}))


def test_rounds_may_be_many() -> None:
    """Where a round is cheap, a limit has thousands of them."""
    effort = STANDARD.evictions
    assert work_of_round(1, effort) == 2 * work_of_round(0, effort)
    assert math.isfinite(work_of_round(5_000, effort))


def test_a_proof_that_leaves_plans_out_is_called_conditional() -> None:
    """What went wrong: `Optimal` with 2 pods; 3 can be, where a pod comes before the one it needs leaves."""
    plan = solve(Cluster.load(FOUND / "evictions-first.json"), allow_moves=True)
    assert plan.objective[0].assumes == ("EvictionsFirst",)
    assert plan.status == "ConditionallyOptimal"


def test_where_nothing_can_be_evicted_no_order_of_evictions_is_presumed() -> None:
    """What went wrong: of pending pods that need each other the proof was called conditional."""
    pair = [pod(f"web-{number}", app="web", cpu="3", near=[term(HOST, "web")]) for number in range(2)]
    plan = solve(cluster(node("n1", cpu="4"), *pair), allow_moves=True)
    assert (plan.objective[0].value, plan.objective[0].assumes, plan.status) == (1, (), "Optimal")


def test_pods_that_ask_for_nothing_are_no_packing() -> None:
    """What went wrong: nodes were filled with pods that take no room, which ended with an IndexError."""
    plan = solve(Cluster.load(FOUND / "nothing-asked-for.json"), allow_moves=True)
    assert plan.objective[0].value == 9


def test_a_proof_is_not_conditional_where_evictions_only_help() -> None:
    """Host ports and anti-affinity admit no pod because of its peers, so a proof holds for every plan."""
    plan = solve(
        cluster(
            node("n1"),
            pod("runs", on="n1", ports=[80], owner="ReplicaSet/r"),
            pod("a", ports=[80]),
            pod("b", app="b", apart=[term(HOST, "b")]),
            pod("c", app="b"),
        ),
        allow_moves=True,
    )
    assert plan.unplaced
    assert (plan.status, plan.objective[0].assumes) == ("Optimal", ())
