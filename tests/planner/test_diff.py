"""What `planner diff` says, against two clusters of which everything is known."""

import random
from collections import Counter

from models import Cluster
from planner import check, diff, rebalance
from tests import seeds
from tests.builders import HOST, ZONE, Object, node, pod, spread

ZONES = "aabbcc"


def made(places: dict[str, str], owner: str = "ReplicaSet/web") -> Cluster:
    """Six nodes in three zones, and replicas on nodes by name; "" waits."""
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate(ZONES)]
    return Cluster.from_objects([*nodes, *(_replica(name, on, owner) for name, on in places.items())])


def _replica(name: str, on: str, owner: str) -> Object:
    return pod(name, on, app="web", owner=owner, cpu="1", spread=[spread()])


def test_nothing_differs() -> None:
    """The same snapshot twice."""
    found = diff(made({"w0": "n0", "w1": "n2"}), made({"w1": "n2", "w0": "n0"}))
    assert found.before == found.after
    assert [found.spread, found.moved, found.pending, found.placed, found.workloads] == [()] * 5
    assert found.nodes == type(found.nodes)()


def test_a_replacement_elsewhere_has_moved() -> None:
    """Its controller gave it another name; the constraint's counts say the same."""
    found = diff(made({"w0": "n0", "w1": "n1", "w2": "n2"}), made({"w0": "n0", "x1": "n4", "w2": "n2"}))
    assert [(row.pod, row.source, row.node, row.replacement) for row in found.moved] == [
        ("default/w1", "n1", "n4", "default/x1")
    ]
    (row,) = found.spread
    assert (row.before, row.after) == ({"a": 2, "b": 1, "c": 0}, {"a": 1, "b": 1, "c": 1})
    assert (found.before.hard_excess, found.after.hard_excess) == (1, 0)


def test_a_replacement_in_place_has_not_moved() -> None:
    """Another name on the same node is no move."""
    found = diff(made({"w0": "n0", "w1": "n1"}), made({"x0": "n0", "x1": "n1"}))
    assert found.moved == ()


def test_a_pod_that_keeps_its_name_moves() -> None:
    """As those of a StatefulSet do."""
    owner = "StatefulSet/web"
    found = diff(made({"web-0": "n0"}, owner), made({"web-0": "n5"}, owner))
    assert [(row.pod, row.node, row.replacement) for row in found.moved] == [("default/web-0", "n5", None)]


def test_who_waits_and_where_it_was() -> None:
    """A replacement that found no node stands for the pod that is gone; a new replica for none."""
    found = diff(made({"w0": "n0", "w1": "n1"}), made({"w0": "n0", "x1": "", "x2": ""}))
    assert [(row.pod, row.was) for row in found.pending] == [("default/x1", "n1"), ("default/x2", None)]
    assert [(row.placed_before, row.placed_after, row.pending_after) for row in found.workloads] == [
        (2, 1, 2)
    ]


def test_a_pod_that_ends_without_a_node_does_not_wait() -> None:
    """What went wrong: a pod that a finalizer holds was told as one that waits, with exit code 1."""
    running = [node("n0", "a"), pod("web", "n0")]
    ending = pod("job", gone=True)
    found = diff(Cluster.from_objects(running), Cluster.from_objects([*running, ending]))
    assert (found.pending, found.workloads, found.after.pending) == ((), (), 0)
    found = diff(Cluster.from_objects([*running, pod("job")]), Cluster.from_objects([*running, ending]))
    assert [(row.pending_before, row.pending_after) for row in found.workloads] == [(1, 0)]


def test_who_waited_has_a_node() -> None:
    """Under the same name."""
    found = diff(made({"w0": ""}), made({"w0": "n3"}))
    assert [(row.pod, row.node) for row in found.placed] == [("default/w0", "n3")]
    assert (found.pending, found.moved) == ((), ())


def test_nodes_come_go_and_are_cordoned() -> None:
    """By name."""
    cordoned = node("n1")
    cordoned["spec"]["unschedulable"] = True
    left = Cluster.from_objects([node("n0"), node("n1"), pod("p", "n1")])
    right = Cluster.from_objects([cordoned, node("n2"), pod("p", "n1")])
    found = diff(left, right).nodes
    assert (found.added, found.removed, found.cordoned, found.uncordoned) == (("n2",), ("n0",), ("n1",), ())
    assert diff(right, left).nodes.uncordoned == ("n1",)


def test_nodes_are_not_what_they_were() -> None:
    """What went wrong: a taint, another zone or size, or another node of the same name was no difference."""
    cordon = "node.kubernetes.io/unschedulable:NoSchedule"
    nodes = {
        "same": node("n0", "a"),
        "tainted": node("n0", "a", taints=["old:NoSchedule"]),
        "labelled": node("n0", "b"),
        "resized": node("n0", "a", cpu="4001m"),
        "remade": node("n0", "a"),
        "cordoned": node("n0", "a", taints=[cordon], cordoned=True),
    }
    for name, item in nodes.items():
        item["metadata"]["uid"] = "2" if name == "remade" else "1"
    for left, was in nodes.items():
        for right, now in nodes.items():
            found = diff(Cluster.from_objects([was]), Cluster.from_objects([now])).nodes.model_dump()
            expected = {left, right} - {"same"} if left != right else set()
            assert len(found.pop("different")) == len(expected & {"tainted", "labelled", "resized"})
            if left == "cordoned" != right:
                expected = expected - {"cordoned"} | {"uncordoned"}
            assert {what for what, names in found.items() if names} == expected, (left, right)


def test_what_nodes_differ_in_is_told_once_for_all_that_differ_alike() -> None:
    """It was said that taints are others, and not which."""
    left = [node(f"n{number}", "a", taints=["old=x:NoSchedule"], cpu="4") for number in range(4)]
    right = [
        *(node(f"n{number}", "b", taints=["new:NoExecute"], cpu="4") for number in (0, 2)),
        node("n1", "a", taints=["old=x:NoSchedule", "new:NoExecute"], cpu="4"),
        node("n3", "a", cpu="3500m"),
    ]
    found = diff(Cluster.from_objects(left), Cluster.from_objects(right)).nodes.different
    zones = f"{ZONE}=a", f"{ZONE}=b"
    assert [(row.what, row.nodes, row.before, row.after) for row in found] == [
        ("taints", ("n0", "n2"), ("old=x:NoSchedule",), ("new:NoExecute",)),
        ("taints", ("n1",), (), ("new:NoExecute",)),
        ("taints", ("n3",), ("old=x:NoSchedule",), ()),
        ("labels", ("n0", "n2"), zones[:1], zones[1:]),
        ("allocatable", ("n3",), ("cpu 4",), ("cpu 3500m",)),
    ]


def test_one_namespace() -> None:
    """The figures are of that one, too."""
    left, right = made({"w0": "n0", "w1": "n1"}), made({"w0": "n0"})
    assert diff(left, right, namespace="default").before.hard_excess == 1
    other = diff(left, right, namespace="elsewhere")
    assert (other.before.hard_excess, other.spread, other.workloads) == (0, (), ())


def test_against_counting() -> None:
    """Random pods: counts per domain are those of check, moves add up, and no pod is told twice."""
    draw = random.Random(seeds.fresh())
    for _ in range(seeds.tries(15)):
        sides = [_random(draw, prefix) for prefix in "wx"]
        old, new = (made(places) for places in sides)
        found = diff(old, new)
        rows = [check(side).constraints for side in (old, new)]
        for row in found.spread:
            assert [row.before, row.after] == [dict(side[0].domains) if side else {} for side in rows]
        moves = [(row.source, row.node) for row in found.moved]
        assert all(source != target for source, target in moves)
        gone, come = (Counter(filter(None, places.values())) for places in sides)
        assert not Counter(source for source, _ in moves) - (gone - come)
        assert not Counter(target for _, target in moves) - (come - gone)
        assert len(moves) == min(sum((gone - come).values()), sum((come - gone).values()))
        waiting = {f"default/{name}" for name, on in sides[1].items() if not on}
        waited = {f"default/{name}" for name, on in sides[0].items() if not on}
        assert {row.pod for row in found.pending} == waiting - waited


def _random(draw: random.Random, prefix: str) -> dict[str, str]:
    """Some pods that both sides have, and some that only this one has."""
    names = [f"s{number}" for number in range(3)] + [
        f"{prefix}{number}" for number in range(draw.randrange(5))
    ]
    places = {name: draw.choice(["", *(f"n{number}" for number in range(6))]) for name in names}
    return {name: place if name.startswith(prefix) else "n0" for name, place in places.items()}


def test_a_plan_that_was_carried_out() -> None:
    """After the moves of rebalance the difference has just these moves, and nothing too many."""
    places = {"w0": "n0", "w1": "n0", "w2": "n1", "w3": "n2"}
    plan = rebalance(made(places))
    assert plan.steps
    done = dict(places)
    for step in plan.steps:
        del done[step.pod.partition("/")[2]]
        done[f"new-{step.wave}-{step.node}"] = step.node
    found = diff(made(places), made(done))
    assert Counter((row.source, row.node) for row in found.moved) == Counter(
        (step.source, step.node) for step in plan.steps
    )
    assert found.after.hard_excess == 0


def test_a_constraint_that_gets_better_makes_up_for_none_that_gets_worse() -> None:
    """As many are too many together; the one of the other workload held before."""

    def side(web: str, api: str) -> Cluster:
        pods = [
            pod(f"{name}-{number}", f"n{on}", app=name, owner=f"ReplicaSet/{name}", spread=[spread(app=name)])
            for name, places in (("web", web), ("api", api))
            for number, on in enumerate(places)
        ]
        return Cluster.from_objects([node("n0", "a"), node("n1", "b"), *pods])

    found = diff(side("0100", "010"), side("010", "0100"))
    assert (found.before.hard_excess, found.after.hard_excess) == (1, 1)
    assert not found.moved
    (row,) = found.worse
    assert (row.workload, row.excess_before, row.excess_after) == ("ReplicaSet/api", 0, 1)
    assert diff(side("010", "010"), side("01", "010")).worse == ()


def test_the_order_of_pods_is_no_difference() -> None:
    """What went wrong: of a constraint that each pod of a DaemonSet has for its own node, the last."""
    names = [f"n{number}" for number in range(4)]
    nodes = [node(name, ZONES[number]) for number, name in enumerate(names)]
    agents = [
        pod(
            f"agent-{name}",
            name,
            app="agent",
            owner="DaemonSet/agent",
            spread=[spread(HOST, app="agent")],
            only_on=[{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}],
        )
        for name in names
    ]
    found = diff(Cluster.from_objects([*nodes, *agents]), Cluster.from_objects([*nodes, *reversed(agents)]))
    assert (found.spread, found.worse) == ((), ())
    found = diff(
        Cluster.from_objects([*nodes, *agents]), Cluster.from_objects([*nodes, *reversed(agents[1:])])
    )
    assert [(row.before, row.after) for row in found.spread] == [({"n0": 1}, {})]
    assert [row.workload for row in found.workloads] == ["DaemonSet/agent"]


def test_pods_that_nothing_owns_keep_their_constraint() -> None:
    """What went wrong: it goes by the first of those alike. With that one gone it was told as worse by what
    the others have too many, though there were more before."""
    nodes = [node("n0", "a"), node("n1", "b")]
    pods = [pod(f"p{number}", "n0", app="web", spread=[spread()]) for number in range(3)]
    ending = [pod("p0", "n0", app="web", spread=[spread()], gone=True), *pods[1:]]
    for left in (pods[1:], ending):
        found = diff(Cluster.from_objects([*nodes, *pods]), Cluster.from_objects([*nodes, *left]))
        assert not found.worse
        assert (found.before.hard_excess, found.after.hard_excess) == (2, 1)
        changed = [row for row in found.spread if row.before and row.after]
        assert [(row.workload, row.before["a"], row.after["a"]) for row in changed] == [("Pod/p1", 3, 2)]
    found = diff(Cluster.from_objects([*nodes, *left]), Cluster.from_objects([*nodes, *pods]))
    assert [(row.excess_before, row.excess_after) for row in found.worse] == [(1, 2)]
