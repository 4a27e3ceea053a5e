"""Fixes of several changes, carried out one after the other: none undoes another one."""

from planner import explain
from tests.builders import ZONE, cluster, node, pod, term
from tests.planner.explain.applying import applied, landing
from tests.planner.explain.asking import only


def test_patches_of_one_fix_keep_what_the_others_change() -> None:
    """Lists are replaced whole: each patch that dropped one anti-affinity term brought the other one back."""
    there = [pod("red", "n1", app="red"), pod("blue", "n1", app="blue")]
    new = pod("new", apart=[term(ZONE, "red"), term(ZONE, "blue")])
    objects = [node("n1", "a"), *there, new]
    fixes = [fix for fix in only(*objects).fixes if {c.action for c in fix.changes} == {"DropAffinityTerm"}]
    assert [len(fix.changes) for fix in fixes] == [2]
    assert landing(applied(objects, "default/new", fixes[0]), "default/new", preemption=False).node == "n1"


def test_the_replacement_of_a_deleted_pod_is_tried_in_the_order_of_the_queue() -> None:
    """One of higher priority than all others came last, found its room taken, and was out of the way."""
    there = pod("there", "n1", cpu="3", priority=100, apart=[term(ZONE, "new")], owner="ReplicaSet/there")
    ahead, new = pod("ahead", cpu="3", priority=10), pod("new", app="new", cpu="1")
    there["spec"]["preemptionPolicy"] = "Never"
    found = explain(cluster(node("n1", "a"), node("n2", "a", cpu="1"), there, ahead, new), ["default/new"])
    (explained,) = found.items
    assert {change.action for fix in explained.fixes for change in fix.changes} == {"AddNode"}
    assert explained.risky == ()


def test_no_pod_is_deleted_twice() -> None:
    """The second line would delete what a StatefulSet has made in its place under the same name."""
    shy = [
        pod(f"shy-{n}", f"n{n}", cpu="2", apart=[term(ZONE, "web")], owner="StatefulSet/shy") for n in (1, 2)
    ]
    others = [pod(f"other-{n}", f"n{n}", cpu="2", owner="ReplicaSet/other") for n in (1, 2)]
    found = only(node("n1", "a"), node("n2", "a"), *shy, *others, pod("new", cpu="3", app="web"))
    several = [fix.changes for fix in (*found.fixes, *found.risky) if len(fix.changes) > 1]
    assert several
    for changes in several:
        lines = [line for change in changes for line in change.command.splitlines() if "delete pod" in line]
        assert len({*lines}) == len(lines)
