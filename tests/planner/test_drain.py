"""Draining pools: orders in which no pod is stuck, budgets that hold at every step, and what frees a node."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from planner import drain
from planner.documents.drain import DrainPlan
from tests import seeds
from tests.builders import Object, node, pod, spread, term, workload
from tests.builders import budget as pods_budget
from tests.draws import nothing_drawn
from tests.planner.eviction.jobs import IGNORES, job, of_job, policy
from tests.planner.simulation.rollout.running import budget, running, web, zones
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


@pytest.mark.parametrize(
    ("spec", "freed"),
    [({"minAvailable": "100%"}, "minAvailable 1"), ({"maxUnavailable": "0%"}, "maxUnavailable 1")],
)
def test_what_a_percentage_comes_to_is_tried_with_one_pod_less(spec: dict[str, str], freed: str) -> None:
    """No other budget was tried, and none was said to help."""
    status = {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
    objects = running(web(2, constraints=[]), ["a1", "b1"], *zones("ab"))
    (row,) = drained([*objects, {**budget(**spec), "status": status}], "a1").blocked
    assert f"PodDisruptionBudget web with {freed}" in {fix.changes[0].summary for fix in row.fixes}


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
    """No more ready pods are away at a time than the budget allows; what is emptied is empty.

    Only what has no node stays away, and a node is blocked only where no more pods may be.
    """
    objects, going, away, at_once = case
    plan = drained(objects, *going, at_once=at_once, fixes=False)
    blocked = {row.node for row in plan.blocked}
    assert {step.node for step in plan.steps} >= {*going} - blocked
    if away == 0:
        assert not any(step.evictions for step in plan.steps)
    lost = sum(row.lands is None for step in plan.steps for row in step.evictions)
    assert lost <= away
    assert lost == away or not blocked
    on = {item["metadata"]["name"]: item["spec"]["nodeName"] for item in objects if item["kind"] == "Pod"}
    evicted = {row.pod.partition("/")[2] for step in plan.steps for row in step.evictions}
    for name, place in on.items():
        if place in going and place not in blocked:
            assert name in evicted
    assert all(row.lands not in going for step in plan.steps for row in step.evictions)


def test_of_pods_that_wait_the_one_of_higher_priority_is_first() -> None:
    """What went wrong: of two whose backoff ends together the one of lower priority got the node."""
    both: Object = {"cpu": "1", "tolerations": [{"operator": "Exists"}]}
    objects = [
        node("a1", cpu="1"),
        pod("it", "a1", cpu="1", priority=20, owner="ReplicaSet/it"),
        pod("low", owner="ReplicaSet/low", **both),
        pod("high", priority=10, owner="ReplicaSet/high", **both),
    ]
    plan = drained(objects, "a1", preemption=False)
    assert {row.example for row in plan.pending} == {"default/it", "default/low"}


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


@pytest.mark.long
def test_other_orders_are_tried_where_one_does_harm() -> None:
    """Never worse than the order of the command line, now and then better; and what is told is that order."""
    seed = seeds.fresh()
    better = number = 0
    # Two or three in a hundred are better: a thousand without one are not bad luck.
    while number < (seeds.tries(10) if better else 1000):
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
    broken = sum(row.excess_after - row.excess_before for row in plan.worse)
    return len(plan.blocked), plan.new_pending, broken


def test_the_order_of_names_does_not_matter_for_who_is_stuck() -> None:
    """A node that is stuck at first is tried again when others have given their budget back."""
    names = [f"{zone}{number}" for zone in "ab" for number in (1, 2)]
    objects = running(web(4, constraints=[]), names, *zones("aabbcc"))
    objects.append(budget(maxUnavailable=1))
    for order in (names[:2], names[1::-1]):
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


def test_a_job_does_not_fail_by_pods_that_are_not_evicted() -> None:
    """What went wrong: a pod of a node that has to stay was counted, and the other one did not come back."""
    pods = [of_job(f"sums-{n}", f"n{n}", spread=[]) for n in range(2)]
    objects = [*(node(f"n{n}") for n in range(3)), job(parallelism=2, backoffLimit=1), *pods]
    plan = drained([*objects, pod("bare", on="n1")], "n0", "n1")
    assert [row.node for row in plan.blocked] == ["n1"]
    assert [(row.outcome, row.evictions) for row in plan.jobs] == [("LosesRetries", 1)]
    assert [found.lands for step in plan.steps for found in step.evictions] == ["n2"]


def test_no_wave_is_empty() -> None:
    """What went wrong: an error of Python's."""
    with pytest.raises(InputError, match="at_once"):
        drained([node("n1")], "n1", at_once=0)


def _contenders(zone: str = "b") -> list[Object]:
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
    (note,) = drained(_contenders("a"), "a1").notes
    assert note.startswith("default/low may be preempted by the replacement of default/high")
    assert drained(_contenders("b"), "a1").notes == ()
    assert drained(_contenders("a"), "a1", preemption=False).notes == ()


def test_what_is_preempted_counts_for_its_budget() -> None:
    """What went wrong: a pod of `low` was preempted, and two more were evicted under a budget of one."""
    low = [("low-1", "a1"), ("low-2", "a1"), ("low-3", "b1"), ("low-4", "b1")]
    on_b1 = {"kubernetes.io/hostname": "b1"}
    objects = [
        *(node("a1"), node("b1", cpu="3"), node("c1", cpu="1")),
        pod("high", "a1", cpu="2", priority=10, owner="ReplicaSet/high", node_selector=on_b1),
        *(pod(name, on, app="low", cpu="1", owner="ReplicaSet/low") for name, on in low),
    ]
    plan = drained([*objects, pods_budget("most", "low", minAvailable=3)], "a1", fixes=False)
    assert [row.pod for step in plan.steps for row in step.evictions] == ["default/high", "default/low-1"]
    assert [row.pod for row in plan.blocked[0].pods] == ["default/low-2"]
    assert plan.after.pending == 1


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
    note, drawn = plan.notes
    assert note.startswith("default/low may be preempted by the replacement of default/second")
    # Which of the two goes first is up to chance; evicted after the other, it need not be gone.
    assert plan.failing_draws
    assert drawn.startswith("with other ties")


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
    assert ([note for note in plan.notes if "preempted" in note], plan.after.pending) == ([], 1)


def test_new_nodes_are_spread_over_the_zones_of_the_drained() -> None:
    """Three new nodes for two zones: two in the first, one in the other."""
    plan = drained(running(web(2), ["a1", "b1"], *zones("ab")), "a1", "b1", surge=3)
    assert plan.surge == ("a1-1", "a1-2", "b1-1")
    assert plan.after.pending == 0


def test_new_nodes_are_tried_where_nothing_else_takes_the_pods() -> None:
    """What went wrong: pod by pod it was told that no other budget helps, and never that room is missing."""
    objects = [*running(web(4, constraints=[], cpu="2"), ["a1", "a1", "b1", "b1"], *zones("ab", cpu="4"))]
    held = [*objects, budget(maxUnavailable=1)]
    plan = drained(held, "a1", "b1")
    assert plan.blocked
    (note,) = [note for note in plan.notes if "--surge" in note]
    assert note == (
        "--surge 2, as many new nodes as are drained, would help: 2 of 2 nodes emptied, 0 pods pending that "
        "were not before"
    )
    plan = drained(held, "a1", "b1", surge=2)
    assert (plan.blocked, plan.after.pending, plan.notes) == ((), 0, ())


def test_new_nodes_are_not_told_where_they_do_not_help() -> None:
    """A pod without a controller stays, and so does one whose budget lets none go, whatever comes."""
    held = [*running(web(2, constraints=[]), ["a1", "a1"], *zones("ab")), budget(maxUnavailable=0)]
    assert drained([*held, pod("tool", on="a1")], "a1").blocked
    assert not [note for note in drained([*held, pod("tool", on="a1")], "a1").notes if "--surge" in note]


@given(clusters())
@relaxed
def test_what_new_nodes_change_is_so(case: tuple[list[Object], list[str], int, int]) -> None:
    """A whole pool goes: what is told of new nodes is what comes of them when they are asked for."""
    objects, first, _, at_once = case
    going = dict.fromkeys([*first, "a1", "a2", "a3", "b1", "b2", "b3"])
    with nothing_drawn():
        plan = drained(objects, *going, at_once=at_once)
        told = [note for note in plan.notes if "--surge" in note]
        again = drained(objects, *going, at_once=at_once, surge=6)
    emptied, more = 6 - len(again.blocked), again.new_pending
    better = (len(again.blocked), more) < (len(plan.blocked), plan.new_pending)
    assert len(told) == better
    if told:
        assert f": {emptied} of 6 nodes emptied, {more} pod" in told[0]


@pytest.mark.parametrize(
    ("asked", "offered"),
    [({"maxUnavailable": "1%"}, {"maxUnavailable": 2}), ({"minAvailable": "100%"}, {"minAvailable": 2})],
)
def test_a_percentage_is_counted_where_no_controller_has(
    asked: dict[str, str], offered: dict[str, int]
) -> None:
    """What went wrong: without a status no budget was tried, and it was said that none helps."""
    objects = running(web(3, constraints=[]), ["a1", "a1", "a1"], *zones("a"))
    (row,) = drained([*objects, budget(**asked)], "a1").blocked
    patches = [change.patch for found in row.pods for fix in found.fixes for change in fix.changes]
    assert {"spec": offered} in patches
