"""Which pods a rebalance moves: a choice of pods, old revisions, and pods that are not ready."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cluster import Cluster
from models.objects.annotations import EXCLUDE
from models.objects.selectors import LabelSelector
from planner import check, rebalance
from planner.documents.move_plan import MovePlan
from planner.rebalance.plan import MoveScope
from tests.builders import HOST, SOFT, Object, budget, cluster, node, pod, replica, revision, scaled, spread
from tests.strategies import relaxed

NODES = [node(f"n{zone}{number}", zone) for zone in "ab" for number in range(2)]
SICK = [{"type": "Ready", "status": "False"}]


def app(name: str, namespace: str = "default", on: str = "na0 na1 na0 na1") -> list[Object]:
    """A Deployment with a hard zone constraint, its ReplicaSet, and its pods on these nodes."""
    rules = [spread(app=name)]
    owner = scaled("Deployment", name, len(on.split()), namespace=namespace, spread=rules)
    made = revision(owner)
    pods = (replica(made, f"{name}-{number}", where, spread=rules) for number, where in enumerate(on.split()))
    return [owner, made, *pods]


def moved(plan: MovePlan) -> set[str]:
    """The workloads of the pods that move."""
    return {f"{step.pod.partition('/')[0]}/{step.workload.partition('/')[2]}" for step in plan.steps}


def lopsided() -> Cluster:
    """Three workloads in one of two zones, two of a name."""
    return cluster(*NODES, *app("web"), *app("api"), *app("web", "shop"))


@pytest.mark.parametrize(
    ("choice", "workloads"),
    [
        (None, {"default/web", "default/api", "shop/web"}),
        (MoveScope(namespace="shop"), {"shop/web"}),
        (MoveScope(selector=LabelSelector(match_labels={"app": "web"})), {"default/web", "shop/web"}),
        (MoveScope(excluded=frozenset({"default Deployment/web"})), {"default/api", "shop/web"}),
    ],
)
def test_only_the_chosen_move(choice: MoveScope | None, workloads: set[str]) -> None:
    """Only constraints that concern them are counted: no excess is left, though others stay lopsided."""
    plan = rebalance(lopsided(), choice=choice)
    assert moved(plan) == workloads
    assert (plan.before.hard_excess, plan.after.hard_excess) == (3 * len(workloads), 0)
    assert plan.status == "Optimal"
    assert len(workloads) == 3 or any("left alone" in note for note in plan.notes)


def test_another_constraint_of_the_same_pods_is_not_looked_at() -> None:
    """The other pods count the chosen one with a soft constraint; their hard one counts only themselves."""
    rules = [spread(app="web"), spread(HOST, app="api", when=SOFT)]
    web = (pod(f"web-{n}", "na0", spread=rules, owner="ReplicaSet/web", app="web") for n in range(3))
    given_ = cluster(*NODES, *web, pod("api", "nb0", owner="ReplicaSet/api", app="api"))
    plan = rebalance(given_, choice=MoveScope(selector=LabelSelector(match_labels={"app": "api"})))
    assert (plan.status, plan.before.hard_excess, plan.steps) == ("Optimal", 0, ())


@pytest.mark.parametrize("where", ["workload", "pods"])
def test_an_annotation_leaves_a_workload_alone(where: str) -> None:
    """On the Deployment, which rolls nothing out, or on the pods."""
    web = app("web")
    for item in web[:1] if where == "workload" else web[2:]:
        item["metadata"].setdefault("annotations", {})[EXCLUDE] = "true"
    assert moved(rebalance(cluster(*NODES, *web, *app("api")))) == {"default/api"}


def test_pods_that_a_rollout_takes_away_are_not_moved() -> None:
    """They count, but only those of the newest revision are worth a move."""
    owner, old, *pods = app("web")
    new = revision(owner, 2)
    fresh = [replica(new, f"fresh-{number}", "na0", spread=[spread(app="web")]) for number in range(2)]
    plan = rebalance(cluster(*NODES, owner, old, new, *pods, *fresh))
    assert {step.pod for step in plan.steps} == {"default/fresh-0", "default/fresh-1"}
    assert any("4 pods of a ReplicaSet that a rollout is emptying: not moved" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("policy", "healthy", "moves"),
    [("AlwaysAllow", 1, 2), ("IfHealthyBudget", 1, 0), ("IfHealthyBudget", 2, 2)],
)
def test_pods_that_are_not_ready_go_as_their_budget_says(policy: str, healthy: int, moves: int) -> None:
    """The budget allows nothing, but pods that are not ready may go: always, or if enough are healthy."""
    guard = budget("web", "web", 0)
    guard["spec"]["unhealthyPodEvictionPolicy"] = policy
    guard["status"].update(currentHealthy=healthy, desiredHealthy=2)
    web = app("web", on="na0 na1 na0 na1")
    for item in web[2:]:
        item["status"] = {"phase": "Running", "conditions": SICK}
    plan = rebalance(cluster(*NODES, guard, *web))
    assert len(plan.steps) == moves


@st.composite
def tenants(draw: st.DrawFn) -> list[Object]:
    """A few workloads in two namespaces, placed at random."""
    return [*NODES, *(item for made in _drawn(draw) for item in made)]


def _drawn(draw: st.DrawFn) -> Iterator[list[Object]]:
    for namespace in ("default", "shop"):
        for name in draw(st.lists(st.sampled_from(["web", "api"]), max_size=2, unique=True)):
            nodes = st.sampled_from(["na0", "na1", "nb0", "nb1"])
            on = draw(st.lists(nodes, min_size=1, max_size=5))
            yield app(name, namespace, " ".join(on))


@relaxed
@given(tenants())
def test_a_namespace_is_repaired_as_if_it_were_alone(objects: list[Object]) -> None:
    """Constraints count within a namespace, so with room for all the others change nothing."""
    chosen = rebalance(cluster(*objects), choice=MoveScope(namespace="shop"))
    alone = [item for item in objects if item["metadata"].get("namespace", "shop") == "shop"]
    whole = rebalance(cluster(*alone))
    assert chosen.after == whole.after
    assert len(chosen.steps) == len(whole.steps)
    assert [stage.proved for stage in chosen.objective] == [stage.proved for stage in whole.objective]
    report = check(cluster(*alone))
    assert chosen.before.hard_excess == report.hard_excess
