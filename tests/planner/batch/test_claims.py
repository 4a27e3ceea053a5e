"""Claims that wait for their first pod: each gets one volume, which has to reach all pods that use it."""

import pytest

from models import Cluster
from planner import simulate, solve
from tests.builders import ZONE, Object, claim, cluster, csi_node, node, pod, storage_class, volume
from tests.truth.whole_placements import WholePlacements


def zonal(*objects: Object) -> Cluster:
    """A node in each of two zones, and a class whose volumes are there already."""
    return cluster(node("a1", zone="a"), node("b1", zone="b"), storage_class("local"), *objects)


def user(name: str, *claims: str, zone: str = "") -> Object:
    """A pod of these claims, in a zone if one is named."""
    return pod(name, claims=[*claims], node_selector={ZONE: zone} if zone else {})


@pytest.mark.parametrize("final_state", [True, False])
def test_a_claim_is_in_one_place(final_state: bool) -> None:
    """What went wrong: the final state of two pods that share a claim had them in two zones."""
    found = zonal(
        claim("shared"),
        *(volume(f"v-{zone}", [zone]) for zone in "ab"),
        *(user(f"p-{zone}", "shared", zone=zone) for zone in "ab"),
    )
    plan = solve(found, final_state=final_state)
    assert (len(plan.steps), plan.status) == (1, "Optimal")
    assert not any("could stand" in note for note in plan.notes)


@pytest.mark.parametrize("volumes", [1, 2])
def test_a_volume_belongs_to_one_claim(volumes: int) -> None:
    """As many of three pods with claims of their own as there are volumes."""
    found = zonal(
        *(volume(f"v{number}", ["a"]) for number in range(volumes)),
        *(item for number in range(3) for item in (claim(f"c{number}"), user(f"p{number}", f"c{number}"))),
    )
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status) == (volumes, "Optimal")
    assert {step.node for step in plan.steps} == {"a1"}


def test_a_third_pod_wants_what_two_have_apart() -> None:
    """Of a pod for each of two claims, in opposite zones, and one with both, two have a place."""
    users = (user("p1", "c1", zone="a"), user("p2", "c2", zone="b"), user("both", "c1", "c2"))
    found = zonal(claim("c1"), claim("c2"), volume("v1", ["a"]), volume("v2", ["b"]), *users)
    assert len(solve(found, final_state=True).steps) == 2


def test_a_provisioned_volume_may_be_reachable_from_anywhere() -> None:
    """Nothing is known of a volume that is still to be made."""
    made = storage_class("local", "csi.example.com")
    users = (user(f"p-{zone}", "shared", zone=zone) for zone in "ab")
    found = cluster(node("a1", zone="a"), node("b1", zone="b"), made, claim("shared"), *users)
    assert len(solve(found, final_state=True).steps) == 2


def test_the_truth_notices_a_claim_in_two_places() -> None:
    """What random clusters are held against: the two pods of a claim on one node, or on two."""
    nodes = [node("a1", zone="a"), node("b1", zone="b")]
    volumes = [volume(f"v-{zone}", [zone]) for zone in "ab"]
    users = [user(f"p{number}", "shared") for number in range(2)]
    shared = [*nodes, storage_class("local"), claim("shared"), *volumes, *users]
    assert not WholePlacements(shared).fault({"default/p0": "a1", "default/p1": "a1"})
    assert WholePlacements(shared).fault({"default/p0": "a1", "default/p1": "b1"})


@pytest.mark.parametrize("running", [False, True])
def test_a_shared_volume_takes_one_of_the_slots(running: bool) -> None:
    """What went wrong: in a final state volumes that several pods share took none of what a node attaches.

    On one node with two slots and three shared volumes, two of which pods use that run there or not.
    """
    shared = [
        item
        for name in ("v1", "v2", "v3")
        for item in (
            volume(name, csi={"driver": "disk", "volumeHandle": name}),
            claim(f"c-{name}", bound_to=name),
        )
    ]
    users = [pod(f"{name}-{number}", claims=[f"c-{name}"]) for name in ("v1", "v2") for number in range(3)]
    there = [pod(f"{name}-there", "n1" if running else "", claims=[f"c-{name}"]) for name in ("v1", "v2")]
    others = [pod(f"v3-{number}", claims=["c-v3"]) for number in range(2)]
    found = cluster(node("n1"), csi_node("n1", "disk", 2), *shared, *users, *there, *others)
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status) == (6 if running else 8, "Optimal")
    assert not {step.pod for step in plan.steps} & {"default/v3-0", "default/v3-1"}


def test_the_truth_notices_a_node_with_too_many_volumes() -> None:
    """What random batches are checked by can fail: a second volume where one can be attached."""
    shared = [
        item
        for name in ("v1", "v2")
        for item in (
            volume(name, csi={"driver": "disk", "volumeHandle": name}),
            claim(f"c-{name}", bound_to=name),
            pod(f"p-{name}", claims=[f"c-{name}"]),
        )
    ]
    found = [node("n1"), csi_node("n1", "disk", 1), *shared]
    assert not WholePlacements(found).fault({"default/p-v1": "n1"})
    assert WholePlacements(found).fault({"default/p-v1": "n1", "default/p-v2": "n1"})


def test_claims_that_pods_share_may_be_bound_one_by_one() -> None:
    """What went wrong: a proved final state was said to be none.

    The smallest volume suits both claims of a pod, and one of them nothing else; other pods could bind the
    other claim before.
    """
    modes = ["ReadWriteOnce", "ReadWriteOncePod"]
    there = [volume("small", size="1Gi", accessModes=modes), volume("large", size="5Gi")]
    users = [user("both", "c1", "c2"), user("other", "c1", "gone")]
    found = zonal(
        claim("c1", modes=["ReadWriteOnce"]), claim("c2", modes=["ReadWriteOncePod"]), *there, *users
    )
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)


def test_a_claim_that_another_pod_has_bound_is_bound() -> None:
    """What went wrong: the line was that of a claim that finds no volume; kube-scheduler differs."""
    users = [user("first", "shared", zone="a"), user("second", "shared", zone="b")]
    first, second = simulate(zonal(claim("shared"), volume("v", ["a"]), *users), preemption=False).decisions
    assert first.node == "a1"
    assert second.message.startswith(
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "1 node(s) didn't match Pod's node affinity/selector."
    )
