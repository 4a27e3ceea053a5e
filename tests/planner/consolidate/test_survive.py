"""`survive`: whichever zone is lost, what is kept holds the pods that are made again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, combinations, product

import pytest

from models import Cluster, InputError
from planner import consolidate, survive
from planner.consolidate.loss import NO_DOMAIN, UNSURVIVED, UNTRIED, DomainLosses
from planner.consolidate.loss_room import room_for_losses
from planner.consolidate.setting import ConsolidationQuestion, Setting, in_the_end
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.survival import Survival
from planner.proof.effort import STANDARD
from planner.proof.meter import Meter
from tests import seeds
from tests.builders import (
    HOST,
    ZONE,
    Object,
    claim,
    cluster,
    node,
    pod,
    spread,
    volume,
)
from tests.draws import nothing_drawn
from tests.planner.consolidate.drawn import Drawn, Replica, cases
from tests.planner.consolidate.outranked import outranked


def end_of(found: Cluster, plan: ConsolidationPlan) -> Cluster:
    """The cluster when the nodes that go are deleted."""
    places = {step.pod: step.node for step in plan.steps}
    return in_the_end(found, places, frozenset(row.node for row in plan.removed))


def left_over(found: Survival) -> dict[str, int]:
    """The pods without a node by lost domain."""
    return {loss.domain: sum(row.pods for row in loss.pending) for loss in found.domains}


def small(seed: int, number: int) -> Iterator[Drawn]:
    """Clusters of so few nodes and pods that all placements can be tried, the loss of zones, too."""
    found = (case for case in cases(seed, 40 * number) if len(case.zones) <= 4 and len(case.pods) <= 5)
    return (case for case, _ in zip(found, range(number), strict=False))


def holds_without(
    case: Drawn, places: tuple[int, ...], kept: frozenset[int], zone: str, without_node: int = 0
) -> bool:
    """Whether the pods of a zone but so many have places on other nodes that are kept.

    Those without controller end.
    """
    rest = sorted(number for number in kept if case.zones[number] != zone)
    pods = [(one, on) for one, on in zip(case.pods, places, strict=True) if on in rest or not one.stays]
    lost = [number for number, (_, on) in enumerate(pods) if on not in rest]
    left_out = chain.from_iterable(combinations(lost, n) for n in range(min(without_node, len(lost)) + 1))
    return any(
        _holds_on(case, rest, [found for number, found in enumerate(pods) if number not in out])
        for out in left_out
    )


def _holds_on(case: Drawn, rest: list[int], pods: list[tuple[Replica, int]]) -> bool:
    """Whether pods have places on the nodes that are left, those that run there on their own."""
    # The nodes of the lost zone are no domain any more.
    numbers = {number: place for place, number in enumerate(rest)}
    left = replace(
        case,
        zones=[case.zones[number] for number in rest],
        cpu=[case.cpu[number] for number in rest],
        pods=[one for one, _ in pods],
    )
    choices = [(numbers[on],) if on in numbers else range(len(rest)) for _, on in pods]
    return any(left.holds(nodes) for nodes in product(*choices)) if rest else not pods


def least(case: Drawn, before: Mapping[str, int]) -> int:
    """The least cost of nodes that hold all pods, and but so many when any one zone that is left is lost."""
    every = range(len(case.zones))
    found = []
    for places in product(*([one.on] if one.stays else every for one in case.pods)):
        if case.holds(places):
            empty = [number for number in every if number not in places]
            for more in chain.from_iterable(combinations(empty, n) for n in range(len(empty) + 1)):
                kept = frozenset((*places, *more))
                found.append((sum(case.prices[number] for number in kept), places, kept))
    ordered = sorted(found, key=lambda one: one[0])
    return next(
        cost
        for cost, places, kept in ordered
        if all(
            holds_without(case, places, kept, zone, number)
            for zone, number in before.items()
            if any(case.zones[node] == zone for node in kept)
        )
    )


@pytest.mark.parametrize("seed", seeds.given_and_fresh(21))
def test_every_zone_may_be_lost_and_no_proof_is_false(seed: int | None) -> None:
    """By `survive` no lost zone leaves more pods than before; no set that is tried is below the bound."""
    seed = seeds.fresh() if seed is None else seed
    proved: list[Drawn] = []
    # One in ten is not proved.
    for _, case in zip(seeds.until(5, proved), small(seed, seeds.tries(100)), strict=False):
        found = case.cluster()
        prices = {f"t{price}": float(price) for price in case.prices}
        plan = consolidate(found, prices=prices, price_label="type", pins=True, survive=ZONE, time_limit=6)
        ends = survive(end_of(found, plan), ZONE)
        before, after = left_over(survive(found, ZONE)), left_over(ends)
        told = {row.domain: row.draws for row in plan.failing_draws or ()}
        for loss in ends.domains if plan.failing_draws is not None else ():
            # What `check --survive` draws of the new cluster, if all survive, is said of the plan.
            if loss.ok and not before[loss.domain]:
                assert told.get(loss.domain, 0) == (loss.failing_draws or 0), case
        assert all(number <= before[zone] for zone, number in after.items()), (case, plan.removed)
        truth = least(case, before)
        assert plan.cost.bound <= truth, case
        if plan.status == "Optimal":
            assert plan.cost.after == truth, case
            proved.append(case)
    assert proved


def test_pods_of_a_daemon_set_are_preempted_for_those_that_come_again() -> None:
    """What went wrong: n2 was proved necessary, where both pods of hi find a node by preempting another."""
    objects = [node(name, cpu="2") for name in ("n0", "n1", "n2")]
    objects += [pod(f"d-{n}", f"n{n}", app="d", cpu="1", owner="DaemonSet/d") for n in range(3)]
    words = {"cpu": "1", "priority": 10, "owner": "ReplicaSet/hi"}
    found = cluster(*objects, *(pod(f"hi-{n}", f"n{n}", app="hi", **words) for n in range(2)))
    plan = consolidate(found, survive=HOST)
    assert [row.node for row in plan.removed] == ["n2"]
    assert not any(left_over(survive(end_of(found, plan), HOST)).values())


def test_what_is_preempted_before_a_loss_needs_no_room() -> None:
    """What went wrong: room for low-0 was called necessary, which a pending pod preempts in either case."""
    found = cluster(
        *(node(name, cpu="3") for name in ("n0", "n1", "n2")),
        pod("low-0", "n0", app="low", cpu="3", owner="ReplicaSet/low"),
        *(pod(f"full-{n}", f"n{n}", cpu="3", priority=20, app="full") for n in (1, 2)),
        pod("high", app="high", cpu="1", owner="ReplicaSet/high", priority=10),
    )
    setting = Setting.of(ConsolidationQuestion(found), {})
    losses = DomainLosses.of(setting.problem, setting.movable, HOST)
    assert losses.evicted == 1
    assert room_for_losses(losses, setting, None) is None


@pytest.mark.parametrize("number", seeds.given_and_fresh(73, 286))
@nothing_drawn()
def test_no_bound_is_refuted_where_pods_of_daemon_sets_are_preempted(number: int | None) -> None:
    """No set of nodes that costs less, or takes fewer moves than are proved, leaves no more pods than now."""
    for seed in [number] if number is not None else seeds.seeds_for(0.15):
        case = outranked(seed)
        prices = {f"t{price}": float(price) for price in case.prices}
        words = {"prices": prices, "price_label": "type", "pins": True, "survive": case.key}
        plan = consolidate(case.found, time_limit=6, **words)  # type: ignore[arg-type]
        assert case.refutes(plan) is None, seed


def test_draws_of_ties_end_with_the_time() -> None:
    """What went wrong: after Ctrl-C, or the limit, every domain was still lost eight times."""
    found = two_zones()
    setting = Setting.of(ConsolidationQuestion(found), {})
    losses = DomainLosses.of(setting.problem, setting.movable, ZONE)
    assert losses.failing_draws(found, STANDARD.draws, Meter.of(60)) == {"a": 0, "b": 0}
    assert losses.failing_draws(found, STANDARD.draws, Meter.of(0)) is None


def test_losses_end_with_the_time() -> None:
    """What went wrong: of 300 hosts each was lost after Ctrl-C and after the limit, for six seconds."""
    found, stop = two_zones(), threading.Event()
    setting = Setting.of(ConsolidationQuestion(found), {})
    every = DomainLosses.of(setting.problem, setting.movable, ZONE)
    assert [every.why_worse(found, is_over) for is_over in (lambda: False, lambda: True)] == ["", UNTRIED]
    stop.set()
    plan = consolidate(found, survive=ZONE, stop_event=stop)
    assert plan.removed == ()
    assert plan.cut is not None
    assert UNTRIED in {row.reason for row in plan.kept}
    assert plan.cost.bound <= 2


def two_zones() -> Cluster:
    """Two nodes in each of two zones, and a pod on each that needs half a node."""
    nodes = [node(name, name[0], cpu="4") for name in ("a1", "a2", "b1", "b2")]
    pods = [pod(f"web-{n.lower()}", n, app="web", cpu="2", owner="ReplicaSet/web") for n in ("a1", "b1")]
    return cluster(*nodes, *pods)


def test_a_node_in_another_zone_is_kept_for_the_loss() -> None:
    """One node would hold both pods; a lost zone would take it."""
    assert len(consolidate(two_zones(), pins=True, time_limit=5).removed) == 3
    plan = consolidate(two_zones(), pins=True, survive=ZONE, time_limit=5)
    assert {row.node[0] for row in plan.kept} == {"a", "b"}
    assert (len(plan.removed), plan.survive) == (2, ZONE)


def test_what_is_lost_already_is_said() -> None:
    """A pod that nothing holds when its zone is lost does not keep all nodes; a note names the domain."""
    found = cluster(
        node("a1", "a", cpu="8"),
        node("a2", "a", cpu="8"),
        node("b1", "b", cpu="2"),
        pod("web-0", "a1", app="web", cpu="4", owner="ReplicaSet/web"),
    )
    plan = consolidate(found, pins=True, survive=ZONE, time_limit=5)
    assert any("a is lost 1 pod finds no node" in note for note in plan.notes)
    assert plan.removed


def test_volumes_in_every_zone_do_not_keep_the_nodes() -> None:
    """Where each zone has a volume no search kept room for a loss: eight nodes of twelve stayed."""
    objects: list[Object] = []
    for zone in "abc":
        uses = [{"name": "d", "persistentVolumeClaim": {"claimName": f"data-{zone}"}}]
        objects += [volume(f"pv-{zone}", [zone]), claim(f"data-{zone}", f"pv-{zone}")]
        objects += [pod(f"db-{zone}", f"{zone}0", app="db", owner="StatefulSet/db", cpu="500m", volumes=uses)]
        for number in range(4):
            name = f"{zone}{number}"
            objects += [
                node(name, zone),
                pod(f"web-{name}", name, app="web", owner="ReplicaSet/web", cpu="1"),
            ]
    found = cluster(*objects)
    plan = consolidate(found, survive=ZONE, time_limit=60)
    assert len(plan.kept) <= 6
    now, after = (left_over(survive(one, ZONE)) for one in (found, end_of(found, plan)))
    assert all(pods <= now[zone] for zone, pods in after.items())


@nothing_drawn()
def test_where_pods_are_spread_each_zone_keeps_room_for_its_share() -> None:
    """What went wrong: twelve nodes stayed where nine do: no search with room to spare came after a repair.

    Pods that are spread over no zones filled the emptiest one, which could not have its share of the others.
    """
    objects: list[Object] = [node(f"{zone}{number}", zone, cpu="8") for zone in "abc" for number in range(6)]
    for at, (app, cpu) in enumerate((("web", "2"), ("api", "1500m"), ("job", "500m"))):
        for number in range(9):
            words: Object = {"spread": [spread(ZONE, 1, "web")]} if app == "web" else {}
            on = f"{'abc'[number % 3]}{(9 * at + number) // 3 % 6}"
            words |= {"app": app, "cpu": cpu, "owner": f"ReplicaSet/{app}"}
            objects.append(pod(f"{app}-{number}", on, **words))
    plan = consolidate(cluster(*objects), survive=ZONE, time_limit=60)
    assert len(plan.kept) <= 9


def test_what_a_scheduler_without_profile_is_to_place_needs_no_room() -> None:
    """What went wrong: room was kept for such a pod beside its zone, and called necessary."""
    other = pod("other", "a1", cpu="3", owner="ReplicaSet/other", schedulerName="other")
    found = cluster(node("a1", "a"), node("b1", "b"), node("c1", "c", cpu="1"), other)
    plan = consolidate(found, survive=ZONE)
    assert {row.node for row in plan.removed} == {"b1", "c1"}
    assert plan.status == "Optimal"


@pytest.mark.long
def test_pods_that_preemption_evicts_find_no_node() -> None:
    """Without b3 api comes to b1 or b2 when zone a is lost: a pod of web, less important, had to go."""
    words = {"cpu": "3", "priority": 0}
    found = cluster(
        *(node(name, name[0], cpu="5") for name in ("a1", "b1", "b2", "b3")),
        pod("api-0", "a1", app="api", owner="ReplicaSet/api", **words | {"priority": 10}),
        pod("web-1", "b1", app="web", owner="ReplicaSet/web", **words),
        pod("web-2", "b2", app="web", owner="ReplicaSet/web", **words),
    )
    assert len(consolidate(found).removed) == 1
    plan = consolidate(found, pins=True, survive=ZONE, time_limit=5)
    assert plan.removed == ()
    # What went wrong: by evictions alone b3 was kept for this, and a note said that it could go.
    plan = consolidate(found, survive=ZONE)
    assert plan.removed == ()
    assert UNSURVIVED in {row.reason for row in plan.kept}
    assert not any("could go" in note for note in plan.notes)


def test_what_is_preempted_before_is_no_part_of_a_loss() -> None:
    """What went wrong: a pod that a pending one preempts was said to find no node for want of any zone."""
    low = [pod(f"low-{n}", n, app="low", cpu="2", owner="ReplicaSet/low") for n in ("a1", "b1")]
    high = pod("high-0", app="high", cpu="2", owner="ReplicaSet/high", priority=10)
    nodes = [node("a1", "a", cpu="2"), node("b1", "b", cpu="2"), node("c1", "c", cpu="1")]
    plan = consolidate(cluster(*nodes, *low, high), pins=True, survive=ZONE, time_limit=5)
    told = [note for note in plan.notes if "is lost" in note]
    assert len(told) == 2
    assert all("1 pod finds no node" in note and " c is lost" not in note for note in told)


def test_a_key_that_no_node_has() -> None:
    """One line says so."""
    with pytest.raises(InputError, match="no node has the label rack"):
        consolidate(two_zones(), survive="rack")


def test_the_last_domain_stays() -> None:
    """What went wrong: all nodes of a zone went, and `check --survive` of what was left was an error.

    The pods fit on the nodes without the label, which are in no domain.
    """
    labelled = [node("a1", "a"), node("b1", "b")]
    pods = [pod("web-0", "n1", cpu="1", owner="ReplicaSet/web")]
    plan = consolidate(cluster(*labelled, node("n1"), node("n2"), *pods), survive=ZONE)
    assert {row.node for row in plan.removed} == {"b1", "n2"}
    assert {row.node: row.reason for row in plan.kept}["a1"] == NO_DOMAIN
    assert any("1 of 2 nodes that stay does not have the label" in note for note in plan.notes)
    every = consolidate(cluster(*labelled, *pods[:0]), survive=ZONE)
    assert not any("does not have the label" in note for note in every.notes)
