"""Tiny clusters in which replacements may preempt: priorities, anti-affinity, ports, scarce room."""

from __future__ import annotations

import random

from tests.builders import HOST, ZONE, Object, budget, labelled, node, pod, spread, term
from tests.truth.generator import Case


def draw(seed: int, command: str = "rebalance") -> Case:
    """The case of a seed, whose spread is broken more often than not."""
    return Case(seed, command, _objects(random.Random(f"preempting {seed}")))


def _objects(draw: random.Random) -> list[Object]:
    nodes = [
        node(
            f"n{number}",
            zone=draw.choice("xyz"),
            cpu=draw.choice(("1", "2", "3", "4")),
            pods=draw.choice(("3", "110", "110")),
            labels={"disk": draw.choice(("ssd", "hdd"))},
        )
        for number in range(draw.randint(3, 6))
    ]
    kinds = [_kind(draw, f"w{number}") for number in range(draw.randint(2, 5))]
    free = {item["metadata"]["name"]: _cpu(item) for item in nodes}
    few = draw.sample(sorted(free), 2)
    pods: list[Object] = []
    for kind in kinds:
        for number in range(draw.randint(1, 4)):
            size = int(kind["cpu"][:-1])
            roomy = [name for name in free if free[name] >= size]
            crowded = [name for name in roomy if name in few]
            if roomy:
                on = draw.choice(crowded if crowded and draw.random() < 0.6 else roomy)
                free[on] -= size
                words = {**kind, "labels": {**kind["labels"], "i": str(number)}}
                if draw.random() < 0.1:
                    words["priority"] = draw.choice((0, 1000))
                pods.append(pod(f"{words.pop('name')}-{number}", on, **words))
    if draw.random() < 0.5:
        pods += _waiting(draw, nodes, free)
    if draw.random() < 0.2:
        pods.append(budget("held", draw.choice("ab"), draw.randint(0, 2)))
    return [*nodes, *pods]


def _waiting(draw: random.Random, nodes: list[Object], free: dict[str, int]) -> list[Object]:
    """Two replicas that keep apart, one of them too many on its node; elsewhere pods of low priority."""
    words: Object = {
        "app": "c",
        "labels": {"w": "waits"},
        "cpu": "200m",
        "priority": draw.choice((1000, 1000, 500, 0)),
        "owner": f"{draw.choice(('ReplicaSet', 'ReplicaSet', 'StatefulSet'))}/waits",
        "spread": [spread(HOST, app="c")],
        "apart": [term(draw.choice((ZONE, ZONE, HOST)), selects={"matchLabels": {"w": "waits"}})],
    }
    here, there = draw.sample(sorted(free), 2)
    found = [pod("waits-0", here, **words), pod("waits-1", there, **words)]
    found.append(pod("counted", here, app="c", cpu="100m"))
    for name in (here, here, there):
        free[name] -= 200
    for name in sorted(free):
        if free[name] >= 200 and draw.random() < 0.6:
            more: Object = {"owner": "ReplicaSet/filler"} if draw.random() < 0.7 else {}
            more["cpu"] = f"{max(free[name] - draw.choice((0, 100, 200)), 100)}m"
            more["priority"] = draw.choice((0, 0, 700))
            found.append(pod(f"filler-{name}", name, app="f", **more))
    return found


def _cpu(item: Object) -> int:
    return int(item["status"]["allocatable"]["cpu"]) * 1000


def _kind(draw: random.Random, name: str) -> Object:
    """What the pods of a workload have in common, as arguments of the `pod` builder."""
    app = draw.choice("aab")
    words: Object = {
        "name": name,
        "app": app,
        "labels": {"w": name},
        "cpu": draw.choice(("200m", "500m", "900m", "1000m", "1500m")),
        "priority": draw.choice((0, 0, 500, 1000)),
        "owner": f"{draw.choice(('ReplicaSet', 'ReplicaSet', 'ReplicaSet', 'StatefulSet'))}/{name}",
    }
    if draw.random() < 0.7:
        counted = draw.choice((app, app, "a"))
        words["spread"] = [spread(draw.choice((ZONE, HOST)), draw.choice((1, 1, 2)), counted)]
        if draw.random() < 0.2:
            words["spread"][0]["nodeAffinityPolicy"] = "Ignore"
    if draw.random() < 0.35:
        words["apart"] = [term(draw.choice((ZONE, HOST)), selects={"matchLabels": {"w": name}})]
    if draw.random() < 0.15:
        words["near"] = [term(draw.choice((ZONE, HOST)), draw.choice("ab"))]
    if draw.random() < 0.15:
        words["ports"] = [80]
    if draw.random() < 0.1:
        words["only_on"] = [labelled("disk", "In", "ssd")]
    if draw.random() < 0.1:
        words["preemptionPolicy"] = "Never"
    if draw.random() < 0.3:
        words["terminationGracePeriodSeconds"] = draw.choice((0, 30, 600))
    return words
