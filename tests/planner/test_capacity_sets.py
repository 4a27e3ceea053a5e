"""`capacity --set`: as many copies as are said are placed together, and of one more a pod is not."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from models import Cluster
from models.errors import InputError
from planner import capacity, simulate
from planner.proof.clock import SEARCH_PROGRESS, SearchProgress
from tests import builders, seeds
from tests.builders import priority_class
from tests.cli.manifests import deployment, node, pod
from tests.draws import nothing_drawn


@pytest.fixture(autouse=True)
def _one_way_of_ties() -> Iterator[None]:
    """No test here looks at draws of other ties."""
    with nothing_drawn():
        yield


def limit_range(namespace: str, cpu: str) -> dict[str, Any]:
    """What a container requests that names nothing."""
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "usual", "namespace": namespace},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": cpu}}]},
    }


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
    told = set[int]()
    # Seven or eight numbers as a rule.
    for _ in seeds.until(8, told, 3):
        objects, parts = drawn(draw)
        found = capacity(Cluster.from_objects(objects), sets=Cluster.from_objects(parts, partial=True)).sets
        assert found is not None
        assert found.pods == sum(part["spec"]["replicas"] for part in parts)
        assert together(objects, parts, found.more) == []
        left = together(objects, parts, found.more + 1)
        assert found.pod in left
        assert found.limited_by
        told.add(found.more)
    assert len(told) > 2


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


def test_the_namespace_of_a_copy_is_labelled_with_its_own_name() -> None:
    """What went wrong: every copy had the label of the first name, and so kept off all others."""
    own = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": own,
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    web = deployment("web", 1, cpu="1")
    web["spec"]["template"]["spec"] |= {"affinity": affinity, "topologySpreadConstraints": []}
    parts = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, web]
    nodes = [node("a1", "a", cpu="4"), node("b1", "b", cpu="4")]
    found = capacity(Cluster.from_objects(nodes), sets=Cluster.from_objects(parts, partial=True)).sets
    assert found is not None
    assert (found.more, found.limited_by) == (8, ("NodeResourcesFit",))


@pytest.mark.parametrize("order", [("web", "cache"), ("cache", "web")])
def test_the_order_of_the_manifests_does_not_matter(order: tuple[str, str]) -> None:
    """What went wrong: a pod before the one that its affinity asks for was refused, and no copy had room."""
    parts = {name: deployment(name, 1, cpu="500m") for name in order}
    near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    parts["web"]["spec"]["template"]["spec"]["affinity"] = affinity
    sets = Cluster.from_objects([*parts.values()], partial=True)
    found = capacity(Cluster.from_objects([node("a1", "a", cpu="4")]), sets=sets).sets
    assert found is not None
    assert (found.more, found.limited_by) == (4, ("NodeResourcesFit",))


def test_more_pods_than_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: where more copies were tried than pods can be made, the answer was exit code 2."""
    for module in ("planner.capacity.sets", "models.controllers.expand"):
        monkeypatch.setattr(import_module(module), "MOST_NEW_PODS", 20)
    large, small = node("a1", "a", cpu="100"), node("a1", "a", cpu="1")
    for size, most in ((3, 6), (7, 2), (15, 1)):
        parts = Cluster.from_objects([deployment("web", size, cpu="100m")], partial=True)
        found = capacity(Cluster.from_objects([large]), sets=parts).sets
        assert found is not None
        assert (found.more, found.exact, found.pod) == (most, False, "")
        short = capacity(Cluster.from_objects([small]), sets=parts).sets
        assert short is not None
        assert (short.more, short.exact) == (10 // size, True)


def test_what_is_known_after_a_stop() -> None:
    """What went wrong: Ctrl-C was not looked at, however long it took."""
    stop = threading.Event()
    parts = Cluster.from_objects([deployment("web", 2, cpu="100m")], partial=True)
    objects = [node("a1", "a", cpu="2"), node("b1", "b", cpu="4")]
    token = SEARCH_PROGRESS.set(_Stopping(stop, "3 copies"))
    try:
        found = capacity(Cluster.from_objects(objects), sets=parts, stop_event=stop)
    finally:
        SEARCH_PROGRESS.reset(token)
    assert found.sets is not None
    assert (found.cut, found.sets.more, found.sets.exact, found.sets.pods) == (True, 3, False, 2)


class _Stopping(SearchProgress):
    """Stops a search that says so much."""

    def __init__(self, stop: threading.Event, at: str) -> None:
        self._stop, self._at = stop, at

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "best" and value == self._at:
            self._stop.set()


def test_with_a_zone_lost_a_stop_says_what_is_sure() -> None:
    """Of a zone that was not counted nothing is known."""
    stop = threading.Event()
    stop.set()
    parts = Cluster.from_objects([deployment("web", 2, cpu="100m")], partial=True)
    objects = [node("a1", "a"), node("b1", "b")]
    found = capacity(
        Cluster.from_objects(objects), sets=parts, survive="topology.kubernetes.io/zone", stop_event=stop
    )
    assert found.sets is not None
    assert (found.cut, found.sets.more, found.sets.exact) == (True, 0, False)


@pytest.mark.parametrize("parts", [[node("x")], []])
def test_what_is_no_set_is_said(parts: list[dict[str, Any]]) -> None:
    """Nodes, and manifests that make no pods."""
    with pytest.raises(InputError):
        capacity(Cluster.from_objects([node("a1")]), sets=Cluster.from_objects(parts, partial=True))


@pytest.mark.parametrize(
    ("around", "words", "more", "limited_by"),
    [
        (limit_range("shop", "1"), {}, 2, "NodeResourcesFit"),
        (priority_class("high", 5), {"cpu": "1", "priorityClassName": "high"}, 2, "Preemption"),
        (None, {"cpu": "1", "priorityClassName": "none"}, 0, "Admission"),
    ],
)
def test_pods_by_themselves_are_admitted(
    around: dict[str, Any] | None, words: dict[str, Any], more: int, limited_by: str
) -> None:
    """What went wrong: a Pod in a set had no priority by its class, no requests by a LimitRange, and came
    though its class was missing."""
    parts = [*([] if around is None else [around]), builders.pod("p", namespace="shop", **words)]
    running = builders.pod("there", on="a1", cpu="1")
    objects = [builders.node("a1", cpu="3"), running]
    found = capacity(Cluster.from_objects(objects), sets=Cluster.from_objects(parts, partial=True)).sets
    assert found is not None
    assert (found.more, found.limited_by) == (more, (limited_by,))


def test_pods_of_a_scheduler_without_a_profile_are_named() -> None:
    """What went wrong: such a pod of each copy was left out, with no word of it."""
    words: dict[str, Any] = {"cpu": "1", "scheduler": "volcano"}
    parts = [
        builders.scaled("Deployment", "known", 1, cpu="1"),
        builders.scaled("Deployment", "x", 1, **words),
    ]
    nodes = Cluster.from_objects([builders.node("n1")])
    found = capacity(nodes, sets=Cluster.from_objects(parts, partial=True))
    assert found.sets is not None
    assert (found.sets.pods, found.sets.more) == (1, 4)
    said = "1 pod of each copy asks for scheduler volcano, which has no profile here: not counted"
    assert said in found.notes
