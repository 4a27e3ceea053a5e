"""Selectors that look at labels which pods get from their nodes: played through, and nothing is proved."""

import pytest

from models.cluster import Cluster
from planner import capacity, rebalance, scale_down, simulate, solve
from planner.whatif import scale
from tests.builders import HOST, SOFT, ZONE, Object, cluster, node, pod, replica, scaled, selector, spread

BY_PLACE = spread(HOST) | {"labelSelector": {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}}
NODES = [node("n0", "x", pods=9), node("n1", "y", pods=1)]


def snapshot(*more: Object, kubernetes: str | None = None) -> Cluster:
    """Two pods that run in zone x, with its label, and two pending ones that count pods with any zone."""
    owner = scaled("ReplicaSet", "w", 4)
    placed = [replica(owner, f"r{n}", "n0", labels={ZONE: "x"}) for n in range(2)]
    pending = [pod(f"p{n}", app="w", spread=[BY_PLACE]) for n in range(2)]
    found = cluster(*NODES, owner, *placed, *pending, *more)
    return found.as_of(kubernetes)


@pytest.mark.parametrize("moves", [False, True])
def test_a_plan_that_the_models_do_not_foresee_is_no_contradiction(moves: bool) -> None:
    """p0 goes to n1 and becomes one of those that are counted there, so p1 fits on n0."""
    plan = solve(snapshot(pod("u", labels={"app": "u"})), allow_moves=moves)
    assert any("labels, which a pod gets from its node" in note for note in plan.notes)


def test_before_135_labels_are_what_manifests_say() -> None:
    """So the models know all there is to know."""
    plan = solve(snapshot(kubernetes="1.34"))
    assert plan.status == "Optimal"
    assert not any("gets from its node" in note for note in plan.notes)


def test_moves_are_not_called_the_fewest() -> None:
    """A replacement elsewhere has another label."""
    owner = scaled("ReplicaSet", "w", 3, spread=[BY_PLACE])
    placed = [replica(owner, f"r{n}", "n0", labels={ZONE: "x"}) for n in range(3)]
    plan = rebalance(cluster(*NODES, owner, *placed))
    assert not any(stage.proved for stage in plan.objective if stage.name == "moves" and stage.value)


def test_replicas_count_where_their_nodes_labels_say_so() -> None:
    """What counts pods of zone x counts none of zone y: these never went, and that was called best."""
    in_x = spread(HOST, 5, selects=selector("w", **{ZONE: "x"}))
    owner = scaled("ReplicaSet", "w", 5, spread=[in_x, spread(app="w", when=SOFT)])
    places = {"n0": "x", "n1": "x", "n2": "y", "n3": "y", "n4": "y"}
    nodes = [node(name, zone) for name, zone in places.items()]
    placed = [replica(owner, f"on-{name}", name, labels={ZONE: zone}) for name, zone in places.items()]
    found = scale_down(cluster(*nodes, owner, *placed), {"ReplicaSet/w": 4})
    assert found.status == "Optimal"
    assert found.best.soft_excess == 0


def test_pods_that_count_in_one_zone_alone_may_be_shared_out_evenly() -> None:
    """In zone y the pod does not count; that one pod is uneven on any of two nodes was called proved."""
    in_x = spread(HOST, when=SOFT, selects=selector("w", **{ZONE: "x"}))
    plan = solve(cluster(*NODES, pod("p", app="w", spread=[in_x])))
    assert [stage.value for stage in plan.objective if stage.name == "softSpreadSkew"] == [0]


def test_replicas_are_counted_in_bulk_where_all_of_them_count_alone() -> None:
    """In zone y any number fits, in zone x two on each node: what went wrong, x was filled as y was."""
    in_x = spread(HOST, selects=selector("w", **{ZONE: "x"}))
    nodes = [node("n0", "x"), node("n1", "x"), node("n2", "y")]
    found = cluster(*nodes, scaled("ReplicaSet", "w", 0, cpu="50m", spread=[in_x]))
    (row,) = capacity(found).workloads
    decisions = simulate(scale(found, "ReplicaSet/w", 200)).decisions
    assert row.more == sum(decision.node is not None for decision in decisions) == 84
