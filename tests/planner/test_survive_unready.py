"""A workload that survives has a replica left that serves, and its lost ones are made again and scheduled."""

from __future__ import annotations

from typing import Any

import pytest

from planner import drain
from planner.simulation.survive import survive
from tests.builders import (
    ZONE,
    Object,
    claim,
    cluster,
    labelled,
    node,
    pod,
    quota,
    replica,
    scaled,
    term,
    volume,
)
from tests.planner.test_survive import ZONES, replicas, row, without

NOT_READY = [{"type": "Ready", "status": "False"}]
CRASHES = [{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]


@pytest.mark.parametrize(
    ("status", "serves"),
    [
        ({}, True),
        ({"conditions": NOT_READY}, False),
        ({"conditions": NOT_READY, "phase": "Pending"}, True),
        ({"containerStatuses": CRASHES, "phase": "Pending"}, False),
    ],
    ids=["nothing told", "not ready", "starting", "cannot start"],
)
def test_a_replica_that_is_left_is_ready(status: dict[str, Any], serves: bool) -> None:
    """What went wrong: a workload survived by a replica that runs and does not serve."""
    objects = replicas("web", "ab")
    objects[2]["status"] |= status
    found = survive(cluster(*ZONES, *objects), ZONE)
    lost = row(without(found, "a"))
    assert (lost.ok, lost.reason) == (serves, "" if serves else "no replica elsewhere is ready")
    assert row(without(found, "b")).ok


def test_a_replica_that_is_left_is_on_a_node_that_is_ready() -> None:
    """What went wrong: nothing was said of a replica on a node that has not answered for a while."""
    silent = node("b", zone="b", taints=["node.kubernetes.io/unreachable:NoSchedule"])
    found = survive(cluster(ZONES[0], silent, ZONES[2], *replicas("web", "ab")), ZONE)
    assert [loss.ok for loss in found.domains] == [False, True, True]


def test_where_no_replica_was_ready_before_none_is_lost() -> None:
    """A workload that does not serve as it is loses nothing more."""
    objects = replicas("web", "ab")
    for item in objects[1:]:
        item["status"]["conditions"] = NOT_READY
    assert survive(cluster(*ZONES, *objects), ZONE).failures == 0


def stateful(*nodes: str, **spec: Any) -> list[Object]:
    """A StatefulSet with a pod on each of these nodes; those without fit nowhere."""
    owner = scaled("StatefulSet", "db", len(nodes))
    owner["spec"] |= spec
    words = [{"on": on} if on else {"cpu": "99"} for on in nodes]
    return [owner, *(pod(f"db-{n}", app="db", owner=owner, **more) for n, more in enumerate(words))]


@pytest.mark.parametrize(("policy", "pending"), [("OrderedReady", 1), ("Parallel", 0)])
def test_a_lost_pod_waits_for_a_lower_ordinal(policy: str, pending: int) -> None:
    """What went wrong: db-1 was said to get a node, though db-0, which has none, keeps it from being made."""
    found = survive(cluster(*ZONES, *stateful("", "a", "b", podManagementPolicy=policy)), ZONE)
    loss = without(found, "a")
    assert (row(loss).pending, row(loss).replaced, row(loss).ok) == (pending, 1 - pending, not pending)
    said = "not created: its StatefulSet makes it when pods of lower ordinals are ready"
    assert [(left.example, left.message) for left in loss.pending] == [("default/db-1", said)] * pending


@pytest.mark.parametrize(("policy", "pending"), [("OrderedReady", 2), ("Parallel", 1)])
def test_a_lost_pod_waits_for_a_lower_one_that_is_lost_for_good(policy: str, pending: int) -> None:
    """What went wrong: db-1 was said to get a node, though the volume of db-0 is in the zone that is lost."""
    objects = stateful("a", "a", "b", podManagementPolicy=policy)
    uses = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    objects[1]["spec"]["volumes"] = uses
    found = survive(cluster(*ZONES, volume("pv", ["a"]), claim("data", "pv"), *objects), ZONE)
    assert row(without(found, "a")).pending == pending


def test_a_lost_pod_waits_for_a_lower_ordinal_whatever_it_preempts() -> None:
    """Where it preempts a pod it has a node, and it is not made all the same."""
    objects = stateful("", "a", "c", podManagementPolicy="OrderedReady")
    objects[2] = pod("db-1", on="a", app="db", cpu="4", priority=9, owner=objects[0])
    low = replicas("low", "b", cpu="1")
    loss = without(survive(cluster(*ZONES, *objects, *low), ZONE), "a")
    rows = {item.workload: (item.replaced, item.pending) for item in loss.workloads}
    assert rows["StatefulSet/db"] == (0, 1)


def test_no_lost_pod_waits_for_one_that_is_made_again() -> None:
    """What went wrong: db-1 was said to wait for db-0, which was not ready, and is lost and made anew."""
    objects = stateful("a", "a", "b")
    objects[1]["status"]["conditions"] = NOT_READY
    found = survive(cluster(*ZONES, *objects), ZONE)
    assert [row(without(found, zone)).pending for zone in "ab"] == [0, 1]


def test_a_pod_of_another_kind_waits_for_no_ordinal() -> None:
    """A pod of a ReplicaSet was said to wait for one of the StatefulSet of the same name."""
    others = [pod(f"db-{n}", on=on, app="rs", owner="ReplicaSet/db") for n, on in ((1, "a"), (2, "b"))]
    found = survive(cluster(*ZONES, *stateful(""), *others), ZONE)
    assert (row(without(found, "a")).replaced, found.failures) == (1, 0)


@pytest.mark.parametrize(("seconds", "stays"), [(30, True), (0, False)])
def test_a_pod_of_a_stateful_set_does_not_end_on_a_node_that_does_not_answer(
    seconds: int, stays: bool
) -> None:
    """What went wrong: nothing was said of it, as if another one of its name could come meanwhile."""
    objects = stateful("a", "b")
    for item in objects[1:]:
        item["spec"]["terminationGracePeriodSeconds"] = seconds
    found = survive(cluster(*ZONES, *objects), ZONE)
    loss = without(found, "a")
    assert loss.ok
    said = "not created: the pod before it stays Terminating until its node is deleted or answers"
    assert [(left.example, left.message) for left in loss.meanwhile] == [("default/db-0", said)] * stays


@pytest.mark.parametrize(("seconds", "stays"), [(30, True), (0, False)])
def test_pods_that_do_not_end_hold_their_share_of_a_quota_of_objects(seconds: int, stays: bool) -> None:
    """One of `pods` takes them for stuck when their grace period is over, so that others may come."""
    objects = replicas("web", "ab")
    for item in objects[1:]:
        item["spec"]["terminationGracePeriodSeconds"] = seconds
    assert not without(survive(cluster(*ZONES, *objects, quota({"pods": "2"})), ZONE), "a").meanwhile
    loss = without(survive(cluster(*ZONES, *objects, quota({"count/pods": "2"})), ZONE), "a")
    assert loss.ok
    refused = "exceeded quota: q, requested: count/pods=1, used: count/pods=2, limited: count/pods=2"
    said = f"not created: forbidden: {refused}"
    assert [(left.pods, left.message) for left in loss.meanwhile] == [(1, said)] * stays


def test_who_has_the_room_in_a_quota_is_drawn() -> None:
    """What went wrong: in no draw a pod that a quota had refused had the room that a lost one leaves."""
    other = scaled("ReplicaSet", "web", 1)
    found = cluster(*ZONES, *replicas("db", "ab"), other, quota({"pods": "2"}))
    loss = without(survive(found, ZONE), "a")
    assert loss.ok
    assert loss.failing_draws


def test_a_lost_pod_is_made_before_one_of_a_higher_ordinal_that_a_quota_refused() -> None:
    """What went wrong: db-1 took the room in the quota, and db-0 was pending, and said not to survive."""
    objects = stateful("a", "", "b", podManagementPolicy="Parallel")
    there = [item for item in objects if item["metadata"]["name"] != "db-1"]
    loss = without(survive(cluster(*ZONES, *there, quota({"pods": "2"})), ZONE), "a")
    assert (row(loss).replaced, loss.ok) == (1, True)


def test_a_preempted_pod_is_made_before_one_of_a_higher_ordinal_that_a_quota_refused() -> None:
    """What went wrong: as above, where a pod of higher priority takes the node of db-0."""
    nodes = [node(name, zone=name, cpu="1") for name in "abc"]
    owner = scaled("StatefulSet", "db", 2, cpu="1")
    owner["spec"]["podManagementPolicy"] = "Parallel"
    high = replicas("high", "a", cpu="1", priority=9, only_on=[labelled(ZONE, "In", "a", "b")])
    found = cluster(*nodes, *high, owner, replica(owner, "db-0", "b"), quota({"pods": "2"}))
    assert [row.pending for row in without(survive(found, ZONE), "a").workloads] == [0]


def test_pods_that_do_not_end_keep_others_out_of_their_domain() -> None:
    """A domain may be more than what is lost; Terminating pods count for anti-affinity, as in Kubernetes."""
    nodes = [{**item, "metadata": {**item["metadata"]}} for item in ZONES]
    for item in nodes:
        item["metadata"]["labels"] = {**item["metadata"]["labels"], "row": "north"}
    apart = replicas("web", "a", apart=[term("row", "web")])
    (left,) = without(survive(cluster(*nodes, *apart), ZONE), "a").meanwhile
    assert (left.pods, "didn't match pod anti-affinity rules" in left.message) == (1, True)


def test_pods_of_a_daemon_set_stay_on_nodes_that_do_not_answer() -> None:
    """What went wrong: they were made again, and waited for peers that are lost."""
    near = [term(ZONE, "web")]
    words: Object = {"near": near, "tolerations": [{"operator": "Exists"}]}
    web, daemons = replicas("web", "ab"), scaled("DaemonSet", "log", 0, **words)
    there = [pod(f"log-{on}", on=on, app="log", owner="DaemonSet/log", **words) for on in "ab"]
    web[1]["spec"]["terminationGracePeriodSeconds"] = 0
    found = survive(cluster(node("a", zone="a"), node("b", zone="b"), *web, daemons, *there), ZONE)
    assert without(found, "a").meanwhile == ()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_of_a_stateful_set_that_has_finished_has_ended(phase: str) -> None:
    """What went wrong: a traceback, for it was looked up among the pods that take part."""
    objects = stateful("a", "b")
    objects[1]["status"]["phase"] = phase
    loss = without(survive(cluster(*ZONES, *objects), ZONE), "a")
    assert (loss.workloads, loss.meanwhile) == ((), ())


def test_a_lost_pod_of_another_scheduler_is_placed_nowhere() -> None:
    """What went wrong: no pod of a scheduler without a profile was pending, and so its workload survived."""
    found = cluster(*ZONES, *replicas("web", "ab", scheduler="volcano"))
    loss = without(survive(found, ZONE), "a")
    assert (row(loss).replaced, row(loss).pending, row(loss).ok) == (0, 1, False)
    (left,) = loss.pending
    assert left.message == "it asks for scheduler volcano, which has no profile here"
    assert [reason.message for reason in drain(found, ["a"]).pending] == [left.message]


def test_a_pod_of_another_scheduler_that_is_preempted_is_placed_nowhere() -> None:
    """What went wrong: an internal error, for the scheduler was asked where it comes to."""
    high, low = (
        replicas("high", "ac", cpu="4", priority=9),
        replicas("low", "b", cpu="4", scheduler="volcano"),
    )
    found = survive(cluster(*ZONES, *high, *low), ZONE)
    rows = {item.workload: item for item in without(found, "a").workloads}
    assert (rows["ReplicaSet/low"].pending, rows["ReplicaSet/high"].replaced) == (1, 1)


def test_that_other_ties_and_turns_leave_pods_without_a_node_is_said() -> None:
    """What went wrong: every workload survived, as the larger pod came first in the file."""
    nodes = [
        node("a1", "a", cpu="6"),
        node("c1", "c", cpu="6"),
        node("b1", "b", cpu="4"),
        node("b2", "b", cpu="2"),
    ]
    small, big = (replicas(name, ["a1", "c1"], cpu=cpu) for name, cpu in (("small", "2"), ("big", "4")))
    found = survive(cluster(*nodes, *big, *small), ZONE)
    assert found.failures == 0
    failing = {loss.domain: loss.failing_draws for loss in found.domains}
    assert failing["a"]
    assert not failing["b"]
    (note,) = (note for note in found.notes if "other ties" in note)
    assert "some pods find no node, such as one of ReplicaSet/big in default: without a in " in note
    assert survive(cluster(*nodes, *small, *big), ZONE).failures == 2
    roomy = survive(cluster(*nodes, node("b3", "b", cpu="2"), *big), ZONE)
    assert not any("other ties" in note for note in roomy.notes)
