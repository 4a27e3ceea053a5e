"""What a drain makes worse is told, whatever gets better meanwhile."""

import random

from models import Cluster
from planner import check, drain
from tests import seeds
from tests.builders import ZONE, Object, node, spread
from tests.draws import nothing_drawn
from tests.planner.simulation.drain.made_worse import (
    repaired_and_broken,
    replicas,
    takes_the_place,
    waits_for_the_end,
    waits_for_the_eviction,
)


def test_a_replacement_waits_while_another_pod_gets_a_node() -> None:
    """What went wrong: one waited before and one after, so nothing was said to be worse."""
    plan = drain(Cluster.from_objects(waits_for_the_eviction()), ["a1"])
    assert (plan.before.pending, plan.after.pending, plan.new_pending) == (1, 1, 1)
    assert "1 of 1 node emptied, 0 pods pending that were not before" in plan.notes[-1]


def test_a_pod_that_has_waited_comes_before_a_replacement() -> None:
    """What went wrong: it backed off for ever, a replacement took its node, and none waited anew."""
    plan = drain(Cluster.from_objects(waits_for_the_end()), ["a1"], preemption=False)
    assert {row.pod: row.lands for step in plan.steps for row in step.evictions} == {
        "default/first-0": "b1",
        "default/second-0": None,
    }
    assert (plan.before.pending, plan.after.pending, plan.new_pending) == (1, 1, 1)


def test_a_replica_that_waited_takes_the_place_of_an_evicted_one() -> None:
    """What went wrong: the replacement was said to wait anew, and the drain to do harm."""
    plan = drain(Cluster.from_objects(takes_the_place()), ["a"])
    assert (plan.before.pending, plan.after.pending, plan.new_pending) == (1, 1, 0)


def test_a_constraint_breaks_while_another_is_repaired() -> None:
    """What went wrong: as many were too many in all, so nothing was said to be worse."""
    plan = drain(Cluster.from_objects(repaired_and_broken()), ["a1"])
    assert (plan.before.hard_excess, plan.after.hard_excess) == (1, 1)
    (row,) = plan.worse
    assert (row.workload, row.topology_key, row.excess_before, row.excess_after) == (
        "ReplicaSet/api",
        ZONE,
        0,
        1,
    )


@nothing_drawn()
def test_on_random_clusters_each_constraint_and_each_pod_is_told() -> None:
    """Beside `check` of the cluster with the nodes cordoned, and of the one with the pods where they land."""
    for seed in seeds.seeds(20):
        chance = random.Random(seed)
        names = ["a1", "a2", "b1", "c1"]
        nodes = [node(name, name[0], cpu="2") for name in names]
        objects: list[Object] = []
        spare = chance.choice(("", "web", "api"))
        for name in ("web", "api"):
            places = chance.choices(names, k=chance.randint(2, 5))
            words: Object = {"cpu": chance.choice(("300m", "600m")), "spread": [spread(app=name)]}
            objects += replicas(name, places, len(places) - (name == spare), **words)
        plan = drain(Cluster.from_objects([*nodes, *objects]), ["a1"])
        lands = {row.pod: row.lands for step in plan.steps for row in step.evictions}
        after = [_moved(item, lands) for item in objects if item["kind"] == "Pod"]
        closed = [{**item, "spec": {"unschedulable": True}} if item is nodes[0] else item for item in nodes]
        had, have = (
            {row.workload: sum(row.excess.values()) for row in check(Cluster.from_objects(found)).constraints}
            for found in ([*closed, *objects], [*closed, *after])
        )
        expected = {name: pods for name, pods in have.items() if pods > had[name]}
        assert {row.workload: row.excess_after for row in plan.worse} == expected, seed
        gone = bool(spare) and any(pod.startswith(f"default/{spare}-") for pod in lands)
        assert plan.new_pending == sum(place is None for place in lands.values()) - gone, seed


def _moved(item: Object, lands: dict[str, str | None]) -> Object:
    """The pod on the node where its replacement lands."""
    key = f"default/{item['metadata']['name']}"
    return {**item, "spec": {**item["spec"], "nodeName": lands[key]}} if key in lands else item
