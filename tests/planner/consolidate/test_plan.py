"""Consolidations carried out: kube-scheduler chooses, and the nodes end empty with every rule held."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from dataclasses import replace
from typing import Any

import pytest

from models import Cluster, InputError
from planner import check, consolidate, simulate
from planner.consolidate.removable import NodeChoice
from planner.consolidate.setting import in_the_end
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MoveStep, OnNodes
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import HOST, ZONE, Object, budget, claim, cluster, node, pod, spread, storage_class
from tests.planner.consolidate.drawn import Drawn, cases, crowded

ANY = [{"operator": "Exists"}]


def owned(name: str, on: str, cpu: str = "1", **words: object) -> Object:
    """A pod that a ReplicaSet makes again."""
    app = name.partition("-")[0]
    return pod(name, on, app=app, cpu=cpu, owner=f"ReplicaSet/{app}", **words)


def priced(case: Drawn) -> dict[str, float]:
    """Prices by the label `type`."""
    return {f"t{price}": float(price) for price in case.prices}


def planned(case: Drawn, **words: object) -> ConsolidationPlan:
    """The plan for a drawn cluster with its prices; a search with nothing more to try ends at the limit."""
    return consolidate(case.cluster(), prices=priced(case), price_label="type", **{"time_limit": 4, **words})  # type: ignore[arg-type]


def several(seed: int, *, lopsided: bool = False) -> list[Drawn]:
    """A few tiny clusters, and fewer with some twenty pods."""
    return [*cases(seed, 4, lopsided=lopsided), *map(crowded, range(seed, seed + 2))]


def drawn_until(
    seed: int, tried: Sized, least: int, *, lopsided: bool = False
) -> Iterator[tuple[int, Drawn]]:
    """Such clusters with their numbers, and more of them until so much was tried: few plans move a pod."""
    for turn in seeds.until(1, tried, least):
        for place, case in enumerate(several(seed + 1000 * turn, lopsided=lopsided)):
            yield 1000 * turn + place, case


def carried_out(found: Cluster, plan: ConsolidationPlan, seed: int) -> Cluster:
    """The cluster after all waves, the moves of each in a random order, placed as kube-scheduler does."""
    for name in (*(row.node for row in plan.removed), *plan.cordoned_meanwhile):
        found = cordon(found, name)
    chance = random.Random(seed)
    for wave in sorted({step.wave for step in plan.steps}):
        steps = [step for step in plan.steps if step.wave == wave]
        for step in chance.sample(steps, len(steps)):
            found = moved(found, step, chance.randrange(1 << 20))
    return found


def moved(found: Cluster, step: MoveStep, seed: int) -> Cluster:
    """The cluster with a pod evicted, and made again on the node that kube-scheduler takes."""
    waiting = cordon(on_node(found, step.pod, ""), *step.cordon)
    (decision,) = simulate(waiting, preemption=False, seed=seed).decisions
    assert decision.node is not None, step
    if isinstance(step.lands, OnNodes):
        assert decision.node in step.lands.nodes
    return on_node(found, step.pod, decision.node)


def on_node(found: Cluster, key: str, name: str) -> Cluster:
    """The cluster with a pod on another node, or pending."""
    pods = []
    for item in found.pods:
        spec = item.spec.model_copy(update={"node_name": name})
        status = item.status.model_copy(update={"phase": "Running" if name else "Pending"})
        there = item.model_copy(update={"spec": spec, "status": status})
        pods.append(there if item.key == key else item)
    return replace(found, pods=tuple(pods))


@pytest.mark.parametrize("seed", seeds.given_and_fresh(11))
def test_whatever_kube_scheduler_chooses_the_nodes_end_empty(seed: int | None) -> None:
    """Every plan by evictions alone, in random orders with random ties: nothing pending, all rules held."""
    seed, steps = seeds.fresh() if seed is None else seed, list[MoveStep]()
    for number, case in drawn_until(seed, steps, 3):
        plan = planned(case)
        steps += plan.steps
        for draw in range(4):
            end = carried_out(case.cluster(), plan, seed + 100 * number + draw)
            places = {item.name: int((item.node_name or "n-1")[1:]) for item in end.pods}
            ordered = [places[name] for name in sorted(places, key=lambda name: int(name.partition("-")[2]))]
            assert case.holds(ordered), (case, plan.steps)
            assert not {f"n{place}" for place in ordered} & {row.node for row in plan.removed}
    assert len(steps) >= 3


@pytest.mark.parametrize("seed", seeds.given_and_fresh(12))
@pytest.mark.parametrize("pins", [False, True])
def test_what_is_proved_is_the_truth(seed: int | None, pins: bool) -> None:
    """No plan is below the least cost of all placements; what is proved has it, with the fewest moves."""
    seed, proved = seeds.fresh() if seed is None else seed, list[Drawn]()
    # One in ten is not proved.
    for _, case in zip(seeds.until(6, proved, 4), cases(seed, seeds.tries(200), lopsided=True), strict=False):
        plan, (cost, moves) = planned(case, pins=pins), case.least()
        assert plan.cost.after >= cost
        assert plan.cost.bound <= cost
        assert plan.cost.after == sum(row.price for row in plan.kept)
        if plan.status == "Optimal":
            assert (plan.cost.after, len(plan.steps)) == (cost, moves), case
            proved.append(case)
    assert len(proved) >= 4


@pytest.mark.parametrize("seed", seeds.given_and_fresh(13))
def test_what_is_proved_with_a_limit_of_moves_is_the_truth(seed: int | None) -> None:
    """The bound is that of plans within the limit, which may be above that of others."""
    dearer, is_fresh = 0, seed is None
    for case in cases(seeds.fresh() if seed is None else seed, seeds.tries(7)):
        plan, (cost, _) = planned(case, pins=True, max_moves=1), case.least(most_moves=1)
        assert plan.max_moves == 1
        assert plan.cost.after >= cost, case
        assert plan.cost.bound <= cost, case
        assert plan.status != "Optimal" or plan.cost.after == cost, case
        dearer += cost > case.least()[0]
    # A limit of one move makes half of the clusters dearer, and of ten once in a while none.
    assert dearer or is_fresh


def test_the_frontier_is_monotone() -> None:
    """More moves, never a higher cost; the last point is the plan itself."""
    for case in cases(seeds.fresh(), seeds.tries(3)):
        plan = planned(case, curve=True)
        points = [(point.moves, point.cost) for point in plan.frontier]
        assert points == sorted(points), case
        assert [cost for _, cost in points] == sorted((cost for _, cost in points), reverse=True), case
        assert points[-1] == (len(plan.steps), plan.cost.after), case


def test_a_plan_that_only_the_curve_comes_by_is_the_answer() -> None:
    """What went wrong: the plan had two moves, and the curve ended with one move at the same cost."""
    tainted, big = ["ded=x:NoSchedule"], {"type": "t4"}
    found = cluster(
        node("n0", cpu="3", labels={"type": "t3"}),
        node("n1", cpu="6", taints=tainted, labels=big),
        node("n2", cpu="8", taints=tainted, labels=big),
        node("n3", cpu="6", labels=big),
        node("n4", cpu="8", taints=tainted, labels=big),
        owned("w-0", "n0", cpu="0"),
        owned("w-1", "n3", cpu="0"),
        owned("w-3", "n1", cpu="0"),
        owned("x-0", "n4", cpu="2", tolerations=ANY),
        owned("x-1", "n1", cpu="2", tolerations=ANY),
    )
    words = {"prices": {"t3": 3, "t4": 4}, "price_label": "type", "survive": HOST, "pins": True}
    plan = consolidate(found, curve=True, **words)  # type: ignore[arg-type]
    assert (len(plan.steps), plan.cost.after) == (plan.frontier[-1].moves, plan.frontier[-1].cost)


def test_no_more_moves_than_asked_for() -> None:
    """The limit holds for what is carried out, too."""
    for case in cases(seeds.fresh(), seeds.tries(5)):
        assert len(planned(case, max_moves=1).steps) <= 1, case


def test_a_pod_whose_claims_wait_keeps_its_node() -> None:
    """What went wrong: bound since the snapshot, they hold it to nodes of which the search knew nothing."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    nodes = [node("n1", cpu="2"), node("n2", cpu="2")]
    held = owned("a-0", "n1", volumes=volumes)
    plan = consolidate(
        cluster(*nodes, held, owned("b-0", "n2"), storage_class("local"), claim("data")), pins=True
    )
    assert [row.node for row in plan.removed] == ["n2"]
    assert {row.node: row.reason for row in plan.kept} == {"n1": "holds a pod with volume claims that wait"}


def test_a_pod_that_tolerates_the_cordon_keeps_its_node() -> None:
    """Its replacement could come back to a node that is to be empty."""
    nodes = (node("n1"), node("n2"), node("n3"))
    found = cluster(*nodes, owned("web-1", "n1", tolerations=ANY), pod("bare", "n2"))
    plan = consolidate(found, time_limit=2)
    assert plan.steps == ()
    assert "n1" in {row.node for row in plan.kept}


def test_what_holds_a_node_is_told() -> None:
    """A bare pod, a budget that allows nothing, an annotation, and a name."""
    still = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    found = cluster(
        *(node(f"n{number}") for number in range(1, 7)),
        pod("bare", "n1"),
        owned("held-1", "n2"),
        budget("held", "held", 0),
        owned("api-1", "n3", annotations=still),
    )
    plan = consolidate(found, choice=NodeChoice(frozenset({"n4"})))
    told = {row.node: (row.pod, row.reason) for row in plan.kept}
    assert told["n1"] == ("default/bare", "holds a pod without a controller")
    assert told["n2"][0] == "default/held-1"
    assert told["n3"] == ("default/api-1", "holds a pod with an annotation against eviction")
    assert told["n4"] == (None, "named by --keep")
    assert [row.node for row in plan.removed] == ["n5", "n6"]
    assert all(row.wave == 0 for row in plan.removed)


def test_nodes_that_go_are_in_the_order_in_which_they_are_empty() -> None:
    """What went wrong: they were in that of the snapshot, and the second is empty from the beginning."""
    nodes = [node(name, cpu="2", pods="5") for name in ("n1", "n2", "n3")]
    plan = consolidate(
        cluster(*nodes, owned("web-1", "n1"), owned("db-1", "n3")), choice=NodeChoice(frozenset({"n3"}))
    )
    assert [(row.node, row.wave) for row in plan.removed] == [("n2", 0), ("n1", 1)]


def test_a_node_that_a_preemptor_waits_for_stays() -> None:
    """What went wrong: the node that it is nominated to was said to go, as nothing ran on it any more."""
    found = cluster(
        node("n1"), node("n2"), pod("waits", priority=5, nominated="n1"), pod("others", nominated="n9")
    )
    plan = consolidate(found)
    assert [row.node for row in plan.removed] == ["n2"]
    assert [(row.node, row.pod, row.reason) for row in plan.kept] == [
        ("n1", "default/waits", "a pending pod is nominated to it")
    ]


@pytest.mark.parametrize(
    "words",
    [
        {"labels": {"node-role.kubernetes.io/control-plane": ""}},
        {"labels": {"type": "virtual-kubelet"}},
        {"taints": ["virtual-kubelet.io/provider=azure:NoSchedule"]},
    ],
)
def test_the_control_plane_and_virtual_nodes_go_only_when_they_are_named(words: dict[str, Any]) -> None:
    """Empty or not: virtual nodes cost nothing, and were counted as saved."""
    found = cluster(node("c1", **words), node("n1"))
    assert [row.node for row in consolidate(found).removed] == ["n1"]
    named = consolidate(found, choice=NodeChoice(named=frozenset({"c1"})))
    assert [row.node for row in named.removed] == ["c1"]


def test_pods_of_daemon_sets_go_with_their_node() -> None:
    """They are not moved."""
    agent = pod("agent-1", "n1", owner="DaemonSet/agent")
    plan = consolidate(cluster(node("n1"), node("n2"), agent, owned("web-1", "n2")))
    assert [row.node for row in plan.removed] == ["n1"]
    assert plan.steps == ()


def test_a_zone_of_a_spread_stays_while_its_empty_nodes_would_count() -> None:
    """The trap of empty zones: replicas of a zone do not fit the others as long as it counts."""
    pods = [owned(f"web-{zone}", f"{zone}1", spread=[spread(ZONE)]) for zone in "abc"]
    plan = consolidate(cluster(*(node(f"{zone}{n}", zone) for zone in "abc" for n in (1, 2)), *pods))
    assert len(plan.removed) == 3
    assert plan.domains_lost == ()
    assert plan.status == "Optimal"


def test_a_domain_that_disappears_is_named() -> None:
    """Two zones hold two replicas; the third has none of them."""
    pods = [owned("web-1", "a1", spread=[spread(ZONE, 2)]), owned("web-2", "b1", spread=[spread(ZONE, 2)])]
    found = cluster(node("a1", "a"), node("b1", "b"), node("c1", "c"), *pods)
    plan = consolidate(found)
    assert {row.domain for row in plan.domains_lost} >= {"c"}
    left = in_the_end(carried_out(found, plan, 1), {}, frozenset(row.node for row in plan.removed))
    assert simulate(left).pending == ()


def test_for_a_constraint_that_honours_taints_the_bound_counts_room_alone() -> None:
    """The cordon takes the zone out of its domains, which no model knows; two pods have room on one node."""
    terms = [spread(ZONE, nodeTaintsPolicy="Honor")]
    pods = [owned("web-1", "a1", spread=terms), owned("web-2", "b1", spread=terms)]
    plan = consolidate(cluster(node("a1", "a"), node("b1", "b"), *pods))
    assert (plan.cost.bound, plan.status) == (1, "Feasible")
    assert any("counts room alone" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            {"prices": {"x": 1}},
            "node n1: expected the label node.kubernetes.io/instance-type, found none"
            " (there are prices of x)",
        ),
        (
            {"prices": {"x": 1}, "price_label": "kubernetes.io/hostname"},
            "node n1: type 'n1' has no price (there are prices of x)",
        ),
        ({"prices": {"x": -1}}, "prices: x: expected a price from 0 to 1,000,000, found -1"),
        ({"prices": {"x": "cheap"}}, "prices: x: 'cheap' is not a number"),
        ({"prices": {"x": "nan"}}, "prices: x: expected a price from 0 to 1,000,000, found nan"),
        ({"prices": {"x": "0.0000001"}}, "prices: x: expected up to 6 decimals, found 0.0000001"),
        (
            {"price_label": "kubernetes.io/hostnam"},
            "--price-label kubernetes.io/hostnam: no node has the label kubernetes.io/hostnam"
            " (did you mean kubernetes.io/hostname?)",
        ),
        ({"reserve": 1.2}, "reserve: expected a share from 0% to below 100%, found 120%"),
        ({"choice": NodeChoice(frozenset({"n9"}))}, "there is no node n9 in the cluster"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(words: dict[str, object], line: str) -> None:
    """One problem, one line."""
    with pytest.raises(InputError) as caught:
        consolidate(cluster(node("n1")), **words)  # type: ignore[arg-type]
    assert [*caught.value.problems] == [line]


@pytest.mark.parametrize("seed", seeds.given_and_fresh(14))
def test_the_last_wave_empties_a_node_that_goes(seed: int | None) -> None:
    """What went wrong: hundreds of moves followed the one that emptied the only node to go."""
    seed = seeds.fresh() if seed is None else seed
    for case in (case for turn in range(seeds.tries(1)) for case in several(seed + 1000 * turn)):
        plan = planned(case)
        gone = {row.node for row in plan.removed}
        last = max((step.wave for step in plan.steps), default=0)
        assert not plan.steps or any(step.source in gone for step in plan.steps if step.wave == last)


def test_what_pins_would_add_is_said_where_no_node_goes() -> None:
    """A constraint that honours taints would not count cordoned nodes: a note says what --pin saves."""
    nodes = [node(f"n{number:02}", "a", cpu="4") for number in range(10)]
    pods = [
        owned(f"web-{number}-{copy}", f"n{number:02}", spread=[spread(ZONE, 9, nodeTaintsPolicy="Honor")])
        for number in range(10)
        for copy in range(3)
    ]
    plan = consolidate(cluster(*nodes, *pods), time_limit=30)
    assert plan.removed == ()
    could = [note for note in plan.notes if "could go" in note]
    assert could == ["2 more nodes could go: by evictions alone no safe waves were found that lead there"]
    assert any(note.startswith("--pin saves 2 more") for note in plan.notes)


def test_nothing_is_said_of_pins_where_evictions_reach_the_bound() -> None:
    """Nodes that stay cordoned meanwhile leave so few equal nodes that every outcome is followed."""
    nodes = [node(f"n{number}", cpu="4") for number in range(9)]
    pods = [owned(f"web-{number}-{copy}", f"n{number}") for number in range(9) for copy in range(3)]
    plan = consolidate(cluster(*nodes, *pods), time_limit=5)
    assert (len(plan.removed), plan.cost.bound, plan.notes) == (2, plan.cost.after, ())


def test_before_is_the_cluster_as_it_stands() -> None:
    """What went wrong: the empty zone goes, and was not counted any more: two pods too many were none."""
    honoured = [spread(nodeTaintsPolicy="Honor")]
    pods = [owned(f"web-{number}", "ab"[number // 2] + "1", spread=honoured) for number in range(4)]
    found = cluster(*(node(f"{zone}1", zone=zone) for zone in "abc"), *pods)
    plan = consolidate(found, time_limit=4)
    assert [row.node for row in plan.removed] == ["c1"]
    assert (plan.before.hard_excess, plan.after.hard_excess) == (check(found).hard_excess, 0) == (2, 0)


def test_before_is_what_check_tells() -> None:
    """Also of constraints that count no cordoned nodes, as the nodes that go are."""
    for case in cases(seeds.fresh(), seeds.tries(4), lopsided=True):
        found = case.cluster(nodeTaintsPolicy="Honor")
        plan = consolidate(found, time_limit=2)
        assert plan.before.hard_excess == check(found).hard_excess, case


def test_that_no_pods_were_read_is_said() -> None:
    """What went wrong: of a file with nodes alone all nodes could go, proved, and nothing else was said."""
    told = "no pods were read: whatever runs on these nodes is not in the answer"
    assert told in consolidate(cluster(node("a1")), time_limit=1).notes
    assert told not in consolidate(cluster(node("a1"), owned("web-1", "a1")), time_limit=1).notes
