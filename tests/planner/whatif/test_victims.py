"""Which replicas the controllers take: the documented ranking, rule by rule.

The rules are those in the comment of ActivePodsWithRanks and its neighbours in the source of Kubernetes
1.34 (pkg/controller/controller_utils.go, pkg/controller/replicaset, pkg/controller/statefulset).
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models import Cluster
from planner.whatif import scale
from planner.whatif.scaling import surplus_of
from planner.whatif.victims import as_of
from tests.builders import Object, cluster, node, pod, replica, revision, scaled

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3_600, 86_400
COST = "controller.kubernetes.io/pod-deletion-cost"
SIDECAR = [{"name": "proxy", "restartPolicy": "Always"}]


def ago(seconds: float) -> str:
    """The time so long before now, as a manifest has it."""
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def ready(seconds: float | None = DAY) -> list[Object]:
    """The condition of a pod that has been ready for so long, or that does not say since when."""
    since = {} if seconds is None else {"lastTransitionTime": ago(seconds)}
    return [{"type": "Ready", "status": "True", **since}]


def cost(text: str) -> Object:
    """The annotation with this deletion cost."""
    return {COST: text}


def restarted(number: int) -> list[Object]:
    """The status of a container that was restarted so often."""
    return [{"name": "main", "restartCount": 0}, {"name": "other", "restartCount": number}]


def deployed(pods: dict[str, Any], **words: Any) -> Cluster:
    """A Deployment `web` with one ReplicaSet, the pods of which are these; nodes n1 to n9."""
    owner = scaled("Deployment", "web", len(pods), **words)
    current = revision(owner, 1)
    replicas_of = []
    for name, own in pods.items():
        base = {"on": name, "conditions": ready(), "created": ago(DAY), "uid": name}
        replicas_of.append(replica(current, name, **{**base, **own}))
    nodes = [node(name) for name in (*pods, "shared")]
    return cluster(*nodes, owner, current, *replicas_of)


def order(found: Cluster, workload: str = "Deployment", replicas: int = 0) -> list[str]:
    """The pods in the order in which they would go."""
    owner = found.deployments[0] if workload == "Deployment" else found.replica_sets[0]
    (share,) = surplus_of(found, owner, replicas, NOW)
    return [item.name for item in share.pods]


#: What the rule says; the pods as words on top of ready, running, a day old and alone on a node; which
#: goes first. Every later rule would say the opposite, as far as it can.
RANKING: list[tuple[str, dict[str, Any], str]] = [
    (
        "1 without a node before with one",
        {"a": {"on": "", "annotations": cost("9"), "uid": "z"}, "b": {"phase": "Pending", "conditions": []}},
        "ab",
    ),
    (
        "2 pending before unknown before running",
        {
            "a": {"phase": "Running", "annotations": cost("-9"), "conditions": []},
            "b": {"phase": "Unknown", "annotations": cost("-5")},
            "c": {"phase": "Pending", "annotations": cost("9")},
        },
        "cba",
    ),
    ("3 not ready before ready", {"a": {"annotations": cost("-9")}, "b": {"conditions": []}}, "ba"),
    (
        "3 a Ready condition that is not True is not ready",
        {"a": {}, "b": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        "ba",
    ),
    (
        "4 lower deletion cost first, none is 0",
        {
            "a": {"annotations": cost("1"), "on": "shared"},
            "b": {},
            "c": {"annotations": cost("-1")},
            "d": {"annotations": cost("2"), "on": "shared"},
        },
        "cbad",
    ),
    (
        "4 a cost that is no number as Kubernetes writes them is 0",
        {
            "a": {"annotations": cost("1")},
            "b": {"annotations": cost("+5"), "on": "shared"},
            "c": {"annotations": cost("007"), "on": "shared", "containers_now": restarted(2)},
            "d": {"annotations": cost("2147483648"), "on": "shared", "containers_now": restarted(1)},
            "e": {"annotations": cost("-2147483648")},
            "f": {"annotations": cost("-03")},
        },
        "efcdba",
    ),
    (
        "5 more replicas on the node first",
        {
            "a": {"conditions": ready(MINUTE), "containers_now": restarted(9)},
            "b": {"on": "shared"},
            "c": {"on": "shared", "containers_now": restarted(1)},
        },
        "cba",
    ),
    (
        "6 ready for a shorter time first",
        {
            "a": {"conditions": ready(DAY), "containers_now": restarted(9), "created": ago(MINUTE)},
            "b": {"conditions": ready(HOUR)},
            "c": {"conditions": ready(MINUTE)},
        },
        "cba",
    ),
    (
        "6 times of the same magnitude: the smaller uid first, whatever the time and the restarts",
        {
            "a": {"conditions": ready(100_000), "uid": "1"},
            "b": {"conditions": ready(90_000), "uid": "3", "containers_now": restarted(9)},
            "c": {"conditions": ready(110_000), "uid": "2", "created": ago(MINUTE)},
        },
        "acb",
    ),
    (
        "6 no ready time at all goes first",
        {"a": {"conditions": ready(MINUTE)}, "b": {"conditions": ready(None), "created": ago(9 * DAY)}},
        "ba",
    ),
    (
        "6 a ready time yet to come is the latest",
        {"a": {"conditions": ready(MINUTE)}, "b": {"conditions": ready(-MINUTE)}},
        "ba",
    ),
    (
        "6 only among ready pods",
        {
            "a": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(MINUTE)}]},
            "b": {
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(DAY)}],
                "containers_now": restarted(1),
            },
        },
        "ba",
    ),
    (
        "7 the most restarts of one container, not their sum",
        {
            "a": {"containers_now": restarted(2) + restarted(2), "created": ago(MINUTE)},
            "b": {"containers_now": restarted(3)},
        },
        "ba",
    ),
    (
        "7 restarts of sidecars only where the others are equal",
        {
            "a": {"init_now": [{"name": "proxy", "restartCount": 5}]},
            "b": {"containers_now": restarted(1)},
            "c": {"init_now": [{"name": "proxy", "restartCount": 6}]},
        },
        "bca",
    ),
    (
        "7 restarts of other init containers do not count",
        {
            "a": {"init_now": [{"name": "setup", "restartCount": 9}]},
            "b": {"init_now": [{"name": "proxy", "restartCount": 1}]},
        },
        "ba",
    ),
    (
        "8 created later first",
        {"a": {"created": ago(DAY), "uid": "1"}, "b": {"created": ago(HOUR), "uid": "2"}},
        "ba",
    ),
    (
        "8 creation times of the same magnitude: the smaller uid first",
        {"a": {"created": ago(100_000), "uid": "2"}, "b": {"created": ago(110_000), "uid": "1"}},
        "ba",
    ),
    ("8 no creation time goes first", {"a": {"created": ago(MINUTE)}, "b": {"created": None}}, "ba"),
    ("otherwise Kubernetes leaves it to chance, and here the name decides", {"b": {}, "a": {}}, "ab"),
]


@pytest.mark.parametrize(("pods", "expected"), [pytest.param(*row[1:], id=row[0]) for row in RANKING])
def test_the_ranking_of_a_replica_set(pods: dict[str, Any], expected: str) -> None:
    """Every rule of ActivePodsWithRanks, in the order of its comment."""
    assert order(deployed(pods, init=[*SIDECAR, {"name": "setup"}])) == list(expected)


@pytest.mark.parametrize(("pods", "expected"), [pytest.param(*row[1:], id=row[0]) for row in RANKING])
def test_scaling_takes_the_first_of_the_ranking(pods: dict[str, Any], expected: str) -> None:
    """One replica less takes the first, two less the first two, and the others stay as they were."""
    found = deployed(pods, init=[*SIDECAR, {"name": "setup"}])
    for going in range(len(pods) + 1):
        left = scale(found, "deploy/web", len(pods) - going, now=NOW)
        assert {item.name for item in left.pods} == set(expected[going:])
        assert all(item in found.pods for item in left.pods)


def test_company_counts_all_replica_sets_of_the_deployment() -> None:
    """A pod beside two of the old revision goes before one that is alone; bare pods that match count too."""
    owner = scaled("Deployment", "web", 2)
    old, new = revision(owner, 1), revision(owner, 2)
    pods = [replica(new, f"new-{name}", name, conditions=ready(), uid=name) for name in ("a", "b")]
    others = [replica(old, f"old-{number}", "b", conditions=ready()) for number in range(2)]
    found = cluster(node("a"), node("b"), owner, old, new, *pods, *others)
    shares = {share.controller.name: share for share in surplus_of(found, found.deployments[0], 2, NOW)}
    assert [item.name for item in shares["web-r2"].pods] == ["new-b", "new-a"]
    labels = {"app": "web", "pod-template-hash": "r2"}
    orphans = [pod(f"orphan-{number}", "a", labels=labels) for number in range(3)]
    found = cluster(node("a"), node("b"), owner, old, new, *pods, *others, *orphans)
    shares = {share.controller.name: share for share in surplus_of(found, found.deployments[0], 2, NOW)}
    assert [item.name for item in shares["web-r2"].pods] == ["new-a", "new-b"]


def test_company_is_not_ranked_without_a_controller_above() -> None:
    """A ReplicaSet of its own finds no related ReplicaSets, not even itself, so the time decides."""
    owner = scaled("ReplicaSet", "web", 3)
    words = {"conditions": ready()}
    pods = [replica(owner, name, "shared", **words) for name in ("b", "c")]
    alone = replica(owner, "a", "n1", conditions=ready(MINUTE))
    assert order(cluster(node("n1"), node("shared"), owner, *pods, alone), "ReplicaSet") == ["a", "b", "c"]


def test_replica_sets_of_a_controller_that_the_snapshot_lacks_know_each_other() -> None:
    """The owner reference alone makes them related."""
    owner = scaled("ReplicaSet", "web", 3)
    owner["metadata"]["ownerReferences"] = [
        {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "web", "uid": "r", "controller": True}
    ]
    pods = [replica(owner, name, "shared", conditions=ready()) for name in ("b", "c")]
    alone = replica(owner, "a", "n1", conditions=ready(MINUTE))
    assert order(cluster(node("n1"), node("shared"), owner, *pods, alone), "ReplicaSet") == ["b", "c", "a"]


def test_terminating_and_finished_pods_are_no_replicas() -> None:
    """They are neither counted nor taken."""
    found = deployed({"a": {}, "b": {"gone": True}, "c": {"phase": "Failed"}, "d": {}})
    left = scale(found, "deploy/web", 1, now=NOW)
    assert [item.name for item in left.pods] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("sizes", "replicas", "going"),
    [
        ({1: 10}, 4, {1: 6}),
        ({1: 5, 2: 5}, 4, {1: 3, 2: 3}),
        ({1: 10, 2: 5}, 6, {1: 6, 2: 3}),
        ({1: 1, 2: 9}, 5, {1: 0, 2: 5}),
        ({1: 3, 2: 3, 3: 3}, 8, {1: 1, 2: 0, 3: 0}),
        ({1: 4, 2: 7}, 0, {1: 4, 2: 7}),
        ({1: 2, 2: 2}, 9, {1: 0, 2: 0}),
    ],
)
def test_replica_sets_shrink_in_proportion(
    sizes: dict[int, int], replicas: int, going: dict[int, int]
) -> None:
    """During a rollout each ReplicaSet keeps its part; of equal ones the older gives up what is left over."""
    owner = scaled("Deployment", "web", sum(sizes.values()))
    sets = {number: revision(owner, number, creationTimestamp=ago(DAY / number)) for number in sizes}
    pods = [
        replica(sets[number], f"web-{number}-{index}", "n1")
        for number, size in sizes.items()
        for index in range(size)
    ]
    found = cluster(node("n1"), owner, *sets.values(), *pods)
    shares = list(surplus_of(found, found.deployments[0], replicas, NOW))
    assert {int(share.controller.name[-1]): share.going for share in shares} == going


@pytest.mark.parametrize(
    ("start", "ordinals", "replicas", "left"),
    [
        (0, [0, 1, 2, 3], 2, [0, 1]),
        (0, [0, 2, 10, 9], 3, [0, 1, 2]),
        (5, [5, 6, 7], 2, [5, 6]),
        (0, [0, 1], 0, []),
    ],
)
def test_a_stateful_set_gives_up_its_highest_ordinals(
    start: int, ordinals: list[int], replicas: int, left: list[int]
) -> None:
    """By number, not by name; start moves them all. A missing ordinal below is waited for, which is noted."""
    owner = {**scaled("StatefulSet", "db", len(ordinals)), "status": {}}
    owner["spec"]["ordinals"] = {"start": start}
    pods = [replica(owner, f"db-{number}", "n1") for number in ordinals]
    found = scale(cluster(node("n1"), owner, *pods), "sts/db", replicas)
    assert sorted(item.name for item in found.pods) == [f"db-{number}" for number in left]
    assert bool(found.notes) == (1 in left and 1 not in ordinals)


@pytest.mark.parametrize(("policy", "notes"), [("OrderedReady", 1), ("Parallel", 0)])
def test_an_ordered_stateful_set_waits_for_a_sick_pod(policy: str, notes: int) -> None:
    """A pod that stays and is not ready holds up the scale-down, which a note says; all go in the end."""
    owner = scaled("StatefulSet", "db", 3)
    owner["spec"]["podManagementPolicy"] = policy
    sick = replica(owner, "db-0", "n1", conditions=[{"type": "Ready", "status": "False"}])
    pods = [sick, *(replica(owner, f"db-{number}", "n1", conditions=ready()) for number in (1, 2))]
    found = scale(cluster(node("n1"), owner, *pods), "sts/db", 2)
    assert [item.name for item in found.pods] == ["db-0", "db-1"]
    assert len(found.notes) == notes
    assert all("default/db-0 is not ready" in note for note in found.notes)


def test_a_job_takes_the_newest_pods_without_regard_to_cost() -> None:
    """ActivePods: no deletion cost, no rank by pods of its node, and times are compared as they are."""
    owner = scaled("Job", "sums", 3)
    owner["spec"]["completions"] = 9
    pods = [
        replica(owner, "a", "n1", conditions=ready(100), annotations=cost("-9"), uid="1"),
        replica(owner, "b", "n1", conditions=ready(99), uid="3"),
        replica(owner, "c", "n2", conditions=ready(101), uid="2"),
    ]
    found = cluster(node("n1"), node("n2"), owner, *pods)
    (share,) = surplus_of(found, found.jobs[0], 1, NOW)
    assert [item.name for item in share.pods] == ["b", "a", "c"]
    assert [item.name for item in scale(found, "job/sums", 1).pods] == ["c"]


def test_now_is_the_latest_time_of_the_snapshot() -> None:
    """Nodes report every few minutes, so a quiet cluster still tells when it was looked at."""
    machine = node("n1")
    machine["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": ago(0)}]
    young = pod("p", "n1", created=ago(DAY), conditions=ready(HOUR))
    assert as_of(cluster(machine, young)) == NOW
    assert as_of(cluster(node("n1"), young)) == NOW - timedelta(hours=1)
    started = pod("q", "n1", started=ago(MINUTE))
    assert as_of(cluster(node("n1"), young, started)) == NOW - timedelta(minutes=1)
    assert as_of(cluster(node("n1"), pod("p"))) is None
