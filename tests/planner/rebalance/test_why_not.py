"""Why constraints stay broken: volumes, room, budgets, affinity, owners; and the effect of one more node."""

import pytest

from models.objects.selectors import LabelSelector
from planner import rebalance
from planner.rebalance.plan import MoveScope
from tests.builders import Object, budget, claim, cluster, node, pod, service, spread, volume
from tests.planner.rebalance.test_recordings import wrong_in
from tests.planner.simulation.rollout.running import running, web


def notes(*objects: Object, **words: object) -> list[str]:
    """The notes of a plan for four pods in zone a, beside other objects."""
    pods = [
        pod(
            f"w{n}",
            "n0",
            **{"app": "web", "owner": "ReplicaSet/web", "cpu": "1", "spread": [spread()], **words},
        )
        for n in range(4)
    ]
    plan = rebalance(cluster(node("n0", zone="a", cpu="8"), *objects, *pods))
    assert (plan.after.hard_excess, plan.steps) == (3, ())
    return [note for note in plan.notes if "broken" in note or "one more node" in note]


BROKEN = "stays broken: default ReplicaSet/web: 3 too many in topology.kubernetes.io/zone a: "


def test_room_is_told_by_the_node_that_lacks_least() -> None:
    """How much is missing where; and a plan with one more node like it is really made."""
    full = pod("x", "n1", cpu="1", owner="DaemonSet/x")
    other = pod("y", "n2", cpu="1500m", owner="DaemonSet/y")
    found = notes(node("n1", zone="b", cpu="1500m"), node("n2", zone="b", cpu="2"), full, other)
    assert found == [
        f"{BROKEN}no room on 2 of 2 nodes elsewhere; "
        "n1 in topology.kubernetes.io/zone b lacks the least: 500m cpu",
        "with one more node like n1, a plan of 1 move leaves 1 pod too many",
    ]


def test_one_more_node_leaves_what_is_said() -> None:
    """A separate plan for the cluster with that node."""
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()]) for n in range(4)
    ]
    added = node("n1-1", zone="b", cpu="1500m")
    given = cluster(node("n0", zone="a", cpu="8"), node("n1", zone="b", cpu="500m"), added, *pods)
    plan = rebalance(given)
    assert (len(plan.steps), plan.after.hard_excess, wrong_in(given, plan)) == (1, 1, [])


ONLY_WEB = MoveScope(selector=LabelSelector(match_labels={"app": "web"}))
ALL_BUT_WEB = MoveScope(excluded=frozenset({"default ReplicaSet/web"}))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "a plan of 4 moves leaves 0 pods too many"),
        ({"max_moves": 1}, "a plan of 1 move leaves 4 pods too many"),
        ({"choice": ONLY_WEB}, "a plan of 2 moves leaves 0 pods too many"),
        ({"choice": ALL_BUT_WEB}, "a plan of 2 moves leaves 0 pods too many"),
    ],
)
def test_one_more_node_is_tried_with_the_same_options(asked: Object, told: str) -> None:
    """The other plan took more moves than allowed, and moved and counted what had been left out."""
    replicas = [
        pod(f"{app}{n}", "n0", app=app, owner=f"ReplicaSet/{app}", cpu="1", spread=[spread(app=app)])
        for app in ("web", "api")
        for n in range(4)
    ]
    full = pod("full", "n1", cpu="4", owner="Job/full")
    given = cluster(node("n0", zone="a", cpu="8"), node("n1", zone="b", cpu="4"), full, *replicas)
    found = [note for note in rebalance(given, **asked).notes if "one more node" in note]
    assert found == [f"with one more node like n1, {told}"]


def test_volumes_hold_pods_in_their_zone() -> None:
    """The commonest case: every claim is bound to a volume of zone a."""
    bound = [volume("v", zones=["a"]), claim("c", bound_to="v")]
    found = notes(node("n1", zone="b", cpu="8"), *bound, claims=["c"])
    assert found == [f"{BROKEN}its volumes hold its pods where they are"]


def test_what_may_not_be_moved_is_told() -> None:
    """A budget that allows nothing, and pods without a controller."""
    allowed = budget("web", "web", 0)
    found = notes(node("n1", zone="b", cpu="8"), allowed)
    why = "under a PodDisruptionBudget that allows no eviction"
    assert found == [f"{BROKEN}of its pods there (4) none may be moved ({why})"]
    (bare,) = notes(node("n1", zone="b", cpu="8"), service("web"), owner=None)
    assert bare.endswith("of its pods there (4) none may be moved (without a controller)")


def test_affinity_is_told_in_the_words_of_the_scheduler() -> None:
    """The other zone counts, and no node of it will do."""
    found = notes(
        node("n1", zone="b", cpu="8"),
        node_selector={"kubernetes.io/hostname": "n0"},
        spread=[spread(nodeAffinityPolicy="Ignore")],
    )
    assert found == [
        f"{BROKEN}of 1 node elsewhere 1 refuses: node(s) didn't match Pod's node affinity/selector"
    ]


def test_nodes_that_refuse_for_other_reasons_are_no_nodes_that_accept() -> None:
    """What went wrong: `of 3 nodes elsewhere 2 refuse` read as if the third one took a pod."""
    found = notes(
        node("n1", zone="b", cpu="8"),
        node("n2", zone="b", cpu="8"),
        node("n3", zone="b", cpu="8", taints=["gpu:NoSchedule"]),
        node_selector={"kubernetes.io/hostname": "n0"},
        spread=[spread(nodeAffinityPolicy="Ignore")],
    )
    said = "node(s) didn't match Pod's node affinity/selector"
    assert found == [f"{BROKEN}all 3 nodes elsewhere refuse, 2 of them: {said}"]


def held(least: int) -> list[Object]:
    """Four replicas in zone a of two, under a budget with `minAvailable: least`."""
    objects = running(web(4), ["n0"] * 4, node("n0", zone="a", cpu="8"), node("n1", zone="b", cpu="8"))
    health = {
        "currentHealthy": 4,
        "desiredHealthy": least,
        "expectedPods": 4,
        "disruptionsAllowed": 4 - least,
    }
    wants = {**budget("web", "web", 0), "status": health}
    wants["spec"] |= {"minAvailable": least}
    wants["metadata"]["namespace"] = "shop"
    return [*objects, wants]


def test_a_budget_that_allows_nothing_is_tried_with_one_more() -> None:
    """One more replica lands in the empty zone and one of four may follow; or the budget wants one less."""
    plan = rebalance(cluster(*held(4)))
    assert (plan.after.hard_excess, plan.steps) == (3, ())
    assert [note for note in plan.notes if note.startswith("with ")] == [
        "with one more replica of Deployment/web: 5, a plan of 1 move leaves 0 pods too many",
        "with PodDisruptionBudget web with minAvailable 3, a plan of 2 moves leaves 0 pods too many",
    ]


def test_what_another_budget_leaves_is_so() -> None:
    """A separate plan, with a replay, for the same cluster with that budget."""
    given = cluster(*held(3))
    plan = rebalance(given)
    assert (len(plan.steps), plan.after.hard_excess, wrong_in(given, plan)) == (2, 0, [])
