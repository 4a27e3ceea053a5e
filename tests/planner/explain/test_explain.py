"""What is said about pending pods: the reasons, the domains, the order of turns, what a fix brings about."""

from dataclasses import replace

import pytest

from planner import InputError, explain
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
    scaled,
    spread,
    term,
    workload,
)
from tests.planner.explain.asking import RUNNING, ZONES, only, summaries


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


def test_where_no_node_counts_no_min_domains_are_named() -> None:
    """It was said to come from minDomains 1, which no manifest had."""
    found = only(*ZONES, pod("new", app="web", node_selector={"disk": "ssd"}, spread=[spread()]))
    assert (found.domains[0].domains, found.domains[0].minimum_from) == (
        {},
        "no domain: no node counts for it",
    )


def test_an_effort_says_how_many_fixes_are_enough() -> None:
    """Two fixes are shown as they are; with an effort of its own the reader gets the cheapest alone."""
    few = replace(STANDARD, explain=replace(STANDARD.explain, fixes_enough=1))
    found = cluster(node("a", cpu="4"), pod("new", cpu="6"))
    (all_fixes,), (cheapest,) = explain(found).items, explain(found, effort=few).items
    assert (len(all_fixes.fixes), cheapest.fixes) == (2, all_fixes.fixes[:1])


def test_the_pods_in_the_way_are_named() -> None:
    """For anti-affinity, both ways round, and for host ports."""
    shunned = only(node("a"), pod("old", on="a", app="db"), pod("new", app="web", apart=[term(HOST, "db")]))
    assert shunned.nodes[0].pods == ("default/old",)
    shunning = only(node("a"), pod("old", on="a", apart=[term(HOST, "web")]), pod("new", app="web"))
    assert shunning.nodes[0].pods == ("default/old",)
    port = only(node("a"), pod("old", on="a", ports=[80]), pod("new", ports=[80]))
    assert port.nodes[0].pods == ("default/old",)
    assert "free host port TCP 80 on node a: delete pod default/old" in summaries(port)


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
    """The pod it wants beside it came after it was turned down: nothing has to be changed."""
    objects = [node("a"), pod("first", near=[term(HOST, "db")], priority=5), pod("db", app="db")]
    found = only(*objects)
    assert (found.pod, found.fixes[0].changes, found.fixes[0].node) == ("default/first", (), "a")


def test_replacements_of_deleted_pods_are_told() -> None:
    """A controller's pod comes back where there is room; else it waits instead, which is no safe fix."""
    objects = [
        node("a", cpu="4", labels={"disk": "ssd"}),
        pod("old", on="a", cpu="4", owner="ReplicaSet/web"),
        pod("new", cpu="4", node_selector={"disk": "ssd"}),
    ]
    alone = only(*objects)
    assert "DeletePod" not in [fix.changes[0].action for fix in alone.fixes]
    fix = next(fix for fix in alone.risky if fix.changes[0].action == "DeletePod")
    assert (fix.replaced, fix.replacements) == (("default/old",), (None,))
    assert fix.risk == "the replacement of default/old stays pending"
    roomy = only(*objects, node("b", cpu="4"))
    fix = next(fix for fix in roomy.fixes if fix.changes[0].action == "DeletePod")
    assert (fix.replaced, fix.replacements) == (("default/old",), ("b",))


def test_a_promised_node_is_tried_first() -> None:
    """A pod that preemption promised a node, and that waits for its victims, gets it before any other."""
    full = [pod(f"full-{n}", on=n, cpu="3", app="web") for n in "ab"]
    preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim = pod("victim", on="b", cpu="0", gone=True, priority=-1, conditions=[preempted])
    found = only(
        *(node(n, zone=n, cpu="4") for n in "abc"),
        *full,
        victim,
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


def test_a_pod_that_waits_for_those_it_preempted_is_said_to() -> None:
    """The node is promised, the pods on it are terminating; without them there is nothing to wait for."""
    for gone in (True, False):
        there = pod("old", on="a", cpu="4", gone=gone)
        found = explain(cluster(node("a", cpu="4"), there, pod("new", cpu="4", nominated="a")))
        waits = "default/new has been promised room on a, where 1 pod is terminating: it waits for that"
        assert (waits in found.notes) is gone


def test_pods_alike_are_explained_once() -> None:
    """Two replicas of one template share an explanation."""
    found = only(node("a", cordoned=True), *(pod(f"web-{n}", owner="ReplicaSet/web") for n in range(3)))
    assert (found.pod, found.alike) == ("default/web-0", ("default/web-1", "default/web-2"))


def test_the_pods_of_a_daemon_set_are_explained_once() -> None:
    """What went wrong: the same was told, and looked for, once for every node.

    A fix of its template says how many of the nodes then have their pod; one on the first node is about that.
    """
    nodes = [node(name, cpu="4") for name in ("a", "b", "c", "d")]
    used = {"a": "3500m", "b": "3750m", "c": "3500m", "d": "3"}
    full = [pod(f"web-{name}", on=name, cpu=cpu, owner="ReplicaSet/web") for name, cpu in used.items()]
    found = only(*nodes, *full, scaled("DaemonSet", "log", 0, cpu="1"))
    assert (found.workload, len(found.alike)) == ("DaemonSet/log", 2)
    places = {fix.changes[0].summary: fix.places for fix in (*found.fixes, *found.risky)}
    assert places["request 500m cpu instead of 1"] == 2
    assert [many for summary, many in places.items() if "delete pod" in summary] == [1]


def test_pods_alike_are_told_what_the_last_of_them_was() -> None:
    """The first had the line from before another pod was placed, which disagreed with its own table."""
    big: Object = {"app": "big", "cpu": "2", "apart": [term(HOST, "web")]}
    objects = [
        node("a"),
        pod("web", on="a", app="web"),
        pod("big-1", **big),
        pod("small", cpu="3"),
        pod("big-2", **big),
    ]
    found = only(*objects)
    assert (found.pod, found.alike) == ("default/big-1", ("default/big-2",))
    assert found.message.startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    assert found.nodes[0].reasons == ("Insufficient cpu",)


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


def test_who_only_waits_for_a_turn_is_summed_up() -> None:
    """Several pods that nothing holds are one note."""
    found = explain(cluster(node("a"), pod("one"), pod("two")), {"default/one", "default/two"})
    assert found.notes == (
        "2 pods get a node when the scheduler reaches them, for example default/one gets a: "
        "nothing keeps them pending",
    )


def test_a_fix_says_how_many_of_the_pods_alike_it_places() -> None:
    """Three pods alike, tried together: one more node has room for two, lower requests for one on the old."""
    owner = workload("ReplicaSet", "web", app="web")
    pods = [pod(f"web-{n}", app="web", cpu="2", owner=owner) for n in range(3)]
    found = only(node("a", cpu="4"), owner, pod("full", on="a", cpu="3"), *pods)
    told = (*found.fixes, *found.risky)
    places = {fix.changes[0].action: fix.places for fix in told if len(fix.changes) == 1}
    assert (places["AddNode"], places["LowerRequest"], places["DeletePod"]) == (2, 1, 2)


def test_what_is_tried_out_begins_without_promises_that_have_ended() -> None:
    """What went wrong: a node was kept for a pod that no eviction helps there, and only new ones helped."""
    there = pod("there", on="a", cpu="2", priority=9)
    promised = pod("first", cpu="4", nominated="a", priority=1)
    waiting = pod("new", cpu="1", node_selector={"disk": "ssd"})
    *_, found = explain(cluster(node("a"), there, promised, waiting)).items
    assert (found.pod, {fix.node for fix in found.fixes}) == ("default/new", {"a"})
