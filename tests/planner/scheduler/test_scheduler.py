"""Queue, ties, nominations, preemption: what the recorded clusters do not show."""

from dataclasses import replace
from typing import Any

import pytest

from models import Cluster
from planner import check, simulate, solve
from planner.documents.plan import Decision, Simulation
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.builders import HOST, ZONE, Object, budget, cluster, namespace, node, pod, spread, term


def order(*pods: Object) -> list[str]:
    """The pods in the order in which they are taken, by name."""
    return [decision.pod.partition("/")[2] for decision in simulate(cluster(node("n1"), *pods)).decisions]


def by_name(simulation: Simulation) -> dict[str, Decision]:
    """The decisions by pod name."""
    return {decision.pod.partition("/")[2]: decision for decision in simulation.decisions}


def test_the_queue_goes_by_priority_then_age_then_appearance() -> None:
    """Higher priority first, then the older; pods that are yet to be created last, as listed."""
    pods = [
        pod("listed-1"),
        pod("listed-2"),
        pod("younger", created="2024-01-02T00:00:00Z"),
        pod("older", created="2024-01-01T00:00:00Z"),
        pod("low", priority=-1, created="2023-01-01T00:00:00Z"),
        pod("high", priority=1000, created="2024-06-01T00:00:00Z"),
    ]
    assert order(*pods) == ["high", "older", "younger", "listed-1", "listed-2", "low"]


def test_ages_are_compared_across_time_zones() -> None:
    """01:00+02:00 is earlier than 00:00Z."""
    pods = [pod("second", created="2024-01-01T00:00:00Z"), pod("first", created="2024-01-01T01:00:00+02:00")]
    assert order(*pods) == ["first", "second"]


def test_a_gated_pod_waits() -> None:
    """It is in the report, takes no room, and its message says why."""
    found = by_name(simulate(cluster(node("n1", pods="1"), pod("a", gates=["wait"], priority=9), pod("b"))))
    assert (found["a"].node, found["a"].message) == (None, "scheduling gated")
    assert found["b"].node == "n1"


def test_pods_of_another_scheduler_are_left_alone() -> None:
    """Without a profile for them there is no decision, but a note that counts them."""
    simulation = simulate(
        cluster(node("n1"), pod("a", scheduler="mine"), pod("b", scheduler="mine"), pod("c"))
    )
    assert [decision.pod for decision in simulation.decisions] == ["default/c"]
    assert any("2 pending pods" in note and "mine" in note for note in simulation.notes)


def test_progress_ends_at_its_total() -> None:
    """What went wrong: pods that are left alone were in the total, so a progress bar never filled up."""
    seen: list[tuple[int, int]] = []
    pods = pod("a"), pod("b", scheduler="mine")
    simulate(cluster(node("n1"), *pods), progress=lambda number, total: seen.append((number, total)))
    assert seen[-1][0] == seen[-1][1]


def test_a_terminating_pending_pod_is_not_scheduled() -> None:
    """It goes away by itself, and neither a decision nor room is spent on it."""
    found = simulate(cluster(node("n1", pods="1"), pod("going", gone=True), pod("p")))
    assert [(decision.pod, decision.node) for decision in found.decisions] == [("default/p", "n1")]


def test_finished_pods_hold_nothing() -> None:
    """Succeeded and Failed pods give back room and ports, and are no peers; a pending Failed pod is left."""
    done = [
        pod("done", "n1", phase="Succeeded", cpu="4", ports=[80]),
        pod("failed", "n1", phase="Failed", app="web", apart=[term(HOST, "web")]),
        pod("never", phase="Failed"),
    ]
    found = simulate(cluster(node("n1"), *done, pod("p", app="web", cpu="4", ports=[80])))
    assert [(decision.pod, decision.node) for decision in found.decisions] == [("default/p", "n1")]


def test_pods_on_unknown_nodes_are_nowhere() -> None:
    """A pod on a node that the snapshot lacks counts for nothing, and a note says so."""
    lost = pod("lost", "gone", app="web", apart=[term("kubernetes.io/os", "web")])
    simulation = simulate(
        cluster(node("n1", labels={"kubernetes.io/os": "linux"}), lost, pod("p", app="web"))
    )
    assert [decision.node for decision in simulation.decisions] == ["n1"]
    assert any("gone" in note for note in simulation.notes)


def test_terminating_pods_hold_room_but_do_not_count_for_spread() -> None:
    """A node with a pod on its way out is full; its zone is not fuller for it."""
    machines = [node("n1", zone="a", pods="1"), node("n2", zone="a"), node("n3", zone="b", cordoned=True)]
    going = pod("going", "n1", app="web", gone=True)
    found = simulate(cluster(*machines, going, pod("p", app="web", spread=[spread()])))
    assert found.decisions[0].node == "n2"


# Ties


def test_a_seed_draws_only_among_the_best_and_draws_the_same_again() -> None:
    """Over many seeds every best node is drawn and no other; one seed always draws alike."""
    snapshot = cluster(node("n1"), node("n2"), node("n3"), pod("busy", "n3", cpu="2"), pod("p", cpu="1"))
    drawn = [simulate(snapshot, seed=seed).decisions[0].node for seed in range(30)]
    assert set(drawn) == {"n1", "n2"}
    assert drawn == [simulate(snapshot, seed=seed).decisions[0].node for seed in range(30)]
    assert simulate(snapshot).decisions[0].node == "n1"


def test_ties_go_to_the_smallest_name_not_to_the_first_listed() -> None:
    """As text: n10 comes before n9."""
    assert simulate(cluster(node("n9"), node("n10"), pod("p"))).decisions[0].node == "n10"


# Preemption


def busy(**words: Any) -> list[Object]:
    """A node that is full of a pod of priority 0, and a pod of priority 10 that wants in."""
    return [
        node("n1", cpu="1"),
        pod("low", "n1", cpu="1", app="low"),
        pod("p", cpu="1", priority=10, **words),
    ]


def test_preemption_makes_room_and_takes_it() -> None:
    """The victim is named, the node nominated, and the pod placed once the victim is gone."""
    found = simulate(cluster(*busy())).decisions[0]
    assert (found.node, found.nominated_node, found.victims) == ("n1", "n1", ("default/low",))
    assert found.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_preemption_can_be_switched_off() -> None:
    """By the caller, or by a pod that never preempts, which says so in its message."""
    assert simulate(cluster(*busy()), preemption=False).decisions[0].node is None
    never = simulate(cluster(*busy(never="Never"))).decisions[0]
    assert (never.node, never.victims) == (None, ())
    assert never.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_equal_priority_is_no_victim() -> None:
    """Only pods of lower priority make room."""
    found = simulate(
        cluster(node("n1", cpu="1"), pod("a", "n1", cpu="1", priority=10), *busy()[2:])
    ).decisions[0]
    assert (found.node, found.victims) == (None, ())


@pytest.mark.parametrize(("allowed", "expected"), [(0, "n2"), (1, "n1")])
def test_budgets_turn_preemption_to_other_nodes(allowed: int, expected: str) -> None:
    """A victim whose budget would break costs more than one of higher priority elsewhere."""
    machines = [node("n1", cpu="1"), node("n2", cpu="1")]
    there = [pod("a", "n1", cpu="1", app="kept"), pod("b", "n2", cpu="1", app="free", priority=5)]
    found = simulate(
        cluster(*machines, *there, budget("kept", "kept", allowed), pod("p", cpu="1", priority=10))
    )
    assert found.decisions[0].node == expected


def test_a_broken_budget_is_better_than_no_node() -> None:
    """Budgets are respected where possible, not at any price."""
    found = simulate(cluster(*busy(), budget("low", "low", 0))).decisions[0]
    assert found.victims == ("default/low",)


def test_victims_are_as_few_as_possible() -> None:
    """Of two pods that could go the less important one goes, and one is enough."""
    there = [pod("a", "n1", cpu="1", priority=1), pod("b", "n1", cpu="1", priority=2)]
    found = simulate(cluster(node("n1", cpu="2"), *there, pod("p", cpu="1", priority=10))).decisions[0]
    assert found.victims == ("default/a",)


def test_a_victims_room_is_gone_for_those_who_come_later() -> None:
    """Plans that were made before an eviction see the cluster after it."""
    same: Object = {"cpu": "1", "priority": 10}
    pods = [pod("p1", **same), pod("p2", **same), pod("p3", cpu="1")]
    found = by_name(simulate(cluster(node("n1", cpu="1"), pod("low", "n1", cpu="1"), *pods)))
    assert found["p1"].victims == ("default/low",)
    assert [found[name].node for name in ("p1", "p2", "p3")] == ["n1", None, None]
    assert found["p2"].victims == ()


# Nominations that the snapshot shows


def test_who_is_not_more_important_leaves_a_nominated_node_alone() -> None:
    """The room is promised to a pod that is itself not decided here: it waits behind a gate."""
    promised = pod("promised", cpu="1", priority=10, nominated="n1", gates=["later"])
    for priority, expected in ((5, None), (10, None), (20, "n1")):
        incoming = pod("p", cpu="1", priority=priority)
        found = by_name(simulate(cluster(node("n1", cpu="1"), promised, incoming)))
        assert found["p"].node == expected, priority


def test_a_nominated_pod_takes_its_node_when_it_fits() -> None:
    """Even though another would score higher; when it does not fit the best one is taken."""
    empty, half = node("n1"), node("n2")
    there = pod("there", "n2", cpu="2")
    assert simulate(cluster(empty, half, there, pod("p", cpu="1", nominated="n2"))).decisions[0].node == "n2"
    assert simulate(cluster(empty, half, there, pod("p", cpu="3", nominated="n2"))).decisions[0].node == "n1"


def test_a_nomination_to_an_unknown_node_is_ignored() -> None:
    """The node may be gone by now."""
    assert simulate(cluster(node("n1"), pod("p", nominated="gone"))).decisions[0].node == "n1"


def test_a_pod_that_was_refused_is_asked_again_when_a_promise_is_given_up() -> None:
    """Until then a pod like it is refused as it was."""
    promised = pod("promised", cpu="1", priority=10, nominated="n1", gates=["later"])
    alike = [pod(f"p{n}", cpu="1", owner="ReplicaSet/p") for n in range(2)]
    scheduler = Scheduler(Problem(cluster(node("n1", cpu="1"), promised, *alike)))
    index = scheduler.problem.pod_index
    first, second, other = (index[f"default/{name}"] for name in ("p0", "p1", "promised"))
    scheduler.restore_nominations([other])
    refused = scheduler.decide(first)
    assert (refused.node, scheduler.decide(second)) == (None, replace(refused, pod=second))
    scheduler.forget_nominations([other])
    assert scheduler.decide(second).node == 0


def test_a_promise_that_company_depends_on_is_not_relied_upon() -> None:
    """A pod must fit with the nominated pods and without them."""
    promised = pod("promised", app="db", priority=10, nominated="n1", gates=["later"])
    lonely = pod("p", near=[term(ZONE, "db")])
    assert simulate(cluster(node("n1", zone="a"), promised, lonely)).decisions[0].node is None


# The whole


def test_the_snapshot_is_left_as_it_was() -> None:
    """Simulating binds and evicts in a state of its own."""
    objects = [*busy(), node("n2", zone="a"), pod("q", app="web", spread=[spread()])]
    snapshot = Cluster.from_objects(objects)
    first = simulate(snapshot, verbose=True)
    assert snapshot == Cluster.from_objects(objects)
    assert simulate(snapshot, verbose=True) == first


@pytest.mark.parametrize("operator", ["NotIn", "DoesNotExist"])
def test_a_negative_namespace_selector_of_an_incoming_pod_selects_all(operator: str) -> None:
    """What went wrong: kube-scheduler asks it once more about no labels, and each namespace is selected.

    A placed pod keeps away what its terms say and nothing else.
    """
    values = ["prod"] if operator == "NotIn" else []
    other = {"matchExpressions": [{"key": "env", "operator": operator, "values": values}]}
    apart: dict[str, Any] = {
        "apart": [term(HOST, "web", namespaceSelector=other)],
        "namespace": "shop",
        "app": "web",
    }
    there = [namespace("shop", env="prod"), namespace("office", env="prod"), node("n1")]
    plain: dict[str, Any] = {"app": "web", "namespace": "office"}

    refused = simulate(cluster(*there, pod("old", "n1", **plain), pod("new", **apart))).decisions[0]
    assert "didn't match pod anti-affinity rules" in refused.message
    placed = cluster(*there, pod("old", "n1", **apart), pod("new", **plain))
    assert simulate(placed).decisions[0].node == "n1"
    plan = solve(cluster(*there, pod("a", **plain), pod("b", **apart)))
    assert [step.pod for step in plan.steps] == ["shop/b", "office/a"]
    assert check(placed).violations == 0
