"""Tiny clusters drawn at random whose running pods may already break their constraints.

Carriers of a constraint are mixed with pods that only match it; some pods are on their way out, some
have an owner and may be evicted, some stand under a budget.  The same number gives the same cluster.
"""

from __future__ import annotations

from random import Random

from tests.builders import HOST, ZONE, Object, budget, labelled, node, pod, spread, term, tolerate

_APPS = ("a", "a", "b")


def tiny(number: int, nodes: int = 6, pods: int = 10) -> list[Object]:
    """The manifests of a cluster; its number is its seed."""
    draw = Random(number)
    machines = [_node(draw, f"n{position}") for position in range(draw.randint(2, nodes))]
    kinds = [_kind(draw, f"k{position}") for position in range(draw.randint(1, 4))]
    names = [item["metadata"]["name"] for item in machines]
    running = draw.random()
    found = [_pod(draw, f"p{place}", kinds, names, running) for place in range(draw.randint(1, pods))]
    if draw.random() < 0.2:
        found.append(budget("held", draw.choice(_APPS), draw.randint(0, 2)))
    return [*machines, *found]


def _node(draw: Random, name: str) -> Object:
    labels = {"disk": draw.choice(("ssd", "hdd"))}
    return node(
        name,
        zone=draw.choice(("x", "x", "y", "y", "z", None) if draw.random() < 0.2 else ("x", "y", "z")),
        labels=labels,
        taints=["dedicated=x:NoSchedule"] if draw.random() < 0.2 else [],
        cordoned=draw.random() < 0.07,
        cpu=draw.choice(("1", "2", "3", "4", "8")),
        pods=draw.choice(("2", "3", "110", "110")),
    )


def _kind(draw: Random, name: str) -> Object:
    """What some pods have in common, in the words of the builder."""
    words: Object = {"app": draw.choice(_APPS), "cpu": draw.choice(("500m", "1", "1", "2", "3"))}
    if draw.random() < 0.6:
        words["spread"] = [
            _spread(draw, key) for key in draw.choice(((ZONE,), (ZONE,), (HOST,), (ZONE, HOST)))
        ]
    if draw.random() < 0.25:
        words["apart"] = [term(draw.choice((ZONE, HOST)), draw.choice(_APPS))]
    if draw.random() < 0.25:
        words["near"] = [term(draw.choice((ZONE, HOST)), draw.choice(_APPS))]
    if draw.random() < 0.2:
        words["ports"] = [80]
    if draw.random() < 0.2:
        words["tolerations"] = [tolerate("dedicated")]
    if draw.random() < 0.15:
        words["only_on"] = [labelled("disk", "In", "ssd")]
    if draw.random() < 0.2:
        words["priority"] = draw.choice((5, 5, -1))
    if draw.random() < 0.85:
        words["owner"] = f"ReplicaSet/{name}"
    return words


def _spread(draw: Random, key: str) -> Object:
    more: Object = {}
    if draw.random() < 0.2:
        more["nodeTaintsPolicy"] = "Honor"
    if draw.random() < 0.2:
        more["nodeAffinityPolicy"] = "Ignore"
    if draw.random() < 0.15:
        more["minDomains"] = draw.choice((2, 3, 4))
    return spread(key, draw.choice((1, 1, 2)), draw.choice(_APPS), **more)


def _pod(draw: Random, name: str, kinds: list[Object], nodes: list[str], running: float) -> Object:
    on = draw.choice(nodes) if draw.random() < running else ""
    return pod(name, on=on, gone=bool(on) and draw.random() < 0.08, **_copy(draw.choice(kinds)))


def _copy(words: Object) -> Object:
    return {word: list(value) if isinstance(value, list) else value for word, value in words.items()}
