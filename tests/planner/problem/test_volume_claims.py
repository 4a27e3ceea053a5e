"""Which volume a waiting claim gets, and what that means for the pods that come later."""

import pytest

from planner import capacity, simulate
from planner.problem.problem import Problem
from planner.state.state import State
from tests.builders import ZONE, Object, claim, cluster, labelled, node, pod, scaled, storage_class, volume

NODES = (node("n1", zone="a"), node("n2", zone="b"))


def placements(*objects: Object) -> dict[str, str | None]:
    """Where the pods of a cluster go, by name."""
    decisions = simulate(cluster(*NODES, storage_class("local"), *objects)).decisions
    return {decision.pod.partition("/")[2]: decision.node for decision in decisions}


def test_a_volume_is_taken_once() -> None:
    """The second pod finds the only volume gone."""
    pods = pod("p1", claims=["c1"]), pod("p2", claims=["c2"])
    assert placements(volume("v", ["a"]), claim("c1"), claim("c2"), *pods) == {"p1": "n1", "p2": None}


def test_the_smallest_volume_that_is_large_enough_is_taken() -> None:
    """The larger one is left for the claim that needs it, whichever comes first."""
    volumes = volume("big", ["a"], size="9Gi"), volume("small", ["a"], size="2Gi")
    pods = pod("p1", claims=["c1"]), pod("p2", claims=["c2"])
    claims = claim("c1", size="1Gi"), claim("c2", size="5Gi")
    assert placements(*volumes, *claims, *pods) == {"p1": "n1", "p2": "n1"}


def test_two_claims_of_a_pod_need_two_volumes() -> None:
    """One free volume is not enough for both, so only the node that reaches two will do."""
    volumes = volume("v1", ["a"]), volume("v2", ["b"]), volume("v3", ["b"])
    found = placements(*volumes, claim("c1"), claim("c2"), pod("p", claims=["c1", "c2"]))
    assert found == {"p": "n2"}


@pytest.mark.parametrize(
    ("labels", "node"), [((), "n1"), ((labelled(ZONE, "In", "b")["matchExpressions"][0],), "n2")]
)
def test_names_of_nodes_in_the_affinity_of_a_volume_are_passed_over(
    labels: tuple[Object, ...], node: str
) -> None:
    """As kube-scheduler 1.36.2 does, which shows the affinity of a volume the labels of a node alone."""
    only = {"key": "metadata.name", "operator": "In", "values": ["elsewhere"]}
    term = {"matchFields": [only], "matchExpressions": list(labels)}
    local = volume("v", ["a"])
    local["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    assert placements(local, claim("c"), pod("p", claims=["c"])) == {"p": node}


def test_a_claim_being_provisioned_holds_its_pods_to_one_node() -> None:
    """The first pod chooses the node for which the class provisions; the second has to follow."""
    cloud = storage_class("cloud", "example.com/disk")
    shared = claim("c")
    shared["spec"]["storageClassName"] = "cloud"
    pods = [pod(name, claims=["c"], cpu="2") for name in ("p1", "p2", "p3")]
    assert placements(cloud, shared, *pods) == {"p1": "n1", "p2": "n1", "p3": None}


def test_a_claim_for_one_pod_keeps_the_second_away() -> None:
    """ReadWriteOncePod: as long as any pod uses the claim, no other may."""
    lone = claim("c", bound_to="v", modes=["ReadWriteOncePod"])
    objects = [volume("v"), lone, pod("there", on="n1", claims=["c"]), pod("p", claims=["c"])]
    assert placements(*objects) == {"p": None}
    (pending,) = simulate(cluster(*NODES, storage_class("local"), *objects)).pending
    assert "ReadWriteOncePod access mode already in-use by another pod" in pending.message


@pytest.mark.parametrize(("offered", "wanted"), [("gold", None), (None, "gold"), ("gold", "silver")])
def test_a_volume_of_another_attributes_class_is_none_for_a_claim(
    offered: str | None, wanted: str | None
) -> None:
    """Both have the same one, or both have none."""
    there, asked = volume("v"), claim("c")
    there["spec"]["volumeAttributesClassName"] = offered
    asked["spec"]["volumeAttributesClassName"] = wanted
    assert placements(there, asked, pod("p", claims=["c"])) == {"p": None}
    there["spec"]["volumeAttributesClassName"] = wanted
    assert placements(there, asked, pod("p", claims=["c"])) != {"p": None}


def test_the_second_user_of_a_claim_does_not_give_its_volume_back() -> None:
    """What went wrong: undoing the second pod's bind freed the volume that the first pod's claim holds."""
    objects = [volume("v", ["a"]), claim("c"), pod("p1", claims=["c"]), pod("p2", claims=["c"])]
    problem = Problem(cluster(*NODES, storage_class("local"), *objects, claim("other")))
    state = State(problem)
    state.bind(0, 0)
    mark = state.mark()
    state.bind(1, 0)
    state.rollback(mark)
    assert state.claims.candidates(state.claims.by_key["default/other"]) == []


def test_binds_of_two_users_of_a_claim_can_both_be_undone() -> None:
    """What went wrong: the second undo found the volume gone already and broke down."""
    objects = [volume("v", ["a"]), claim("c"), pod("p1", claims=["c"]), pod("p2", claims=["c"])]
    problem = Problem(cluster(*NODES, storage_class("local"), *objects))
    state = State(problem)
    mark = state.mark()
    state.bind(0, 0)
    state.bind(1, 0)
    state.rollback(mark)
    assert [v.name for v in state.claims.candidates(state.claims.by_key["default/c"])] == ["v"]


def test_a_claim_with_its_volume_chosen_does_not_get_another() -> None:
    """What went wrong: the second user of the claim was let on nodes that reach some other free volume.

    kube-scheduler's FindMatchingVolume gives up on a node that a claim's own volume does not reach.
    """
    volumes = volume("v1", ["a"], size="1Gi"), volume("v2", ["b"], size="2Gi")
    pods = (
        pod("p1", claims=["c"], node_selector={ZONE: "a"}),
        pod("p2", claims=["c"], node_selector={ZONE: "b"}),
    )
    assert placements(*volumes, claim("c"), *pods) == {"p1": "n1", "p2": None}


def test_a_volume_reserved_for_a_claim_is_the_only_one_for_it() -> None:
    """The same for a volume whose claimRef names the claim in the snapshot already."""
    own = volume("v1", ["a"], claimRef={"namespace": "default", "name": "c"})
    apart = pod("p", claims=["c"], node_selector={ZONE: "b"})
    assert placements(own, volume("v2", ["b"]), claim("c"), apart) == {"p": None}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", bound_to="lost")], "unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
        ([claim("c")], "didn't find available persistent volumes to bind"),
    ],
)
def test_why_a_claim_keeps_its_pod_pending(more: list[Object], message: str) -> None:
    """The message names what is the matter with the claim."""
    decisions = simulate(cluster(*NODES, storage_class("local"), *more, pod("p", claims=["c"]))).decisions
    assert message in decisions[0].message


def database(storage: str) -> Object:
    """Two replicas of a StatefulSet with a claim each, none of which is there yet."""
    template = {"metadata": {"name": "data"}, "spec": {**claim("data")["spec"], "storageClassName": storage}}
    found = scaled("StatefulSet", "db", 2, cpu="1")
    found["spec"]["volumeClaimTemplates"] = [template]
    return found


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        ({}, {"n1", "n2"}),
        ({"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]}, {"n2"}),
        ({"provisioner": "kubernetes.io/no-provisioner"}, {None}),
    ],
)
def test_claims_that_come_with_their_pods_are_served_at_once(
    words: dict[str, object], nodes: set[str | None]
) -> None:
    """What went wrong: new pods of a StatefulSet stayed pending for ever with unbound immediate claims.

    A class that provisions makes their volumes before the pods are looked at.
    """
    words = {"provisioner": "driver.longhorn.io", "volumeBindingMode": "Immediate", **words}
    given = cluster(node("n1", "a"), node("n2", "b"), {**storage_class("now"), **words}, database("now"))
    found = simulate(given)
    assert {decision.node for decision in found.decisions} == nodes
    is_placed = None not in nodes
    assert any("StorageClass now makes a volume as soon as" in note for note in found.notes) == is_placed
    assert (capacity(given).workloads[0].more > 0) == is_placed


def test_a_claim_of_the_cluster_has_to_be_bound() -> None:
    """It has waited for its volume already."""
    own = claim("data", storageClassName="now")
    own["metadata"]["uid"] = "of-the-cluster"
    at_once = {**storage_class("now"), "provisioner": "driver.longhorn.io", "volumeBindingMode": "Immediate"}
    decisions = simulate(cluster(*NODES, at_once, own, pod("p", claims=["data"]))).decisions
    assert "pod has unbound immediate PersistentVolumeClaims" in decisions[0].message


def test_a_class_that_is_not_there_is_told() -> None:
    """What went wrong: of `kubectl get nodes,pods,pvc` a pod stayed pending with unbound immediate claims.

    Nothing said that only the StorageClass was not there.
    """
    objects = [node("n1"), pod("p", claims=["data"]), claim("data")]
    missing = [note for note in simulate(cluster(*objects)).notes if "StorageClass" in note]
    assert [note.partition(":")[0] for note in missing] == ["there is no StorageClass local"]
    there = simulate(cluster(*objects, storage_class("local"))).notes
    assert not any("StorageClass" in note for note in there)
