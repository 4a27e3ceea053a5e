"""Lost zones and priorities: whoever is preempted, the room that is left goes to the highest ones."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from planner.proof.effort import STANDARD
from planner.simulation.survive import survive
from tests import seeds
from tests.builders import ZONE, Object, cluster, labelled, node
from tests.draws import nothing_drawn
from tests.planner.test_survive import replicas, without

#: The zones of four nodes.
ZONES_OF_FOUR = "abca"


def drawn_by_priority(
    draw: random.Random, largest: int = 2, least: int = 0, waiting: int = 0
) -> tuple[list[int], list[Object], dict[str, int], Counter[str]]:
    """Four nodes with room for so many pods each, at least so many pods there and some that wait.

    The room of each node, all objects, the priority of each of three workloads and the number of its pods.
    """
    sizes = [draw.randint(1, largest) for _ in ZONES_OF_FOUR]
    nodes = [node(f"n{n}", zone=ZONES_OF_FOUR[n], cpu=str(size)) for n, size in enumerate(sizes)]
    slots = [f"n{n}" for n, size in enumerate(sizes) for _ in range(size)]
    taken = draw.sample(slots, draw.randint(least, len(slots)))
    priority = {app: draw.randint(0, 2) for app in "uvw"}
    pods, number = list[Object](), Counter[str]()
    for app, on in zip("uvw", (taken[0::3], taken[1::3], taken[2::3]), strict=True):
        places = [*on, *[""] * draw.randint(0, waiting)]
        pods += replicas(app, places, cpu="1", priority=priority[app])
        number[app] = len(places)
    return sizes, [*nodes, *pods], priority, number


@pytest.mark.parametrize("seed", seeds.given_and_fresh(43))
@nothing_drawn()
def test_no_loss_has_what_was_pending_or_preempted_before(seed: int | None) -> None:
    """Pods of one size without constraints: of each priority so many more find no node than before."""
    seed = seeds.fresh() if seed is None else seed
    for draw in map(random.Random, range(seed, seed + seeds.tries(10))):
        sizes, objects, priority, number = drawn_by_priority(draw, waiting=2)

        def waiting(room: int, wanted: Counter[str], level: int, priority: dict[str, int] = priority) -> int:
            above = sum(pods for app, pods in wanted.items() if priority[app] > level)
            asked = sum(pods for app, pods in wanted.items() if priority[app] == level)
            return min(asked, max(0, above + asked - room))

        found = survive(cluster(*objects, node("tiny", zone="d", cpu="500m")), ZONE)
        for loss in found.domains:
            lost = sum(size for size, zone in zip(sizes, ZONES_OF_FOUR, strict=True) if zone == loss.domain)
            pending = Counter[int]()
            for item in loss.workloads:
                pending[priority[item.workload[-1]]] += item.pending
                assert item.replaced <= item.lost <= item.replaced + item.pending, (seed, loss)
            for level in {*priority.values()}:
                more = waiting(sum(sizes) - lost, number, level) - waiting(sum(sizes), number, level)
                assert pending[level] == more, (seed, loss)
        assert (without(found, "d").workloads, without(found, "d").meanwhile) == ((), ())


@pytest.mark.parametrize("seed", seeds.given_and_fresh(41))
@nothing_drawn()
def test_of_every_priority_as_many_pods_are_lost_as_have_no_room(seed: int | None) -> None:
    """Pods of one size without constraints: whoever is preempted, the room goes to the highest priorities."""
    seed, preempted = seeds.fresh() if seed is None else seed, list[str]()
    # Somewhere in five a pod is preempted.
    for draw in (random.Random(seed + turn) for turn in seeds.until(20, preempted)):
        sizes, objects, priority, number = drawn_by_priority(draw, largest=3, least=2)
        for loss in survive(cluster(*objects), ZONE).domains:
            room = sum(size for size, zone in zip(sizes, ZONES_OF_FOUR, strict=True) if zone != loss.domain)
            pending = Counter[int]()
            for found in loss.workloads:
                pending[priority[found.workload[-1]]] += found.pending
            for level in sorted({*priority.values()}, reverse=True):
                wanted = sum(pods for app, pods in number.items() if priority[app] == level)
                assert pending[level] == max(0, wanted - room), (seed, loss)
                room = max(0, room - wanted)
            preempted += [found.workload for found in loss.workloads if found.pending > found.lost]
    assert preempted


def test_what_is_preempted_preempts_in_turn() -> None:
    """What went wrong: `mid` was said to find no node, and `low`, which it takes one from, to survive."""
    nodes = [node(name, zone=name, cpu="1") for name in "abc"]
    high = replicas("high", "a", cpu="1", priority=9, only_on=[labelled(ZONE, "In", "a", "b")])
    found = survive(cluster(*nodes, *high, *one("mid", "b", 5), *one("low", "c", 0)), ZONE)
    loss = without(found, "a")
    rows = {row.workload[11:]: (row.lost, row.replaced, row.pending, row.ok) for row in loss.workloads}
    assert rows == {"high": (1, 1, 0, False), "low": (0, 0, 1, False)}


@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_where_no_round_is_the_last_one_pods_are_missing_all_the_same(rounds: int) -> None:
    """Each pod takes the node of the next one; what no round tries any more is not said to have a node."""
    names, objects = "abcde", list[Object]()
    for number, name in enumerate(names):
        next_one = names[number : number + 2]
        objects += replicas(
            name, name, cpu="1", priority=9 - number, only_on=[labelled(ZONE, "In", *next_one)]
        )
    found = cluster(*(node(name, zone=name, cpu="1") for name in names), *objects)
    explain = replace(STANDARD.explain, rounds_to_rest=rounds)
    loss = without(survive(found, ZONE, effort=replace(STANDARD, explain=explain)), "a")
    assert [row.workload for row in loss.workloads if row.pending] == [
        f"ReplicaSet/{'abcde'[min(rounds + 1, 4)]}"
    ]
    at_rest = "preempted by a pod of higher priority, and the cluster is not at rest then"
    assert [row.message == at_rest for row in loss.pending] == [rounds < 4]


def one(name: str, on: str, priority: int) -> list[Object]:
    """A workload of one pod that fills a node."""
    return replicas(name, on, cpu="1", priority=priority)
