"""`capacity --set`: as many copies as are said are placed together, and of one more a pod is not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from models import Cluster
from models.errors import InputError
from planner import capacity, simulate
from tests import seeds
from tests.cli.manifests import deployment, node, pod


def drawn(draw: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A cluster with pods on it and pending, and a set of two or three workloads."""
    nodes = [
        node(f"n{n}", draw.choice("abc"), cpu=draw.choice(("1", "2", "4"))) for n in range(draw.randint(2, 6))
    ]
    running = [
        pod(f"r{n}", on=f"n{n}", app="old", cpu="300m") for n in range(len(nodes)) if draw.random() < 0.5
    ]
    waiting = [pod(f"w{n}", app="old", cpu="200m") for n in range(draw.randint(0, 2))]
    parts = [
        deployment(f"part{n}", draw.randint(1, 3), cpu=draw.choice(("100m", "250m", "400m")))
        for n in range(draw.randint(2, 3))
    ]
    return [*nodes, *running, *waiting], parts


def together(objects: list[dict[str, Any]], parts: list[dict[str, Any]], copies: int) -> list[str]:
    """Pods of so many copies that simulate leaves pending, each copy in a namespace of its own."""
    made = []
    for number in range(1, copies + 1):
        for part in parts:
            name = f"{part['metadata']['namespace']}-{number}"
            # A younger copy is in the queue after an older one.
            made.append({**part, "metadata": {**part["metadata"], "namespace": name}})
    decisions = simulate(Cluster.from_objects([*objects, *made])).decisions
    return [
        decision.pod
        for decision in decisions
        if decision.node is None and "-" in decision.pod.partition("/")[0]
    ]


@pytest.mark.parametrize("seed", seeds.given_and_fresh(1))
def test_so_many_copies_fit_and_of_one_more_a_pod_does_not(seed: int | None) -> None:
    """Each copy is a namespace of the same workloads, as a preview environment is."""
    draw = random.Random(seeds.fresh() if seed is None else seed)
    told = set()
    for _ in range(seeds.tries(12)):
        objects, parts = drawn(draw)
        found = capacity(Cluster.from_objects(objects), sets=Cluster.from_objects(parts, partial=True)).sets
        assert found is not None
        assert found.pods == sum(part["spec"]["replicas"] for part in parts)
        assert together(objects, parts, found.more) == []
        left = together(objects, parts, found.more + 1)
        assert found.pod in left
        assert found.limited_by
        told.add(found.more)
    assert len(told) > 3


def test_with_a_zone_lost_the_least_counts() -> None:
    """And which zone it is."""
    objects = [node("a1", "a", cpu="4"), node("b1", "b", cpu="1"), node("c1", "c", cpu="1")]
    parts = Cluster.from_objects([deployment("web", 2, cpu="500m")], partial=True)
    key = "topology.kubernetes.io/zone"
    found = capacity(Cluster.from_objects(objects), sets=parts, survive=key).sets
    assert found is not None
    alone = [
        capacity(Cluster.from_objects([o for o in objects if o["metadata"]["name"] != name]), sets=parts).sets
        for name in ("a1", "b1", "c1")
    ]
    assert found.more == min(one.more for one in alone if one is not None) > 0
    assert found.lost == "a"


def test_no_copy_comes_to_a_namespace_that_is_there() -> None:
    """What went wrong: the first copy was applied over the workload of `shop-1`, and took no room."""
    nodes = [node("a1", "a", cpu="4"), node("b1", "b", cpu="4")]
    there = deployment("web", 2, namespace="shop-1", cpu="1")
    alone = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop-3"}}
    parts = Cluster.from_objects([deployment("web", 2, cpu="1")], partial=True)
    found = capacity(Cluster.from_objects([*nodes, there, alone]), sets=parts).sets
    assert found is not None
    assert (found.more, found.pod.partition("/")[0]) == (3, "shop-6")


@pytest.mark.parametrize("parts", [[node("x")], []])
def test_what_is_no_set_is_said(parts: list[dict[str, Any]]) -> None:
    """Nodes, and manifests that make no pods."""
    with pytest.raises(InputError):
        capacity(Cluster.from_objects([node("a1")]), sets=Cluster.from_objects(parts, partial=True))
