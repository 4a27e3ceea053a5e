"""Drains that make something worse while something else gets better."""

from typing import Any

from tests.builders import ZONE, Object, budget, node, pod, scaled, spread, term


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


def takes_the_place() -> list[Object]:
    """A replica waits for one of two racks; on the node beside the one that is drained it takes a place."""
    racks = [node(name, labels={"rack": rack}) for name, rack in zip("abc", "112", strict=True)]
    return [*racks, *replicas("web", ["a", "c", ""], 3, apart=[term("rack", "web")])]


def waits_for_the_end() -> list[Object]:
    """`shy` can have a node when `first` has ended; then `second` is evicted, as another `first` is ready."""
    return [
        *(node(name, name[0], cpu=cpu) for name, cpu in (("a1", "2"), ("a2", "1"), ("b1", "1"))),
        *replicas("first", ["a1"], 1, cpu="1", node_selector={ZONE: "b"}),
        *replicas("second", ["a1"], 1, cpu="1"),
        *replicas("shy", [""], 1, cpu="1", apart=[term(ZONE, "first")], node_selector={ZONE: "a"}),
        budget("all", "", minAvailable=1),
    ]
