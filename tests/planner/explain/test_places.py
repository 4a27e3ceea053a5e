"""Fixes of pods alike, made for all of them: as many have a node as the fix says."""

from collections.abc import Sequence
from typing import Any

from models import Cluster
from planner import explain, simulate
from planner.documents.explanation import Explanation, Fix
from tests import seeds
from tests.builders import HOST, ZONE, cluster, node, pod, spread
from tests.planner.explain.applying import Object, applied, at_rest
from tests.tiny import tiny

#: What is done once, however many pods wait.
_OF_CLUSTER = {"RemoveTaint", "Uncordon", "LabelNode", "MorePodSlots", "AddNode", "StartPeer", "DeletePod"}


def placed(resting: Sequence[Object], found: Explanation, fix: Fix) -> int:
    """How many of the pods have a node when each of them is patched."""
    changed = applied(resting, found.pod, fix)
    own = tuple(change for change in fix.changes if change.action not in _OF_CLUSTER)
    for name in found.alike if own else ():
        changed = applied(changed, name, fix.model_copy(update={"changes": own}))
    decisions = simulate(Cluster.from_objects(changed)).decisions
    return sum(
        decision.node is not None for decision in decisions if decision.pod in (found.pod, *found.alike)
    )


def test_as_many_pods_have_a_node_as_a_fix_says() -> None:
    """On fresh clusters in which several pods alike wait; no pod goes for them."""
    tried = list[Fix]()
    for seed in seeds.seeds_for(0.1, tried):
        objects = tiny(seed, nodes=4, pods=12)
        resting = at_rest(objects, preemption=True)
        for found in explain(Cluster.from_objects(objects)).items:
            for fix in (*found.fixes, *found.risky) if found.alike else ():
                if not fix.victims and not fix.replaced:
                    assert placed(resting, found, fix) == fix.places, (seed, found.pod, fix)
                    tried.append(fix)
    assert tried


def test_another_pod_takes_the_node_that_the_first_one_opens() -> None:
    """What went wrong: two had a node by one constraint, where the first raises the minimum of a pod between.

    As n1 has a pod then, `other` gets n0, before the second of the two.
    """
    words: Any = {"app": "a", "spread": [spread(ZONE, 1, "a"), spread(HOST, 1, "a")]}
    found = explain(
        cluster(
            node("n0", "y", cpu="3"),
            node("n1", "x", cpu="1"),
            node("n2", "x", cpu="4"),
            *(pod(f"r{number}", on, app="a", cpu="2") for number, on in enumerate(("n0", "n2", "n2"))),
            pod("p0", cpu="1", owner="ReplicaSet/k", **words),
            pod("other", cpu="900m", **words),
            pod("p1", cpu="1", owner="ReplicaSet/k", **words),
        )
    ).items
    fixes = {fix.changes[0].summary: fix.places for item in found if item.alike for fix in item.fixes}
    assert fixes["maxSkew 2 instead of 1 for topology.kubernetes.io/zone"] == 1
