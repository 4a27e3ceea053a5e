"""Clusters at the edge of what can be written down: nothing in them, no room, absurd numbers."""

from collections.abc import Callable

import pytest

from models import Cluster, InputError
from planner import check, consolidate, rebalance, simulate
from planner.problem.problem import Problem
from planner.state.state import State
from tests.builders import HOST, ZONE, Object, cluster, node, pod, profile, scheduler, spread, term


def placements(*objects: Object) -> list[str | None]:
    """Where the pending pods go, in the order in which they are taken."""
    return [decision.node for decision in simulate(cluster(*objects), preemption=False).decisions]


def test_nothing_at_all() -> None:
    """An empty snapshot has no decisions."""
    assert simulate(cluster()).decisions == ()


def test_pods_without_nodes() -> None:
    """Every kind of constraint can be asked about no nodes; nothing is placed, and nothing can be judged."""
    pods = [
        pod("plain"),
        pod("even", app="web", spread=[spread(), spread(HOST, when="ScheduleAnyway")]),
        pod("shy", app="web", apart=[term(ZONE, "web")], near=[term(HOST, "web")]),
        pod("picky", node_selector={"a": "b"}, tolerations=[{"operator": "Exists"}], ports=[80]),
    ]
    found = simulate(cluster(*pods), verbose=True)
    assert [decision.node for decision in found.decisions] == [None] * 4


@pytest.mark.parametrize("ask", [check, rebalance, consolidate])
def test_no_nodes_is_no_answer(ask: Callable[[Cluster], object]) -> None:
    """What went wrong: of `kubectl get all -A`, which has no nodes, rebalance said that it is balanced.

    And consolidate that it is proved that no plan is better.
    """
    with pytest.raises(InputError, match="no nodes to count pods on"):
        ask(cluster(pod("even", app="web", spread=[spread()]), pod("there", on="n1", app="web")))


def test_the_words_for_no_nodes_are_kubes() -> None:
    """Without nodes kube-scheduler stops before it asks any plugin: ErrNoNodesAvailable."""
    found = simulate(cluster(pod("p"))).decisions[0]
    assert found.message == "no nodes available to schedule pods"


def test_check_without_pods() -> None:
    """What went wrong: without pods the load had no rows, and the audit of the nodes broke down."""
    assert check(cluster(node("n1"))).violations == 0


def test_consolidate_survive_without_pods() -> None:
    """What went wrong: what pods take had no columns where there are none, and the bound broke down."""
    plan = consolidate(cluster(node("n1", "a"), node("n2", "b")), survive=ZONE)
    assert plan.status == "Optimal"
    assert plan.cost.after == 0


def test_a_state_without_pods_has_a_row_for_every_resource() -> None:
    """The load of a node is known even when it is nothing."""
    problem = Problem(cluster(node("n1")))
    assert State(problem).used.shape == problem.allocatable.shape


def test_a_node_without_allocatable_takes_nothing() -> None:
    """It has no slot for a pod, which is what kube says too."""
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
    found = simulate(cluster(bare, pod("p")), preemption=False).decisions[0]
    assert found.message == "0/1 nodes are available: 1 Too many pods. no new claims to deallocate"


def test_pods_that_ask_nothing_go_where_cpu_and_memory_are_nothing() -> None:
    """Zero requests fit into zero room; scoring divides by nothing."""
    machines = [node(name, cpu="0", memory="0") for name in ("n1", "n2")]
    for kind in ("LeastAllocated", "MostAllocated"):
        config = scheduler(profile(NodeResourcesFit={"scoringStrategy": {"type": kind}}))
        assert placements(*machines, pod("p"), config) == ["n1"]


@pytest.mark.parametrize("amount", ["9223372036854775807", "8Ei", "10E", "1e30"])
@pytest.mark.parametrize("resource", ["cpu", "memory", "example.com/thing"])
def test_a_request_beyond_all_bounds_does_not_fit(resource: str, amount: str) -> None:
    """A number that no machine has is an answer, not a breakdown."""
    assert placements(node("n1"), pod("p", requests={resource: amount})) == [None]


@pytest.mark.parametrize("resource", ["cpu", "memory", "example.com/thing"])
def test_room_beyond_all_bounds_takes_a_pod(resource: str) -> None:
    """The same for what a node offers."""
    assert placements(node("n1", room={resource: "10E"}), pod("p", requests={resource: "1"})) == ["n1"]


@pytest.mark.parametrize("number", [1, 60, 61, 62, 63, 64, 130])
def test_many_extended_resources(number: int) -> None:
    """A pod may ask for any number of resources; each that is missing is told, and evictions may help."""
    wanted = {f"example.com/r{position:03}": "1" for position in range(number)}
    assert placements(node("n1", room=wanted), pod("p", requests=wanted)) == ["n1"]
    taken = pod("there", on="n1", requests=wanted)
    found = simulate(cluster(node("n1", room=wanted), taken, pod("p", requests=wanted, priority=5)))
    assert found.decisions[0].victims == ("default/there",)
    assert found.decisions[0].message.count("Insufficient") == number


def test_a_host_port_named_twice_is_one_port() -> None:
    """A pod does not clash with itself, in the filter or in the audit."""
    twice = cluster(node("n1"), node("n2"), pod("there", on="n1", ports=[80, 80]), pod("p", ports=[80, 80]))
    assert simulate(twice).decisions[0].node == "n2"
    assert check(twice).findings == ()


def test_an_init_containers_host_port_is_not_held() -> None:
    """kube's GetHostPorts: of init containers only sidecars hold their ports while the pod runs."""
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    there = pod("there", on="n1", init=[{"name": "i", **port}])
    assert placements(node("n1"), there, pod("p", ports=[80])) == ["n1"]
    sidecar = pod("there", on="n1", init=[{"name": "i", "restartPolicy": "Always", **port}])
    assert placements(node("n1"), sidecar, pod("p", ports=[80])) == [None]


def test_a_key_that_no_node_has() -> None:
    """Spread and required affinity over it refuse every node; soft spread and anti-affinity refuse none."""
    machines = [node("n1"), node("n2")]
    assert placements(*machines, pod("p", app="web", spread=[spread("nowhere")])) == [None]
    assert placements(*machines, pod("p", app="web", near=[term("nowhere", "web")])) == [None]
    assert placements(*machines, pod("p", app="web", apart=[term("nowhere", "web")])) == ["n1"]
    assert placements(*machines, pod("p", app="web", spread=[spread("nowhere", when="ScheduleAnyway")])) == [
        "n1"
    ]


def test_times_with_and_without_zone_can_be_compared() -> None:
    """What went wrong: a creationTimestamp without a zone among others with one broke the queue."""
    pods = [pod("b", created="2024-01-01T00:00:01Z"), pod("a", created="2024-01-01T00:00:00")]
    found = simulate(cluster(node("n1"), *pods)).decisions
    assert [decision.pod for decision in found] == ["default/a", "default/b"]
