"""Workloads contribute the pods that their controllers would create next."""

from typing import Any

import pytest

from models import Cluster
from models.objects.pod import Pod
from tests.models.manifests import Object, node, pod, reference, workload


def new_pods(*objects: Object) -> list[Pod]:
    """The pods that were not among the objects."""
    return [
        item
        for item in Cluster.from_objects(objects).pods
        if item.name not in {each["metadata"]["name"] for each in objects if each["kind"] == "Pod"}
    ]


def names(pods: list[Pod]) -> list[str]:
    """The names of pods."""
    return [item.name for item in pods]


def replica_set(name: str, owner: Object, revision: int, replicas: int = 0) -> Object:
    """A ReplicaSet of a Deployment."""
    made = workload("ReplicaSet", name, replicas=replicas)
    made["spec"]["selector"] = made["spec"]["template"] = None
    made["metadata"] |= {
        "labels": {"pod-template-hash": f"hash{revision}"},
        "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        "ownerReferences": [reference(owner)],
    }
    return made


def test_a_new_deployment_gets_a_stand_in_replica_set() -> None:
    """Its pods carry the hash of the stand-in, which owns them and belongs to the Deployment."""
    cluster = Cluster.from_objects([workload("Deployment", "web", replicas=2)])
    (stand_in,) = cluster.replica_sets
    assert stand_in.metadata.controller is not None
    assert stand_in.metadata.controller.name == "web"
    assert [item.name for item in cluster.pods] == [f"{stand_in.name}-1", f"{stand_in.name}-2"]
    for item in cluster.pods:
        assert item.metadata.labels == {
            "app": "web",
            "pod-template-hash": stand_in.metadata.labels["pod-template-hash"],
        }
        assert item.metadata.controller is not None
        assert item.metadata.controller.uid == stand_in.metadata.uid
        assert stand_in.spec.selector is not None
        assert stand_in.spec.selector.matches(item.metadata.labels)
        assert item.status.phase == "Pending"


def test_expanding_twice_gives_the_same() -> None:
    """Names, hashes and uids depend on the manifests alone."""
    objects = [workload("Deployment", "web", replicas=3), workload("StatefulSet", "db")]
    assert Cluster.from_objects(objects) == Cluster.from_objects(objects)


def test_a_deployment_continues_with_its_newest_replica_set() -> None:
    """The latest revision counts as a number; live pods of all revisions count as replicas."""
    web = workload("Deployment", "web", replicas=4)
    old, new = replica_set("web-old", web, 9, replicas=1), replica_set("web-new", web, 10)
    alive = [pod("a", old), pod("b", new)]
    gone = [pod("c", new, phase="Failed"), pod("d", new)]
    gone[1]["metadata"]["deletionTimestamp"] = "2025-01-31T08:00:00Z"
    made = new_pods(web, old, new, *alive, *gone)
    assert names(made) == ["web-new-1", "web-new-2"]
    assert made[0].metadata.labels["pod-template-hash"] == "hash10"


@pytest.mark.parametrize(
    ("wanted", "paused", "made"),
    [(4, False, ["web-old-1"]), (6, False, ["web-new-1", "web-new-2"]), (4, True, [])],
)
def test_in_a_rolling_update_each_replica_set_makes_up_its_number(
    wanted: int, paused: bool, made: list[str]
) -> None:
    """They were told their numbers, 3 and 2, for 4 replicas with surge: the old one lacks a pod.

    With another number of replicas they will be told others.
    """
    web = workload("Deployment", "web", replicas=wanted)
    web["spec"]["paused"] = paused
    old, new = replica_set("web-old", web, 1, replicas=3), replica_set("web-new", web, 2, replicas=2)
    for item in (old, new):
        item["spec"]["template"] = web["spec"]["template"]
        item["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] = "4"
    alive = [pod("a", old), pod("b", old), pod("c", new), pod("d", new)]
    assert names(new_pods(web, old, new, *alive)) == made


def test_new_names_collide_with_nothing() -> None:
    """A name that a pod has already, whatever owns it, is passed over."""
    made = new_pods(workload("ReplicaSet", "web", replicas=2), pod("web-1"))
    assert names(made) == ["web-2", "web-3"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "StatefulSet", "Job"])
def test_one_replica_is_the_default(kind: str) -> None:
    """A workload without a number wants one pod."""
    assert len(new_pods(workload(kind, "web"))) == 1


@pytest.mark.parametrize(
    "kind", ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"]
)
@pytest.mark.parametrize("template", [None, {"metadata": {"labels": {"app": "web"}}}])
def test_without_a_template_there_are_no_pods(kind: str, template: Object | None) -> None:
    """A workload without a template, or whose template has no containers, contributes nothing."""
    item = workload(kind, "web", template=False)
    if template:
        item["spec"]["template"] = template
    assert new_pods(node("n1"), item) == []


def test_a_replica_set_whose_deployment_is_unknown_stands_for_itself() -> None:
    """Only where the snapshot has the Deployment is it asked for the number of replicas."""
    web = workload("Deployment", "web")
    orphan = workload("ReplicaSet", "web-1", replicas=2)
    orphan["metadata"]["ownerReferences"] = [reference(web)]
    assert names(new_pods(orphan)) == ["web-1-1", "web-1-2"]
    assert names(new_pods(orphan, web)) == ["web-1-1"]


def test_a_pod_of_an_earlier_owner_of_the_same_name_does_not_count() -> None:
    """Owners are told apart by uid, as controllers do."""
    web = workload("ReplicaSet", "web")
    other = pod("other", web)
    other["metadata"]["ownerReferences"][0]["uid"] = "an earlier one"
    assert names(new_pods(web, other)) == ["web-1"]


def test_stateful_sets_fill_the_lowest_ordinals() -> None:
    """Missing ordinals come lowest first, counted from `ordinals.start`, with their labels."""
    db = workload("StatefulSet", "db", replicas=3, ordinals={"start": 1})
    running = pod("db-2", db)
    running["metadata"]["labels"] = {"controller-revision-hash": "db-abc"}
    made = new_pods(db, running)
    assert names(made) == ["db-1", "db-3"]
    assert made[1].metadata.labels == {
        "app": "db",
        "statefulset.kubernetes.io/pod-name": "db-3",
        "apps.kubernetes.io/pod-index": "3",
        "controller-revision-hash": "db-abc",
    }


def test_a_missing_ordinal_that_partition_keeps_is_of_the_revision_before() -> None:
    """It had the label of the newest one, and was counted among its pods."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    db = workload("StatefulSet", "db", replicas=2, updateStrategy=rolling)
    db["status"] = {"currentRevision": "db-old", "updateRevision": "db-new"}
    found = [item.metadata.labels["controller-revision-hash"] for item in new_pods(db)]
    assert found == ["db-old", "db-new"]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_ordinals_that_are_not_wanted_stand_for_none_that_is(policy: str) -> None:
    """The controller makes what is missing before it takes away what is too much, as when `start` changes."""
    db = workload("StatefulSet", "db", replicas=3, ordinals={"start": 2}, podManagementPolicy=policy)
    assert names(new_pods(db, *(pod(f"db-{number}", db) for number in range(3)))) == ["db-3", "db-4"]


def test_pods_that_no_controller_has_numbered_stand_for_missing_ones() -> None:
    """A generated snapshot has as many pods as its set asks for: none is pending, and a note says so."""
    db = workload("StatefulSet", "db", replicas=3)
    running = pod("db-0", db), pod("db-7", db), pod("db-9", db)
    assert names(new_pods(db, *running)) == []
    assert names(new_pods(db, *running[:2])) == ["db-1"]
    assert names(new_pods(db, *running, pod("db-8", db))) == ["db-1", "db-2"], "it has too many"
    (note,) = (one for one in Cluster.from_objects([db, *running]).notes if "StatefulSet" in one)
    assert "(db-7 and 1 more)" in note
    db["status"] = {}
    assert names(new_pods(db, *running)) == ["db-1", "db-2"], "a controller has seen it"


def test_pods_of_other_names_stand_for_no_ordinal() -> None:
    """What went wrong: beside its pod `other-7` the set made a pod `db-7`, which a note told of."""
    db = workload("StatefulSet", "db", replicas=2)
    other = pod("other-7", db)
    assert names(new_pods(db, other)) == ["db-0", "db-1"]
    assert not any("StatefulSet" in one for one in Cluster.from_objects([db, other]).notes)


def test_a_terminating_stateful_pod_keeps_its_name() -> None:
    """The controller cannot create the replacement before the old pod is gone."""
    db = workload("StatefulSet", "db", replicas=2)
    leaving = pod("db-0", db)
    leaving["metadata"]["deletionTimestamp"] = "2025-01-31T08:00:00Z"
    assert names(new_pods(db, leaving)) == ["db-1"]


def test_stateful_pods_bring_their_claims() -> None:
    """Each pod mounts its own claim; claims that are missing are added, unbound."""
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    db = workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=[claim])
    kept = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-0"},
        "spec": {"volumeName": "pv-7"},
    }
    cluster = Cluster.from_objects([db, kept])
    first = cluster.pods[0].spec.volumes[0]
    assert first.persistent_volume_claim is not None
    assert first.persistent_volume_claim.claim_name == "data-db-0"
    assert [
        (item.name, item.spec.volume_name, item.spec.storage_class_name)
        for item in cluster.persistent_volume_claims
    ] == [("data-db-0", "pv-7", None), ("data-db-1", "", "fast")]


def test_ephemeral_volumes_bring_their_claims() -> None:
    """A generic ephemeral volume's claim is named after pod and volume."""
    web = workload("ReplicaSet", "web")
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeName": "v"}}}}
    web["spec"]["template"]["spec"]["volumes"] = [volume]
    cluster = Cluster.from_objects([web])
    assert [item.key for item in cluster.persistent_volume_claims] == ["default/web-1-tmp"]


def test_daemons_run_on_every_node_that_fits() -> None:
    """Taints that the controller tolerates do not matter, others do; a served node is left out."""
    log = workload("DaemonSet", "log")
    log["spec"]["template"]["spec"]["nodeSelector"] = {"os": "linux"}
    unschedulable = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    nodes = [
        node("served", os="linux"),
        node("plain", os="linux"),
        node("cordoned", [unschedulable], os="linux"),
        node("tainted", [{"key": "gpu", "effect": "NoSchedule"}], os="linux"),
        node("preferred", [{"key": "gpu", "effect": "PreferNoSchedule"}], os="linux"),
        node("windows", os="windows"),
    ]
    made = new_pods(log, *nodes, pod("log-x", log, nodeName="served"))
    wanted = []
    for item in made:
        assert item.spec.affinity is not None
        assert item.spec.affinity.node_affinity is not None
        assert item.spec.affinity.node_affinity.required is not None
        (term,) = item.spec.affinity.node_affinity.required.node_selector_terms
        wanted += [field.values[0] for field in term.match_fields]
    assert wanted == ["plain", "cordoned", "preferred"]


@pytest.mark.parametrize(("share", "made"), [(0, 0), ("0%", 0), (1, 1), ("10%", 1)])
def test_a_daemon_pod_that_is_terminating_keeps_its_node(share: int | str, made: int) -> None:
    """The next one was made beside it, and found its room taken; with maxSurge that is so."""
    log = workload("DaemonSet", "log", updateStrategy={"rollingUpdate": {"maxSurge": share}})
    leaving = pod("log-x", log, nodeName="n1")
    leaving["metadata"]["deletionTimestamp"] = "2025-01-31T08:00:00Z"
    assert len(new_pods(log, node("n1"), leaving)) == made


def test_a_pending_daemon_pod_serves_its_node() -> None:
    """A daemon pod is known by its affinity before it is bound."""
    log, item = workload("DaemonSet", "log"), node("n1")
    (made,) = new_pods(log, item)
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    waiting = pod("log-x", log, phase="Pending", affinity={"nodeAffinity": required})
    assert made.name == "log-1"
    assert new_pods(log, item, waiting) == []


@pytest.mark.parametrize(
    ("spec", "status", "count"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"parallelism": 3, "completions": 2}, {}, 2),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 4}, 1),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 5}, 0),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3, "managedBy": "kueue.x-k8s.io/multikueue"}, {}, 0),
        ({"parallelism": 3, "managedBy": "kubernetes.io/job-controller"}, {}, 3),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "False"}]}, 3),
    ],
)
def test_jobs(spec: Object, status: Object, count: int) -> None:
    """As many pods as may run at a time, and no more than successes are still missing."""
    job = workload("Job", "sum", **spec) | {"status": status}
    made = new_pods(job)
    assert len(made) == count
    assert all(item.metadata.labels["batch.kubernetes.io/job-name"] == "sum" for item in made)


def test_a_job_of_another_controller_is_named() -> None:
    """Nothing here says whether and where it makes pods; of one that has ended there is nothing to say."""
    item = workload("Job", "sums", parallelism=3, managedBy="kueue.x-k8s.io/multikueue")
    note = "Job default/sums is managed by kueue.x-k8s.io/multikueue: no pods are made for it here"
    assert Cluster.from_objects([item]).notes == (note,)
    ended = {**item, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert not Cluster.from_objects([ended]).notes


def test_running_pods_of_a_job_count() -> None:
    """Active pods are deducted, finished ones are not; a success is one completion less."""
    job = workload("Job", "sum", parallelism=3, completions=4)
    pods = [pod("a", job), pod("b", job, phase="Succeeded"), pod("c", job, phase="Failed")]
    assert names(new_pods(job, *pods)) == ["sum-1", "sum-2"]


def test_indexed_jobs_continue_with_free_indexes() -> None:
    """Indexes that are done or under way are left out."""
    job = workload("Job", "sum", parallelism=9, completions=6, completionMode="Indexed")
    job["status"] = {"succeeded": 3, "completedIndexes": "0,2-3"}
    running = pod("sum-1-x", job)
    running["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "1"}
    assert names(new_pods(job, running)) == ["sum-4-1", "sum-5-1"]


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ({}, ["sum-0-1", "sum-1-1"]),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, ["sum-0-1", "sum-1-1"]),
        ({"podReplacementPolicy": "Failed"}, ["sum-1-1"]),
        ({"podFailurePolicy": {"rules": []}}, ["sum-1-1"]),
    ],
)
def test_a_job_may_wait_for_the_end_of_a_pod(spec: Object, made: list[str]) -> None:
    """Until it has ended no other comes for it, nor for its index."""
    job = workload("Job", "sum", parallelism=2, completions=4, completionMode="Indexed", **spec)
    leaving = pod("sum-0-x", job)
    leaving["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "0"}
    leaving["metadata"]["deletionTimestamp"] = "2025-01-31T08:00:00Z"
    assert names(new_pods(job, leaving)) == made


def test_indexes_that_failed_for_good_are_not_tried_again() -> None:
    """Observed on a control plane of 1.36: with backoffLimitPerIndex 0 the next free index comes instead."""
    job = workload(
        "Job", "sum", parallelism=2, completions=4, completionMode="Indexed", backoffLimitPerIndex=0
    )
    job["status"] = {"failed": 1, "failedIndexes": "0"}
    assert names(new_pods(job)) == ["sum-1-1", "sum-2-1"]


def test_new_pods_get_what_admission_adds() -> None:
    """Tolerations for unwell nodes, and matchLabelKeys merged into the affinity's selector."""
    web = workload("Deployment", "web", replicas=1)
    term: dict[str, Any] = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
        "mismatchLabelKeys": ["app", "gone"],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    web["spec"]["template"]["spec"]["affinity"] = {"podAntiAffinity": required}
    (made,) = new_pods(web)
    assert [item.key for item in made.spec.tolerations] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert made.spec.affinity is not None
    assert made.spec.affinity.pod_anti_affinity is not None
    (merged,) = made.spec.affinity.pod_anti_affinity.required
    assert merged.label_selector is not None
    assert merged.label_selector.requirements == (
        ("app", "In", ("web",)),
        ("app", "NotIn", ("web",)),
        ("pod-template-hash", "In", (made.metadata.labels["pod-template-hash"],)),
    )
