"""Drains that make something worse while something else gets better."""

from typing import Any

from tests.builders import ZONE, Object, node, pod, scaled, spread, term


def replicas(name: str, places: list[str], wanted: int, **words: Any) -> list[Object]:
    """A ReplicaSet and its pods; "" waits."""
    words = {"cpu": "100m", **words}
    pods = [
        pod(f"{name}-{n}", on, app=name, owner=f"ReplicaSet/{name}", **words) for n, on in enumerate(places)
    ]
    return [scaled("ReplicaSet", name, wanted, **words), *pods]


def waits_for_the_eviction() -> list[Object]:
    """`shy` gets its node when `web` leaves the zone, which then waits in its place."""
    return [
        node("a1", "a"),
        node("a2", "a", cpu="1"),
        *replicas("web", ["a1"], 1, cpu="2"),
        *replicas("shy", [""], 1, cpu="1", apart=[term(ZONE, "web")]),
    ]


def repaired_and_broken() -> list[Object]:
    """`web` leaves the zone in which it has one too many; `api` has a replica more than it wants."""
    web, api = ({"spread": [spread(app=name)]} for name in ("web", "api"))
    nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    return [
        *nodes,
        *replicas("web", ["a1", "a1", "a2", "b1"], 4, **web),
        *replicas("api", ["a1", "b1", "b1"], 2, **api),
    ]
