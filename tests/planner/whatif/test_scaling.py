"""Workloads that are scaled, and pods that are deleted."""

import pytest

from models import InputError
from models.cluster import Cluster
from planner import simulate
from planner.whatif import delete_pod, scale
from tests.builders import Object, cluster, node, pod, replica, revision, scaled

WEB = scaled("Deployment", "web", 2)
RUNNING = (WEB, revision(WEB), *(replica(revision(WEB), f"web-{name}", "n1") for name in "ab"))


def names(found: Cluster) -> list[str]:
    """The pods, in their order."""
    return [item.name for item in found.pods]


def test_a_deployment_grows_by_pods_of_its_newest_replica_set() -> None:
    """Pending, with the hash of the ReplicaSet; what runs is left alone."""
    snapshot = cluster(node("n1"), *RUNNING)
    found = scale(snapshot, "deployment/web", 4)
    assert found.pods[:2] == snapshot.pods
    assert names(found)[2:] == ["web-r1-1", "web-r1-2"]
    assert {item.metadata.labels["pod-template-hash"] for item in found.pods} == {"r1"}
    assert (found.deployments[0].spec.replicas, snapshot.deployments[0].spec.replicas) == (4, 2)


def test_a_new_deployment_grows_from_nothing() -> None:
    """One that was at zero gets its ReplicaSet with its first pods."""
    snapshot = cluster(node("n1"), scaled("Deployment", "web", 0))
    assert (snapshot.pods, snapshot.replica_sets) == ((), ())
    found = scale(snapshot, "deploy/web", 2)
    (made,) = found.replica_sets
    assert {item.metadata.controller.name for item in found.pods if item.metadata.controller} == {made.name}
    assert len(found.pods) == 2


def test_pending_replicas_go_first() -> None:
    """What was scaled up and never placed is given up again before anything that runs."""
    snapshot = cluster(node("n1"), *RUNNING)
    assert scale(scale(snapshot, "deploy/web", 9), "deploy/web", 2) == snapshot


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_replicas_without_a_deployment(kind: str) -> None:
    """Both directions, and all the way down."""
    owner = scaled(kind, "web", 2)
    snapshot = cluster(node("n1"), owner, *(replica(owner, f"web-{name}", "n1") for name in "ab"))
    assert names(scale(snapshot, f"{kind}/web", 3)) == ["web-a", "web-b", "web-1"]
    assert names(scale(snapshot, f"{kind}/web", 1)) == ["web-b"]
    assert names(scale(snapshot, f"{kind}/web", 0)) == []


def test_a_stateful_set_grows_by_the_next_ordinals() -> None:
    """With claims of their own."""
    owner = scaled("StatefulSet", "db", 1)
    owner["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
    found = scale(cluster(node("n1"), owner, replica(owner, "db-0", "n1")), "sts/db", 3)
    assert names(found) == ["db-0", "db-1", "db-2"]
    assert [item.name for item in found.persistent_volume_claims] == ["data-db-1", "data-db-2"]


def test_a_stateful_set_that_no_controller_has_numbered_gives_up_its_highest_numbers() -> None:
    """As many as it has too many: not also those of ordinals that it would not have given."""
    owner = scaled("StatefulSet", "db", 4)
    running = [replica(owner, f"db-{number}", "n1") for number in (0, 3, 6, 9)]
    snapshot = cluster(node("n1"), owner, *running)
    assert names(scale(snapshot, "sts/db", 2)) == ["db-0", "db-3"]
    assert names(scale(snapshot, "sts/db", 5)) == ["db-0", "db-3", "db-6", "db-9", "db-1"]
    seen = cluster(node("n1"), {**owner, "status": {}}, *running)
    assert names(scale(seen, "sts/db", 2)) == ["db-0", "db-1"]


@pytest.mark.parametrize(("completions", "pods"), [(None, 1), (2, 2), (9, 3)])
def test_a_jobs_parallelism_is_what_is_scaled(completions: int | None, pods: int) -> None:
    """Never more pods than successes that are wanted: one, where the manifest says nothing at all."""
    owner = scaled("Job", "sums", 1)
    del owner["spec"]["parallelism"]
    if completions:
        owner["spec"]["completions"] = completions
    assert len(scale(cluster(node("n1"), owner), "job/sums", 3).pods) == pods


def test_a_workload_is_found_by_kind_and_name() -> None:
    """kubectl's short and plural kinds in any case; the namespace only where it takes one."""
    other = scaled("Deployment", "api.v1", 1, namespace="shop")
    snapshot = cluster(node("n1"), *RUNNING, other)
    for text in ("Deployment/web", "deploy/web", "DEPLOYMENTS/web", "deployment/web.default"):
        assert len(scale(snapshot, text, 5).pods) == 6
    for text in ("deploy/api.v1", "deploy/api.v1.shop"):
        assert len(scale(snapshot, text, 5).pods) == 7


def test_a_pod_that_is_deleted_is_made_again() -> None:
    """Under another name; a bare one is not, and a note says so."""
    snapshot = cluster(node("n1"), *RUNNING, pod("bare", "n1"))
    assert names(delete_pod(snapshot, "web-a")) == ["web-b", "bare", "web-r1-1"]
    found = delete_pod(snapshot, "default/bare")
    assert names(found) == ["web-a", "web-b"]
    assert found.notes == (
        "delete pod default/bare: 1 pod without a controller, lost for good: default/bare",
    )


def test_a_static_pod_cannot_be_deleted() -> None:
    """Its node starts it again from a file."""
    static = pod("etcd", "n1", annotations={"kubernetes.io/config.mirror": "x"}, owner="Node/n1")
    snapshot = cluster(node("n1"), static)
    found = delete_pod(snapshot, "etcd")
    assert found.pods == snapshot.pods
    assert len(found.notes) == 1


def test_a_daemon_pod_comes_back_to_its_node() -> None:
    """Whether or not its DaemonSet is in the snapshot."""
    daemon = scaled("DaemonSet", "agent", 0)
    running = [replica(daemon, f"agent-{name}", name) for name in ("n1", "n2")]
    for place, item in zip(("n1", "n2"), running, strict=True):
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [place]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        item["spec"]["affinity"] = {"nodeAffinity": required}
    for more in ([daemon], []):
        found = delete_pod(cluster(node("n1"), node("n2"), *more, *running), "agent-n2")
        assert [decision.node for decision in simulate(found).decisions] == ["n2"]


PROBLEMS = [
    ("web", "web: expected KIND/NAME or KIND/NAME.NAMESPACE, the kind one of "),
    ("pod/web", "pod/web: expected KIND/NAME or "),
    ("deploy/", "deploy/: expected KIND/NAME or "),
    ("deploy/web.shop", "there is no Deployment web.shop in the cluster"),
    ("sts/web", "there is no StatefulSet web in the cluster"),
    ("sts/db", "of StatefulSet db there is only what it owns in the snapshot: add the StatefulSet itself"),
    ("sts/db.default", "of StatefulSet db.default there is only what it owns in the snapshot: add the "),
    ("sts/db.shop", "there is no StatefulSet db.shop in the cluster"),
    ("rs/web-r1", "ReplicaSet default/web-r1 belongs to Deployment default/web: scale that"),
    ("ds/agent", "DaemonSet default/agent has a pod on every node that fits, not a number of them"),
    ("deploy/twice", "twice: there is a Deployment of this name in several namespaces: default, shop"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_what_cannot_be_scaled_is_bad_input(text: str, problem: str) -> None:
    """One line that says what was expected."""
    twice = [scaled("Deployment", "twice", 0, namespace=name) for name in ("shop", "default")]
    orphan = pod("db-0", "n1", owner="StatefulSet/db")
    snapshot = cluster(node("n1"), *RUNNING, orphan, scaled("DaemonSet", "agent", 0), *twice)
    with pytest.raises(InputError) as raised:
        scale(snapshot, text, 3)
    (found,) = raised.value.problems
    assert found.startswith(problem)


@pytest.mark.parametrize("number", [-1, 200_001])
def test_absurd_numbers_are_refused(number: int) -> None:
    """Before any pod is made."""
    with pytest.raises(InputError, match="expected a number of replicas from 0 to 200,000"):
        scale(cluster(node("n1"), *RUNNING), "deploy/web", number)


def test_without_a_template_nothing_grows() -> None:
    """And without one it can still shrink."""
    owner: Object = {**WEB, "spec": {"replicas": 2, "selector": WEB["spec"]["selector"]}}
    current = revision(WEB)
    current["spec"]["template"] = None
    snapshot = cluster(node("n1"), owner, current, *RUNNING[2:])
    assert len(scale(snapshot, "deploy/web", 1).pods) == 1
    with pytest.raises(InputError, match="has no pod template with containers to make pods from"):
        scale(snapshot, "deploy/web", 3)


def test_a_pod_of_an_unknown_class_is_not_created() -> None:
    """At reading nothing had to be made; the Deployment itself may name a class that is not there."""
    owner = scaled("Deployment", "web", 0, priorityClassName="gold")
    found = scale(cluster(node("n1"), owner), "deploy/web", 1)
    assert [pod.refusal for pod in found.pods] == ["forbidden: no PriorityClass with name gold was found"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("zz", "there is no pod zz in the cluster"),
        ("shop/web-a", "there is no pod shop/web-a in the cluster"),
        ("same", "same: there is a pod of this name in several namespaces: default, shop"),
    ],
)
def test_a_pod_that_is_not_there_is_bad_input(text: str, problem: str) -> None:
    """One line, with the nearest name where there is one."""
    same = [pod("same", "n1", namespace=name) for name in ("shop", "default")]
    with pytest.raises(InputError) as raised:
        delete_pod(cluster(node("n1"), *RUNNING, *same), text)
    assert raised.value.problems[0].startswith(problem)
