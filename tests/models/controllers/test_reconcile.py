"""What controllers make of a changed cluster, and what they look at in a pod when they choose."""

from dataclasses import replace

import pytest

from models import Cluster, InputError
from models.controllers.reconcile import reconcile, workloads_of
from models.objects.affinity import REQUIRED
from tests.builders import priority_class
from tests.models.manifests import Object, node, pod, reference, workload


def statused(name: str, **status: object) -> Object:
    """A pod with this status."""
    found = pod(name)
    found["status"] |= status
    return found


def test_a_snapshot_that_was_just_read_is_settled() -> None:
    """All kinds of workloads got their pods when they were read, and get no more."""
    kinds = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Job")
    cluster = Cluster.from_objects([node("n1"), *(workload(kind, kind.lower()) for kind in kinds)])
    assert len(cluster.pods) == len(kinds)
    assert reconcile(cluster) == cluster


def test_what_is_lacking_comes() -> None:
    """A pod that is taken out is made again by its controller, with the class's priority."""
    owner = workload("ReplicaSet", "web", replicas=2)
    owner["spec"]["template"]["spec"]["priorityClassName"] = "gold"
    cluster = Cluster.from_objects([priority_class("gold", 7), node("n1"), owner])
    left = replace(cluster, pods=cluster.pods[:1])
    assert [item.key for item in reconcile(left).pods] == ["default/web-1", "default/web-2"]
    assert [item.priority for item in reconcile(left).pods] == [7, 7]


def test_what_went_comes_back_as_it_was() -> None:
    """The pod that is made takes after the one that left, if it is handed over."""
    owner = workload("ReplicaSet", "web", replicas=1)
    running = pod("web-x", owner, nodeName="n1")
    running["metadata"]["labels"] = {"app": "web", "added": "by admission"}
    cluster = Cluster.from_objects([node("n1"), owner, running])
    left = replace(cluster, pods=())
    assert [item.metadata.labels for item in reconcile(left).pods] == [{"app": "web"}]
    (back,) = reconcile(left, cluster.pods).pods
    assert (back.name, back.metadata.labels["added"]) == ("web-1", "by admission")
    assert (back.node_name, back.status.phase) == (None, "Pending")
    owner["spec"]["template"]["spec"]["nodeName"] = "n1"
    cluster = Cluster.from_objects([node("n1"), owner, running])
    (back,) = reconcile(replace(cluster, pods=()), cluster.pods).pods
    assert back.node_name == "n1", "no scheduler is asked"


@pytest.mark.parametrize(
    ("strategy", "large"),
    [
        ({"type": "OnDelete"}, True),
        ({"type": "RollingUpdate"}, True),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, False),
    ],
)
def test_what_a_stateful_set_makes_from_a_newer_revision(strategy: Object, large: bool) -> None:
    """What went wrong: the pod of an older revision came back, small as it was, and had a node."""
    owner = workload("StatefulSet", "db", replicas=1, updateStrategy=strategy)
    owner["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    owner["status"] = {"currentRevision": "db-1", "updateRevision": "db-2"}
    running = pod("db-0", owner, nodeName="n1")
    running["metadata"]["labels"] = {"app": "db", "controller-revision-hash": "db-1"}
    cluster = Cluster.from_objects([node("n1"), owner, running])
    (back,) = reconcile(replace(cluster, pods=()), cluster.pods).pods
    assert ("cpu" in back.spec.containers[0].resources.requests) is large
    assert back.metadata.labels["controller-revision-hash"] == ("db-2" if large else "db-1")


def test_what_went_is_not_narrowed_any_more() -> None:
    """Gates and node affinity are the template's; other affinity stays, as admission may have added it."""
    owner = workload("ReplicaSet", "web", replicas=1)
    owner["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    apart = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}]
    only = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    running = pod("web-x", owner, nodeName="n1")
    running["spec"]["affinity"] = {
        "podAntiAffinity": {REQUIRED: apart},
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": only}},
    }
    cluster = Cluster.from_objects([node("n1"), owner, running])
    (back,) = reconcile(replace(cluster, pods=()), cluster.pods).pods
    assert [gate.name for gate in back.spec.scheduling_gates] == ["example.com/quota"]
    assert back.spec.affinity is not None
    assert back.spec.affinity.node_affinity is None
    assert back.spec.affinity.pod_anti_affinity == cluster.pods[0].spec.affinity.pod_anti_affinity  # type: ignore[union-attr]


def test_who_decides_on_a_pod() -> None:
    """The Deployment over its ReplicaSet; a controller of another uid is another controller."""
    deployment, replica_set = workload("Deployment", "web"), workload("ReplicaSet", "web-1")
    replica_set["metadata"]["ownerReferences"] = [reference(deployment)]
    impostor = reference(replica_set) | {"uid": "another"}
    stranger = pod("stranger")
    stranger["metadata"]["ownerReferences"] = [impostor]
    objects = [deployment, replica_set, pod("web-1-x", replica_set), pod("bare"), stranger]
    cluster = Cluster.from_objects(objects)
    workloads = workloads_of(cluster)
    pods = {item.name: item for item in cluster.pods}
    above = workloads.above(pods["web-1-x"])
    assert above is not None
    assert (above.kind, above.name) == ("Deployment", "web")
    assert workloads.above(pods["bare"]) is None
    assert workloads.above(pods["stranger"]) is None


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("-0", 0),
        ("-07", -7),
        ("+5", 0),
        ("05", 0),
        ("5.0", 0),
        ("", 0),
        ("2147483647", 2**31 - 1),
        ("2147483648", 0),
        ("-2147483648", -(2**31)),
        ("-2147483649", 0),
        ("\u0665", 0),
    ],
)
def test_the_deletion_cost_is_read_as_the_controller_manager_does(text: str, cost: int) -> None:
    """A 32-bit number without plus sign or leading zeros; everything else is 0."""
    found = pod("p")
    found["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": text}
    assert Cluster.from_objects([found]).pods[0].deletion_cost == cost


def test_readiness_and_restarts_are_read() -> None:
    """Since when a pod is ready, and the most restarts of one container."""
    since = "2025-01-01T00:00:00Z"
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True", "lastTransitionTime": since},
    ]
    containers = [{"name": "a", "restartCount": 2}, {"name": "b", "restartCount": 5}]
    ready = statused("ready", conditions=conditions, containerStatuses=containers)
    sick = statused("sick", conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": since}])
    first, second, third = Cluster.from_objects([ready, sick, pod("silent")]).pods
    assert (first.is_ready, first.restarts) == (True, (5, 0))
    assert first.ready_since is not None
    assert first.ready_since.isoformat() == "2025-01-01T00:00:00+00:00"
    assert (second.is_ready, second.ready_since, second.restarts) == (False, None, (0, 0))
    assert (third.is_ready, third.ready_since, third.restarts) == (False, None, (0, 0))


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (
            {"containerStatuses": [{"name": "a", "restartCount": "2"}]},
            "status.containerStatuses[0].restartCount: expected a whole number, found '2'",
        ),
        (
            {"initContainerStatuses": {"name": "a"}},
            "status.initContainerStatuses: expected a list, found a map",
        ),
    ],
)
def test_a_broken_status_is_refused(status: Object, problem: str) -> None:
    """As strictly as everything else."""
    with pytest.raises(InputError) as raised:
        Cluster.from_objects([statused("p", **status)])
    assert raised.value.problems == (f"objects, Pod default/p, {problem}",)


def test_a_broken_heartbeat_is_refused() -> None:
    """A node's report carries the time of the snapshot."""
    sick = node("n1")
    sick["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": "yesterday"}]
    with pytest.raises(InputError, match=r"status.conditions\[0\].lastHeartbeatTime: expected a time"):
        Cluster.from_objects([sick])
