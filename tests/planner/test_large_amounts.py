"""Quantities of every scale up to the largest: the answer is right, or the input is refused with a line."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import pytest

from models import InputError
from models.objects.quantity import parse_quantity
from planner import check, consolidate, rebalance, simulate, solve
from planner.documents.plan import PlacementPlan
from tests import seeds
from tests.builders import Object, cluster, node, pod, spread

RESOURCES = ("cpu", "memory", "example.com/thing")
#: What Kubernetes counts at most of anything, in whole units.
LARGEST = 2**63 - 1


def amount(draw: Random, most: int) -> str:
    """A quantity of any scale up to so many bits, spelled in any way; now and then one of the largest."""
    size = draw.randint(0, most) if draw.random() < 0.5 else most
    about = draw.choice((1, 3, 5, 7)) * 2**size // draw.choice((2, 4, 6, 8)) + draw.randint(-1, 1)
    digit = draw.randint(1, 9)
    largest = ("9223372036854775807", "64Pi", "1e30", f"{digit}E", f"{min(digit, 8)}Ei", f"{digit}e17")
    return draw.choice(largest) if draw.random() < 0.07 else str(min(max(about, 1), LARGEST))


def drawn(draw: Random) -> tuple[list[Object], str]:
    """A tiny cluster about one resource, some of whose pods run already."""
    name = draw.choice(RESOURCES)
    most = draw.choice((30, 45, 53, 54, 55, 62)) - (10 if name == "cpu" else 0)
    sizes = [amount(draw, most) for _ in range(3)]
    machines = [node(f"n{i}", room={name: draw.choice(sizes)}) for i in range(draw.randint(1, 3))]
    names = [item["metadata"]["name"] for item in machines]
    pods = [
        pod(
            f"p{i}",
            on=draw.choice(names) if draw.random() < 0.2 else "",
            requests={name: draw.choice(sizes) if draw.random() < 0.5 else amount(draw, most)},
            owner=f"ReplicaSet/r{i}",
        )
        for i in range(draw.randint(1, 5))
    ]
    return [*machines, *pods], name


def most_pods(objects: Sequence[Object], name: str) -> int:
    """How many pending pods some assignment to nodes places, with whole numbers of any size."""
    unit = 10**6 if name == "cpu" else 10**9
    nodes, pending = dict[str, int](), list[int]()
    for item, size in _sizes(objects, name):
        exact = -(-parse_quantity(size) // unit)
        if item["kind"] == "Node":
            nodes[item["metadata"]["name"]] = exact
        elif on := item["spec"].get("nodeName"):
            nodes[on] -= exact
        else:
            pending.append(exact)
    return max(
        sum(place is not None for place in places)
        for places in product([None, *nodes], repeat=len(pending))
        if _fits(Counter(), nodes, places, pending)
    )


def _sizes(objects: Sequence[Object], name: str) -> Iterator[tuple[Object, str]]:
    for item in objects:
        if item["kind"] == "Node":
            yield item, item["status"]["allocatable"][name]
        else:
            yield item, item["spec"]["containers"][0]["resources"]["requests"][name]


def _fits(
    load: Counter[str], nodes: dict[str, int], places: Sequence[str | None], pending: Sequence[int]
) -> bool:
    for place, size in zip(places, pending, strict=True):
        if place is not None:
            load[place] += size
    return all(asked <= nodes[name] for name, asked in load.items())


def placed(plan: PlacementPlan) -> int:
    """How many pods are bound."""
    return sum(step.action == "bind" for step in plan.steps)


@pytest.mark.parametrize("turn", range(seeds.tries(10)))
def test_an_answer_is_right_or_refused(turn: int) -> None:
    """What went wrong: with memory of 7E 3 pods were placed, and proved to be all, where 6 fit."""
    objects, name = drawn(Random(seeds.fresh() + turn))
    found = cluster(*objects)
    try:
        plan = solve(found)
    except InputError:
        return
    stages = [stage for stage in plan.objective if stage.name.startswith("podsPlaced/")]
    truth = most_pods(objects, name)
    assert placed(plan) == truth
    assert all(stage.bound is None or stage.bound >= truth for stage in stages)
    assert sum(one.node is not None for one in simulate(found, preemption=False).decisions) <= truth
    moved = solve(found, allow_moves=True)
    assert all(stage.value >= truth for stage in moved.objective[:1])
    assert rebalance(found).after.pending == check(found).pending


@pytest.mark.parametrize("resource", RESOURCES)
def test_what_cannot_be_counted_is_refused_with_its_place(resource: str) -> None:
    """Six pods of 1E would fit into 7E, but not into 64 bits when scores multiply them by a hundred."""
    pods = [pod(f"p{i}", requests={resource: "1E"}) for i in range(6)]
    with pytest.raises(InputError) as caught:
        solve(cluster(node("n1", room={resource: "7E"}), *pods))
    (line,) = caught.value.problems
    assert line.startswith(f"Node n1, status.allocatable.{resource}: ")
    assert "expected " in line


def test_a_request_for_just_more_than_is_counted_does_not_fit() -> None:
    """What went wrong: both were cut to the same number, so that 1e30 fitted into 64Pi."""
    found = cluster(node("n1", memory="64Pi"), pod("p", memory="1e30"))
    assert simulate(found, preemption=False).decisions[0].node is None


def test_the_largest_amounts_that_are_counted() -> None:
    """64Pi is counted to the byte, in the filters and by the solver."""
    most = 2**56
    pods = [pod("a", memory=str(most // 2)), pod("b", memory=str(most // 2 - 1)), pod("c", memory="2")]
    plan = solve(cluster(node("n1", memory=str(most)), *pods))
    assert (placed(plan), plan.status) == (2, "Optimal")
    evenly = [
        pod(f"w{i}", on="n1", app="web", memory=str(most // 4), owner="ReplicaSet/w", spread=[spread()])
        for i in range(4)
    ]
    nodes = [node(name, zone=name, memory=str(most)) for name in ("n1", "n2")]
    moved = rebalance(cluster(*nodes, *evenly))
    assert (len(moved.steps), moved.after.hard_violations, moved.status) == (2, 0, "Optimal")


def test_the_price_of_room_is_compared_exactly() -> None:
    """What went wrong: prices of room that are equal as floats: both nodes had to stay, and one went."""
    most = 1 << 55
    pods = [
        pod("a", on="n1", memory=str(most // 2), owner="ReplicaSet/a"),
        pod("b", on="n2", memory=str(most // 2 + 1), owner="ReplicaSet/b"),
        # Of constraints that honour taints no model knows enough: the bound is that of room.
        pod("c", on="n2", app="c", owner="ReplicaSet/c", spread=[spread(app="c", nodeTaintsPolicy="Honor")]),
    ]
    nodes = [node("n1", "a", memory=str(most)), node("n2", "a", memory=str(most + 1))]
    plan = consolidate(cluster(*nodes, *pods))
    assert (plan.cost.bound, plan.cost.after) == (1, 1)
