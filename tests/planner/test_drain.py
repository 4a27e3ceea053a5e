"""Draining pools: orders in which no pod is stuck, budgets that hold at every step, and what frees a node."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from planner import drain
from planner.documents.drain import DrainPlan
from tests.builders import Object, labelled, node, pod, spread, term, workload
from tests.builders import budget as pods_budget
from tests.planner.eviction.jobs import IGNORES, job, of_job, policy
from tests.planner.simulation.rollout.running import budget, running, web, zones
from tests.seeds import tries
from tests.strategies import relaxed

HERE = {"kubernetes.io/hostname": "a1"}


def drained(objects: list[Object], *nodes: str, **words: Any) -> DrainPlan:
    """The nodes of these objects drained."""
    return drain(Cluster.from_objects(objects), nodes, **words)


def test_pods_land_elsewhere() -> None:
    """A node for each wave, and no pod on a node that is still to be drained."""
    objects = running(web(3, constraints=[]), ["a1", "a2", "b1"], *zones("aabb"))
    plan = drained(objects, "a1", "a2")
    assert [(step.wave, step.node) for step in plan.steps] == [(1, "a1"), (2, "a2")]
    assert {row.lands for step in plan.steps for row in step.evictions} <= {"b1", "b2"}
    assert (plan.blocked, plan.after.pending) == ((), 0)


def test_together() -> None:
    """So many nodes are one wave."""
    objects = running(web(3, constraints=[]), ["a1", "a2", "b1"], *zones("aabb"))
    assert {step.wave for step in drained(objects, "a1", "a2", at_once=2).steps} == {1}


def test_a_budget_is_waited_for() -> None:
    """Two pods on the node, one may be away: both go, one after the other."""
    objects = running(web(3, constraints=[]), ["a1", "a1", "b1"], *zones("ab"))
    plan = drained([*objects, budget(maxUnavailable=1)], "a1")
    assert [len(step.evictions) for step in plan.steps] == [2]
    assert plan.blocked == ()


def test_a_budget_that_allows_nothing_blocks_and_what_frees_it_is_told() -> None:
    """The upgrade stops at such a node; one more replica or another budget lets it go on."""
    objects = running(web(1, constraints=[]), ["a1"], *zones("ab"))
    plan = drained([*objects, budget(minAvailable=1)], "a1", "b1")
    (row,) = plan.blocked
    assert (row.node, row.pod) == ("a1", "shop/web-old-0")
    assert row.message.startswith("Cannot evict pod as it would violate the pod's disruption budget.")
    assert [(step.node, step.evictions) for step in plan.steps] == [("b1", ())]


def test_a_hard_constraint_keeps_replacements_pending() -> None:
    """The whole zone goes, and it counts all the same: the document says what is left and why."""
    objects = running(web(4), ["a1", "a2", "b1", "b2"], *zones("aabb"))
    plan = drained(objects, "a1", "a2")
    assert plan.after.pending > 0
    assert "didn't match pod topology spread constraints" in plan.pending[0].message


def test_new_nodes_come_first() -> None:
    """With a node more like the one that goes there is room, and the zone stays."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    assert drained(objects, "a1").after.pending == 1
    plan = drained(objects, "a1", surge=1)
    assert (plan.surge, plan.after.pending, plan.after.hard_excess) == (("a1-1",), 0, 0)


def test_daemons_and_static_pods_stay() -> None:
    """kubectl drain leaves them, so a node with nothing else is done, in a wave all the same."""
    daemon = pod("log-1", on="a1", owner="DaemonSet/log")
    (step,) = drained([*zones("ab"), workload("DaemonSet", "log"), daemon], "a1").steps
    assert (step.wave, step.node, step.evictions) == (1, "a1", ())


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Object], list[str], int, int]:
    """Replicas on nodes of two zones under a budget, the nodes to drain, how many at once."""
    names = ["a1", "a2", "a3", "b1", "b2", "b3"]
    places = draw(st.lists(st.sampled_from(names), min_size=1, max_size=8))
    away = draw(st.integers(0, 3))
    constraints = [spread(app="web")] if draw(st.booleans()) else []
    owner = web(len(places), constraints=constraints, cpu="900m")
    objects = running(owner, places, *zones("aaabbb", cpu="3"))
    going = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    return [*objects, budget(maxUnavailable=away)], going, away, draw(st.integers(1, 3))


@relaxed
@given(clusters())
def test_budgets_hold_at_every_step(case: tuple[list[Object], list[str], int, int]) -> None:
    """No more ready pods are away at a time than the budget allows; what is emptied is empty."""
    objects, going, away, at_once = case
    plan = drained(objects, *going, at_once=at_once, fixes=False)
    blocked = {row.node for row in plan.blocked}
    assert {step.node for step in plan.steps} >= {*going} - blocked
    if away == 0:
        assert not any(step.evictions for step in plan.steps)
    lost = sum(row.lands is None for step in plan.steps for row in step.evictions)
    assert lost <= away
    on = {item["metadata"]["name"]: item["spec"]["nodeName"] for item in objects if item["kind"] == "Pod"}
    evicted = {row.pod.partition("/")[2] for step in plan.steps for row in step.evictions}
    for name, place in on.items():
        if place in going and place not in blocked:
            assert name in evicted
    assert all(row.lands not in going for step in plan.steps for row in step.evictions)


def test_who_tolerates_the_cordon_comes_back_and_stays() -> None:
    """What went wrong: its replacement was evicted again and again, without an end."""
    everything = [{"operator": "Exists"}]
    objects = [
        node("a1"),
        node("b1", cordoned=True, taints=["off:NoExecute"]),
        pod("it", "a1", owner="ReplicaSet/it", tolerations=everything, node_selector=HERE),
    ]
    plan = drained(objects, "a1")
    assert [(row.pod, row.lands) for step in plan.steps for row in step.evictions] == [("default/it", "a1")]
    assert (plan.blocked, plan.played_to_end) == ((), True)
    assert plan.notes[-1] == "default/it tolerates the cordon and lands on a1: no pod is evicted twice"


def test_other_orders_are_tried_where_one_does_harm() -> None:
    """Never worse than the order of the command line, now and then better; and what is told is that order."""
    seed = random.randrange(2**32)
    better = number = 0
    # Two or three in a hundred are better: a thousand without one are not bad luck.
    while number < (tries(20) if better else 1000):
        number += 1
        chance = random.Random(seed + number)
        names = ["a1", "a2", "b1", "b2", "c1"]
        places = [chance.choice(names) for _ in range(chance.randint(4, 7))]
        owner = web(len(places), cpu=chance.choice(("600m", "900m", "1500m")))
        objects = [*running(owner, places, *zones("aabbc", cpu="2")), budget(maxUnavailable=1)]
        going = chance.sample(names, 3)
        plain = drained(objects, *going, fixes=False)
        plan = drained(objects, *going)
        assert _harm(plan) <= _harm(plain), (seed, number)
        if _harm(plan) < _harm(plain):
            better += 1
            told = list(dict.fromkeys(step.node for step in plan.steps))
            told += [name for name in going if name not in told]
            assert _harm(drained(objects, *told, fixes=False)) <= _harm(plan), (seed, number)
    assert better, seed


def _harm(plan: DrainPlan) -> tuple[int, int, int]:
    broken = max(0, plan.after.hard_excess - plan.before.hard_excess)
    return len(plan.blocked), plan.after.pending, broken


def test_the_order_of_names_does_not_matter_for_who_is_stuck() -> None:
    """A node that is stuck at first is tried again when others have given their budget back."""
    names = [f"{zone}{number}" for zone in "ab" for number in (1, 2)]
    objects = running(web(4, constraints=[]), names, *zones("aabbcc"))
    objects.append(budget(maxUnavailable=1))
    order = random.sample(names[:2], 2)
    assert drained(objects, *order).blocked == ()


def test_no_node_without_a_name() -> None:
    """Nodes that are not in the snapshot are an error with a suggestion."""
    with pytest.raises(InputError, match=r"did you mean alpha\?"):
        drained([node("alpha")], "alpah")


def test_bare_pods_are_told_apart() -> None:
    """They go as with --force and do not come back, which a note says; no other pod is in it."""
    objects = running(web(1, constraints=[]), ["a1"], *zones("ab"))
    assert drained(objects, "a1").notes == ()
    plan = drained([*objects, pod("tool", on="a1"), pod("shell", on="a1")], "a1", force=True)
    (note,) = plan.notes
    assert note.startswith("default/tool and 1 more have no controller")
    assert {row.pod: row.lands for row in plan.steps[0].evictions}["default/tool"] is None


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"backoffLimit": 1}, ("Fails", "BackoffLimitExceeded", 0)),
        ({"backoffLimit": 5}, ("LosesRetries", "", 3)),
        (policy(IGNORES), ("KeepsRunning", "", None)),
    ],
)
def test_what_becomes_of_jobs(spec: dict[str, Any], expected: tuple[str, str, int | None]) -> None:
    """All pods go, as `kubectl drain` has it; of a Job that fails by it nothing comes back."""
    pods = [of_job(f"sums-{n}", "n1", spread=[]) for n in range(2)]
    plan = drained([node("n1"), node("n2"), job(parallelism=2, **spec), *pods], "n1")
    (row,) = plan.jobs
    assert (row.namespace, row.job, row.evictions) == ("default", "sums", 2)
    assert (row.outcome, row.reason, row.retries_left) == expected
    fails = row.outcome == "Fails"
    lands = None if fails else "n2"
    assert [found.lands for step in plan.steps for found in step.evictions] == [lands, lands]
    note = "Job default/sums: 2 evictions, and it fails (BackoffLimitExceeded)"
    assert (note in plan.notes) == fails
    assert plan.after.pending == 0


def _rivals(zone: str = "b") -> list[Object]:
    """`high` is drained from `a1`; `low` fills `c1`, and `b1` is in the same zone or in one of its own."""
    apart = [term("topology.kubernetes.io/zone", "high")]
    return [
        node("a1", zone="a"),
        node("b1", zone=zone),
        node("c1", zone="c", cpu="1"),
        pod("high", "a1", app="high", cpu="500m", priority=10, owner="ReplicaSet/high", apart=apart),
        pod("low", "c1", cpu="1", owner="ReplicaSet/low"),
    ]


def test_what_may_be_preempted_is_told() -> None:
    """As long as the old pod ends its zone is closed to the replacement, which takes the room of another."""
    (note,) = drained(_rivals("a"), "a1").notes
    assert note.startswith("default/low may be preempted by the replacement of default/high")
    assert drained(_rivals("b"), "a1").notes == ()
    assert drained(_rivals("a"), "a1", preemption=False).notes == ()


def test_pods_may_end_late() -> None:
    """The second pod is evicted when the first has landed, which may still end then, and keep it off."""
    keeps_off = [term("topology.kubernetes.io/zone", selects={"matchLabels": {"is": "first"}})]
    web: Object = {"app": "web", "priority": 10, "owner": "ReplicaSet/web"}
    objects = [
        *(node(name, zone=name[0]) for name in ("a1", "a2", "b1")),
        node("c1", zone="c", cpu="1"),
        pod("first", "a1", labels={"is": "first"}, node_selector={"kubernetes.io/hostname": "b1"}, **web),
        pod("second", "a1", cpu="500m", apart=keeps_off, **web),
        pod("low", "c1", cpu="1", owner="ReplicaSet/low"),
        pods_budget("one", "web", 1),
    ]
    plan = drained(objects, "a1")
    assert {row.pod: row.lands for row in plan.steps[0].evictions}["default/second"] == "a2"
    (note,) = plan.notes
    assert note.startswith("default/low may be preempted by the replacement of default/second")


def test_an_order_without_preemption_is_better() -> None:
    """Whichever goes first, there is room for one: the one of high priority takes it before it needs more."""
    objects = [
        *(node(name, cpu="3") for name in ("a1", "b1", "c1", "d1")),
        pod("high", "a1", cpu="3", priority=10, owner="ReplicaSet/high"),
        pod("low", "b1", cpu="3", owner="ReplicaSet/low"),
        pod("stays", "c1", cpu="3", owner="ReplicaSet/stays"),
    ]
    plan = drained(objects, "b1", "a1")
    assert [step.node for step in plan.steps] == ["a1", "b1"]
    assert (plan.notes, plan.after.pending) == ((), 1)


def test_a_pod_without_a_controller_blocks_its_node_unless_forced() -> None:
    """kubectl drain evicts nothing on such a node and names the pods; the other nodes are drained."""
    objects = [*running(web(2, constraints=[]), ["a1", "b1"], *zones("abc")), pod("tool", on="a1")]
    plan = drained(objects, "a1", "b1")
    (row,) = plan.blocked
    assert (row.node, row.pod, row.reason) == ("a1", "default/tool", "NoController")
    assert row.message == (
        "cannot delete Pods that declare no controller (use --force to override): default/tool"
    )
    assert [(step.node, len(step.evictions)) for step in plan.steps] == [("b1", 1)]
    assert drained(objects, "a1", "b1", force=True).blocked == ()


SCRATCH = [{"name": "scratch", "emptyDir": {}}]


def test_a_pod_with_scratch_data_blocks_its_node_unless_its_data_may_go() -> None:
    """What went wrong: such pods were evicted and their data with them, where kubectl drain refuses.

    Of a pod that has no controller either kubectl names the volume alone; a hostPath is no local storage.
    """
    web = pod("web", on="a1", owner="ReplicaSet/web", volumes=SCRATCH)
    disk = pod("disk", on="b1", owner="ReplicaSet/disk", volumes=[{"name": "d", "hostPath": {"path": "/d"}}])
    objects = [*zones("abc"), web, disk, pod("tool", on="a1", volumes=SCRATCH), pod("bare", on="a1")]
    plan = drained(objects, "a1", "b1")
    (row,) = plan.blocked
    scratch = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
    bare = "cannot delete Pods that declare no controller (use --force to override)"
    assert [(found.pod, found.reason, found.message) for found in row.pods] == [
        ("default/web", "LocalStorage", f"{scratch}: default/web, default/tool"),
        ("default/tool", "LocalStorage", f"{scratch}: default/web, default/tool"),
        ("default/bare", "NoController", f"{bare}: default/bare"),
    ]
    assert (row.pod, row.reason, row.message) == ("default/web", "LocalStorage", row.pods[0].message)
    assert [(step.node, len(step.evictions)) for step in plan.steps] == [("b1", 1)]
    (row,) = drained(objects, "a1", delete_emptydir_data=True).blocked
    assert [found.pod for found in row.pods] == ["default/tool", "default/bare"]
    plan = drained(objects, "a1", delete_emptydir_data=True, force=True)
    assert plan.blocked == ()
    assert plan.notes[-1] == (
        "default/web and 1 more have emptyDir volumes: kubectl drain asks for --delete-emptydir-data, their "
        "content is lost"
    )


def test_all_pods_that_block_a_node_are_told_each_with_what_lets_it_go() -> None:
    """What went wrong: one pod a node was named, so that the next one was found after a repair."""
    objects = [*zones("ab"), *(pod(name, on="a1", app=name, owner=f"ReplicaSet/{name}") for name in "cde")]
    two = {"metadata": {"name": "two", "namespace": "default"}}
    objects += [pods_budget("none", "c", 0), pods_budget("one", "d", 0), pods_budget("one", "d", 0) | two]
    (row,) = drained(objects, "a1").blocked
    assert (row.pod, row.fixes) == ("default/c", ())
    found = {item.pod: (item.message.partition(".")[0], len(item.fixes)) for item in row.pods}
    assert found == {
        "default/c": ("Cannot evict pod as it would violate the pod's disruption budget", 1),
        "default/d": (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support",
            0,
        ),
    }


def _unready(name: str, on: str, **words: Any) -> Object:
    return pod(name, on=on, app="web", owner="ReplicaSet/web", **words)


@pytest.mark.parametrize("budgets", [1, 2])
@pytest.mark.parametrize("phase", ["Pending", None])
def test_no_budget_holds_a_pod_that_has_not_started(phase: str | None, budgets: int) -> None:
    """What went wrong: such nodes were told to be stuck, where the eviction API lets Pending pods go at once.

    Snapshots once left the phase out where it is Pending; that the pod was scheduled they say.
    """
    words = {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "True"}]}
    objects = [*zones("abc"), _unready("w1", "a1", **words), _unready("w2", "b1", **words)]
    if phase is None:
        for item in objects[3:]:
            del item["status"]["phase"]
    status = {"desiredHealthy": 1, "currentHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 2}
    named = [pods_budget(f"b{number}", "web", minAvailable=1) for number in range(budgets)]
    objects += [item | {"status": status} for item in named]
    plan = drained(objects, "a1", "b1")
    assert plan.blocked == ()
    assert [row.lands for step in plan.steps for row in step.evictions] == ["c1", "c1"]


@pytest.mark.parametrize(
    ("spec", "status", "goes"),
    [
        ({"maxUnavailable": 1}, (1, 1), True),
        ({"maxUnavailable": 1}, (0, 1), False),
        ({"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, (0, 1), True),
        ({"minAvailable": 0}, (0, 0), False),
        ({"minAvailable": 0}, (1, 0), True),
    ],
)
def test_a_pod_that_runs_and_is_not_ready(spec: Object, status: tuple[int, int], goes: bool) -> None:
    """It goes while enough others are healthy, or any; a budget that wants none and has none refuses it.

    What went wrong: the last of these was told to go.  The API asks a budget that wants no pod healthy for a
    disruption as of any other pod, and allows none where none is healthy.
    """
    healthy, desired = status
    sick = _unready("sick", "a1", conditions=[{"type": "Ready", "status": "False"}])
    found = pods_budget("some", "web", **spec)
    found["status"] = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": max(0, healthy - desired),
        "expectedPods": 2,
    }
    plan = drained([*zones("ab"), sick, found], "a1", fixes=False)
    assert [row.pod for row in plan.blocked] == ([] if goes else ["default/sick"])


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize(
    ("words", "reason"),
    [({"finalizers": ["example.com/hold"]}, "Finalizer"), ({}, "NodeNotReady"), ({"gone": 1}, "Terminating")],
)
def test_a_pod_that_does_not_end_keeps_its_node(kind: str, words: dict[str, Any], reason: str) -> None:
    """A finalizer, a kubelet that is away, a pod Terminating for long: no node is said to be empty.

    The room is not free, and a StatefulSet makes no pod of that name before it is.
    """
    sick = ["node.kubernetes.io/unreachable:NoExecute"] if reason == "NodeNotReady" else []
    owner = workload(kind, "web")
    found = pod("web-0", on="a1", app="web", owner=owner, gone=reason == "Terminating")
    found["metadata"]["finalizers"] = words.get("finalizers", [])
    now = pod("other", on="b1", owner="ReplicaSet/other", created="2024-01-01T01:00:00Z")
    objects = [node("a1", taints=sick), node("b1"), owner, found, now]
    plan = drained(objects, "a1")
    (row,) = plan.blocked
    assert (row.node, row.pod, row.reason, row.fixes) == ("a1", "default/web-0", reason, ())
    lands = [eviction.lands for step in plan.steps for eviction in step.evictions]
    expected = [] if reason == "Terminating" else [None if kind == "StatefulSet" else "b1"]
    assert lands == expected


def test_finalizers_of_kubernetes_itself_are_taken_away() -> None:
    """Every pod of a Job has one, which the Job controller removes when it has counted the pod."""
    found = of_job("sums-0", "n1", spread=[])
    found["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    assert drained([node("n1"), node("n2"), job(backoffLimit=5), found], "n1").blocked == ()


def test_a_pod_without_a_grace_period_needs_no_kubelet_to_end() -> None:
    """The API server deletes it at once, also on a node that is unreachable."""
    owner = workload("ReplicaSet", "web")
    found = pod("web-0", on="a1", app="web", owner=owner, terminationGracePeriodSeconds=0)
    sick = node("a1", taints=["node.kubernetes.io/unreachable:NoExecute"])
    assert drained([sick, node("b1"), owner, found], "a1").blocked == ()


def test_new_nodes_are_spread_over_the_zones_of_the_drained() -> None:
    """Three new nodes for two zones: two in the first, one in the other."""
    plan = drained(running(web(2), ["a1", "b1"], *zones("ab")), "a1", "b1", surge=3)
    assert plan.surge == ("a1-1", "a1-2", "b1-1")
    assert plan.after.pending == 0


def _made_from(template: Object, *, narrowed: bool) -> list[Object]:
    """A pod of a ReplicaSet on a1 that was narrowed to its node, and the template that made it."""
    owner = workload("ReplicaSet", "web")
    owner["spec"] = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {**template, "containers": [{"name": "c"}]},
        },
    }
    only = [labelled("kubernetes.io/hostname", "In", "a1")] if narrowed else None
    return [owner, pod("web-1", on="a1", app="web", owner=owner, **({"only_on": only} if only else {}))]


def test_a_replacement_is_not_narrowed_as_the_pod_was() -> None:
    """What went wrong: a pod that `solve --gated` or a pin had narrowed to its node was made again like that.

    Its template is narrowed to nothing, so it lands elsewhere; without the template nothing better is known.
    """
    objects = [*zones("ab"), *_made_from({}, narrowed=True)]
    plan = drained(objects, "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == ["b1"]
    assert (plan.pending, plan.after.pending) == ((), 0)
    assert drained([*objects[:2], objects[3]], "a1").after.pending == 1


def test_a_replacement_is_held_by_the_gate_of_its_template() -> None:
    """What went wrong: the gate that its forerunner was let through was forgotten."""
    template = {"schedulingGates": [{"name": "example.com/quota"}]}
    plan = drained([*zones("ab"), *_made_from(template, narrowed=True)], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [None]
    assert [(row.message, row.example) for row in plan.pending] == [("scheduling gated", "default/web-1")]


def test_a_replacement_that_is_another_pod_gives_its_budget_back() -> None:
    """Two narrowed pods, one may be away at a time: both go."""
    owner, first = _made_from({}, narrowed=True)
    second = {**first, "metadata": {**first["metadata"], "name": "web-2"}}
    owner["spec"]["replicas"] = 2
    objects = [*zones("ab"), owner, first, second, pods_budget("one", "web", maxUnavailable=1)]
    plan = drained(objects, "a1")
    assert (plan.blocked, plan.after.pending) == ((), 0)
    assert [row.lands for step in plan.steps for row in step.evictions] == ["b1", "b1"]


@pytest.mark.parametrize("counted", [False, True])
def test_pods_that_come_give_a_budget_only_what_it_lacks(counted: bool) -> None:
    """What went wrong: where nobody had counted, one more was enough, whatever was wanted."""
    words = {"app": "web", "owner": "ReplicaSet/web"}
    status = {"currentHealthy": 1, "desiredHealthy": 2, "disruptionsAllowed": 0, "expectedPods": 2}
    wanted = pods_budget("b", "web", minAvailable=2) | ({"status": status} if counted else {})
    plan = drained([*zones("ab"), pod("w1", on="a1", **words), pod("w2", **words), wanted], "a1")
    assert [row.pod for row in plan.blocked] == ["default/w1"]
    assert plan.after.pending == 0


@pytest.mark.parametrize(
    ("hard", "line"),
    [
        ({"pods": "0"}, "not created: forbidden: exceeded quota: q, requested: pods=1, used: pods=0, "),
        (
            {"requests.memory": "8Gi"},
            "not created: forbidden: failed quota: q: must specify requests.memory for",
        ),
    ],
)
def test_a_replacement_that_is_not_created_is_told_like_a_pending_one(
    hard: dict[str, str], line: str
) -> None:
    """What went wrong: the node was emptied, nothing came in the pod's place, and all was well."""
    objects = running(web(1, constraints=[]), ["a1"], *zones("ab"))
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": hard},
    }
    plan = drained([*objects, quota], "a1")
    assert plan.blocked == ()
    assert (plan.before.pending, plan.after.pending) == (0, 1)
    assert [(row.pods, row.message.startswith(line)) for row in plan.pending] == [(1, True)], plan.pending
