"""ResourceQuota; the API server's words were recorded on a control plane 1.36.2."""

from typing import Any

import pytest

from models import Cluster
from planner import rollout, simulate, solve
from tests import builders
from tests.builders import LONG_AGO, cluster, node, pod

Object = dict[str, Any]


def quota(name: str = "q", scopes: tuple[str, ...] = (), **hard: str) -> Object:
    """A ResourceQuota; `requests_cpu` stands for `requests.cpu`, `count__pods` for `count/pods`."""
    names = {key: key.replace("__", "/").replace("_", ".") for key in hard}
    return builders.quota({names[key]: amount for key, amount in hard.items()}, name, scopes=[*scopes])


def line(new: Object, *objects: Object) -> str:
    """What becomes of one new pod on a large node."""
    (decision,) = simulate(cluster(node("n1", cpu="64"), *objects, new)).decisions
    return decision.message.removeprefix("not created: forbidden: ")


_ALL = quota("all", requests_cpu="1", limits_cpu="1", cpu="1", memory="1Gi")


@pytest.mark.parametrize(
    ("new", "rules", "message"),
    [
        (
            pod("p"),
            _ALL,
            "failed quota: all: must specify cpu for: main; limits.cpu for: main; memory for: main; "
            "requests.cpu for: main",
        ),
        (
            pod("p", limits={"cpu": "2", "memory": "2Gi"}),
            _ALL,
            "exceeded quota: all, requested: cpu=2,limits.cpu=2,memory=2Gi,requests.cpu=2, "
            "used: cpu=0,limits.cpu=0,memory=0,requests.cpu=0, "
            "limited: cpu=1,limits.cpu=1,memory=1Gi,requests.cpu=1",
        ),
        (
            pod("p", resources={"limits": {"cpu": "1", "memory": "2Gi"}}),
            _ALL,
            "exceeded quota: all, requested: memory=2Gi, used: memory=0, limited: memory=1Gi",
        ),
        (pod("p", resources={"limits": {"cpu": "1"}}), _ALL, ""),
        (
            pod("p"),
            quota("be", ("BestEffort",), pods="0"),
            "exceeded quota: be, requested: pods=1, used: pods=0, limited: pods=0",
        ),
        (pod("p", cpu="1"), quota("be", ("BestEffort",), pods="0"), ""),
        (
            pod("p", cpu="2", activeDeadlineSeconds=5),
            quota("term", ("Terminating",), pods="0", requests_cpu="1"),
            "exceeded quota: term, requested: pods=1,requests.cpu=2, used: pods=0,requests.cpu=0, "
            "limited: pods=0,requests.cpu=1",
        ),
        (pod("p", cpu="2"), quota("term", ("Terminating",), pods="0", requests_cpu="1"), ""),
    ],
)
def test_a_quota_refuses_a_pod_in_the_words_of_the_api_server(
    new: Object, rules: Object, message: str
) -> None:
    """Nothing is placed that is not created."""
    assert line(new, rules) == message


@pytest.mark.parametrize(("name", "counts"), [("high", True), ("low", False)])
def test_a_quota_for_a_priority_class_counts_its_pods_alone(name: str, counts: bool) -> None:
    """Pods of other classes are neither counted nor refused."""
    classes = [{"kind": "PriorityClass", "metadata": {"name": item}, "value": 10} for item in ("high", "low")]
    rules = quota(pods="1")
    chosen = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    rules["spec"]["scopeSelector"] = {"matchExpressions": [chosen]}
    running = pod("old", on="n1", priorityClassName="high")
    told = line(pod("p", priorityClassName=name), rules, running, *classes)
    assert told == ("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" if counts else "")


@pytest.mark.parametrize(
    ("there", "left"),
    [
        (pod("old", on="n1"), 0),
        (pod("old", on="n1", gone=True), 0),
        (pod("old", on="gone-node"), 0),
        (pod("old", on="n1", phase="Succeeded"), 1),
        (pod("old", created="2026-01-01T00:00:00Z", cpu="99"), 0),
    ],
)
def test_a_quota_counts_pods_until_they_have_ended(there: Object, left: int) -> None:
    """Terminating pods, waiting ones and those on unknown nodes count; what has succeeded does not."""
    told = line(pod("p"), quota(pods="1"), there) if left else ""
    assert told == ""
    if not left:
        found = simulate(cluster(node("n1"), quota(pods="1"), there, pod("p")))
        assert found.decisions[-1].message.startswith("not created: forbidden: exceeded quota: q")


def test_what_has_ended_counts_for_the_number_of_objects() -> None:
    """`count/pods` counts what the API server keeps, `pods` what has not ended."""
    ended = pod("old", on="n1", phase="Succeeded")
    assert "count/pods=1, used: count/pods=1" in line(pod("p"), quota(count__pods="1"), ended)


def test_what_is_terminating_where_nothing_ends_it_counts_for_the_number_of_objects_alone() -> None:
    """A quota takes pods for stuck whose grace period is over, as on a lost node."""
    lost = node("lost")
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    stuck = pod("old", on="lost", gone=True)
    assert line(pod("p"), quota(pods="1", count__pods="2"), lost, stuck) == ""
    assert "count/pods=1, used: count/pods=1" in line(pod("p"), quota(count__pods="1"), lost, stuck)
    assert "pods=1, used: pods=1" in line(pod("p"), quota(pods="1"), lost, pod("old", on="lost"))


def _web(replicas: int) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }


def test_the_pods_beyond_a_quota_are_not_placed() -> None:
    """The first three are created; for the others there is the API server's line, in every command."""
    found = cluster(node("n1", cpu="64"), quota(requests_cpu="3"), _web(5))
    simulation, plan = simulate(found), solve(found, time_limit=5)
    assert sum(item.node is not None for item in simulation.decisions) == 3
    (pending,) = simulation.pending
    assert (pending.pods, len(plan.steps), len(plan.unplaced)) == (2, 3, 2)
    expected = "not created: forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, "
    assert pending.message == plan.unplaced[0].message == expected + "limited: requests.cpu=3"


def _waiting_set(policy: str) -> list[Object]:
    """A StatefulSet of which db-0 finds no node and db-1 is not there, in a namespace for two pods."""
    database = {**_web(2), "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"}}
    database["spec"] = {**database["spec"], "podManagementPolicy": policy}
    waiting = pod("db-0", cpu="99", app="web", owner=database, created=LONG_AGO)
    return [node("n1", cpu="64"), quota(pods="2"), database, waiting]


@pytest.mark.parametrize(
    ("policy", "placed"), [("OrderedReady", ["default/web-0"]), ("Parallel", ["default/db-1"])]
)
def test_pods_that_wait_for_lower_ordinals_take_no_room_of_a_quota(policy: str, placed: list[str]) -> None:
    """What went wrong: db-0 has no node, so db-1 is not asked for; it took the room of a pod that is."""
    web = {**_web(1), "kind": "StatefulSet"}
    found = simulate(cluster(*_waiting_set(policy), web))
    assert [item.pod for item in found.decisions if item.node] == placed


@pytest.mark.parametrize(("policy", "completes"), [("OrderedReady", True), ("Parallel", False)])
def test_nor_do_they_of_a_rollout(policy: str, completes: bool) -> None:
    """What went wrong: pods of other sets that are not made yet left a quota no room for what is applied."""
    running = cluster(*_waiting_set(policy))
    found = rollout(running, Cluster.from_objects([_web(1)], partial=True), replays=3)
    assert found.completes is completes


def test_a_rollout_that_its_quota_stops_does_not_complete() -> None:
    """The Deployment asks for five pods and gets three."""
    running = cluster(node("n1", cpu="64"), quota(requests_cpu="3"))
    found = rollout(running, Cluster.from_objects([_web(5)], partial=True), replays=3)
    assert not found.completes
    (web,) = found.workloads
    assert web.message.startswith("not created: forbidden: exceeded quota: q")


def test_a_rollout_goes_on_when_old_pods_have_ended() -> None:
    """Without room for a surge, old pods that may be unavailable go first, and make room in the quota."""
    owned = {"kind": "ReplicaSet", "name": "web-1", "controller": True}
    labels = {"app": "web", "pod-template-hash": "1"}
    before = _web(4)
    template = {**before["spec"]["template"], "metadata": {"labels": labels}}
    old = {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": "web-1",
            "labels": labels,
            "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
        },
        "spec": {**before["spec"], "selector": {"matchLabels": labels}, "template": template},
    }
    pods = [pod(f"web-{n}", on="n1", cpu="1", labels=labels, owner=None) for n in range(4)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [owned]
    running = cluster(node("n1", cpu="64"), quota(requests_cpu="4"), before, old, *pods)
    after = _web(4)
    after["spec"]["template"]["spec"]["containers"][0]["image"] = "new"
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    may_lack = {**after, "spec": {**after["spec"], "strategy": strategy}}
    assert rollout(running, Cluster.from_objects([may_lack], partial=True), replays=5).completes
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    must_not = {**after, "spec": {**after["spec"], "strategy": strategy}}
    assert not rollout(running, Cluster.from_objects([must_not], partial=True), replays=5).completes
