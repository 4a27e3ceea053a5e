"""Nodes of which a snapshot does not tell whether they accept a pod: what is proved is so without them."""

from typing import Any

import pytest

from planner import capacity, consolidate, explain, rebalance, solve
from planner.simulation.survive import survive
from tests.builders import ZONE, Object, claim, cluster, node, pod, replica, scaled, spread, term
from tests.planner.test_unseen import origin

GPU = "example.com/gpu"
#: A class of devices that pods get by asking for an extended resource.
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": GPU},
}
#: A claim on such devices that is not allocated yet.
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
}
WITH_CLAIM = pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "one"}])
WITH_RESOURCE = pod("p", requests={GPU: "1"})
WITH_VOLUME = pod("p", claims=["data"])


@pytest.mark.parametrize(
    "objects",
    [
        [CLASS, CLAIM, WITH_CLAIM],
        [CLASS, WITH_RESOURCE],
        [origin("persistentvolumeclaims"), WITH_VOLUME],
        [origin("persistentvolumes"), claim("data", "pv"), WITH_VOLUME],
        [origin("storageclasses"), claim("data"), WITH_VOLUME],
    ],
    ids=["claim", "resource", "claims unseen", "volumes unseen", "classes unseen"],
)
@pytest.mark.parametrize("more", [{}, {"allow_moves": True}, {"final_state": True}], ids=str)
def test_that_a_pod_finds_no_node_is_not_proved_where_that_is_undecided(
    objects: list[Object], more: dict[str, Any]
) -> None:
    """What went wrong: it was proved that no plan is better, where a cluster may well place the pod."""
    plan = solve(cluster(node("n1"), *objects), **more)
    assert plan.status == "ConditionallyOptimal"
    assert "NothingUndecided" in plan.objective[0].assumes


@pytest.mark.parametrize("most", ["0", "1"])
def test_what_is_certain_all_the_same_is_proved_as_ever(most: str) -> None:
    """A pod that is placed needs no other node, and one that other rules keep away is undecided nowhere."""
    only = pod("p", requests={GPU: "1"}, node_selector={"gpu": "yes"})
    plan = solve(cluster(node("n1"), node("n2", labels={"gpu": "yes"}, room={GPU: most}), CLASS, only))
    assert plan.status == ("Optimal" if most == "1" else "ConditionallyOptimal")
    without = solve(cluster(node("n1"), node("n2", room={GPU: "1"}), CLASS, only))
    assert without.status == "Optimal"


@pytest.mark.parametrize(("cpu", "status"), [("3", "Optimal"), ("2", "ConditionallyOptimal")])
@pytest.mark.parametrize("more", [{}, {"allow_moves": True}, {"final_state": True}], ids=str)
def test_nodes_without_room_leave_nothing_open(cpu: str, status: str, more: dict[str, Any]) -> None:
    """What went wrong: it depended on devices whether a pod fits on a node that has no room for it."""
    stays, waits = pod("stays", on="n1", cpu="2"), pod("p", cpu=cpu, requests={GPU: "1"})
    assert solve(cluster(node("n1", cpu="4"), CLASS, stays, waits), **more).status == status


def test_no_conflict_is_told_where_that_is_undecided() -> None:
    """What went wrong: one pod alone could not be placed, whatever goes where."""
    assert explain(cluster(node("n1"), CLASS, CLAIM, WITH_CLAIM), batch=5).conflict is None


def test_moves_to_undecided_nodes_are_not_ruled_out() -> None:
    """What went wrong: that no plan repairs more was proved by trying out decided nodes alone."""
    owner = scaled("ReplicaSet", "w", 3, requests={GPU: "1"}, spread=[spread(ZONE, app="w")])
    pods = [replica(owner, f"p{n}", on) for n, on in enumerate(("a1", "a1", "a2"))]
    plan = rebalance(cluster(node("a1", "a"), node("a2", "a"), node("b1", "b"), CLASS, owner, *pods))
    assert plan.status == "ConditionallyOptimal"


def test_moves_that_are_the_fewest_by_counting_alone_are_so_for_all_plans() -> None:
    """Two pods of one zone are one too many, whatever takes the other."""
    owner = scaled("ReplicaSet", "w", 2, requests={GPU: "1"}, spread=[spread(ZONE, app="w")])
    pods = [replica(owner, f"p{n}", "a1") for n in range(2)]
    nodes = [node("a1", "a"), node("b1", "b", room={GPU: "1"})]
    plan = rebalance(cluster(*nodes, CLASS, owner, *pods))
    assert (plan.status, plan.after.hard_excess, len(plan.steps)) == ("Optimal", 0, 1)


def test_moves_of_pods_with_volumes_that_may_not_be_listed_are_not_ruled_out() -> None:
    """All nodes refuse such a pod, for want of knowledge."""
    owner = scaled("ReplicaSet", "w", 2, claims=["data"], spread=[spread(ZONE, app="w")])
    pods = [replica(owner, f"p{n}", "a1") for n in range(2)]
    found = cluster(node("a1", "a"), node("b1", "b"), origin("persistentvolumeclaims"), owner, *pods)
    plan = rebalance(found)
    assert (plan.after.hard_excess, plan.status) == (1, "ConditionallyOptimal")


def test_replacements_may_land_on_undecided_nodes_too() -> None:
    """What went wrong: the node with such devices was the only one, with no word of others."""
    owner = scaled("ReplicaSet", "w", 2, requests={GPU: "1"}, spread=[spread(ZONE, app="w")])
    pods = [replica(owner, f"p{n}", "a1") for n in range(2)]
    nodes = [node("a1", "a", room={GPU: "2"}), node("b1", "b", room={GPU: "1"})]
    for more, noted in (([node("b2", "b")], True), ([], False)):
        plan = rebalance(cluster(*nodes, *more, CLASS, owner, *pods))
        assert [step.landing for step in plan.steps] == ["filters"]
        assert any("it is not known whether they accept the replacement of" in n for n in plan.notes) == noted


def test_nodes_are_not_proved_to_be_needed_where_that_is_undecided() -> None:
    """What went wrong: both nodes had to stay, as if no pod with devices could ever move."""
    pods = [pod(f"p{n}", on=f"n{n}", requests={GPU: "1"}, owner=f"ReplicaSet/w{n}") for n in (1, 2)]
    plan = consolidate(cluster(node("n1"), node("n2"), CLASS, *pods))
    assert (plan.cost.after, plan.cost.bound) == (2, 1)
    assert any("undecided" in note for note in plan.notes)


def test_no_number_of_replicas_is_called_the_best_where_that_is_undecided() -> None:
    """What went wrong: none, and none more could there be."""
    owner = scaled("ReplicaSet", "w", 0, requests={GPU: "1"})
    (row,) = capacity(cluster(node("n1"), CLASS, owner), best=True).workloads
    assert (row.more, row.best, row.bound) == (0, None, None)


def test_what_is_left_to_devices_is_no_room_to_reserve() -> None:
    """What went wrong: a node has 0 of such a resource and a pod 1 of it, so no node could ever go."""
    asks = pod("g", on="n1", cpu="1", requests={GPU: "1"}, owner="ReplicaSet/g")
    others = [pod(f"p{n}", on=f"n{n}", cpu="1", owner=f"ReplicaSet/w{n}") for n in (2, 3)]
    plan = consolidate(cluster(*(node(f"n{n}") for n in (1, 2, 3)), CLASS, asks, *others), reserve=0.1)
    assert plan.cost.after == 1


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (
            [CLASS, WITH_RESOURCE],
            f"nodes without {GPU} leave it to a DeviceClass: whether they accept pending pods",
        ),
        (
            [origin("storageclasses"), claim("data"), WITH_VOLUME],
            "storageclasses may not be listed: default/p",
        ),
    ],
    ids=["resource", "classes unseen"],
)
def test_pods_that_are_left_undecided_are_named(objects: list[Object], said: str) -> None:
    """What went wrong: every workload survived, with no word of a pod that may have taken the room."""
    zones = (node("a", "a"), node("b", "b"))
    for found in (survive(cluster(*zones, *objects), ZONE), capacity(cluster(*zones, *objects))):
        assert any(said in note for note in found.notes)
    known = survive(cluster(*zones, WITH_RESOURCE), ZONE)
    assert not any("undecided" in note for note in known.notes)


def test_no_bound_counts_on_a_pod_that_may_come_before() -> None:
    """What went wrong: only one replica had room, where a pod may wait that keeps others from a node."""
    waits = pod("p", requests={GPU: "1"}, apart=[term(ZONE, "w")], priority=5)
    owner = scaled("ReplicaSet", "w", 0, cpu="4")
    zones = [node("a", "a"), node("b", "b", room={GPU: "1"})]
    (row,) = capacity(cluster(*zones, CLASS, waits, owner), best=True).workloads
    assert (row.best, row.bound) == (None, None)
    (known,) = capacity(cluster(*zones, waits, owner), best=True).workloads
    assert (known.best, known.bound) == (1, 1)
