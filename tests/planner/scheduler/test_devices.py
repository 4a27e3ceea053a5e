"""Claims on devices: what is decided as kube-scheduler does, and what is left undecided."""

from typing import Any

import pytest

from models import Cluster
from planner import consolidate, drain, rebalance, simulate, solve
from planner.documents.plan import Decision
from planner.eviction.controllers import DEVICES
from tests.builders import Object, cluster, node, pod, replica, scaled, spread

GPU = "example.com/gpu"
TAIL = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


def claim(name: str, *nodes: str, allocated: bool = True, **fields: Any) -> Object:
    """A ResourceClaim whose devices can be used on some nodes, on all of them when none is named."""
    terms = [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}
    ]
    allocation = {"nodeSelector": {"nodeSelectorTerms": terms}} if nodes else {}
    status: Object = {"allocation": allocation} if allocated else {}
    if "reserved" in fields:
        status["reservedFor"] = [{"resource": "pods", "name": n, "uid": n} for n in fields.pop("reserved")]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", **fields},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": status,
    }


def device_class(**spec: str) -> Object:
    """The DeviceClass gpu."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": spec,
    }


def claiming(*claims: str, **fields: Any) -> Object:
    """A pod that uses these claims."""
    entries = [{"name": name, "resourceClaimName": name} for name in claims]
    return pod("p", resourceClaims=entries, **fields)


def decide(*objects: Object, kubernetes: str = "1.36") -> Decision:
    """What becomes of the only pending pod, among nodes n1, n2 and n3."""
    there = [node(name) for name in ("n1", "n2", "n3")]
    found = Cluster.from_objects([*there, device_class(), *objects], kubernetes=kubernetes)
    return simulate(found, verbose=True).decisions[0]


def test_an_allocated_claim_holds_the_pod_to_its_nodes() -> None:
    """Two claims have to be reached from the same node."""
    assert decide(claim("one", "n3"), claiming("one")).node == "n3"
    assert decide(claim("any"), claiming("any")).node == "n1"
    assert decide(claim("one", "n1", "n2"), claim("two", "n2", "n3"), claiming("one", "two")).node == "n2"


@pytest.mark.parametrize(
    ("reserved", "words"),
    [
        ([], "deallocation of ResourceClaim completed"),
        (["other"], "still not schedulable"),
    ],
)
def test_devices_elsewhere(reserved: list[str], words: str) -> None:
    """As 1.36.2 printed it; a claim that no other pod holds is given back."""
    found = decide(claim("far", "n9", reserved=reserved), claiming("far"))
    assert found.node is None
    assert found.message == (
        f"0/3 nodes are available: 3 resourceclaim not available on the node. {words}, {TAIL.format(3)}"
    )
    assert found.rejected is not None
    assert {item.plugin for item in found.rejected.values()} == {"DynamicResources"}


def test_other_refusals_come_first() -> None:
    """The plugin is asked after the others about a node, and speaks whatever the refusals were."""
    found = decide(claim("one", "n1"), claiming("one", cpu="900"))
    assert (
        found.message
        == f"0/3 nodes are available: 3 Insufficient cpu. still not schedulable, {TAIL.format(3)}"
    )


def test_a_class_that_does_not_exist() -> None:
    """The pod is refused outright, and the plugin has nothing to give back."""
    wanted = claim("one", allocated=False)
    wanted["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "nix"
    assert decide(wanted, claiming("one")).message == (
        "0/3 nodes are available: request r: device class nix does not exist. "
        f"no new claims to deallocate, {TAIL.format(3)}"
    )


def test_a_claim_without_devices_leaves_the_pod_undecided() -> None:
    """Nothing says that the pod fits, nor that it does not; a note names pod and claim."""
    objects = [node("n1"), node("n2", cpu="1"), device_class(), claim("one", allocated=False)]
    found = cluster(*objects, claiming("one", cpu="2"), pod("low", "n2", cpu="1"))
    simulation = simulate(found)
    assert simulation.decisions[0].node is None
    assert simulation.decisions[0].message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, "
        "1 undecided: ResourceClaim default/one is not allocated yet. still not schedulable, "
    )
    words = (
        "1 pending pod is left undecided, for devices are not judged (default/p: ResourceClaim default/one"
    )
    assert [note for note in simulation.notes if note.startswith(words)]
    assert [left.pod for left in solve(found).unplaced] == ["default/p"]


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([claim("other")], "ResourceClaim default/one does not exist"),
        (
            [claim("one", deletionTimestamp="2026-01-01T00:00:00Z")],
            "ResourceClaim default/one is being deleted",
        ),
    ],
)
def test_pods_that_are_not_looked_at(objects: list[Object], words: str) -> None:
    """The program waits for the claim without a word; so does the planner, and says for what, and no more."""
    simulation = simulate(cluster(node("n1"), device_class(), *objects, claiming("one")))
    (found,) = simulation.decisions
    assert (found.node, found.message) == (None, f"not looked at: {words}")
    assert not any("left undecided" in note for note in simulation.notes)


def test_a_claim_takes_256_pods() -> None:
    """The first pod is the last that the API server would write down."""
    shared = claim("one", "n1", reserved=[f"there-{number}" for number in range(255)])
    pods = [
        pod(name, resourceClaims=[{"name": "c", "resourceClaimName": "one"}], uid=name) for name in ("a", "b")
    ]
    found = simulate(cluster(node("n1"), device_class(), shared, *pods)).decisions
    assert [item.node for item in found] == ["n1", None]
    assert found[1].message == (
        'running PreBind plugin "DynamicResources": add reservation to claim default/one: '
        'ResourceClaim.resource.k8s.io "one" is invalid: '
        "status.reservedFor: Too many: 257: must have at most 256 items"
    )


def test_a_claim_is_given_back_beside_preemption() -> None:
    """As on 1.36.2: the victim goes, then the claim has no devices any more, and the pod stays pending."""
    low, high = pod("low", "n1", cpu="4"), claiming("one", cpu="2", priority=9)
    found = decide(claim("one", "n1"), low, high)
    assert (found.node, found.nominated_node, found.victims) == (None, "n1", ("default/low",))
    held = claim("one", "n1", reserved=["other"])
    assert decide(held, low, high).node == "n1"


@pytest.mark.parametrize(("kubernetes", "noted"), [("1.35", False), ("1.36", True)])
def test_an_allocation_without_a_time_is_noted(kubernetes: str, noted: bool) -> None:
    """1.36.2 could not reserve such a claim: `status.allocation: ... field is immutable`."""
    old, new = claim("old", "n1"), claim("new", "n1")
    new["status"]["allocation"]["allocationTimestamp"] = "2026-01-01T00:00:00Z"
    found = simulate(
        Cluster.from_objects(
            [node("n1"), device_class(), old, new, claiming("new", "old")], kubernetes=kubernetes
        )
    )
    assert found.decisions[0].node == "n1"
    words = "kube-scheduler fails to reserve claims without an allocationTimestamp, such as default/old"
    assert any(note.startswith(words) for note in found.notes) == noted


def test_room_is_made_in_vain_for_a_claim_that_takes_no_pod_more() -> None:
    """As on 1.36.2: the plugin that reserves claims is asked last, when others have been evicted already."""
    shared = claim("one", "n1", reserved=[f"there-{number}" for number in range(256)])
    low = pod("low", "n1", cpu="4")
    entry = {"name": "c", "resourceClaimName": "one"}
    high = pod("high", resourceClaims=[entry], cpu="2", priority=9)
    found = simulate(cluster(node("n1"), node("n2"), device_class(), shared, low, high)).decisions[0]
    assert (found.node, found.nominated_node, found.victims) == (None, "n1", ("default/low",))
    assert [left.pod for left in solve(cluster(node("n1"), device_class(), shared, high)).unplaced] == [
        "default/high"
    ]


@pytest.mark.parametrize(
    ("kubernetes", "words"),
    [
        ("1.35", f"3 Insufficient {GPU}. no new claims to deallocate"),
        (
            "1.36",
            "3 undecided: a DeviceClass stands behind a resource that the node lacks. still not schedulable",
        ),
    ],
)
def test_a_class_behind_an_extended_resource(kubernetes: str, words: str) -> None:
    """Up to 1.35 nodes without the resource are short of it; then it is the class's business."""
    there = [node(name) for name in ("n1", "n2", "n3")]
    objects = [*there, device_class(extendedResourceName=GPU), pod("p", requests={GPU: "1"})]
    found = simulate(Cluster.from_objects(objects, kubernetes=kubernetes)).decisions[0]
    assert found.message == f"0/3 nodes are available: {words}, {TAIL.format(3)}"


def test_a_node_that_has_the_resource_is_judged_as_ever() -> None:
    """One has room, one has too little, one has none."""
    there = [node("n1"), node("n2", room={GPU: "1"}), node("n3", room={GPU: "4"})]
    objects = [*there, device_class(extendedResourceName=GPU), pod("p", requests={GPU: "2"})]
    found = simulate(cluster(*objects), verbose=True).decisions[0]
    assert found.node == "n3"
    assert found.rejected is not None
    assert found.rejected["n2"].reasons == (f"Insufficient {GPU}",)


def test_declared_features() -> None:
    """From 1.36 on a restart of all containers needs a kubelet that says it can."""
    able = node("n2", cpu="1")
    able["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    wants = pod("p", containers=[{"name": "c", "image": "x", "restartPolicyRules": [rule]}])
    old, new = (
        simulate(Cluster.from_objects([node("n1"), able, wants], kubernetes=version), verbose=True).decisions[
            0
        ]
        for version in ("1.35", "1.36")
    )
    assert (old.node, new.node) == ("n1", "n2")
    assert new.rejected is not None
    assert new.rejected["n1"].reasons == ("node(s) didn't match Pod's required features",)


def test_bound_pods_get_the_place_of_their_node() -> None:
    """From 1.35 on: the second pod keeps away from pods in zone a, and finds the first one there."""
    apart = {
        "labelSelector": {"matchLabels": {"topology.kubernetes.io/zone": "a"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    wary = pod("q", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}})
    objects = [node("n1", zone="a"), node("n2", zone="b", cpu="1"), pod("p", cpu="100m"), wary]
    found = {
        version: [d.node for d in simulate(Cluster.from_objects(objects, kubernetes=version)).decisions]
        for version in ("1.34", "1.35")
    }
    assert found == {"1.34": ["n1", "n1"], "1.35": ["n1", "n2"]}


def lopsided(*, made: bool, reserved: list[str] | None = None) -> Cluster:
    """Two replicas in zone a that have to be a zone apart, with a claim each that holds it there, or one."""
    entries = [{"name": "g", "resourceClaimTemplateName" if made else "resourceClaimName": "one"}]
    found = scaled("ReplicaSet", "web", 2, resourceClaims=entries, spread=[spread()])
    objects = [found]
    for name in ("web-0", "web-1"):
        item = replica(found, name, "n1", uid=name)
        if made:
            item["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": f"{name}-g"}]
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
            objects.append(claim(f"{name}-g", "n1", reserved=[name], ownerReferences=[owner]))
        objects.append(item)
    if not made:
        objects.append(claim("one", reserved=reserved or []))
    template = {"kind": "ResourceClaimTemplate", "metadata": {"name": "one"}}
    nodes = [node("n1", zone="a"), node("n2", zone="b")]
    return cluster(*nodes, device_class(), {"apiVersion": "resource.k8s.io/v1", **template}, *objects)


def test_a_replacement_gets_a_claim_of_its_own() -> None:
    """Where its devices will be is not known: the old pod's claim does not keep it from other nodes."""
    found = lopsided(made=True)
    plan = drain(found, ["n1"])
    (row,) = plan.pending
    assert "undecided: the claim of ResourceClaimTemplate default/one is not allocated yet" in row.message
    assert any("2 pending pods are left undecided, for devices are not judged" in note for note in plan.notes)
    moves = rebalance(found)
    assert (moves.steps, moves.stays) == ((), {DEVICES: 2})
    assert {row.node: row.pod for row in consolidate(found).kept} == {"n1": "default/web-0"}


@pytest.mark.parametrize(("reserved", "moved"), [(["web-0", "web-1"], 1), (["web-0"], 1), ([], 1)])
def test_a_claim_that_others_use_stays_allocated(reserved: list[str], moved: int) -> None:
    """One that is reserved for nobody else is given back: that pod stays, and another one moves."""
    plan = rebalance(lopsided(made=False, reserved=reserved))
    assert len(plan.steps) == moved
    assert [step.pod for step in plan.steps] != ["default/web-0"] or reserved != ["web-0"]
