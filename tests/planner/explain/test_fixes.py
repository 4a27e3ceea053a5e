"""Which changes a pending pod is offered: the smallest that work, the cheapest first, the unsafe apart."""

from typing import Any

import pytest

from planner import explain
from tests.builders import (
    HOST,
    ZONE,
    Object,
    budget,
    claim,
    cluster,
    labelled,
    node,
    pod,
    profile,
    scheduler,
    spread,
    storage_class,
    term,
    volume,
    workload,
)
from tests.planner.explain.asking import RUNNING, ZONES, only, summaries

_DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


def test_fixes_come_cheapest_first() -> None:
    """One's own manifest before nodes, nodes before other people's pods."""
    found = only(*ZONES, *RUNNING, pod("new", app="web", spread=[spread()]))
    assert [fix.changes[0].action for fix in found.fixes] == [
        "HonorTaints",
        "RaiseMaxSkew",
        "AddToleration",
        "ScheduleAnyway",
        "RemoveTaint",
        "DeletePod",
        "DeletePod",
        "AddNode",
    ]


def test_the_smallest_skew_that_works_is_the_one_offered() -> None:
    """With 3, 2 and 0 pods the fullest zone is not the one to be opened."""
    more = [pod(f"a-{number}", on="a", app="web") for number in (2, 3)] + [pod("b-2", on="b", app="web")]
    found = only(*ZONES, *RUNNING, *more, pod("new", app="web", spread=[spread()]))
    assert [text for text in summaries(found) if text.startswith("maxSkew")] == [
        f"maxSkew 3 instead of 1 for {ZONE}"
    ]


def test_room_is_made_by_the_one_pod_that_is_large_enough() -> None:
    """Of three pods the smallest that frees what is short; the amount is told."""
    running = [pod(f"p{cpu}", on="a", cpu=str(cpu)) for cpu in (1, 2)] + [pod("tiny", on="a", cpu="500m")]
    found = only(node("a", cpu="4"), *running, pod("new", cpu="2"))
    assert "free 1500m cpu on node a: delete pod default/p2" in summaries(found)


def test_a_pod_larger_than_any_node_needs_a_larger_node() -> None:
    """One more node like the others does not help; one with enough cpu does."""
    found = only(node("a", cpu="4"), pod("new", cpu="6"))
    assert summaries(found) == ["request 4 cpu instead of 6", "one more node like a, with 6 cpu"]


def test_daemon_pods_take_their_share_of_a_new_node() -> None:
    """A new node runs its DaemonSet's pod before any other pod: four cores are not enough for four."""
    daemon = pod("agent", on="a", cpu="1", owner="DaemonSet/agent")
    found = only(node("a", cpu="4"), daemon, pod("new", cpu="4"))
    assert "one more node like a, with 5 cpu" in summaries(found)


def test_two_changes_where_one_is_not_enough() -> None:
    """A cordoned node with a taint of its own: both have to go, or be tolerated."""
    found = only(node("a", cordoned=True, taints=["gpu:NoSchedule"]), pod("new"))
    pairs = [[change.action for change in fix.changes] for fix in found.risky]
    assert ["Uncordon", "AddToleration"] in pairs
    assert all(len(pair) == 1 for pair in pairs if "AddNode" in pair)


def test_no_pair_repeats_what_one_change_does() -> None:
    """Whatever works alone is not offered once more with something beside it."""
    found = only(*ZONES, *RUNNING, pod("new", app="web", spread=[spread()]))
    assert all(len(fix.changes) == 1 for fix in found.fixes)


def test_missing_company_can_be_started() -> None:
    """A pod with the labels that the affinity asks for, or no affinity."""
    found = only(node("a", zone="a"), pod("new", near=[term(ZONE, "db")]))
    assert summaries(found) == [
        f"drop the affinity to pods with app=db per {ZONE}",
        "start a pod with app=db in namespace default on node a",
    ]


def test_a_node_can_get_the_label_that_is_asked_for() -> None:
    """A label of one's own is put on the node; what a node is by nature is not."""
    found = only(node("a"), pod("new", node_selector={"disk": "ssd"}))
    assert "label node a disk=ssd" in summaries(found)
    found = only(node("a", zone="a"), pod("new", only_on=[labelled(ZONE, "In", "b")]))
    assert not any(text.startswith("label") for text in summaries(found))


def test_a_more_important_replacement_is_back_before_the_pod_has_its_turn() -> None:
    """Deleting what comes back first helps no pod, so it is no fix."""
    found = only(
        node("a", cpu="4"),
        pod("old", on="a", cpu="4", owner="ReplicaSet/web", priority=10),
        pod("new", cpu="4"),
    )
    assert all(change.action != "DeletePod" for fix in found.fixes for change in fix.changes)


def test_a_volume_in_another_zone_is_no_matter_of_changes() -> None:
    """A bound volume cannot be moved: only a node in its zone is offered."""
    objects = [
        node("a", zone="a", cpu="1"), node("b", zone="b"),
        pod("full", on="a", cpu="1", owner="ReplicaSet/web"),
        storage_class("local"), volume("v", ["a"], claimRef={"namespace": "default", "name": "c"}),
        claim("c", bound_to="v"), pod("new", cpu="1", claims=["c"]),
    ]  # fmt: skip
    assert summaries(only(*objects)) == [
        "free 1 cpu on node a: delete pod default/full",
        "one more node like a",
    ]


def test_a_sick_node_is_tolerated_by_a_toleration_of_its_own() -> None:
    """What pods are given when they are admitted is of another effect; what they say themselves stays."""
    taints = ["node.kubernetes.io/unreachable:NoSchedule"]
    own = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 30}]
    given = [
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for key in ("not-ready", "unreachable")
    ]
    for written, kept in ((given, []), (own, own)):
        found = only(node("a", taints=taints), pod("new", tolerations=written))
        (change,) = next(fix for fix in found.risky if fix.changes[0].action == "AddToleration").changes
        new = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
        assert change.patch is not None
        assert change.patch["spec"]["tolerations"] == [*kept, new]


def test_a_sibling_that_then_waits_instead_is_no_fix() -> None:
    """Deleting a replica whose replacement stays pending only tells another pod to wait."""
    running = [pod(f"w-{number}", on="a", cpu="1", app="web", owner="ReplicaSet/web") for number in range(4)]
    found = only(node("a", cpu="4"), *running, pod("w-4", cpu="1", app="web", owner="ReplicaSet/web"))
    assert found.fixes
    assert not [text for text in summaries(found) if text.startswith(("delete", "move"))]


def test_a_pod_that_does_not_exist_yet_is_not_deleted() -> None:
    """Room that a pod of a manifest takes is not had back by deleting it: it is not there."""
    template = {"metadata": {"labels": {"app": "db"}}, "spec": pod("x", cpu="3")["spec"]}
    owner = workload("ReplicaSet", "db")
    owner["spec"] = {"replicas": 1, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    objects = [node("a", cpu="4"), owner, pod("second", cpu="3", app="web", priority=-1)]
    found = only(*objects)
    assert found.pod == "default/second"
    assert not [text for text in summaries(found) if "db-1" in text]


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([node("a"), pod("new", node_selector={"disk": "ssd"})], "label node"),
        ([node("a", taints=["nvidia.com/gpu:NoSchedule"]), pod("new")], "nvidia.com/gpu"),
        ([node("a", taints=["node.kubernetes.io/unreachable:NoSchedule"]), pod("new")], "unreachable"),
        ([node("a", cpu="1"), pod("new", cpu="4")], "request 1 cpu"),
    ],
)
def test_what_is_not_safe_to_apply_is_never_among_the_fixes(objects: list[Object], words: str) -> None:
    """Relabelling nodes, tolerating sick nodes and devices, asking for a fraction: apart, with the reason."""
    found = only(*objects)
    assert found.fixes
    assert not [c for fix in found.fixes for c in fix.changes if words in c.summary and c.action != "AddNode"]
    risky = [fix for fix in found.risky if any(words in change.summary for change in fix.changes)]
    assert risky
    assert all(fix.risk for fix in risky)


def test_a_pod_that_asks_for_the_device_may_tolerate_its_taint() -> None:
    """There the toleration is what is missing, and nothing is got around."""
    gpu = {"nvidia.com/gpu": "1"}
    nodes = node("a", taints=["nvidia.com/gpu:NoSchedule"], room=gpu)
    found = only(nodes, pod("new", requests=gpu))
    assert found.fixes[0].changes[0].summary == "tolerate nvidia.com/gpu:NoSchedule"


def test_a_deletion_that_a_budget_forbids_is_not_safe() -> None:
    """With a budget that allows nothing the pod in the way is not offered; with room in it, it is."""
    for least, safe in ((1, False), (0, True)):
        guard = budget("db", "db", minAvailable=least)
        owner = workload("ReplicaSet", "db")
        owner["spec"]["replicas"] = 1
        full = pod("db-1", on="a", app="db", cpu="4", owner=owner)
        nodes = (node("a", cpu="4", labels={"disk": "ssd"}), node("b", cpu="4"))
        found = only(*nodes, owner, full, guard, pod("new", cpu="2", node_selector={"disk": "ssd"}))
        offered = [change.action for fix in found.fixes for change in fix.changes]
        assert ("DeletePod" in offered) == safe
        assert ("DeletePod" in [c.action for fix in found.risky for c in fix.changes]) != safe


@pytest.mark.parametrize(
    ("asked", "there", "meant"),
    [
        ("eu-west", ["eu-wset", "us-east"], "eu-wset"),
        ("goldd", ["gold", "silver"], "gold"),
        ("zone-c", ["zone-a", "zone-b"], ""),
        ("zone-c", ["zone-a"], ""),
        ("pool-1", ["pool-11"], ""),
        ("ssd", ["hdd", "nvme"], ""),
        ("frontend", ["fronted", "frontends"], ""),
    ],
)
def test_a_value_that_no_node_has_is_corrected_where_one_alone_is_like_it(
    asked: str, there: list[str], meant: str
) -> None:
    """A typing error is the first fix; a value of a family, such as another zone, is never taken for one."""
    nodes = [node(f"n{number}", labels={"pool": value}) for number, value in enumerate(there)]
    for words in ({"node_selector": {"pool": asked}}, {"only_on": [labelled("pool", "In", asked)]}):
        found = only(*nodes, pod("new", **words))
        corrections = [text for text in summaries(found) if text.startswith("did you mean")]
        assert corrections == ([f"did you mean pool={meant}? No node has pool={asked}"] if meant else [])
        assert (found.fixes[0].changes[0].action == "CorrectValue") == bool(meant)


def test_a_missing_claim_is_to_be_created() -> None:
    """The pod's line is `persistentvolumeclaim "data-pg-0" not found`; nothing else would help it."""
    found = only(node("a"), pod("pg-0", claims=["data-pg-0"]))
    (fix,) = [fix for fix in found.fixes if fix.changes[0].action == "CreateClaim"]
    assert 'persistentvolumeclaim "data-pg-0" not found' in found.message
    assert found.fixes[0] == fix
    assert [(change.target, change.summary) for change in fix.changes] == [
        ("PersistentVolumeClaim/data-pg-0", "create claim data-pg-0")
    ]


def test_a_default_constraint_is_written_without_a_revisions_hash() -> None:
    """The selector of a ReplicaSet has pod-template-hash, which in a Deployment would mean no new pod."""
    owner = workload("ReplicaSet", "web-1", app="web")
    owner["spec"]["selector"] = {"matchLabels": {"app": "web", "pod-template-hash": "1"}}
    args = {
        "defaultingType": "List",
        "defaultConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}],
    }
    config = scheduler(profile(PodTopologySpread=args))
    labels = {"app": "web", "pod-template-hash": "1"}
    running = [pod(f"web-1-{n}", on=n, labels=labels, owner=owner) for n in "ab"]
    found = only(*ZONES, config, owner, *running, pod("web-1-new", labels=labels, owner=owner))
    patches = [c.patch for f in (*found.fixes, *found.risky) for c in f.changes if c.action == "RaiseMaxSkew"]
    assert patches
    assert "'pod-template-hash': '1'" not in str(patches)
    assert "'key': 'pod-template-hash'" not in str(patches)
    assert "'matchLabelKeys': ['pod-template-hash']" in str(patches)


_TEMPLATE = {"spec": {"containers": [{"name": "main"}]}}


def _job(**spec: Any) -> Object:
    return {**workload("Job", "train"), "spec": {"template": _TEMPLATE, **spec}}


@pytest.mark.parametrize(
    ("objects", "words", "reason"),
    [
        ([], {}, "nothing makes default/old again"),
        (
            [job := _job(backoffLimit=0)],
            {"owner": job},
            "the Job of default/old may fail, and what the pod has done is lost",
        ),
        (
            [job := _job(backoffLimit=6)],
            {"owner": job},
            "to the Job of default/old it is a failure, and what the pod has done is lost",
        ),
        (
            [
                job := _job(
                    podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [_DISRUPTED]}]}
                )
            ],
            {"owner": job},
            "the Job of default/old may fail, and what the pod has done is lost",
        ),
        (
            [],
            {"owner": "ReplicaSet/web", "volumes": [{"name": "scratch", "emptyDir": {}}]},
            "default/old should stay: it has local storage",
        ),
        (
            [workload("ReplicaSet", "web")],
            {"owner": workload("ReplicaSet", "web") | {"metadata": {"name": "web", "uid": "another"}}},
            "default/old is a pod whose controller is gone",
        ),
    ],
)
def test_pods_that_are_lost_are_not_deleted_for_another(
    objects: list[Object], words: dict[str, Any], reason: str
) -> None:
    """A Job that fails, a pod that nothing makes again, data that goes with it: apart, with the reason."""
    nodes = (node("a", cpu="4", labels={"disk": "ssd"}), node("b", cpu="4"))
    old = pod("old", on="a", cpu="4", **words)
    found = only(*nodes, *objects, old, pod("new", cpu="4", node_selector={"disk": "ssd"}))
    assert "DeletePod" not in [change.action for fix in found.fixes for change in fix.changes]
    (fix,) = [fix for fix in found.risky if fix.changes[0].action == "DeletePod"]
    assert fix.risk == reason


def test_a_pod_that_comes_back_is_deleted_rather_than_a_smaller_one_that_does_not() -> None:
    """Of two pods that free enough the one of a controller goes, and is the only one that is offered."""
    old = [
        pod("bare", on="a", cpu="1", priority=-1),
        pod("web", on="a", cpu="2", owner="ReplicaSet/web"),
    ]
    nodes = (node("a", cpu="4", labels={"disk": "ssd"}), node("b", cpu="4"))
    found = only(*nodes, *old, pod("new", cpu="2", node_selector={"disk": "ssd"}), preemption=False)
    assert [text for text in summaries(found) if "delete" in text] == [
        "free 1 cpu on node a: delete pod default/web"
    ]
    assert "DeletePod" in [fix.changes[0].action for fix in found.fixes]


def test_a_static_pod_is_not_deleted() -> None:
    """Its kubelet keeps it running, whatever becomes of the object."""
    mirror = pod(
        "proxy-a", on="a", ports=[80], owner="Node/a", annotations={"kubernetes.io/config.mirror": "x"}
    )
    found = only(node("a"), mirror, pod("new", ports=[80]))
    assert not [text for text in summaries(found) if "delete" in text]


def test_a_daemon_sets_pod_keeps_to_its_node() -> None:
    """Its affinity is given to it by the controller: a patch of the template leads it to no other node."""
    template = {"metadata": {"labels": {"app": "log"}}, "spec": pod("x", cpu="1")["spec"]}
    daemons = workload("DaemonSet", "log")
    daemons["spec"] = {"selector": {"matchLabels": {"app": "log"}}, "template": template}
    full = pod("full", on="a", cpu="3500m", owner="ReplicaSet/web")
    found = only(node("a", cpu="4"), node("b", cpu="4"), daemons, full)
    assert {fix.node for fix in (*found.fixes, *found.risky)} == {"a"}
    assert "DropNodeRequirement" not in [
        c.action for fix in (*found.fixes, *found.risky) for c in fix.changes
    ]


def test_of_new_nodes_the_fewest_are_told() -> None:
    """What went wrong: four more nodes and eight more, where pods ahead take the first two."""
    full = [node("n1", cpu="1"), pod("there", "n1", cpu="1", owner="ReplicaSet/web", priority=1)]
    ahead = [pod(f"ahead-{number}", cpu="1", priority=1) for number in range(2)]
    (found,) = explain(cluster(*full, *ahead, pod("late", cpu="1")), pods=["default/late"]).items
    told = [{change.summary for change in fix.changes} for fix in found.fixes]
    assert told == [{"4 more nodes like n1"}]


def test_no_change_is_told_without_which_the_others_work() -> None:
    """What went wrong: a new node opens without old being deleted, and the fix deleted it all the same."""
    found = only(
        node("a", zone="z"),
        pod("old", on="a", app="db", owner="ReplicaSet/db", apart=[term(HOST, "web")]),
        pod("new", app="web", apart=[term(ZONE, "db")]),
    )
    assert [{change.action for change in fix.changes} for fix in found.fixes] == [
        {"DropAffinityTerm", "AddNode"}
    ]


def test_ports_that_a_patch_cannot_tell_apart_are_left_alone() -> None:
    """A patch merges ports by their number: of one under two protocols one was lost, the host port not."""
    there = pod("there", "n1", ports=[90])
    new = pod("new", ports=[90])
    assert "do without host port TCP 90" in summaries(only(node("n1"), there, new))
    ports = [{"containerPort": 80, "hostPort": 90}, {"containerPort": 80, "hostPort": 91, "protocol": "UDP"}]
    new["spec"]["containers"][0]["ports"] = ports
    assert not any("do without" in text for text in summaries(only(node("n1"), there, new)))


def test_no_fix_drops_more_affinity_than_another_one_with_the_same_rest() -> None:
    """What went wrong: two terms and the selector were dropped, below a fix that dropped one of them."""
    near = [term(HOST, "nothing"), term(ZONE, "new")]
    new = pod("new", app="new", near=near, node_selector={HOST: "n77"})
    found = only(node("n1", "a"), node("n2", "b"), new)
    dropped = [
        change.summary for fix in found.fixes for change in fix.changes if "affinity to" in change.summary
    ]
    assert dropped == ["drop the affinity to pods with app=nothing per kubernetes.io/hostname"]
