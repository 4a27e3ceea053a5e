"""Paused Deployments: their ReplicaSets are scaled, and none is made for a template that was changed."""

from collections import Counter

import pytest

from models import Cluster
from planner import capacity
from planner.whatif import scale
from tests.builders import Object, cluster, node, replica, revision, scaled


def paused(replicas: int, *sizes: int, cpu: str = "3", now: str = "500m") -> list[Object]:
    """A Deployment whose template requests `now`, and running pods of ReplicaSets that request `cpu`."""
    old = scaled("Deployment", "web", replicas, cpu=cpu)
    item = scaled("Deployment", "web", replicas, cpu=now)
    item["spec"]["paused"] = True
    found = [item]
    for number, size in enumerate(sizes, start=1):
        owner = revision(old, number)
        owner["spec"]["replicas"] = size
        found += [owner, *(replica(owner, f"web-{number}-{n}", "n1") for n in range(size))]
    return found


def made(found: Cluster) -> Counter[str]:
    """How many pods are made for each ReplicaSet."""
    owners = [pod.metadata.controller for pod in found.pods if not pod.node_name]
    return Counter(owner.name for owner in owners if owner is not None)


def test_the_replica_set_makes_pods_from_its_own_template() -> None:
    """The Deployment's asks for less, and is rolled out only when it is resumed."""
    found = cluster(node("n1", cpu="9"), node("n2"), *paused(3, 3))
    more = scale(found, "deploy/web", 5)
    new = [pod for pod in more.pods if not pod.node_name]
    assert [pod.spec.containers[0].resources.requests["cpu"] for pod in new] == [3 * 10**9] * 2
    assert [row.more for row in capacity(found).workloads] == [1]


@pytest.mark.parametrize(
    ("sizes", "replicas", "expected"),
    [
        ((0, 2), 4, {"web-r2": 2}),
        ((2, 0), 4, {"web-r1": 2}),
        ((3, 1), 8, {"web-r1": 3, "web-r2": 1}),
        ((2, 1), 4, {"web-r1": 1}),
        ((0, 0), 2, {"web-r2": 2}),
        ((2, 1), 3, {}),
        ((2, 2), 1, {}),
    ],
)
def test_several_replica_sets_grow_in_proportion(
    sizes: tuple[int, ...], replicas: int, expected: dict[str, int]
) -> None:
    """Those without replicas stay so, unless there is no other: then it is the newest."""
    assert made(cluster(node("n1"), *paused(replicas, *sizes))) == expected


def test_a_paused_deployment_without_a_replica_set_makes_no_pods() -> None:
    """Nobody has made one yet, and a note says why there are none."""
    found = cluster(node("n1"), *paused(3))
    assert (found.pods, found.replica_sets) == ((), ())
    assert "Deployment default/web is paused and has no ReplicaSet: no pods are made for it" in found.notes
    assert not cluster(node("n1"), *paused(0)).notes
