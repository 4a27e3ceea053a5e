"""What plans promise where only a part of a layout is carried out, and where nodes take pods with them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from models import Cluster
from planner import consolidate
from planner.consolidate.setting import in_the_end
from planner.documents.consolidation import ConsolidationPlan
from planner.problem.problem import Problem
from planner.proof import consolidation_effort as effort
from planner.state.state import State
from tests import seeds
from tests.builders import HOST, ZONE, budget, cluster, node, pod, profile, scaled, scheduler, spread, term
from tests.planner.consolidate.drawn import Drawn, cases, crowded
from tests.planner.consolidate.test_plan import ANY, owned


def gone(plan: ConsolidationPlan) -> list[str]:
    """The nodes that go."""
    return [row.node for row in plan.removed]


def test_no_constraint_is_worse_because_another_one_ends() -> None:
    """A DaemonSet's broken constraint goes with its node; that of web, which counted its pod, would break."""
    disks = {
        name: {"labels": {"disk": disk}} for name, disk in {"go": "ssd", "k1": "ssd", "k2": "hdd"}.items()
    }
    even = [spread("disk")]
    found = cluster(
        *(node(name, "b", **words) for name, words in disks.items()),
        node("a1", "a", labels={"disk": "hdd"}),
        pod("daemon", "go", app="web", cpu="1", owner="DaemonSet/daemon", spread=[spread(ZONE)]),
        owned("web-1", "k1", spread=even),
        *(owned(f"web-{number}", "k2", spread=even) for number in (2, 3, 4)),
        pod("fills", "k1", cpu="3"),
        pod("bare-2", "k2"),
        pod("bare-3", "a1"),
    )
    assert gone(consolidate(found)) == []


@pytest.mark.parametrize("pins", [False, True])
def test_room_stays_free_where_a_node_is_given_back(pins: bool) -> None:
    """Three nodes could go; the one that a DaemonSet fills is not emptied, and then only one may go."""
    found = cluster(
        node("n1"),
        node("n2"),
        node("n3"),
        node("n4"),
        pod("daemon", "n2", cpu="3", owner="DaemonSet/daemon"),
        pod("web-1", "n2", app="web", cpu="1", owner="StatefulSet/web", tolerations=ANY),
        pod("bare", "n4", cpu="1"),
    )
    plan = consolidate(found, pins=pins, reserve=0.5)
    assert len(gone(plan)) == 1
    assert _free(found, plan) >= 0.5


def with_daemons(case: Drawn, draw: random.Random) -> Cluster:
    """A drawn cluster, and on some nodes a pod of a DaemonSet, which goes with its node."""
    free = Counter({number: cpu for number, cpu in enumerate(case.cpu)})
    free.subtract(Counter(one.on for one in case.pods for _ in range(one.cpu)))
    daemons = (
        pod(f"logs-{number}", f"n{number}", cpu=str(draw.randint(1, room)), owner="DaemonSet/logs")
        for number, room in free.items()
        if room > 0 and draw.random() < 0.5
    )
    found = case.cluster()
    return replace(found, pods=(*found.pods, *cluster(*daemons).pods))


def test_so_much_of_every_resource_stays_free_or_no_node_goes() -> None:
    """Of cpu and of places for pods, over all nodes that are kept."""
    draw, went = random.Random(seeds.fresh()), list[str]()
    for _ in seeds.until(3, went):
        seed, share = draw.randrange(1 << 32), draw.choice((0.1, 0.3, 0.5))
        case = draw.choice((crowded(seed), *cases(seed, 1)))
        found = with_daemons(case, draw)
        plan = consolidate(found, pins=draw.random() < 0.5, reserve=share, time_limit=4)
        assert gone(plan) or not plan.steps, (seed, share)
        places = {step.pod: step.node for step in plan.steps}
        problem = Problem(in_the_end(found, places, frozenset(gone(plan))))
        used, room = State(problem).used.sum(axis=1), problem.allocatable.sum(axis=1)
        assert not gone(plan) or (used * 10 <= room * round(10 - 10 * share)).all(), (seed, share)
        went += gone(plan)
    assert went


def test_a_reserve_of_more_than_64_bits_can_count() -> None:
    """What went wrong: thousandths of 36 PiB were counted as less than none, and no node went."""
    nodes = [node(f"n{number}", memory="9Pi") for number in range(4)]
    pods = [pod(f"web-{number}", f"n{number}", owner="ReplicaSet/web", memory="3Pi") for number in range(3)]
    plan = consolidate(cluster(*nodes, *pods), pins=True, reserve=0.4)
    assert (plan.cost.bound, plan.cost.after) == (2, 2)


def test_a_pod_without_the_broken_constraint_may_come_after_those_that_have_it() -> None:
    """Both on one node are too many, now and later: web-1 comes first, and web-2 may follow."""
    found = cluster(
        node("dear", labels={"type": "t3"}),
        node("cheap", labels={"type": "t1"}),
        node("full", cpu="1", labels={"type": "t1"}),
        owned("web-1", "dear", spread=[spread(HOST)]),
        owned("web-2", "dear"),
        pod("fills", "full", cpu="1"),
    )
    plan = consolidate(found, prices={"t1": 1, "t3": 3}, price_label="type", pins=True)
    assert plan.cost.bound == 2


@pytest.mark.parametrize("pairs", [effort.BOUND_OF_COST_PAIRS, -1])
@pytest.mark.parametrize("survive", [None, ZONE])
def test_bounds_count_no_room_that_the_profile_ignores(
    pairs: int, survive: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: each node has a licence for one pod, which the scheduler does not look at."""
    monkeypatch.setattr(effort, "BOUND_OF_COST_PAIRS", pairs)
    licence = "example.com/licence"
    nodes = [node(f"{zone}{number}", zone) for zone in "ab" for number in (1, 2)]
    pods = [owned(f"web-{number}", f"a{number}") for number in (1, 2)]
    for item in nodes:
        item["status"]["allocatable"][licence] = "1"
    for item in pods:
        item["spec"]["containers"][0]["resources"]["requests"][licence] = "1"
    ignoring = scheduler(profile(NodeResourcesFit={"ignoredResources": [licence]}))
    plan = consolidate(cluster(*nodes, *pods, ignoring), pins=True, survive=survive)
    least = 1 if survive is None else 2
    assert plan.cost.after == least
    assert plan.cost.bound <= least


@pytest.mark.parametrize("pins", [False, True])
def test_no_bound_is_above_a_plan_where_a_node_has_less_than_its_pods_request(pins: bool) -> None:
    """One node holds more than it has: the room that its pods take there is room."""
    found = cluster(
        node("small", cpu="1"),
        node("large", cpu="4"),
        *(owned(f"web-{number}", "small", cpu="1") for number in (1, 2, 3)),
    )
    plan = consolidate(found, pins=pins, prices={"small": 1, "large": 2}, price_label=HOST)
    assert plan.cost.bound <= 1


def test_pods_on_a_node_that_has_less_than_they_request_stay_when_another_is_lost() -> None:
    """What went wrong: room for both was asked for beside every node that may be lost, and two nodes kept."""
    found = cluster(
        node("small", cpu="1"),
        *(node(name, cpu="4") for name in ("a", "b", "c")),
        *(owned(f"web-{number}", "small", cpu="1") for number in (1, 2)),
        budget("web", "web", 0),
    )
    plan = consolidate(found, survive=HOST)
    assert (plan.cost.after, plan.cost.bound, plan.status) == (2, 2, "Optimal")


def test_room_of_any_size_counts_when_a_domain_is_lost() -> None:
    """What went wrong: 4Gi of free memory was taken for no limit, and half of each node was not counted."""
    found = cluster(
        *(node(f"n{number}", memory="8Gi") for number in range(4)),
        *(owned(f"web-{number}", f"n{number}", memory="4Gi") for number in range(3)),
    )
    plan = consolidate(found, survive=HOST)
    assert (plan.cost.after, plan.cost.bound) == (3, 3)


def _free(found: Cluster, plan: ConsolidationPlan) -> float:
    """The share of the cpu that is free on the nodes that are kept; what nothing moves is where it was."""
    kept = {row.node for row in plan.kept}
    cpu = sum(item.spec.containers[0].resources.requests.get("cpu", 0) for item in found.pods)
    return 1 - cpu / sum(item.status.allocatable["cpu"] for item in found.nodes if item.name in kept)


def test_a_machine_that_only_keeps_room_free_is_added() -> None:
    """Without the empty machine less would be free than was asked for."""
    pool = {"labels": {"pool": "web", "type": "large"}}
    found = cluster(
        node("a", "z", cpu="8", **pool),
        node("b", "z", cpu="4", labels={"pool": "web", "type": "middle"}),
        node("c", "z", cpu="1", labels={"type": "least"}),
        owned("web-1", "a", node_selector={"pool": "web"}),
        pod("bare", "b", cpu="1"),
        pod("bare-2", "c"),
    )
    rows = [
        {"name": "large", "price": "10", "cpu": "8", "memory": "8Gi"},
        {"name": "middle", "price": "3", "cpu": "4", "memory": "8Gi"},
        {"name": "least", "price": "1", "cpu": "1", "memory": "8Gi"},
        {"name": "new", "price": "1", "cpu": "4", "memory": "8Gi"},
    ]
    plan = consolidate(found, catalogue=rows, price_label="type", reserve=0.7)
    assert gone(plan) == ["a"]
    assert [row.type for row in plan.added] == ["new"]


@pytest.mark.parametrize(("price", "moves"), [(4, 0), (3, 0), (2, 1)])
def test_nothing_is_done_where_free_room_costs_more_than_is_paid(price: int, moves: int) -> None:
    """Half of the only node is to be free and is not: the larger machine pays where it is cheaper."""
    found = cluster(node("n1", labels={"type": "own"}), owned("web-1", "n1", cpu="3"))
    rows = [
        {"name": "own", "price": "3", "cpu": "4", "memory": "8Gi"},
        {"name": "new", "price": str(price), "cpu": "8", "memory": "8Gi"},
    ]
    plan = consolidate(found, catalogue=rows, price_label="type", reserve=0.5)
    assert (plan.cost.after, plan.cost.bound, len(plan.steps)) == (min(price, 3), min(price, 3), moves)
    assert plan.status == "Optimal"


def test_a_fault_that_goes_makes_up_for_no_other() -> None:
    """What went wrong: a node with too little room went, and with it the pod that web has to be near."""
    found = cluster(
        node("n1", "a"),
        node("n2", "a", cpu="1"),
        pod("agent", "n2", app="agent", cpu="2", owner="DaemonSet/agent"),
        pod("web", "n1", app="web", cpu="1", owner="ReplicaSet/web", near=[term(ZONE, "agent")]),
    )
    plan = consolidate(found, time_limit=2)
    assert gone(plan) == []


def test_pods_that_are_refused_are_noted() -> None:
    """What went wrong: a quota kept two pods from being made, and nodes went without a word about them."""
    found = cluster(
        node("n1"),
        node("n2"),
        scaled("ReplicaSet", "late", 2, cpu="3"),
        {"kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}},
    )
    plan = consolidate(found)
    assert len(gone(plan)) > 0
    assert (
        "2 pods are not created, as the API server refuses more: no room is kept for when it takes them "
        "(`planner simulate` says why)"
    ) in plan.notes
