"""`planner.capacity`: so many more replicas are placed, and of one more than that one is not."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable

import pytest

from models import Cluster
from models.controllers.expand import MOST_NEW_PODS
from planner import InputError, capacity, simulate
from planner.proof.effort import STANDARD
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif import scale
from tests import seeds
from tests.builders import (
    HOST,
    ZONE,
    Object,
    cluster,
    node,
    pod,
    profile,
    quota,
    scaled,
    scheduler,
    spread,
    storage_class,
    term,
)
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import (
    left_over,
    mixed,
    shared_out,
    two_constraints,
    under_quotas,
    web,
    workloads,
)

ROOM = sys.modules["planner.capacity.replicas"]


@pytest.mark.parametrize("make", [workloads, mixed, under_quotas])
@pytest.mark.parametrize("number", seeds.given_and_fresh(12, 1105))
@nothing_drawn()
def test_more_is_exact_with_the_line_of_the_scheduler(
    number: int | None, make: Callable[[int], list[Object]]
) -> None:
    """Scaled by `more` all are placed; by one more exactly one is not, for the reason that simulate has."""
    for seed in [number] if number is not None else seeds.seeds(4):
        found = Cluster.from_objects(make(seed))
        for row in capacity(found).workloads:
            assert not left_over(found, row, row.more)
            (decision,) = left_over(found, row, row.more + 1)
            assert decision.message == row.message


@pytest.mark.parametrize("constant", ["REPLICAS_ONE_BY_ONE", "NODES_ONE_BY_ONE"])
@pytest.mark.parametrize("make", [workloads, mixed, two_constraints])
@pytest.mark.parametrize("number", seeds.given_and_fresh(14))
@nothing_drawn()
def test_counting_in_bulk_is_the_same(
    number: int | None, make: Callable[[int], list[Object]], constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where resources or one constraint decide, the sum over nodes is what placing one by one comes to."""
    for seed in [number] if number is not None else seeds.seeds(4):
        found = Cluster.from_objects(make(seed))
        one_by_one = {row.workload: row.more for row in capacity(found).workloads}
        with monkeypatch.context() as patch:
            patch.setattr(ROOM, constant, 1)
            assert {row.workload: row.more for row in capacity(found).workloads} == one_by_one


def test_on_many_nodes_all_replicas_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is placed there and not fifty, and the numbers are the same."""
    placed: list[int] = []
    decide = Scheduler.decide

    def counted(scheduler: Scheduler, pod: int) -> SchedulingDecision:
        placed.append(pod)
        return decide(scheduler, pod)

    monkeypatch.setattr(Scheduler, "decide", counted)
    nodes = [node(f"n{number}", f"z{number % 3}", cpu="40", pods="200") for number in range(6)]
    kinds = [scaled("ReplicaSet", "web", 0, spread=[spread(ZONE)]), scaled("ReplicaSet", "api", 0)]
    found = cluster(*nodes, *kinds)
    before = {row.workload: row.more for row in capacity(found).workloads}
    assert min(before.values()) > 50
    # After all that fit it is asked once more: for the line.
    ways = 1 + STANDARD.draws.draws
    assert len(placed) == ways * 2 * (50 + 1)
    placed.clear()
    monkeypatch.setattr(ROOM, "NODES_ONE_BY_ONE", 5)
    assert {row.workload: row.more for row in capacity(found).workloads} == before
    assert len(placed) == ways * 2 * 1


@pytest.mark.parametrize("constant", ["REPLICAS_ONE_BY_ONE", "NODES_ONE_BY_ONE"])
def test_room_that_is_promised_is_not_counted(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bulk 50 replicas were said to fit, 30 of them on what a preemptor waits for."""
    nodes = [node("n1", cpu="8"), node("n2", cpu="2")]
    old = pod("old", on="n1", cpu="5", gone=True)
    waits = pod("waits", cpu="4", priority=10, nominated="n1")
    monkeypatch.setattr(ROOM, constant, 1)
    (row,) = capacity(cluster(*nodes, old, waits, scaled("ReplicaSet", "web", 0, cpu="100m"))).workloads
    assert row.more == 20


@pytest.mark.parametrize("number", seeds.given_and_fresh(7))
@nothing_drawn()
def test_the_best_is_between_more_and_the_bound(number: int | None) -> None:
    """No plan places more than the bound, and the best one not less than kube-scheduler."""
    for seed in [number] if number is not None else seeds.seeds(3):
        for row in capacity(Cluster.from_objects(workloads(seed)), best=True, time_limit=60).workloads:
            assert row.best is not None
            assert row.bound is not None
            assert row.more <= row.best <= row.bound


def test_what_stops_the_next_one() -> None:
    """The scheduler's line, and the plugins in it, those with the most nodes first."""
    nodes = [node("a1", zone="a", cpu="4"), node("b1", zone="b", cpu="1"), node("c1", zone="c", cpu="4")]
    (row,) = capacity(cluster(*nodes, web(0, cpu="1", spread=[spread(ZONE, 1, "web")]))).workloads
    assert row.more == 5
    assert row.limited_by == ("PodTopologySpread", "NodeResourcesFit")
    assert row.message.startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod topology"
    )


@nothing_drawn()
def test_the_order_matters_with_two_constraints() -> None:
    """Then replicas are placed one by one, however many."""
    nodes = [node(f"n{n}", zone="ab"[n % 2], cpu="200", pods="500") for n in range(4)]
    rules = [spread(ZONE, 1, "web"), spread(HOST, 1, "web")]
    (row,) = capacity(cluster(*nodes, web(0, cpu="1", spread=rules))).workloads
    assert row.more == 800


@pytest.mark.parametrize("lower", [False, True])
def test_the_line_after_many_replicas_is_the_schedulers(lower: bool) -> None:
    """What went wrong: where replicas are counted in bulk the line had no word about preemption."""
    there = [pod("low", on="n0", cpu="3", owner="ReplicaSet/low", priority=-5)] if lower else []
    nodes = [node(f"n{n}", zone="ab"[n % 2], cpu="40", pods="500") for n in range(2)]
    found = cluster(*nodes, *there, web(3, cpu="500m"))
    row = next(row for row in capacity(found).workloads if row.workload == "Deployment/web")
    assert row.more == (151 if lower else 157)
    (decision,) = left_over(found, row, row.more + 1)
    assert (decision.message, bool(decision.victims)) == (row.message, lower)
    assert row.limited_by == (("Preemption",) if lower else ("NodeResourcesFit",))


def test_a_quota_stops_before_the_nodes_do() -> None:
    """What the API server refuses is not created, and its line says so."""
    team = quota({"requests.cpu": "3"}, "team")
    (row,) = capacity(cluster(node("a1", cpu="8"), team, web(1, cpu="1"))).workloads
    assert (row.more, row.limited_by) == (2, ("ResourceQuota",))
    assert row.message.startswith("not created: ")
    assert "exceeded quota: team" in row.message


def test_what_another_rule_refuses_is_not_put_down_to_a_quota() -> None:
    """A LimitRange that allows less than the replicas ask for was reported as a ResourceQuota."""
    bounds = {"limits": [{"type": "Container", "max": {"cpu": "500m"}}]}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": bounds}
    (row,) = capacity(cluster(node("a1", cpu="8"), limits, web(1, cpu="1"))).workloads
    assert (row.more, row.limited_by) == (0, ("Admission",))


def test_room_promised_to_another_pod_limits() -> None:
    """What went wrong: the line named the room, and nothing was said to limit."""
    old, promised = pod("old", "a1", cpu="1", gone=True), pod("first", cpu="2", nominated="a1", priority=5)
    (row,) = capacity(cluster(node("a1", cpu="2"), old, promised, web(0, cpu="1"))).workloads
    assert (row.more, row.limited_by) == (0, ("NodeResourcesFit",))


def test_making_room_by_evictions_is_not_room() -> None:
    """A replica of higher priority would get a node, and evict others for it."""
    low = pod("low", on="a1", cpu="3", owner="ReplicaSet/low")
    (row,) = capacity(cluster(node("a1", cpu="4"), low, web(0, cpu="1", priority=10))).workloads
    assert (row.more, row.limited_by) == (1, ("Preemption",))


@nothing_drawn()
def test_replicas_that_several_replica_sets_make_are_exact() -> None:
    """What went wrong: all replicas of a paused Deployment were counted as those of one ReplicaSet."""
    for seed in seeds.seeds(4):
        found = cluster(*shared_out(seed))
        (row,) = capacity(found, best=True).workloads
        assert not left_over(found, row, row.more), f"seed {seed}"
        assert left_over(found, row, row.more + 1)[0].message == row.message, f"seed {seed}"


def test_replicas_with_claims_of_their_own() -> None:
    """Every replica of a StatefulSet brings a claim, for which there are two volumes."""
    template = pod("db", app="db", cpu="1")
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    database = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "uid": "db"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": template["spec"]},
            "volumeClaimTemplates": [claim],
        },
    }
    volumes = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv{n}"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
            },
            "status": {"phase": "Available"},
        }
        for n in range(2)
    ]
    local = storage_class("local")
    (row,) = capacity(cluster(node("a1", cpu="8"), database, local, *copy.deepcopy(volumes))).workloads
    assert row.more == 2
    assert "VolumeBinding" in row.limited_by


def test_without_a_filter_for_resources_there_is_no_limit() -> None:
    """What went wrong: an error, as no plugin said how many a node takes."""
    off = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    (row,) = capacity(cluster(node("a1"), web(1), scheduler(profile(plugins=off))), best=True).workloads
    assert (row.more, row.limited_by) == (MOST_NEW_PODS, ())
    assert (row.best, row.bound) == (MOST_NEW_PODS, None)
    assert row.message.startswith("no limit was found")


def test_pods_of_another_scheduler_have_a_reason() -> None:
    """What went wrong: no room, and not a word why."""
    found = scaled("Deployment", "web", 1, cpu="1", scheduler="other")
    (row,) = capacity(cluster(node("a1"), found)).workloads
    assert (row.more, row.limited_by) == (0, ("SchedulerName",))
    assert row.message == "it asks for scheduler other, which has no profile here"


def test_pods_whose_template_names_their_node_have_a_reason() -> None:
    """What went wrong: they were said to ask for a scheduler that has no profile."""
    found = scaled("Deployment", "web", 1, cpu="1")
    found["spec"]["template"]["spec"]["nodeName"] = "a1"
    (row,) = capacity(cluster(node("a1"), found)).workloads
    assert (row.more, row.limited_by) == (0, ("NodeName",))
    assert row.message == "its template has spec.nodeName a1: no scheduler is asked"


def test_a_constraint_without_domains_leaves_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: counted in bulk, a label that no node has was an internal error."""
    monkeypatch.setattr(ROOM, "NODES_ONE_BY_ONE", 1)
    (row,) = capacity(cluster(node("n1"), node("n2"), web(1, spread=[spread(ZONE, app="db")]))).workloads
    assert row.more == 0


def test_a_stop_leaves_out_what_was_not_counted_and_says_so() -> None:
    """The rows that are there are exact; a note tells that others are missing."""
    stop = threading.Event()
    stop.set()
    found = capacity(cluster(node("a1", cpu="4"), web(1, cpu="1")), stop_event=stop)
    assert (found.cut, found.workloads) == (True, ())
    assert any("stopped while looking for" in note for note in found.notes)


def test_room_made_by_pods_that_come_before_is_room_for_the_best() -> None:
    """What went wrong: the bound was that of the nodes before a pod in the queue evicts another: 5, not 7."""
    found = cluster(
        node("a1", "a", cpu="10"),
        node("b1", "b", cpu="5"),
        pod("large", on="a1", cpu="10", priority=-1),
        pod("urgent", cpu="3", priority=1, created="2024-01-01T00:00:00Z", node_selector={ZONE: "a"}),
        web(0, cpu="1", near=[term(ZONE, "web")]),
    )
    (row,) = capacity(found, best=True).workloads
    assert (row.more, row.best, row.bound) == (5, 7, 7)


def test_nodes_on_which_a_constraint_counts_nothing_are_no_part_of_its_domains() -> None:
    """What went wrong: replicas that come where none are counted, as a profile lets them, were left out."""
    honours = spread(ZONE, app="web", nodeTaintsPolicy="Honor")
    off = {"filter": {"disabled": [{"name": "TaintToleration"}]}}
    nodes = [node("a1", "a"), node("a2", "a", taints=["gpu:NoSchedule"]), node("b1", "b", cpu="3")]
    found = cluster(*nodes, web(0, cpu="50m", spread=[honours]), scheduler(profile(plugins=off)))
    (row,) = capacity(found).workloads
    assert row.more == _simulated(found, 300)


def _simulated(found: Cluster, replicas: int) -> int:
    """How many of so many replicas of web kube-scheduler places."""
    decisions = simulate(scale(found, "Deployment/web", replicas), preemption=False).decisions
    return sum(decision.node is not None for decision in decisions)


def test_what_has_no_number_of_replicas_is_an_error() -> None:
    """A bare pod, or a workload that is not there."""
    found = cluster(node("a1"), pod("bare", on="a1"))
    assert capacity(found).workloads == ()
    with pytest.raises(InputError):
        capacity(found, ["Deployment/none.default"])
    with pytest.raises(InputError):
        capacity(found, survive="no/such-label")
