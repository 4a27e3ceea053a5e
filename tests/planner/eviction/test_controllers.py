"""Controllers that wait, roll out or are gone: why they would not recreate an evicted pod at once."""

from typing import Any

import pytest

from models.sharing.kept import kept
from planner import check, drain, rebalance, solve
from planner.eviction.controllers import (
    BOUND,
    DELETED,
    EMPTIED,
    EPHEMERAL,
    GONE,
    JOB_ELSEWHERE,
    ROLLED_OUT,
    SURPLUS,
    UNSEEN,
    Controllers,
)
from planner.eviction.ordinals import NOT_WANTED, OTHER_REVISION, WAITS
from planner.eviction.replacements import OTHER_AFFINITY
from planner.problem.problem import Problem
from tests.builders import LONG_AGO, ZONE, Object, cluster, node, pod, revision, scaled, spread, workload
from tests.planner.eviction.jobs import job, of_job

READY = [{"type": "Ready", "status": "True"}]
UNREADY = [{"type": "Ready", "status": "False"}]
_STAYS = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
ORIGIN = {"apiVersion": "planner/v1alpha1", "kind": "SnapshotOrigin", "cluster": "c"}


def reasons(*objects: Object) -> list[str]:
    """For every pod of a cluster, in order, why it stays."""
    problem = Problem(cluster(node("n1"), *objects))
    controllers = Controllers(problem)
    return [controllers.why_not(number) for number in range(len(problem.pods))]


def numbered(ordinal: int, on: str = "n1", **words: Any) -> Object:
    """A running pod of the StatefulSet w."""
    return pod(f"w-{ordinal}", on, owner="StatefulSet/w", **{"conditions": READY, "app": "w", **words})


def stateful(replicas: int = 3, status: Object | None = None, **spec: Any) -> Object:
    """The StatefulSet w, without a template."""
    found = workload("StatefulSet", "w")
    return {**found, "spec": {**found["spec"], "replicas": replicas, **spec}, "status": status or {}}


def test_a_job_of_another_controller() -> None:
    """Whether that makes pods again is not known; where Kubernetes' own is named, it is as without."""
    pods = [of_job(f"sums-{n}", "n1") for n in range(3)]
    assert reasons(job(managedBy="example.com/mine"), *pods) == [JOB_ELSEWHERE] * 3
    assert reasons(job(managedBy="kubernetes.io/job-controller"), *pods) == reasons(job(), *pods)
    plan = drain(cluster(node("n1"), job(managedBy="example.com/mine"), *pods), ["n1"])
    assert plan.after.pending == 0
    assert any(JOB_ELSEWHERE in note for note in plan.notes)


def test_an_ephemeral_volume_does_not_move_along() -> None:
    """What the claim of the old pod is bound to says nothing about where the next pod may run."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    scratch = {"name": "data", "ephemeral": {"volumeClaimTemplate": template}}
    pods = [pod("a", "n1", owner="ReplicaSet/a", volumes=[scratch]), pod("b", "n1", owner="ReplicaSet/b")]
    assert reasons(*pods) == [EPHEMERAL, ""]


def test_ordered_ready_waits_for_lower_ordinals() -> None:
    """The unready pod and those below it may be evicted; the one above would not be recreated."""
    pods = [numbered(0), numbered(1, conditions=UNREADY), numbered(2)]
    assert reasons(stateful(), *pods) == ["", "", WAITS]
    assert reasons(*pods) == ["", "", WAITS], "it is the default, also where the set is not known"
    assert reasons(stateful(podManagementPolicy="Parallel"), *pods) == ["", "", ""]
    assert reasons(*pods[1:]) == ["", WAITS], "where it is not known, nor is which ordinal is its first"


@pytest.mark.parametrize("first", [(), (numbered(0, gone=True),), (numbered(0, on="", conditions=[]),)])
def test_a_lower_ordinal_that_is_missing_ending_or_pending(first: tuple[Object, ...]) -> None:
    """All of these are waited for; an ordinal below the first one is not."""
    assert reasons(stateful(), *first, numbered(1), numbered(2))[-2:] == [WAITS, WAITS]
    assert reasons(stateful(2, ordinals={"start": 1}), numbered(1), numbered(2)) == ["", ""]


def test_an_ordinal_that_is_not_wanted_any_more() -> None:
    """A pod above the replicas or below the start is not recreated."""
    assert reasons(stateful(2), *(numbered(n) for n in range(3))) == ["", "", NOT_WANTED]
    found = reasons(stateful(2, ordinals={"start": 1}), *(numbered(n) for n in range(3)))
    assert found == [NOT_WANTED, "", ""]
    found = reasons(stateful(2, podManagementPolicy="Parallel"), numbered(1), numbered(2))
    assert found == ["", NOT_WANTED], "what is missing is made whether or not it goes"
    generated = {key: value for key, value in stateful(2).items() if key != "status"}
    assert reasons(generated, numbered(1), numbered(5)) == ["", ""], "no controller has numbered these"


def test_a_stateful_set_that_is_rolled_out_makes_pods_from_the_new_revision() -> None:
    """Unless `partition` keeps the ordinal at the old revision; OnDelete updates every evicted pod."""
    status = {"currentRevision": "w-1", "updateRevision": "w-2"}
    old, new = {"controller-revision-hash": "w-1"}, {"controller-revision-hash": "w-2"}
    pods = [numbered(0, labels=old), numbered(1, labels=old), numbered(2, labels=new)]
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    assert reasons(stateful(status=status), *pods) == [OTHER_REVISION, OTHER_REVISION, ""]
    assert reasons(stateful(status=status, updateStrategy=strategy), *pods) == ["", OTHER_REVISION, ""]
    found = reasons(stateful(status=status, updateStrategy={"type": "OnDelete"}), *pods)
    assert found == [OTHER_REVISION, OTHER_REVISION, ""]


def replicas(owner: str = "web", many: int = 2, **words: Any) -> list[Object]:
    """Running pods of a ReplicaSet."""
    return [pod(f"{owner}-{n}", "n1", owner=f"ReplicaSet/{owner}", app="web", **words) for n in range(many)]


def replica_set(name: str = "web", many: int = 2, **metadata: Any) -> Object:
    """A ReplicaSet that wants so many pods."""
    found = workload("ReplicaSet", name, **metadata)
    return {**found, "spec": {**found["spec"], "replicas": many}}


def test_a_controller_that_is_gone() -> None:
    """A controller is known to be gone only where others of its kind were read in its namespace."""
    assert reasons(*replicas()) == ["", ""]
    assert reasons(replica_set("api", 0), *replicas()) == [GONE, GONE]
    assert reasons(replica_set("api", 0, namespace="other"), *replicas()) == ["", ""]
    assert reasons(ORIGIN, replica_set("api", 0, namespace="other"), *replicas()) == [GONE, GONE]
    assert reasons(stateful(0), *replicas()) == ["", ""]
    assert reasons(replica_set("api", 0, uid=""), *replicas()) == ["", ""], "a manifest is no evidence"


def test_a_replica_set_that_is_made_up_for_a_manifest_is_no_evidence() -> None:
    """A Deployment without a ReplicaSet gets one here; the cluster itself had none."""
    assert reasons(scaled("Deployment", "api", 1), *replicas())[:2] == ["", ""]


def test_a_controller_that_was_recreated_or_is_being_deleted() -> None:
    """Another controller of the same name does not recreate the pods."""
    assert reasons(replica_set(uid="later"), *replicas()) == [GONE, GONE]
    assert reasons(replica_set(deletionTimestamp=LONG_AGO), *replicas()) == [DELETED, DELETED]


def test_a_replica_set_with_more_pods_than_it_wants() -> None:
    """An evicted surplus pod is not recreated; terminating pods do not count."""
    assert reasons(replica_set(many=1), *replicas()) == [SURPLUS, SURPLUS]
    ending = pod("web-x", "n1", owner="ReplicaSet/web", app="web", gone=True)
    assert reasons(replica_set(), *replicas(), ending) == ["", "", ""]


def deployed(deployment: dict[str, Any], **status: Any) -> list[Object]:
    """A Deployment with two revisions, and a pod of each."""
    found = scaled("Deployment", "web", 2)
    found = {**found, "metadata": {**found["metadata"], **deployment}, "status": status}
    old, new = revision(found, 1), revision(found, 2)
    for item in (old, new):
        item["spec"]["replicas"] = 1
    return [found, old, new, *replicas("web-r1", 1), *replicas("web-r2", 1)]


def test_a_deployment_that_is_rolled_out() -> None:
    """The old revision is emptied, the new one recreates its pods; an unobserved change keeps all."""
    assert reasons(*deployed({})) == [EMPTIED, ""]
    assert reasons(*deployed({"generation": 3}, observedGeneration=3)) == [EMPTIED, ""]
    assert reasons(*deployed({"generation": 3}, observedGeneration=2)) == [EMPTIED, UNSEEN]


def test_an_orphaned_replica_set_makes_pods_again() -> None:
    """Its Deployment is gone; it is not."""
    _, _, *rest = deployed({})
    assert reasons(*rest)[-1] == ""


def test_a_daemon_set_that_is_rolled_out() -> None:
    """For policies that evict pods of DaemonSets at all."""
    agent = pod("agent", "n1", owner="DaemonSet/agent", app="agent")
    status = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1}
    assert reasons({**workload("DaemonSet", "agent"), "status": status}, agent) == [ROLLED_OUT]


def test_rebalance_gives_the_reason() -> None:
    """w-1 could repair the spread, but would not be recreated before w-0 is ready."""
    words: dict[str, Any] = {"spread": [spread(app="w")]}
    pods = [numbered(0, "a1", conditions=UNREADY, **words), *(numbered(n, "a1", **words) for n in (1, 2))]
    objects = [node("a1", zone="a"), node("b1", zone="b"), stateful(), *pods]
    plan = rebalance(cluster(*objects))
    assert [step.pod for step in plan.steps] == ["default/w-0"]
    bound = [{**item, "metadata": {**item["metadata"], "annotations": {}}} for item in pods]
    bound[0]["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    plan = rebalance(cluster(*objects[:3], *bound))
    assert (plan.steps, plan.stays[WAITS]) == ((), 2)


def test_a_drain_tells_what_does_not_come_back() -> None:
    """A pod whose controller is gone is not replaced; another may have to wait."""
    given = cluster(node("n1"), node("n2"), replica_set("api", 0), *replicas(many=1))
    plan = drain(given, ["n1"])
    assert [row.lands for step in plan.steps for row in step.evictions] == [None]
    assert plan.notes == (f"default/web-0, {GONE}: may not come back as it was",)
    given = cluster(node("n1"), node("n2"), stateful(), numbered(0, "n2", conditions=UNREADY), numbered(1))
    assert f"default/w-1, {WAITS}: may not come back as it was" in drain(given, ["n1"]).notes


@pytest.mark.parametrize(("management", "evictions"), [("OrderedReady", 1), ("Parallel", 2)])
def test_solve_evicts_one_pod_of_an_ordered_set(management: str, evictions: int) -> None:
    """Two pods would have to move, and the second is recreated only when the first is ready on its node."""
    pods = [numbered(n, f"n{n + 1}", cpu="2") for n in range(2)]
    nodes = [node("n1"), node("n2"), node("n3", cpu="2"), node("n4", cpu="2")]
    waiting = [pod(f"big-{n}", cpu="4") for n in range(2)]
    given = cluster(*nodes, stateful(2, podManagementPolicy=management), *pods, *waiting)
    plan = solve(given, allow_moves=True)
    assert sum(step.action == "evict" for step in plan.steps) == evictions


def test_a_snapshot_keeps_what_decides_about_controllers() -> None:
    """The reasons are the same from objects reduced to the fields that are read."""
    status = {"currentRevision": "w-1", "updateRevision": "w-2", "observedGeneration": 2}
    one = {**stateful(1, status=status), "metadata": {"name": "w", "uid": "w", "generation": 2}}
    labels = {"controller-revision-hash": "w-1"}
    objects = [one, numbered(0, labels=labels), *deployed({"generation": 3}, observedGeneration=2)]
    assert reasons(*map(kept, objects)) == reasons(*objects) == [OTHER_REVISION, EMPTIED, UNSEEN]


def test_what_a_pin_has_left_is_no_claim_about_the_next_pod() -> None:
    """What went wrong: a move was called impossible that the template allows, and proved to be.

    Both pods were made while their ReplicaSet was pinned to n1.
    """
    owner = scaled("ReplicaSet", "web", 2)
    pinned = {"only_on": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    words: dict[str, Any] = {"app": "web", "owner": owner}
    words["spread"] = [spread(ZONE, 1, "web", nodeAffinityPolicy="Ignore")]
    objects = [owner, *(pod(f"web-{n}", "n1", **words, **pinned) for n in range(2))]
    assert reasons(*objects) == [OTHER_AFFINITY] * 2
    plan = rebalance(cluster(node("n1", "a"), node("b1", "b"), *objects))
    assert plan.stays == {OTHER_AFFINITY: 2}


def test_a_pod_that_a_move_has_pinned_moves_as_its_template_lets_it() -> None:
    """What went wrong: its node was its own for good.  The other pod, which is as its template, stays."""
    owner = scaled("ReplicaSet", "web", 2)
    words: dict[str, Any] = {"app": "web", "owner": owner, "spread": [spread(ZONE, 1, "web")]}
    pinned = {"only_on": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    loose = pod("web-0", "n1", annotations={_STAYS: ""}, **words)
    found = cluster(node("n1", "a"), node("b1", "b"), owner, loose, pod("web-1", "n1", **words, **pinned))
    assert check(found).violations == 1
    plan = rebalance(found)
    assert ([step.pod for step in plan.steps], plan.status) == (["default/web-1"], "Optimal")
    assert (plan.before.hard_excess, plan.after.hard_excess) == (1, 0)


def test_a_controller_that_sets_node_affinity_itself_is_not_taken_for_a_pin() -> None:
    """Pods of a DaemonSet are bound to their node by one; a template with the same affinity is the pods'."""
    own = {"only_on": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    daemons = workload("DaemonSet", "logs")
    assert reasons(daemons, pod("logs-1", "n1", owner=daemons, app="logs", **own)) == [""]
    owner = scaled("ReplicaSet", "web", 1)
    made = pod("web-0", "n1", owner=owner, app="web", **own)
    owner["spec"]["template"]["spec"]["affinity"] = made["spec"]["affinity"]
    assert reasons(owner, made) == [""]


def test_a_pod_whose_template_names_its_node_is_not_moved() -> None:
    """What went wrong: it was evicted for a node in another zone, and was on its own again at once."""
    owner = scaled("ReplicaSet", "web", 2)
    words: dict[str, Any] = {"app": "web", "owner": owner, "spread": [spread(ZONE, 1, "web")]}
    pods = [pod(f"web-{n}", "n1", **words) for n in range(2)]
    owner["spec"]["template"]["spec"]["nodeName"] = "n1"
    assert reasons(owner, *pods) == [BOUND] * 2
    plan = rebalance(cluster(node("n1", "a"), node("b1", "b"), owner, *pods))
    assert (plan.stays, plan.steps) == ({BOUND: 2}, ())
