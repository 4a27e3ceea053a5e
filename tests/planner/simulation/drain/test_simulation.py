"""A drain that refuses template by template ends as one that asks the scheduler about every pod."""

import random
from collections.abc import Sequence
from typing import Any

from models import Cluster
from planner.problem.problem import Problem
from planner.proof.effort import DrainEffort
from planner.simulation.drain.allowances import Allowances
from planner.simulation.drain.held import DrainFacts
from planner.simulation.drain.play import Drain, pods_to_go
from planner.simulation.drain.simulation import DrainSimulation
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import Object, node, pod
from tests.planner.scheduler.test_preemption import crowded, lopsided

#: Where pods evict each other in turn both ways go on for as long, and need not for longer.
SOON_GIVEN_UP = DrainEffort(events_per_pod=10, least_events=200)


def _owned(items: Sequence[Object]) -> list[Object]:
    """The same with a controller for every pod, so that what is preempted comes back."""
    owner = {"kind": "ReplicaSet", "name": "set", "uid": "set", "controller": True}
    for item in items:
        if item["kind"] == "Pod":
            item["metadata"]["ownerReferences"] = [owner]
    return list(items)


def _outcome(problem: Problem, nodes: Sequence[int], *, at_once: int, late: bool, asks_all: bool) -> Any:
    going = pods_to_go(problem, nodes, lambda pod: False)
    moving = [pod for node in nodes for pod in going[node]]
    doubled = problem.with_leaving(moving)
    doubles = {pod: len(problem.pods) + place for place, pod in enumerate(moving)}
    quick = None if asks_all else DrainSimulation(doubled, doubles, (), preemption=True)
    simulation = quick or ClusterSimulation(doubled, doubles, (), preemption=True, seed=None)
    allowances = Allowances(problem, range(len(problem.pods)))
    played = Drain(simulation, allowances, going, SOON_GIVEN_UP, DrainFacts(), late=late)
    played.run_until_quiet()
    found = played.run(nodes, at_once)
    if quick is not None:
        quick.explain()
    places = simulation.scheduler.state.node_of.tolist()
    return found, places, [*simulation.waiting], simulation.messages, simulation.preempted


def test_a_pod_that_ending_pods_make_room_for_evicts_what_comes_there() -> None:
    """Was remembered as refused: it is, while it only waits for ending pods, and not once another comes."""
    items = [
        node("n1"),
        node("n2", cpu="2"),
        pod("ends", "n2", cpu="1", ports=[80], gone=True),
        pod("comes", "n1", cpu="1"),
        pod("waits", cpu="2", ports=[80], priority=10),
    ]
    problem = Problem(cordon(Cluster.from_objects(_owned(items)), "n1"))
    quick, plain = (_outcome(problem, [0], at_once=1, late=False, asks_all=ask) for ask in (False, True))
    assert quick == plain
    assert plain[-1], "nothing was preempted"


def test_refusing_together_comes_to_the_same_as_asking_about_every_pod() -> None:
    """The same waves, evictions and places, and the same messages of the pods that are left."""
    for seed in seeds.seeds(4):
        draw = random.Random(seed)
        cluster = Cluster.from_objects(_owned(list(draw.choice((crowded, lopsided))(draw))))
        names = [node.name for node in cluster.nodes]
        chosen = draw.sample(names, draw.randint(1, len(names) - 1))
        problem = Problem(cordon(cluster, *chosen))
        nodes = [problem.nodes.index[name] for name in chosen]
        at_once, late = draw.choice((1, 2, 10)), draw.random() < 0.3
        quick, plain = (
            _outcome(problem, nodes, at_once=at_once, late=late, asks_all=asks_all)
            for asks_all in (False, True)
        )
        assert quick == plain, f"seed {seed}"
