"""Nodes that are cordoned, drained, removed or added: what stays, what goes, what comes back."""

from typing import Any

import pytest

import planner
from models import InputError
from models.cluster import Cluster as Snapshot
from planner import check, simulate
from planner.whatif import add_nodes, cordon, drain, remove_nodes
from tests.builders import (
    HOST,
    ZONE,
    Object,
    budget,
    claim,
    cluster,
    node,
    pod,
    replica,
    revision,
    scaled,
    spread,
    storage_class,
    volume,
    workload,
)

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
MIRROR = {"kubernetes.io/config.mirror": "x"}


def web(*on: str, **words: Any) -> list[Object]:
    """A Deployment with its ReplicaSet and a pod on each of these nodes."""
    owner = scaled("Deployment", "web", len(on), **words)
    current = revision(owner)
    pods = [replica(current, f"web-r1-{name}-{number}", name) for number, name in enumerate(on)]
    return [owner, current, *pods]


def where(found: Snapshot) -> dict[str, str | None]:
    """The node of every pod."""
    return {item.name: item.node_name for item in found.pods}


def test_a_cordoned_node_takes_no_pods_and_has_the_taint() -> None:
    """As the node controller leaves it; cordoning twice is cordoning once."""
    found = cordon(cluster(node("a1", taints=["gpu:NoSchedule"]), node("b1"), pod("p")), "a1")
    first, second = found.nodes
    assert first.spec.unschedulable
    assert [item.key for item in first.spec.taints] == ["gpu", UNSCHEDULABLE]
    assert second.spec.taints == ()
    assert cordon(found, "a1") == found
    assert simulate(found).decisions[0].node == "b1"


@pytest.mark.parametrize(("policy", "domains"), [("Ignore", {"a": 1, "b": 1}), ("Honor", {"b": 1})])
def test_a_drained_zone_still_counts_where_taints_are_ignored(policy: str, domains: dict[str, int]) -> None:
    """The trap of the first phase of a drain: the empty zone holds the global minimum down."""
    words = {"spread": [spread(nodeTaintsPolicy=policy)]}
    snapshot = cluster(node("a1", "a"), node("b1", "b"), *web("a1", "b1", "b1", **words))
    (row,) = check(drain(snapshot, "a1")).constraints
    assert row.domains == {zone: 2 if zone == "b" else 0 for zone in domains}
    left = simulate(drain(snapshot, "a1")).decisions[0]
    assert (left.node is None) == (policy == "Ignore")
    assert simulate(remove_nodes(snapshot, "a1")).decisions[0].node == "b1"


def test_evicted_replicas_come_back_without_node_time_and_status() -> None:
    """As their controller makes them: under a new name, from the same template, pending."""
    snapshot = cluster(node("a1"), node("b1"), *web("a1", "b1", cpu="1", labels={"tier": "front"}))
    gone, kept = snapshot.pods
    found = drain(snapshot, "a1")
    assert found.pods[0] is kept
    (back,) = found.pods[1:]
    assert (back.name, back.node_name, back.status.phase) == ("web-r1-1", None, "Pending")
    assert back.metadata.creation_timestamp is None
    assert back.metadata.uid not in ("", gone.metadata.uid)
    assert (back.metadata.labels, back.metadata.controller) == (
        gone.metadata.labels,
        gone.metadata.controller,
    )
    assert back.spec == gone.spec.model_copy(update={"node_name": None})
    assert found.notes == ()


def test_what_admission_added_to_a_pod_comes_back_with_it() -> None:
    """An injected sidecar or a raised request is not in the template, and would be added again."""
    owner, current, running = web("a1")
    running["spec"]["containers"] = [
        *running["spec"]["containers"],
        {"name": "proxy", "resources": {"requests": {"cpu": "300m"}}},
    ]
    running["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": "7", SAFE: "false"}
    found = drain(cluster(node("a1"), owner, current, running), "a1")
    (back,) = found.pods
    assert [container.name for container in back.spec.containers] == ["main", "proxy"]
    assert back.metadata.annotations == {SAFE: "false"}


def test_what_a_drain_leaves_alone() -> None:
    """DaemonSet pods, static pods, finished pods, and the pods of other nodes."""
    daemon = scaled("DaemonSet", "agent", 0)
    snapshot = cluster(
        node("a1"),
        node("b1"),
        daemon,
        replica(daemon, "agent-x", "a1"),
        replica(daemon, "agent-y", "b1"),
        pod("etcd-a1", "a1", annotations=MIRROR, owner="Node/a1"),
        pod("done", "a1", phase="Succeeded"),
        pod("other", "b1"),
    )
    found = drain(snapshot, "a1")
    assert found.pods == snapshot.pods
    assert found.notes == ()


def test_bare_pods_are_lost_and_named() -> None:
    """kubectl wants --force for them; four names are enough."""
    bare = [pod(f"bare-{number}", "a1") for number in range(5)]
    found = drain(cluster(node("a1"), *bare), "a1")
    assert found.pods == ()
    assert found.notes == (
        "drain a1: 5 pods without a controller, lost for good: default/bare-0, default/bare-1, "
        "default/bare-2, ... (kubectl drain needs --force)",
    )


def test_pods_with_scratch_space_are_named() -> None:
    """kubectl wants --delete-emptydir-data for them."""
    volumes = [{"name": "tmp", "emptyDir": {}}]
    found = drain(cluster(node("a1"), *web("a1", volumes=volumes)), "a1")
    assert [note.partition(" (")[2] for note in found.notes] == [
        "kubectl drain needs --delete-emptydir-data)"
    ]


@pytest.mark.parametrize(("allowed", "noted"), [(1, True), (2, False), (-1, True)])
def test_a_budget_that_is_too_small_is_noted(allowed: int, noted: bool) -> None:
    """kubectl drain would wait for the first pod to be back; the outcome is the same."""
    snapshot = cluster(node("a1"), *web("a1", "a1"), budget("web", "web", allowed), budget("db", "db", 0))
    found = drain(snapshot, "a1")
    assert [note.split(" now")[0] for note in found.notes] == [
        "drain a1: 2 pods of PodDisruptionBudget default/web have to go, and it allows "
        f"{max(allowed, 0) or 'none'}"
    ][: int(noted)]
    assert remove_nodes(snapshot, "a1").notes == ()


STARTING: Object = {"phase": "Pending"}
SICK: Object = {"conditions": [{"type": "Ready", "status": "False"}]}
AT_ANY_TIME: Object = {"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
SHORT = "1 pod of PodDisruptionBudget default/web has to go, and it allows none now: kubectl drain would wait"
TWO = "1 pod under two PodDisruptionBudgets, which the eviction API refuses: default/web-0"


@pytest.mark.parametrize(
    ("state", "budgets", "told"),
    [
        ({}, [budget("web", "web", maxUnavailable=1)], []),
        ({}, [budget("web", "web", minAvailable=1)], [SHORT]),
        (STARTING, [budget("web", "web", 0)], []),
        (SICK, [budget("web", "web", 0)], [SHORT]),
        (SICK, [budget("web", "web", 0, **AT_ANY_TIME)], []),
        ({}, [budget("web", "web", 1), budget("other", "web", 1)], [TWO]),
    ],
)
def test_what_budgets_hold_is_what_holds_a_drain(
    state: Object, budgets: list[Object], told: list[str]
) -> None:
    """A budget without a status was said to allow none, and pods that no budget holds were counted."""
    owner = scaled("StatefulSet", "web", 1)
    snapshot = cluster(node("a1"), node("b1"), owner, replica(owner, "web-0", "a1", **state), *budgets)
    assert drain(snapshot, "a1").notes == tuple(f"drain a1: {note}" for note in told)
    assert bool(planner.drain(snapshot, ["a1"], fixes=False).blocked) is bool(told)


def test_a_finished_pod_makes_no_budget_larger() -> None:
    """It counted as healthy where no condition of it was written down, and the drain seemed not to wait."""
    done = pod("done", "a1", app="web", phase="Succeeded")
    snapshot = cluster(node("a1"), node("b1"), *web("a1"), done, budget("web", "web", minAvailable=1))
    assert drain(snapshot, "a1").notes == (f"drain a1: {SHORT}",)
    assert planner.drain(snapshot, ["a1"], fixes=False).blocked


def test_a_pod_on_its_way_out_is_not_made_twice() -> None:
    """Its controller has replaced it already."""
    owner, current, leaving = web("a1")
    leaving["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    snapshot = cluster(node("a1"), owner, current, leaving)
    assert where(snapshot) == {leaving["metadata"]["name"]: "a1", "web-r1-1": None}
    assert where(drain(snapshot, "a1")) == {"web-r1-1": None}


def test_a_surplus_pod_does_not_come_back() -> None:
    """The workload wants fewer than there are: eviction does what scaling down would do."""
    owner, current, *pods = web("a1", "a1")
    owner["spec"]["replicas"] = 1
    assert len(drain(cluster(node("a1"), owner, current, *pods), "a1").pods) == 1


def test_pods_come_back_though_their_workload_is_not_in_the_snapshot() -> None:
    """`kubectl get nodes,pods` is enough: the owner reference says that a controller makes them again."""
    pods = [pod(name, "a1", owner="ReplicaSet/web-abc") for name in ("x", "y")]
    stateful = pod("db-3", "a1", owner="StatefulSet/db")
    found = drain(cluster(node("a1"), node("b1"), *pods, stateful), "a1")
    assert where(found) == {"web-abc-1": None, "web-abc-2": None, "db-3": None}


def test_a_workload_without_a_template_does_not_decide() -> None:
    """What makes no pods in the planner cannot say how many it wants."""
    owner = workload("ReplicaSet", "web")
    found = drain(cluster(node("a1"), owner, pod("x", "a1", owner=owner)), "a1")
    assert where(found) == {"web-1": None}


def test_a_stateful_pod_keeps_its_name_and_its_volume() -> None:
    """db-0 is bound to a volume of zone a: when its only node is drained it stays pending, and says why."""
    owner = scaled("StatefulSet", "db", 2)
    pods = [replica(owner, "db-0", "a1"), replica(owner, "db-1", "b1")]
    pods[0]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    held = volume("pv0", ["a"], claimRef={"namespace": "default", "name": "data-db-0"})
    disk = [storage_class("local"), claim("data-db-0", "pv0"), held]
    snapshot = cluster(node("a1", "a"), node("b1", "b"), owner, *pods, *disk)
    found = drain(snapshot, "a1")
    assert where(found) == {"db-1": "b1", "db-0": None}
    (decision,) = simulate(found).decisions
    assert decision.node is None
    assert "node(s) didn't match PersistentVolume's node affinity" in decision.message
    (decision,) = simulate(add_nodes(found, 1, "a1")).decisions
    assert decision.node == "a1-1"


def test_a_claim_made_for_one_pod_goes_with_it() -> None:
    """The new pod gets a new claim, unbound, even where it has the old name."""
    template = {"spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "cloud"}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    owner = scaled("StatefulSet", "db", 1, volumes=volumes)
    old = claim("db-0-scratch", "pv0")
    found = drain(cluster(node("a1"), owner, replica(owner, "db-0", "a1"), old), "a1")
    (made,) = found.persistent_volume_claims
    assert (made.name, made.spec.volume_name) == ("db-0-scratch", "")


def test_a_job_starts_its_pod_again() -> None:
    """With the index that it had."""
    owner = scaled("Job", "sums", 2)
    owner["spec"] |= {"completions": 2, "completionMode": "Indexed"}
    index = "batch.kubernetes.io/job-completion-index"
    pods = [replica(owner, f"sums-{n}-x", f"{'ab'[n]}1", labels={index: str(n)}) for n in (0, 1)]
    found = drain(cluster(node("a1"), node("b1"), owner, *pods), "b1")
    assert [item.metadata.labels[index] for item in found.pods] == ["0", "1"]
    assert [item.node_name for item in found.pods] == ["a1", None]


def test_an_old_revision_comes_back_as_the_old_revision() -> None:
    """A rollout in progress is not hurried along by a drain."""
    owner = scaled("Deployment", "web", 2)
    old, new = revision(owner, 1), revision(owner, 2)
    pods = [replica(old, "web-r1-x", "a1"), replica(new, "web-r2-x", "b1")]
    found = drain(cluster(node("a1"), node("b1"), owner, old, new, *pods), "a1")
    (back,) = [item for item in found.pods if item.node_name is None]
    assert (back.name, back.metadata.labels["pod-template-hash"]) == ("web-r1-1", "r1")


def test_a_removed_node_takes_its_daemons_and_drivers_along() -> None:
    """Nothing of it is left, and nothing makes its DaemonSet pods and static pods again."""
    daemon = scaled("DaemonSet", "agent", 0)
    drivers = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a1"}}
    snapshot = cluster(
        node("a1"),
        node("b1"),
        daemon,
        drivers,
        replica(daemon, "agent-x", "a1"),
        replica(daemon, "agent-y", "b1"),
        pod("etcd-a1", "a1", annotations=MIRROR, owner="Node/a1"),
        pod("lost", "a1"),
        pod("done", "a1", phase="Succeeded"),
        *web("a1", "b1"),
    )
    found = remove_nodes(snapshot, "a1")
    assert [item.name for item in found.nodes] == ["b1"]
    assert found.csi_nodes == ()
    assert where(found) == {"agent-y": "b1", "web-r1-b1-1": "b1", "web-r1-1": None}
    assert found.notes == ("remove a1: 1 pod without a controller, lost for good: default/lost",)


def test_a_zone_is_removed_by_its_label() -> None:
    """All nodes with the label, at once."""
    snapshot = cluster(node("a1", "a"), node("a2", "a"), node("b1", "b"), *web("a1", "a2", "b1"))
    found = remove_nodes(snapshot, f"{ZONE}=a")
    assert [item.name for item in found.nodes] == ["b1"]
    assert where(found) == {"web-r1-b1-2": "b1", "web-r1-1": None, "web-r1-2": None}


def test_the_first_part_of_one_name_is_enough_for_a_hint() -> None:
    """What went wrong: of `ip-10-0-0-7` nothing was said to be alike, where a node's name begins with it."""
    names = [f"ip-10-0-0-{number}.eu-west-1.compute.internal" for number in (7, 70, 8)]
    with pytest.raises(InputError, match=rf"no node ip-10-0-0-8 .* \(did you mean {names[2]}\?\)"):
        drain(cluster(*map(node, names)), "ip-10-0-0-8")
    with pytest.raises(InputError, match=rf"no node ip-10-0-0-7 .* \(did you mean {names[0]}\?\)"):
        drain(cluster(*map(node, names)), "ip-10-0-0-7")
    with pytest.raises(InputError, match=r"no node ip-10 in the cluster$"):
        drain(cluster(*map(node, names)), "ip-10")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: drain(found, "zz"), "there is no node zz in the cluster"),
        (
            lambda found: cordon(found, "worker-2"),
            "there is no node worker-2 in the cluster (did you mean worker-1?)",
        ),
        (lambda found: remove_nodes(found, "x=y"), "there is no node with x=y in the cluster"),
        (
            lambda found: remove_nodes(found, f"{HOST}=worker-2"),
            f"there is no node with {HOST}=worker-2 in the cluster (did you mean worker-1?)",
        ),
        (lambda found: add_nodes(found, 1, "zz"), "there is no node zz in the cluster"),
        (
            lambda found: add_nodes(found, 0, "worker-1"),
            "expected a number of nodes from 1 to 100,000, found 0",
        ),
    ],
)
def test_what_is_not_there_is_bad_input(change: object, problem: str) -> None:
    """One line, with the nearest name where there is one."""
    assert callable(change)
    with pytest.raises(InputError) as raised:
        change(cluster(node("worker-1"), pod("p")))
    assert raised.value.problems == (problem,)


def test_a_daemon_pod_that_waits_for_a_node_goes_with_it() -> None:
    """What went wrong: it stayed pending for ever, in a cluster without that node."""
    only_there = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    waits = pod("d-1", owner="DaemonSet/d", cpu="9", only_on=[only_there])
    found = cluster(node("n1"), node("n2"), waits, pod("other", cpu="9", only_on=[only_there]))
    assert [item.name for item in remove_nodes(found, "n1").pods] == ["other"]
    assert len(remove_nodes(found, "n2").pods) == 2
