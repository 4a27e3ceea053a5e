"""StatefulSets without a status: pods of any ordinals stand for missing ones, and none is lost or doubled."""

from __future__ import annotations

from random import Random

import pytest

from models import Cluster
from models.controllers.owners import is_live
from models.controllers.stateful import own_ordinal
from planner import check, consolidate, drain, scale_down, survive
from planner.whatif import delete_pod, remove_nodes, scale
from planner.whatif import drain as drained
from tests import seeds
from tests.builders import ZONE, claim, cluster, node, replica, scaled, spread, storage_class, volume
from tests.draws import nothing_drawn

_NODES = ("n0", "n1", "n2")


def freely_numbered(draw: Random) -> Cluster:
    """A set on three nodes with pods of any ordinals, no more than it asks for, some of them pending."""
    owner = scaled(
        "StatefulSet", "st", draw.randint(1, 6), cpu="1", spread=draw.choice(([], [spread(app="st")]))
    )
    owner["spec"]["podManagementPolicy"] = draw.choice(("Parallel", "OrderedReady"))
    brings, objects = draw.random() < 0.5, [owner, storage_class("cloud", "example.com/disk")]
    if brings:
        made = claim("data", storageClassName="cloud")
        owner["spec"]["volumeClaimTemplates"] = [{key: made[key] for key in ("metadata", "spec")}]
    for ordinal in draw.sample(range(9), draw.randint(0, owner["spec"]["replicas"])):
        there = replica(owner, f"st-{ordinal}", draw.choice((*_NODES, *_NODES, "")))
        objects.append(there)
        if brings:
            key, name = f"data-st-{ordinal}", {"name": f"data-st-{ordinal}", "namespace": "default"}
            there["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": key}}]
            objects.append(claim(key, f"of-{ordinal}", storageClassName="cloud"))
            objects.append(volume(f"of-{ordinal}", storageClassName="cloud", claimRef=name))
    return cluster(*(node(name, zone, cpu="8") for name, zone in zip(_NODES, "xyz", strict=True)), *objects)


def names(found: Cluster) -> set[str]:
    """The live pods of the set, each of them once."""
    (owner,) = found.stateful_sets
    assert len({pod.key for pod in found.pods}) == len(found.pods)
    return {pod.name for pod in found.pods if is_live(pod) and own_ordinal(owner, pod) is not None}


@pytest.mark.parametrize("number", seeds.given_and_fresh(198))
def test_as_many_as_there_are_replicas(number: int | None) -> None:
    """However it is scaled, also twice, and when pods or nodes go; those that are left stay."""
    for seed in [number] if number is not None else seeds.seeds(12):
        found = freely_numbered(Random(seed))
        replicas, now = found.stateful_sets[0].spec.replicas, names(found)
        assert len(now) == replicas, f"seed {seed}"
        for asked in range(8):
            other = scale(found, "StatefulSet/st", asked)
            assert len(names(other)) == asked, f"seed {seed}"
            assert names(other) >= now if asked >= replicas else names(other) < now, f"seed {seed}"
            assert len(names(scale(other, "StatefulSet/st", replicas))) == replicas, f"seed {seed}"
        for pod in now:
            assert names(delete_pod(found, pod)) >= now - {pod}, f"seed {seed}"
            assert len(names(delete_pod(found, pod))) == replicas, f"seed {seed}"
        for gone in _NODES:
            stay = {pod.name for pod in found.pods if pod.node_name != gone}
            for left in (drained(found, gone), remove_nodes(found, gone)):
                assert names(left) >= stay, f"seed {seed}"
                assert len(names(left)) == replicas, f"seed {seed}"


def test_a_pod_of_another_ordinal_replaces_a_lost_one() -> None:
    """What went wrong: st-1, which is made when st-7 is lost, was told nowhere."""
    owner = scaled("StatefulSet", "st", 2, cpu="1")
    nodes = (node(name, zone, cpu="8") for name, zone in zip(_NODES, "xyz", strict=True))
    found = cluster(*nodes, owner, replica(owner, "st-7", "n0"), replica(owner, "st-0", "n1"))
    (row,) = survive(found, ZONE).domains[0].workloads
    assert (row.lost, row.replaced, row.pending) == (1, 1, 0)


@pytest.mark.parametrize("number", seeds.given_and_fresh(198))
@nothing_drawn()
def test_every_pod_is_counted_and_goes_once(number: int | None) -> None:
    """By `check` and `check --survive`, and with `drain`, `consolidate` and `scale-down`."""
    for seed in [number] if number is not None else seeds.seeds(5):
        found = freely_numbered(Random(seed))
        (owner,), placed = found.stateful_sets, [pod for pod in found.pods if pod.node_name]
        for constraint in check(found).constraints:
            assert sum(constraint.domains.values()) == len(placed), f"seed {seed}"
        for loss in survive(found, ZONE).domains:
            for workload in loss.workloads:
                assert workload.replicas <= owner.spec.replicas, f"seed {seed}"
                assert workload.replaced + workload.pending == workload.lost, f"seed {seed}"
        for name in _NODES:
            plan = drain(found, [name], fixes=False)
            gone = [item.pod for step in plan.steps for item in step.evictions]
            stay = [item.pod for blocked in plan.blocked for item in blocked.pods]
            there = sorted(pod.key for pod in placed if pod.node_name == name)
            assert sorted(gone + stay) == there, f"seed {seed}"
        moves = consolidate(found, time_limit=60)
        empty = {item.node for item in moves.removed}
        there = sorted(pod.key for pod in placed if pod.node_name in empty)
        assert sorted(step.pod for step in moves.steps) == there, f"seed {seed}"
        (told,) = scale_down(found, {"StatefulSet/st": owner.spec.replicas // 2}, time_limit=60).workloads
        assert (told.replicas_before, told.replicas) == (owner.spec.replicas, owner.spec.replicas // 2)
