"""What helps pods that stay pending when a domain is lost."""

from planner.simulation.survive import survive
from tests.builders import ZONE, claim, cluster, node, pod, spread, term, volume
from tests.planner.test_survive import ZONES, replicas, row, without


def test_no_node_is_added_to_a_zone_that_does_not_answer() -> None:
    """What went wrong: while zone a was unreachable one more node like that of zone a was told to help."""
    full = [pod("full-b", on="b", cpu="1"), pod("full-c", on="c", cpu="2")]
    web = replicas("web", "aabbcc", cpu="1", spread=[spread()])
    lost = without(survive(cluster(*ZONES, *web, *full), ZONE), "a")
    (later,), (meanwhile,) = lost.pending, lost.meanwhile
    assert (later.pods, meanwhile.pods) == (1, 2)
    for left in later, meanwhile:
        assert left.fix is not None
        assert not any(change.summary.endswith("like a") for change in left.fix.changes)


def test_no_node_is_added_to_a_domain_of_the_lost_name() -> None:
    """What went wrong: when zone-3 of three was lost, one more node in a new zone was in zone-3 again."""
    nodes = [node(f"n{number}", f"zone-{number}") for number in (1, 2, 3)]
    web = replicas("web", ["n1", "n2", "n3"], apart=[term(ZONE, "web")])
    (left,) = without(survive(cluster(*nodes, *web), ZONE), "zone-3").pending
    assert left.fix is not None
    assert left.fix.changes[0].summary == f"one more node like n1, with label {ZONE}=zone-4"


def test_what_stays_pending_anyhow_is_explained_once() -> None:
    """A volume of the lost zone: all changes were tried out twice, the second time for most of the minute."""
    claims = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    disk = volume("pv", ["a"]), claim("data", "pv")
    db = pod("db", on="a", app="db", owner="ReplicaSet/db", volumes=claims)
    web = replicas("web", "aabbcc", spread=[spread()])
    lost = without(survive(cluster(*ZONES, *disk, db, *web), ZONE), "a")
    assert [(left.workload, left.sought) for left in lost.pending] == [("ReplicaSet/db", True)]
    sought = {left.workload: left.sought for left in lost.meanwhile}
    assert sought == {"ReplicaSet/db": False, "ReplicaSet/web": True}


def test_replacements_without_room_stay_pending_with_a_way_out() -> None:
    """Full zones: the message is kube's, and the cheapest change comes with it."""
    found = survive(cluster(*ZONES, *replicas("web", "abc", cpu="4")), ZONE)
    loss = without(found, "c")
    assert (row(loss).pending, row(loss).ok) == (1, False)
    (left,) = loss.pending
    assert left.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert left.fix is not None
    assert left.fix.changes[0].action in {"DeletePod", "AddNode"}


def test_a_change_that_helps_all_pods_comes_before_a_cheaper_one_that_helps_some() -> None:
    """With `minDomains` 3 and two zones left maxSkew 4 was told to help, which gives two of three a node."""
    spread_out = replicas("web", "aaabbbccc", spread=[spread(minDomains=3)])
    (left,) = without(survive(cluster(*ZONES, *spread_out), ZONE), "a").pending
    assert left.fix is not None
    assert (left.fix.changes[0].action, left.fix.places, left.pods) == ("RelaxMinDomains", 3, 3)


def test_how_many_pods_a_change_helps_is_counted() -> None:
    """A new node has room for one pod or two: of a second one that still waits nothing told."""
    full = [pod(f"full-{on}", on=on, cpu="4") for on in "bc"]
    for cpu, helped in ("2", 2), ("3", 1):
        web = replicas("web", "aa", cpu=cpu)
        (left,) = without(survive(cluster(*ZONES, *full, *web), ZONE), "a").pending
        assert left.fix is not None
        assert (left.fix.places, left.pods) == (helped, 2)


def test_a_change_made_before_may_help_a_pod_that_waits_now() -> None:
    """One more node helps after the loss; added before it the pod that waits takes it, and that is said."""
    full = [*ZONES, *replicas("web", "abc", cpu="4")]
    note = "what helps was tried out after the loss: made before it, a pod that has no node now may take"
    assert not any(note in told for told in survive(cluster(*full), ZONE).notes)
    waiting = [*full, *replicas("big", [""], cpu="4")]
    found = survive(cluster(*waiting), ZONE)
    assert any(note in told for told in found.notes)
    (left,) = without(found, "c").pending
    assert left.fix is not None
    grown = survive(cluster(*waiting, node("d", zone="d")), ZONE)
    assert row(without(grown, "c")).pending == 1
