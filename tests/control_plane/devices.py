"""Claims on devices for the stories: allocated ones that hold pods to nodes, and pods that use them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy

from tests.builders import HOST, ZONE, Object, labelled, pod
from tests.control_plane.generator import RACK, Story

CLASS = "gpu"
#: The API server reserves a claim for so many at most.
_MOST_RESERVATIONS = 256
_NAMESPACES = ("default", "shop")


def with_claims(draw: random.Random, story: Story) -> Story:
    """The story with claims in it; two pods of three use one or two of them."""
    names = [item["metadata"]["name"] for item in story.before if item["kind"] == "Node"]
    claims = [
        _claim(draw, f"d{number}", namespace, names)
        for namespace in _NAMESPACES
        for number in range(draw.choice((2, 4)))
    ]
    users = list(_users(draw, claims, names))
    coming = [_using(draw, item, claims) for item in story.coming]
    return Story([*story.before, _CLASS, *claims, *users], coming)


_CLASS: Object = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": CLASS}}


def _claim(draw: random.Random, name: str, namespace: str, nodes: list[str]) -> Object:
    """A claim that is allocated: to some nodes by a selector, or to all; now and then nearly used up."""
    result = {"request": "r", "driver": "example.com", "pool": "p", "device": f"{namespace}-{name}"}
    # Without the time the scheduler adds one when it reserves the claim, and the API server refuses that.
    allocation = {"devices": {"results": [result]}, "allocationTimestamp": "2026-01-01T00:00:00Z"}
    status: Object = {"allocation": allocation}
    place = _place(draw, nodes)
    if place is not None:
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [place]}
    there = draw.choice((0, 0, 0, 0, 1, _MOST_RESERVATIONS - 2, _MOST_RESERVATIONS))
    if there:
        status["reservedFor"] = [
            {"apiGroup": "example.com", "resource": "things", "name": f"t{number}", "uid": f"t{number}"}
            for number in range(there)
        ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": CLASS}}]}},
        "status": status,
    }


def _place(draw: random.Random, nodes: list[str]) -> Object | None:
    """The one term of a node selector; None for devices that every node reaches."""
    some = draw.sample(nodes, min(len(nodes), draw.choice((1, 2, 5))))
    return draw.choice(
        (
            None,
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": some[:1]}]},
            labelled(HOST, "In", *some),
            labelled(ZONE, "In", draw.choice("ab")),
            labelled(RACK, "Exists"),
            labelled(ZONE, "NotIn", "a"),
        )
    )


def _users(draw: random.Random, claims: list[Object], nodes: list[str]) -> Iterator[Object]:
    """Pods that run already and hold some of the claims, of low priority, so that they may be evicted."""
    for number, found in enumerate(claims):
        if len(found["status"].get("reservedFor", ())) == 0 and draw.random() < 0.5:
            namespace = found["metadata"]["namespace"]
            containers = [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]
            item = pod(f"u{number}", draw.choice(nodes), namespace=namespace, containers=containers)
            del item["status"]
            item["spec"]["terminationGracePeriodSeconds"] = 0
            if draw.random() < 0.5:
                item["spec"]["priorityClassName"] = "low"
            yield _claiming(item, found["metadata"]["name"])


def _using(draw: random.Random, item: Object, claims: list[Object]) -> Object:
    own = item["metadata"].get("namespace", "default")
    names = [found["metadata"]["name"] for found in claims if found["metadata"]["namespace"] == own]
    return _claiming(item, *draw.sample(names, draw.choice((0, 1, 1, 1, 2, 2))))


def _claiming(item: Object, *claims: str) -> Object:
    found = deepcopy(item)
    found["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in claims]
    return found
