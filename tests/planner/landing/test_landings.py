"""Where replacements land: on any node that is as good, for every order, tie-break and end of old pods."""

from collections import Counter

import pytest

from models import Cluster
from planner import rebalance
from planner.documents.move_plan import OnNodes, WithLabels
from tests import seeds
from tests.builders import HARD, HOST, SOFT, ZONE, Object, cluster, node, pod, spread
from tests.planner.rebalance.lopsided import KINDS, drawn
from tests.planner.rebalance.test_recordings import wrong_in


def racks(when: str) -> Cluster:
    """Sixteen nodes in four racks, one of which has just come back: Descheduler evicts 26 of the 64 pods."""
    counts = (6, 6, 5, 4, 6, 5, 5, 5, 0, 0, 0, 0, 6, 6, 5, 5)
    nodes, pods = list[Object](), list[Object]()
    for number, count in enumerate(counts):
        nodes.append(node(f"n{number:02}", zone=None, cpu="16"))
        nodes[-1]["metadata"]["labels"]["rack"] = f"rack{number // 4 + 1}"
        for _ in range(count):
            words = {"owner": "ReplicaSet/web", "app": "web", "cpu": "1"}
            constraints = [spread("rack"), spread(HOST, when=when)]
            pods.append(pod(f"web-{len(pods):02}", f"n{number:02}", spread=constraints, **words))
    return cluster(*nodes, *pods)


@pytest.mark.parametrize("when", seeds.at_first(1, [HARD, SOFT]))
@pytest.mark.parametrize("evict_only", [False, True])
def test_a_rack_that_came_back_takes_sixteen_evictions(when: str, evict_only: bool) -> None:
    """No pin, no constraint violated, and with a soft hostname constraint that is not violated either."""
    given = racks(when)
    plan = rebalance(given, evict_only=evict_only)
    assert Counter(step.landing for step in plan.steps) == {"filters": 16}
    assert (plan.after.hard_excess, plan.after.soft_excess, plan.status) == (0, 0, "Optimal")
    assert wrong_in(given, plan, orders=20) == []


def test_a_zone_is_named_by_its_label() -> None:
    """Several equally good nodes are described by their zone label, a single one by its name."""
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()]) for n in range(3)
    ]
    one = [node("n0", zone="a"), node("n1", zone="b")]
    (alone,) = rebalance(cluster(*one, *pods)).steps
    (several,) = rebalance(cluster(*one, node("n2", zone="b"), node("n3", zone="a"), *pods)).steps
    assert (alone.landing, alone.lands) == ("filters", OnNodes(nodes=("n1",)))
    assert (several.landing, several.lands) == ("filters", WithLabels(labels={ZONE: ("b",)}))


@pytest.mark.parametrize("key", ["kubernetes.io/os", "topology.kubernetes.io/region"])
def test_a_label_of_all_nodes_describes_no_few_of_them(key: str) -> None:
    """What went wrong: with a node for each zone replacements went to `kubernetes.io/os linux`."""
    nodes = [node(f"{zone}1", zone=zone, labels={key: "x"}) for zone in "abc"]
    words = {"app": "web", "owner": "ReplicaSet/web", "spread": [spread()]}
    pods = [pod(f"w{n}", "c1", **words) for n in range(3)]
    steps = rebalance(cluster(*nodes, *pods)).steps
    assert [step.lands for step in steps] == [OnNodes(nodes=("a1", "b1"))] * 2


def test_what_may_come_straight_back_is_pinned_or_left() -> None:
    """A pod that makes room for another must not come back; without pins it does not move at all."""
    given = cluster(
        node("n0", zone="a", cpu="3"),
        node("n1", zone="b", cpu="1"),
        node("n2", zone=None, cpu="1"),
        *(
            pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()])
            for n in range(3)
        ),
        pod("x", "n1", cpu="1", owner="ReplicaSet/x", app="x"),
    )
    plan = rebalance(given)
    assert plan.steps[0].landing == "pinned"
    assert plan.steps[0].pin == plan.steps[0].lands == OnNodes(nodes=("n2",))
    assert (plan.after.hard_excess, wrong_in(given, plan, orders=20)) == (0, [])
    assert rebalance(given, evict_only=True).after.hard_excess == plan.before.hard_excess


@pytest.mark.parametrize("soft", [False, True])
def test_every_plan_holds_wherever_replacements_land(soft: bool) -> None:
    """Fresh clusters: random runs of the plan all end as the document says."""
    for seed in seeds.seeds(1):
        given = drawn(seed, KINDS[seed % 4], soft_alone=soft)
        plan = rebalance(given, soft=soft, time_limit=5)
        assert plan.after.hard_excess <= plan.before.hard_excess
        assert plan.after.pending == 0
        assert wrong_in(given, plan, orders=seeds.tries(4), soft=soft) == []


def test_soft_constraints_are_repaired_on_request() -> None:
    """Eight replicas in one of three zones are reported as unbalanced, and --soft spreads them."""
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread(when=SOFT)])
        for n in range(8)
    ]
    given = cluster(*(node(f"n{n}", zone=zone, cpu="16") for n, zone in enumerate("abc")), *pods)
    assert rebalance(given).notes == (
        "1 ScheduleAnyway constraint is exceeded, 7 pods too many: --soft repairs them as well",
    )
    plan = rebalance(given, soft=True)
    assert (plan.after.soft_excess, len(plan.steps), plan.status) == (0, 5, "Optimal")
    assert wrong_in(given, plan, orders=20, soft=True) == []


#: For every workload the request of its pods, the skews of zone and hostname, and the nodes of its pods.
OPENED_BY_PINS = {
    "a0": ("1", 2, (2, HARD), (5, 8, 5)),
    "a3": ("1", 2, (1, HARD), (10, 11, 10, 11, 11, 16, 11, 8, 11, 4, 8, 11, 10)),
    "a9": ("500m", 1, (1, SOFT), (11, 11)),
    "a11": ("100m", 1, (2, HARD), (14, 14)),
    "a13": ("500m", 1, None, (17, 8)),
    "a14": ("500m", 1, (1, SOFT), (4, 4, 13, 4, 13)),
    "a15": ("1", 2, (2, SOFT), (13,)),
}


def test_a_move_within_the_emptiest_zone_needs_no_pin() -> None:
    """A regression: a soft constraint that is worse only while the pod is away is no reason for a pin."""
    both = [spread(when=SOFT), spread(HOST, when=SOFT)]
    places = ("a0", "a1", "a2", "b0", "b0", "c0", "c1")
    words = {"app": "web", "owner": "ReplicaSet/web", "cpu": "1", "spread": both}
    given = cluster(
        *(node(name, zone=name[0]) for name in ("a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1")),
        *(pod(f"web-{number}", place, **words) for number, place in enumerate(places)),
    )
    plan = rebalance(given, soft=True)
    assert (plan.status, plan.before.soft_excess, plan.after.soft_excess) == ("Optimal", 1, 0)
    assert [(step.source, step.node, step.landing) for step in plan.steps] == [("b0", "b1", "scores")]
    assert wrong_in(given, plan, soft=True) == []


def test_what_a_pin_alone_opens_is_judged_as_well() -> None:
    """Pinned to one node a pod sees no other domain: it may land where it repairs nothing."""
    pods = list[Object]()
    for app, (cpu, skew, host, places) in OPENED_BY_PINS.items():
        constraints = [spread(app=app, skew=skew)]
        if host is not None:
            constraints.append(spread(HOST, app=app, skew=host[0], when=host[1]))
        for number, place in enumerate(places):
            words = {"owner": f"ReplicaSet/{app}", "app": app, "cpu": cpu, "spread": constraints}
            pods.append(pod(f"{app}-{number:02}", f"n{place:02}", **words))
    numbers = (3, 4, 5, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17)
    given = cluster(*(node(f"n{n:02}", zone=f"z{n % 3}", cpu="10580m") for n in numbers), *pods)
    assert wrong_in(given, rebalance(given), orders=seeds.tries(13)) == []


@pytest.mark.long
def test_ties_among_interchangeable_nodes_need_no_pins() -> None:
    """A zone of identical empty nodes: whichever is taken each time, the rest of the plan is the same."""
    sizes = ("200m", "500m", "1", "1500m", "2", "2500m")
    pods = [
        pod(
            f"a{n}-{replica}",
            f"old{replica % 3}",
            app=f"a{n}",
            owner=f"ReplicaSet/a{n}",
            cpu=size,
            spread=[spread(app=f"a{n}", when=SOFT)],
        )
        for n, size in enumerate(sizes)
        for replica in range(4)
    ]
    olds = [node(f"old{n}", zone="a", cpu="32", memory="64Gi") for n in range(3)]
    news = [node(f"new{n}", zone="b", cpu="32", memory="64Gi") for n in range(7)]
    given = cluster(*olds, *news, *pods)
    plan = rebalance(given, soft=True)
    assert plan.after.soft_excess == 0
    assert {step.landing for step in plan.steps} == {"scores"}
    assert wrong_in(given, plan, orders=seeds.tries(13), soft=True) == []
