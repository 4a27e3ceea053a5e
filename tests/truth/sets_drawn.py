"""Clusters, and sets of manifests for `capacity --set`, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.builders import (
    HOST,
    ZONE,
    Object,
    labelled,
    namespace,
    node,
    pod,
    priority_class,
    profile,
    scaled,
    scheduler,
    spread,
    term,
    tolerate,
)

#: The label that every namespace has with its own name.
NAME = "kubernetes.io/metadata.name"
PRIORITIES = {"low": -5, "high": 5}
_KINDS = ("Deployment", "Deployment", "ReplicaSet", "StatefulSet", "Job", "DaemonSet", "Pod")


@dataclass(frozen=True)
class SetCase:
    """A cluster and a set of manifests."""

    objects: list[Object]
    manifests: list[Object]


def draw(seed: int) -> SetCase:
    """The case of a seed; no plugin scores nodes, so that each pod comes to the first by name that fits."""
    chance = random.Random(f"sets {seed}")
    nodes = [_node(chance, f"n{number}") for number in range(chance.randint(1, 5))]
    names = [item["metadata"]["name"] for item in nodes]
    # Pods that wait evict nothing: there are none where some pods have a lower priority.
    low = chance.random() < 0.3
    pods = [_running(chance, f"r{number}", names, low=low) for number in range(chance.randint(0, 3))]
    pods += [] if low else [_waiting(chance, number) for number in range(chance.choice((0, 0, 1, 2)))]
    spaces = [namespace(name, **{NAME: name}) for name in ("shop-2", "db-1") if chance.random() < 0.1]
    classes = [priority_class(name, value) for name, value in PRIORITIES.items()]
    unscored = scheduler(profile(plugins={"score": {"disabled": [{"name": "*"}]}}))
    parts = [_part(chance, f"p{number}") for number in range(chance.choice((1, 1, 2, 3)))]
    return SetCase([*nodes, *pods, *spaces, *classes, unscored], [*_around(chance), *parts])


def _node(chance: random.Random, name: str) -> Object:
    return node(
        name,
        zone=chance.choice(("x", "y", None) if chance.random() < 0.1 else ("x", "y", "z")),
        labels={"disk": chance.choice(("ssd", "hdd"))},
        taints=["dedicated=x:NoSchedule"] if chance.random() < 0.15 else [],
        cordoned=chance.random() < 0.07,
        cpu=chance.choice(("1", "2", "3", "4", "8")),
        pods=chance.choice(("3", "8", "110", "110")),
    )


def _running(chance: random.Random, name: str, nodes: Sequence[str], *, low: bool) -> Object:
    words: Object = {"app": chance.choice("abc"), "cpu": chance.choice(("250m", "1"))}
    if chance.random() < 0.15:
        words["apart"] = [term(chance.choice((ZONE, HOST)), chance.choice("ab"), namespaceSelector={})]
    if chance.random() < 0.2:
        words["ports"] = [80]
    if low:
        words["priority"] = chance.choice((-5, 0))
    return pod(name, on=chance.choice(nodes), **words)


def _waiting(chance: random.Random, number: int) -> Object:
    created = f"2026-01-0{number + 1}T00:00:00Z"
    return pod(f"w{number}", app=chance.choice("ab"), cpu="500m", created=created)


def _around(chance: random.Random) -> list[Object]:
    """What is in a set beside workloads."""
    found: list[Object] = []
    if chance.random() < 0.3:
        found.append(namespace("shop", team="red"))
    if chance.random() < 0.15:
        hard = chance.choice(({"pods": "4"}, {"pods": "2"}, {"requests.cpu": "2"}, {"requests.cpu": "1"}))
        found.append(_in_shop("ResourceQuota", {"hard": hard}))
    if chance.random() < 0.15:
        request = {"cpu": chance.choice(("250m", "1"))}
        found.append(_in_shop("LimitRange", {"limits": [{"type": "Container", "defaultRequest": request}]}))
    return found


def _in_shop(kind: str, spec: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "usual", "namespace": "shop"},
        "spec": spec,
    }


def _part(chance: random.Random, name: str) -> Object:
    words: Object = {"app": chance.choice("ab"), "namespace": chance.choice(("shop", "shop", "shop", "db"))}
    if chance.random() < 0.85:
        words["cpu"] = chance.choice(("100m", "250m", "500m", "1"))
    if chance.random() < 0.4:
        keys = chance.choice(((ZONE,), (HOST,), (ZONE, HOST)))
        words["spread"] = [_constraint(chance, key) for key in keys]
    if chance.random() < 0.15:
        words["apart"] = [_term(chance)]
    if chance.random() < 0.15:
        words["near"] = [_term(chance)]
    if chance.random() < 0.05:
        words["ports"] = [80]
    if chance.random() < 0.15:
        words["only_on"] = [labelled("disk", "In", "ssd")]
    if chance.random() < 0.15:
        words["tolerations"] = [tolerate("dedicated")]
    if chance.random() < 0.2:
        words["priorityClassName"] = chance.choice([*PRIORITIES])
    kind = chance.choice(_KINDS)
    return pod(name, **words) if kind == "Pod" else scaled(kind, name, chance.randint(1, 3), **words)


def _constraint(chance: random.Random, key: str) -> Object:
    more: Object = {}
    if chance.random() < 0.2:
        more["nodeTaintsPolicy"] = "Honor"
    if chance.random() < 0.2:
        more["nodeAffinityPolicy"] = "Ignore"
    if chance.random() < 0.15:
        more["minDomains"] = chance.choice((2, 3, 4))
    return spread(key, chance.choice((1, 1, 2)), chance.choice("ab"), **more)


def _term(chance: random.Random) -> Object:
    more: Object = chance.choice(
        (
            {},
            {},
            {"namespaceSelector": {}},
            {"namespaces": ["shop"]},
            {"namespaces": ["default"]},
            {"namespaceSelector": {"matchLabels": {"team": "red"}}},
            {"namespaceSelector": {"matchLabels": {NAME: "shop-1"}}},
        )
    )
    return term(chance.choice((ZONE, HOST)), chance.choice("ab"), **more)
