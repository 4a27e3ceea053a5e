"""Pods of one template placed in one step, against one decision after the other."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given

from models import Cluster
from planner.problem.problem import Problem
from planner.scheduler import scheduler as scheduler_module
from planner.scheduler.scheduler import Scheduler
from tests import seeds
from tests.builders import HOST, SOFT, ZONE, Object, cluster, node, pod, service, spread, term, tolerate
from tests.strategies import clusters, relaxed

Least = Callable[[int], None]


@pytest.fixture
def least(monkeypatch: pytest.MonkeyPatch) -> Least:
    """Sets how many pods of one template are placed in one step at least."""

    def set_to(pods: int) -> None:
        monkeypatch.setattr(scheduler_module, "WORTH_A_SUCCESSION", pods)

    return set_to


def drawn(choose: random.Random) -> list[Object]:
    """Several dozen pods of two templates, on nodes that differ in room, labels and what runs there."""
    size = choose.randint(2, 12)
    machines = [
        node(
            f"n{i}",
            zone=choose.choice([None, *"abc", *"abc", *"abc"]),
            cpu=choose.choice("248"),
            pods=str(choose.choice([3, 110])),
            labels={HOST: None} if choose.random() < 0.05 else {"rack": choose.choice("xyz")},
            taints=["key:NoSchedule"] * (choose.random() < 0.2),
        )
        for i in range(size)
    ]
    there = [pod(f"t{i}", f"n{choose.randrange(size)}", app=choose.choice(["web", "db"])) for i in range(9)]
    return [*machines, *there, service("web", app="web"), *waiting(choose, "web"), *waiting(choose, "db")]


def waiting(choose: random.Random, app: str) -> list[Object]:
    """Pods alike that wait, with what spreads them over zones, racks and nodes."""
    constraints = [
        spread(
            key,
            choose.randint(1, 3),
            app=choose.choice(["web", "web", "db"]),
            **({"minDomains": choose.randint(1, 4)} if hard and choose.random() < 0.2 else {}),
            **({} if hard else {"when": SOFT}),
            nodeTaintsPolicy=choose.choice(["Honor", "Ignore"]),
        )
        for key in (ZONE, "rack", HOST)
        for hard in (True, False)
        if choose.random() < 0.3
    ]
    words: Object = {"app": app, "cpu": choose.choice(["100m", "300m", "1"]), "memory": "100Mi"}
    words |= {"spread": constraints} if constraints else {}
    words |= {"tolerations": [tolerate("key")]} if choose.random() < 0.5 else {}
    words |= {"apart": [term(HOST, app)]} if choose.random() < 0.2 else {}
    words |= {"ports": [80]} if choose.random() < 0.1 else {}
    words |= {"priority": choose.choice([0, 5])}
    return [pod(f"{app}-{i}", **words) for i in range(choose.randint(10, 40))]


def decided(objects: list[Object]) -> list[object]:
    """What the scheduler decides, and where the pods are then."""
    scheduler = Scheduler(Problem(Cluster.from_objects(objects)))
    return [[*scheduler.run()], scheduler.state.pods_on, scheduler.state.used.tolist()]


@pytest.mark.parametrize("seed", seeds.given_and_fresh(1, 2, 3))
def test_one_step_finds_the_nodes_of_single_decisions(seed: int | None, least: Least) -> None:
    """Room, ports, anti-affinity, hard and soft constraints over several keys, kube's own constraints."""
    choose, placed = random.Random(seed if seed is not None else seeds.fresh()), Counter[bool]()
    for _ in range(25 * seeds.EFFORT):
        objects = drawn(choose)
        least(1)
        found = decided(objects)
        least(1_000)
        assert found == decided(objects)
        placed.update(decision.node is not None for decision in found[0])  # type: ignore[attr-defined]
    assert placed[True] > 100
    assert placed[False] > 0


@relaxed
@given(clusters(pods=30))
def test_whatever_pods_ask_for(objects: list[Object]) -> None:
    """What cannot be placed in one step is left to single decisions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler_module, "WORTH_A_SUCCESSION", 1)
        found = decided(objects)
        patch.setattr(scheduler_module, "WORTH_A_SUCCESSION", 1_000)
        assert found == decided(objects)


def test_more_pods_than_one_step_places_on_a_node(least: Least) -> None:
    """Thirty pods on one node: a step ends with the eighth, and the next one goes on."""
    least(1)
    objects = [node("n"), *(pod(f"p{i}", cpu="100m") for i in range(30)), pod("last", cpu="2")]
    places = Scheduler(Problem(cluster(*objects))).run()
    assert [decision.node for decision in places] == [0] * 30 + [None]


def test_nodes_that_share_a_host_name(least: Least) -> None:
    """Scores over hosts count the pods of each node: in one step they counted those of all with its name."""
    shared = [node(f"n{i}", labels={HOST: "ab"[i % 2]}) for i in range(4)]
    soft = spread(HOST, app="web", when=SOFT)
    there = [pod(f"t{i}", "n0", app="web") for i in range(4)]
    objects = [*shared, *there, *(pod(f"p{i}", app="web", spread=[soft]) for i in range(20))]
    least(1)
    found = decided(objects)
    least(1_000)
    assert found == decided(objects)
