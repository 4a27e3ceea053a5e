"""What is said about one pending pod: the reasons, the domains, and the smallest changes."""

from dataclasses import replace
from typing import Any

import pytest

from planner import InputError
from planner.documents.explanation import Explanation
from planner.explain import explain
from planner.proof.effort import STANDARD
from tests.builders import (
    HOST,
    ZONE,
    Object,
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


def only(*objects: Object, **options: Any) -> Explanation:
    """The only explanation of a cluster."""
    (found,) = explain(cluster(*objects), **options).items
    return found


def summaries(found: Explanation) -> list[str]:
    """The fixes of one change, in words."""
    return [fix.changes[0].summary for fix in (*found.fixes, *found.risky) if len(fix.changes) == 1]


ZONES = (node("a", zone="a"), node("b", zone="b"), node("c", zone="c", taints=["down:NoSchedule"]))
RUNNING = (pod("a-1", on="a", app="web"), pod("b-1", on="b", app="web"))


def test_the_domains_say_where_the_global_minimum_comes_from() -> None:
    """A tainted zone counts as an empty domain, and the explanation says so."""
    found = only(*ZONES, *RUNNING, pod("new", app="web", spread=[spread()]))
    (row,) = found.domains
    assert (row.domains, row.global_minimum, row.limit) == ({"a": 1, "b": 1, "c": 0}, 0, 0)
    assert row.minimum_from == "c, which is tainted and counts all the same (nodeTaintsPolicy Ignore)"


@pytest.mark.parametrize(
    ("objects", "constraint", "minimum_from"),
    [
        ((node("c", zone="c", cordoned=True),), spread(), "c, which is cordoned and counts all the same"),
        ((node("c", zone="c", cpu="0"),), spread(), "c, which has none"),
        ((), spread(minDomains=3), "minDomains 3: there are only 2"),
        (
            (node("c", zone="c"), pod("c-1", on="c", app="web", cpu="4")),
            spread(minDomains=5),
            "minDomains 5: there are only 3",
        ),
    ],
)
def test_other_sources_of_the_minimum(
    objects: tuple[Object, ...], constraint: Object, minimum_from: str
) -> None:
    """A cordoned zone, an empty one, and minDomains."""
    new = pod("new", app="web", cpu="1", spread=[constraint])
    found = only(*ZONES[:2], *RUNNING, *objects, new)
    assert found.domains[0].minimum_from == minimum_from


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


def test_a_request_is_lowered_to_what_fits() -> None:
    """The largest request that some node has room for, in the container that asks."""
    found = only(node("a", cpu="4"), pod("big", on="a", cpu="3"), pod("new", cpu="2"))
    fix = next(fix for fix in found.fixes if fix.changes[0].action == "LowerRequest")
    assert fix.changes[0].patch == {
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}
    }


def test_an_effort_says_how_many_fixes_are_enough() -> None:
    """Two fixes are shown as they are; with an effort of its own the reader gets the cheapest alone."""
    few = replace(STANDARD, explain=replace(STANDARD.explain, fixes_enough=1))
    found = cluster(node("a", cpu="4"), pod("new", cpu="6"))
    (all_fixes,), (cheapest,) = explain(found).items, explain(found, effort=few).items
    assert (len(all_fixes.fixes), cheapest.fixes) == (2, all_fixes.fixes[:1])


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


def test_the_pods_in_the_way_are_named() -> None:
    """For anti-affinity, both ways round, and for host ports."""
    shunned = only(node("a"), pod("old", on="a", app="db"), pod("new", app="web", apart=[term(HOST, "db")]))
    assert shunned.nodes[0].pods == ("default/old",)
    shunning = only(node("a"), pod("old", on="a", apart=[term(HOST, "web")]), pod("new", app="web"))
    assert shunning.nodes[0].pods == ("default/old",)
    port = only(node("a"), pod("old", on="a", ports=[80]), pod("new", ports=[80]))
    assert port.nodes[0].pods == ("default/old",)
    assert "free host port TCP 80 on node a: delete pod default/old" in summaries(port)


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


def test_a_gate_comes_first() -> None:
    """A gated pod fits as soon as its gate is gone."""
    found = only(node("a"), pod("new", gates=["wait"]))
    assert summaries(found) == ["remove the scheduling gate wait"]
    assert found.message == "scheduling gated"


def test_somebody_ahead_in_the_queue_takes_the_room_first() -> None:
    """Room for one pod helps the first of two; for the second more is offered, or nothing."""
    objects = [node("a", cpu="2", cordoned=True), pod("first", cpu="2", priority=5), pod("second", cpu="2")]
    first, second = explain(cluster(*objects)).items
    assert "uncordon node a" in summaries(first)
    assert "uncordon node a" not in summaries(second)


def test_a_pod_that_only_waits_for_its_next_turn() -> None:
    """Its company came after it was turned down: nothing has to be changed."""
    objects = [node("a"), pod("first", near=[term(HOST, "db")], priority=5), pod("db", app="db")]
    found = only(*objects)
    assert (found.pod, found.fixes[0].changes, found.fixes[0].node) == ("default/first", (), "a")


def test_replacements_of_deleted_pods_are_told() -> None:
    """A controller's pod comes back: elsewhere when there is room, else it stays pending."""
    objects = [
        node("a", cpu="4", labels={"disk": "ssd"}),
        pod("old", on="a", cpu="4", owner="ReplicaSet/web"),
        pod("new", cpu="4", node_selector={"disk": "ssd"}),
    ]
    alone = only(*objects)
    fix = next(fix for fix in alone.fixes if fix.changes[0].action == "DeletePod")
    assert fix.replacements == (None,)
    roomy = only(*objects, node("b", cpu="4"))
    fix = next(fix for fix in roomy.fixes if fix.changes[0].action == "DeletePod")
    assert fix.replacements == ("b",)


def test_a_more_important_replacement_is_back_before_the_pod_has_its_turn() -> None:
    """Deleting what comes back first helps no pod, so it is no fix."""
    found = only(
        node("a", cpu="4"),
        pod("old", on="a", cpu="4", owner="ReplicaSet/web", priority=10),
        pod("new", cpu="4"),
    )
    assert all(change.action != "DeletePod" for fix in found.fixes for change in fix.changes)


def test_a_promised_node_is_tried_first() -> None:
    """A pod that preemption promised a node gets it, however much better another would be."""
    full = [pod(f"full-{n}", on=n, cpu="3", app="web") for n in "ab"]
    found = only(
        *(node(n, zone=n, cpu="4") for n in "abc"),
        *full,
        pod(
            "new",
            cpu="1",
            app="web",
            spread=[spread(nodeAffinityPolicy="Ignore")],
            only_on=[labelled(ZONE, "In", "a", "b")],
            nominated="b",
        ),
    )
    assert {fix.node for fix in found.fixes if fix.changes[0].action == "ScheduleAnyway"} == {"b"}


def test_pods_alike_are_explained_once() -> None:
    """Two replicas of one template share an explanation."""
    found = only(node("a", cordoned=True), *(pod(f"web-{n}", owner="ReplicaSet/web") for n in range(3)))
    assert (found.pod, found.alike) == ("default/web-0", ("default/web-1", "default/web-2"))


def test_a_volume_in_another_zone_is_no_matter_of_changes() -> None:
    """A bound volume cannot be moved: only a node in its zone is offered."""
    objects = [
        node("a", zone="a", cpu="1"), node("b", zone="b"), pod("full", on="a", cpu="1"),
        storage_class("local"), volume("v", ["a"], claimRef={"namespace": "default", "name": "c"}),
        claim("c", bound_to="v"), pod("new", cpu="1", claims=["c"]),
    ]  # fmt: skip
    assert summaries(only(*objects)) == [
        "free 1 cpu on node a: delete pod default/full",
        "one more node like a",
    ]


def test_what_nothing_helps_is_said_to_be_so() -> None:
    """A claim whose volume is lost cannot be mended here: everything else was tried."""
    lost = {**claim("lost", volume="gone"), "status": {"phase": "Lost"}}
    found = only(node("a"), lost, pod("new", claims=["lost"]))
    assert (found.fixes, found.exhausted) == ((), True)


def test_asking_for_pods_that_are_not_pending_is_an_error() -> None:
    """Unknown pods and running ones are told apart, all at once."""
    with pytest.raises(InputError) as error:
        explain(cluster(node("a"), pod("old", on="a")), ["default/old", "default/none"])
    assert error.value.problems == (
        "there is no pod default/none",
        "pod default/old is not pending: it is on a",
    )


def test_a_settled_cluster_has_nothing_to_explain() -> None:
    """Pods that find a place are no matter for an explanation."""
    assert explain(cluster(node("a"), pod("new"))).items == ()


def test_who_waits_for_its_turn_is_told_so() -> None:
    """A pod that is asked about by name and gets a node at once."""
    found = explain(cluster(node("a"), pod("new")), ["default/new"])
    assert found.items == ()
    assert found.notes == ("default/new gets a when the scheduler reaches it: nothing keeps it pending",)


def test_lower_priorities_are_evicted_where_a_change_allows_it() -> None:
    """A toleration lets the pod preempt; the fix says which pod."""
    objects = [
        node("a", cpu="2", taints=["gpu:NoSchedule"]),
        pod("low", on="a", cpu="2", tolerations=[{"key": "gpu", "operator": "Exists"}]),
        pod("high", cpu="2", priority=10),
    ]
    found = only(*objects)
    fix = next(f for f in found.risky if [c.action for c in f.changes] == ["AddToleration"])
    assert fix.victims == ("default/low",)


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


def test_who_only_waits_for_a_turn_is_summed_up() -> None:
    """Several pods that nothing holds are one note."""
    found = explain(cluster(node("a"), pod("one"), pod("two")), {"default/one", "default/two"})
    assert found.notes == (
        "2 pods get a node when the scheduler reaches them, for example default/one gets a: "
        "nothing keeps them pending",
    )


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
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "db"}}},
        }
        owner = workload("ReplicaSet", "db")
        full = pod("db-1", on="a", app="db", cpu="4", owner=owner)
        found = only(node("a", cpu="4"), owner, full, budget, pod("new", cpu="2"))
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


def test_a_fix_says_how_many_of_the_pods_alike_it_places() -> None:
    """Three pods alike, tried together: one more node has room for two, lower requests for one on the old."""
    owner = workload("ReplicaSet", "web", app="web")
    pods = [pod(f"web-{n}", app="web", cpu="2", owner=owner) for n in range(3)]
    found = only(node("a", cpu="4"), owner, pod("full", on="a", cpu="3"), *pods)
    places = {fix.changes[0].action: fix.places for fix in found.fixes if len(fix.changes) == 1}
    assert (places["AddNode"], places["LowerRequest"], places["DeletePod"]) == (2, 1, 2)


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
