"""Rollouts, CloneSets and OpenKruise's StatefulSets: read as the built-in workloads that they are like."""

from typing import Any

import pytest

from models import Cluster, InputError
from planner import capacity, drain, rebalance, rollout, scale_down, simulate, solve
from planner.eviction.controllers import BETWEEN, CLONES_ROLLED_OUT, UNSEEN, Controllers
from planner.problem.problem import Problem
from planner.simulation.rollout import trajectory
from planner.whatif import scale
from tests.builders import LONG_AGO, Object, cluster, node, pod, scaled, spread

ARGO, KRUISE = "argoproj.io/v1alpha1", "apps.kruise.io/v1alpha1"
HASH = "rollouts-pod-template-hash"
READY = [{"type": "Ready", "status": "True"}]


def custom(
    kind: str, name: str, replicas: int, api: str, status: Object | None = None, **spec: Any
) -> Object:
    """A workload with a template of one container that is spread over zones."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name, cpu="1", spread=[spread(app=name)])["spec"]}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": LONG_AGO},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
        "status": status or {},
    }


def owned(owner: Object, name: str, on: str, **labels: str) -> Object:
    """A running pod of a workload's template."""
    found = pod(name, on, created=LONG_AGO, conditions=READY, labels={"app": "web", **labels})
    found["spec"] = {**owner["spec"]["template"]["spec"], "nodeName": on}
    return found | {"metadata": found["metadata"] | {"ownerReferences": [reference(owner)]}}


def reference(owner: Object) -> Object:
    """The reference to a controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }


def canary(weight: int = 20) -> Object:
    """A Rollout's strategy."""
    return {"canary": {"steps": [{"setWeight": weight}, {"pause": {}}], "maxSurge": "25%"}}


def sets_of(owner: Object, *sizes: int) -> list[Object]:
    """The ReplicaSets of a Rollout, one a revision, with so many replicas."""
    found = []
    for number, size in enumerate(sizes, start=1):
        labels = {"app": "web", HASH: f"r{number}"}
        template = owner["spec"]["template"] | {"metadata": {"labels": labels}}
        metadata = {
            "name": f"web-r{number}",
            "namespace": "default",
            "uid": f"web-r{number}",
            "labels": labels,
            "annotations": {"rollout.argoproj.io/revision": str(number)},
            "ownerReferences": [reference(owner)],
        }
        spec = {"replicas": size, "selector": {"matchLabels": labels}, "template": template}
        found.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
    return found


def zones() -> list[Object]:
    """Two nodes, each in a zone of its own."""
    return [node("a1", "a"), node("b1", "b")]


def new_pods(found: Cluster) -> list[str]:
    """The names of the pods that are yet to be made."""
    return [item.name for item in found.pods if item.metadata.creation_timestamp is None]


def reasons(*objects: Object) -> list[str]:
    """For every pod of a cluster why it stays."""
    problem = Problem(cluster(*zones(), *objects))
    return [Controllers(problem).why_not(number) for number in range(len(problem.pods))]


def test_a_rollout_gets_the_pods_that_it_lacks() -> None:
    """By its newest ReplicaSet, with the hash label of Argo Rollouts; without one, by a stand-in."""
    web = custom("Rollout", "web", 3, ARGO, {"observedGeneration": "2"}, strategy=canary())
    old, new = sets_of(web, 0, 3)
    found = cluster(*zones(), web, old, new, owned(new, "web-r2-x", "a1"))
    assert new_pods(found) == ["web-r2-1", "web-r2-2"]
    assert {item.metadata.labels[HASH] for item in found.pods[1:]} == {"r2"}
    fresh = cluster(*zones(), web)
    assert len(new_pods(fresh)) == 3
    assert all(HASH in item.metadata.labels for item in fresh.pods)
    assert not any("pod-template-hash" in item.metadata.labels for item in fresh.pods)
    assert fresh.notes == ()
    placed = simulate(fresh)
    assert sorted(item.node or "" for item in placed.decisions) == ["a1", "a1", "b1"]
    assert solve(fresh).unplaced == ()


def test_a_rollout_between_two_revisions_keeps_both() -> None:
    """Each ReplicaSet makes what it lacks: blue beside green are twice as many pods as the Rollout names."""
    web = custom("Rollout", "web", 2, ARGO, strategy={"blueGreen": {"activeService": "web"}})
    blue, green = sets_of(web, 2, 2)
    there = [owned(blue, "web-r1-x", "a1", **{HASH: "r1"}), owned(green, "web-r2-x", "b1", **{HASH: "r2"})]
    found = cluster(*zones(), web, blue, green, *there)
    assert new_pods(found) == ["web-r1-1", "web-r2-1"]
    with pytest.raises(InputError, match="Rollout default/web is between two ReplicaSets"):
        scale(found, "rollout/web", 5)
    assert reasons(web, *sets_of(web, 1, 1), *there) == [BETWEEN, ""]


def test_a_rollout_between_two_revisions_is_left_out_of_a_capacity() -> None:
    """What went wrong: where some Rollout was a canary, nothing was said of any other workload either."""
    web = custom("Rollout", "web", 2, ARGO, strategy=canary())
    scaler = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2", "metadata": {"name": "web"}}
    scaler["spec"] = {"scaleTargetRef": {"kind": "Rollout", "name": "web"}, "maxReplicas": 9}
    found = cluster(*zones(), web, *sets_of(web, 1, 1), scaled("ReplicaSet", "other", 0, cpu="1"), scaler)
    answer = capacity(found, autoscalers=True)
    assert [(row.workload, row.more) for row in answer.workloads] == [("ReplicaSet/other", 6)]
    assert answer.autoscalers == ()
    assert any("Rollout default/web is between two ReplicaSets" in note for note in answer.notes)
    with pytest.raises(InputError, match="Rollout default/web is between two ReplicaSets"):
        capacity(found, ["rollout/web"])


def test_a_rollout_takes_the_template_of_the_workload_that_it_refers_to() -> None:
    """The Deployment itself has no replicas any more."""
    deployed = custom("Deployment", "old", 0, "apps/v1")
    web = custom("Rollout", "web", 2, ARGO, strategy=canary())
    del web["spec"]["template"], web["spec"]["selector"]
    web["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "old"}
    found = cluster(*zones(), web, deployed)
    assert len(new_pods(found)) == 2
    assert {item.metadata.labels["app"] for item in found.pods} == {"old"}


def test_a_change_that_argo_has_not_seen_keeps_the_pods() -> None:
    """The generation that it has observed is written as a text; a hash in its place says nothing."""
    web = custom("Rollout", "web", 1, ARGO, {"observedGeneration": "2"})
    web["metadata"]["generation"] = 3
    (only,) = sets_of(web, 1)
    assert reasons(web, only, owned(only, "web-r1-x", "a1")) == [UNSEEN]
    hashed = web | {"status": {"observedGeneration": "6f9b7c"}}
    assert reasons(hashed, only, owned(only, "web-r1-x", "a1")) == [""]


def test_a_deployment_and_a_rollout_of_one_name_are_two_workloads() -> None:
    """As on the way from one to the other: neither takes the other's place."""
    web, same = custom("Rollout", "web", 1, ARGO), custom("Deployment", "web", 2, "apps/v1")
    assert len(new_pods(cluster(*zones(), web, same))) == 3
    manifests = Cluster.from_objects([{**same, "metadata": {"name": "web"}}], partial=True)
    played = rollout(cluster(*zones(), web), manifests, replays=1)
    assert [(row.workload, row.completes) for row in played.workloads] == [("Deployment/web", True)]


def test_a_clone_set_gets_the_pods_that_it_lacks() -> None:
    """They are its own, of the revision of those that run, each with claims of its own."""
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    web = custom("CloneSet", "web", 3, KRUISE, volumeClaimTemplates=[claim])
    found = cluster(*zones(), web, owned(web, "web-x", "a1", **{"controller-revision-hash": "web-7"}))
    assert new_pods(found) == ["web-1", "web-2"]
    assert {item.metadata.labels["controller-revision-hash"] for item in found.pods} == {"web-7"}
    assert [item.name for item in found.persistent_volume_claims] == ["data-web-1", "data-web-2"]
    assert [item.node for item in simulate(cluster(*zones(), custom("CloneSet", "web", 2, KRUISE))).decisions]


def test_a_clone_set_that_is_updated_keeps_its_pods() -> None:
    """Which revision the next pod is of depends on the partition."""
    status = {"currentRevision": "web-1", "updateRevision": "web-2"}
    web = custom("CloneSet", "web", 1, KRUISE, status, updateStrategy={"partition": "50%", "maxSurge": 1})
    assert reasons(web, owned(web, "web-x", "a1")) == [CLONES_ROLLED_OUT]
    at_rest = web | {"status": {"currentRevision": "web-2", "updateRevision": "web-2"}}
    assert reasons(at_rest, owned(web, "web-x", "a1")) == [""]


def test_a_stateful_set_of_openkruise_leaves_out_what_is_reserved() -> None:
    """Numbers and ranges; what stands beyond goes first when it is scaled down."""
    db = custom("StatefulSet", "web", 3, "apps.kruise.io/v1beta1", reserveOrdinals=[1, "3-4"])
    found = cluster(*zones(), db, owned(db, "web-0", "a1"))
    assert new_pods(found) == ["web-2", "web-5"]
    full = cluster(*zones(), db, *(owned(db, f"web-{n}", "a1") for n in (0, 2, 5)))
    assert [item.name for item in scale(full, "sts/web", 2).pods] == ["web-0", "web-2"]
    assert [item.name for item in scale(full, "statefulset.apps.kruise.io/web", 4).pods][3:] == ["web-6"]


@pytest.mark.parametrize("reserved", ["two", "2-", -1, True])
def test_what_is_no_ordinal_is_told(reserved: object) -> None:
    """With the place where it stands."""
    db = custom("StatefulSet", "web", 3, "apps.kruise.io/v1beta1", reserveOrdinals=[reserved])
    with pytest.raises(InputError, match=r"reserveOrdinals.*expected a number or a range"):
        cluster(*zones(), db)


@pytest.mark.parametrize("kind", ["Rollout", "CloneSet"])
def test_all_pods_in_one_zone_are_rebalanced(kind: str) -> None:
    """By evictions: nothing of theirs is pinned, and scaling down chooses among the pods."""
    web = custom(kind, "web", 4, ARGO if kind == "Rollout" else KRUISE)
    owner = sets_of(web, 4)[0] if kind == "Rollout" else web
    pods = [owned(owner, f"web-{n}", "a1", **{HASH: "r1"}) for n in range(4)]
    given = cluster(*zones(), web, *([owner] if owner is not web else []), *pods)
    plan = rebalance(given)
    assert len(plan.steps) == 2
    assert plan.after.hard_violations == 0
    assert all(step.pin is None for step in plan.steps)
    (found,) = scale_down(given, {f"{kind.lower()}/web": 2}).workloads
    assert (found.workload, found.heeds_deletion_costs) == (f"{kind}/web", True)
    assert drain(given, ["a1"]).played_to_end


def test_rollout_says_what_it_cannot_play() -> None:
    """Alone it is an error; beside a Deployment a note, and the Deployment is played."""
    web, clones = custom("Rollout", "web", 2, ARGO, strategy=canary()), custom("CloneSet", "cs", 1, KRUISE)
    db = custom("StatefulSet", "db", 1, KRUISE)
    given = cluster(*zones())
    with pytest.raises(InputError, match="Rollout default/web: how Argo Rollouts replaces its pods") as told:
        rollout(given, Cluster.from_objects([web, clones, db], partial=True))
    assert len(told.value.problems) == 3
    api = custom("Deployment", "api", 1, "apps/v1")
    del api["metadata"]["uid"], api["metadata"]["creationTimestamp"]
    played = rollout(given, Cluster.from_objects([web, api], partial=True), replays=1)
    assert [row.workload for row in played.workloads] == ["Deployment/api"]
    assert sum("how Argo Rollouts replaces its pods is not played" in note for note in played.notes) == 1
    with pytest.raises(InputError, match="its controller is not played step by step"):
        trajectory(cluster(*zones(), clones), {"cloneset/cs": [1, 3]})


def test_kube_scheduler_spreads_no_pods_of_others_by_default() -> None:
    """Its built-in constraints ask the selectors of built-in controllers alone."""
    placed = {}
    for kind, api in (("StatefulSet", "apps/v1"), ("StatefulSet", KRUISE), ("CloneSet", KRUISE)):
        web = custom(kind, "web", 4, api)
        web["spec"]["template"]["spec"] = pod("web")["spec"]
        full = node("b1", "b", cpu="3")
        found = simulate(cluster(node("a1", "a"), full, web))
        placed[kind, api] = sorted(item.node or "" for item in found.decisions)
    assert placed["StatefulSet", "apps/v1"] == ["a1", "a1", "b1", "b1"]
    assert placed["StatefulSet", KRUISE] == placed["CloneSet", KRUISE]


def test_a_field_that_no_pod_has_is_told_in_their_templates_too() -> None:
    """kubectl's words; the rest of the manifest is not known here."""
    web = custom("CloneSet", "web", 2, KRUISE, scaleStrategy={"disablePVCReuse": True})
    del web["metadata"]["uid"], web["metadata"]["creationTimestamp"], web["status"]
    web["spec"]["template"]["spec"]["nodeSelectr"] = {"a": "b"}
    with pytest.raises(InputError, match=r'unknown field "spec.template.spec.nodeSelectr", did you mean'):
        cluster(*zones(), web)
