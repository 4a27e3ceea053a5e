"""Clusters for a real control plane: nodes with something on them, and pods to be created one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from tests.builders import (
    HARD,
    HOST,
    SOFT,
    ZONE,
    Object,
    budget,
    claim,
    csi_node,
    labelled,
    namespace,
    node,
    pod,
    priority_class,
    service,
    spread,
    storage_class,
    term,
    tolerate,
    volume,
    weighted,
)

RACK = "rack"
GPU = "example.com/gpu"
DRIVER = "disks.example.com"
APPS = ("web", "db", "cache")
PRIORITIES = {"low": -5, "middle": 100, "high": 1000, "polite": 500}
TAINTS = ("gpu=x:NoSchedule", "old=y:NoExecute", "slow=z:PreferNoSchedule", "shared=w:NoSchedule")


@dataclass(frozen=True, slots=True)
class Story:
    """What is there at first, in an order in which it can be created, and the pods that then come."""

    before: list[Object]
    coming: list[Object]


def story(draw: random.Random, most_nodes: int = 60, pods: int = 40) -> Story:
    """A whole story, small or large, crowded or roomy."""
    names = [f"n{number:02}" for number in range(draw.choice((3, 6, 12, 25, most_nodes)))][:most_nodes]
    before = [
        namespace("shop", team="red"),
        *(_priority(name, value) for name, value in PRIORITIES.items()),
        storage_class("local"),
        {**storage_class("now"), "volumeBindingMode": "Immediate"},
        _HEAVY,
        *_nodes(draw, names),
        *_budgets(draw),
        *_services(draw),
        *_volumes(draw),
        *_disks(draw, names),
    ]
    kinds = [_kind(draw, most_rules=1) for _ in range(4)]
    for number in range(len(names) * draw.choice((0, 1, 2, 4))):
        before.append(_made(draw, f"r{number:03}", kinds, on=draw.choice(names)))
    kinds = [_kind(draw, most_rules=4) for _ in range(draw.choice((4, 8, 12)))]
    return Story(before, [_made(draw, f"p{number:02}", kinds) for number in range(pods)])


#: Pods of this class take so much more than their containers.
_HEAVY: Object = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "heavy"},
    "handler": "heavy",
    "overhead": {"podFixed": {"cpu": "700m", "memory": "300Mi"}},
}


def _priority(name: str, value: int) -> Object:
    policy = "Never" if name == "polite" else "PreemptLowerPriority"
    return priority_class(name, value, preemptionPolicy=policy)


def _nodes(draw: random.Random, names: list[str]) -> Iterator[Object]:
    sizes = draw.choice((("4",), ("2", "4"), ("1", "2", "4", "8")))
    zones = draw.choice((("a", "b", "c"), ("a", "b", "c", None), ("a", "b"), (None,)))
    for name in names:
        labels = {RACK: draw.choice(("r1", "r2", "r3")), "size": draw.choice(("1", "5", "large"))}
        if draw.random() < 0.3:
            del labels[RACK]
        gpus = {GPU: draw.choice(("1", "4"))} if draw.random() < 0.3 else {}
        gpus["ephemeral-storage"] = draw.choice(("10Gi", "20Gi"))
        taints = draw.sample(TAINTS, draw.choice((1, 1, 2))) if draw.random() < 0.25 else []
        found = node(
            name,
            zone=draw.choice(zones),
            labels=labels,
            taints=taints,
            cordoned=draw.random() < 0.05,
            cpu=draw.choice(sizes),
            memory=draw.choice(("4Gi", "8Gi", "7900Mi")),
            pods=draw.choice(("110", "110", "4")),
            room=gpus,
        )
        if draw.random() < 0.3:
            found["status"]["images"] = [
                {"names": [f"{image}:v1"], "sizeBytes": draw.choice((50_000_000, 900_000_000))}
                for image in draw.sample(("web", "db"), draw.choice((1, 2)))
            ]
        yield found


def _budgets(draw: random.Random) -> Iterator[Object]:
    for app in draw.sample(APPS, draw.choice((0, 1, 2))):
        yield budget(app, app, maxUnavailable=draw.choice((0, 1, 2)))


def _services(draw: random.Random) -> Iterator[Object]:
    """Pods of a Service have the default spread constraints."""
    for app in draw.sample(APPS, draw.choice((0, 0, 1, 2))):
        found = service(app, app=app)
        found["spec"]["ports"] = [{"port": 80}]
        yield found


def _volumes(draw: random.Random) -> Iterator[Object]:
    for number in range(draw.choice((0, 3, 6))):
        zones = draw.choice((("a",), ("b",), ("a", "b")))
        yield volume(f"pv{number}", zones, size=draw.choice(("1Gi", "5Gi")), hostPath={"path": "/none"})
    for number in range(draw.choice((0, 4))):
        yield claim(f"c{number}", modes=[draw.choice(("ReadWriteMany", "ReadWriteOncePod"))])
    if draw.random() < 0.3:
        yield {**claim("stuck"), "spec": {**claim("stuck")["spec"], "storageClassName": "now"}}


def _disks(draw: random.Random, nodes: list[str]) -> Iterator[Object]:
    """Bound volumes of a driver, some of them of a zone by their label; and how many each node attaches."""
    if draw.random() < 0.5:
        return
    for number in range(3):
        found = volume(f"disk{number}", csi={"driver": DRIVER, "volumeHandle": f"disk{number}"})
        if draw.random() < 0.5:
            found["metadata"]["labels"] = {ZONE: draw.choice(("a", "b", "a__b"))}
        yield found
        yield claim(f"disk{number}", f"disk{number}")
    for name in draw.sample(nodes, len(nodes) // 2):
        yield csi_node(name, DRIVER, draw.choice((1, 2)))


def _kind(draw: random.Random, most_rules: int) -> Object:
    """The words for the builder `pod` that some pods share."""
    words: Object = {
        "namespace": draw.choice(("default", "default", "shop")),
        "app": draw.choice(APPS),
        "labels": {"rev": draw.choice("12")},
        "requests": draw.choice(
            (
                {},
                {"cpu": "100m", "memory": "200Mi"},
                {"cpu": "500m", "memory": "1Gi"},
                {"cpu": "1"},
                {"cpu": "2", "memory": "3Gi"},
                {"cpu": "6"},
                {"cpu": "300m", GPU: "1"},
                {"memory": "1500Mi"},
                {"cpu": "250m", "ephemeral-storage": "6Gi"},
            )
        ),
    }
    if draw.random() < 0.4:
        words["priorityClassName"] = draw.choice(("low", "high", "high") if most_rules > 1 else ("low",))
    for word in draw.sample(RULES, draw.randint(0, most_rules)):
        words |= deepcopy(_words(draw, word))
    return words


SIMPLE_RULES: dict[str, tuple[Object, ...]] = {
    "node": (
        {"node_selector": {ZONE: "a"}},
        {"only_on": [labelled("size", "Gt", "2")]},
        {"only_on": [labelled(RACK, "In", "r1", "r2")]},
        {"only_on": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n01"]}]}]},
        {"only_on": [labelled(RACK, "DoesNotExist")]},
        {"only_on": [labelled("size", "Lt", "3"), labelled(RACK, "NotIn", "r1")]},
        {"only_on": [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n02"]}]}]},
        {"node_selector": {RACK: "r2"}, "only_on": [labelled(ZONE, "Exists")]},
    ),
    "port": ({"ports": [80]}, {"ports": [443]}),
    "tolerates": ({"tolerations": [tolerate("gpu=x:NoSchedule")]}, {"tolerations": [tolerate("old")]}),
    "priority": tuple({"priorityClassName": name} for name in (*PRIORITIES, "middle", "high")),
    "claims": tuple({"claims": [name]} for name in ("c0", "c1", "c2", "c3", "stuck", "missing")),
    "disk": (
        *({"claims": [f"disk{number}"]} for number in range(3)),
        {"claims": ["disk0", "disk1"]},
        {"claims": ["disk1", "disk2"]},
    ),
    "image": ({"image": "web:v1"}, {"image": "db:v1"}),
    "initial": (
        {"initial": {"resources": {"requests": {"cpu": "1"}}}},
        {"initial": {"resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}},
        {"initial": {"resources": {"requests": {"cpu": "200m"}}, "restartPolicy": "Always"}},
    ),
    "overhead": ({"runtimeClassName": "heavy"},),
    "tree": (
        {"volumes": [{"name": "tree", "image": {"reference": "web:v1"}}]},
        {"volumes": [{"name": "tree", "image": {"reference": "db:v1"}}]},
    ),
    "host": ({"hostNetwork": True},),
    "whole": (
        {"resources": {"requests": {"memory": "3Gi"}, "limits": {"cpu": "2"}}},
        {"resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}},
    ),
}
RULES = ("spread", "spread", "near", "apart", "likes", "dislikes", "rather", *SIMPLE_RULES, "priority")


def _words(draw: random.Random, word: str) -> Object:
    """What one word adds to a kind."""
    if word == "spread":
        found = [_spread(draw) for _ in range(draw.choice((1, 1, 2)))]
        return {
            "spread": list(
                {(rule["topologyKey"], rule["whenUnsatisfiable"]): rule for rule in found}.values()
            )
        }
    if word in ("near", "apart"):
        more: Object = draw.choice(
            (
                {},
                {},
                {"namespaceSelector": {}},
                {"namespaceSelector": {"matchLabels": {"team": "red"}}},
                {"namespaces": ["shop"]},
                {"matchLabelKeys": ["rev"]},
                {"mismatchLabelKeys": ["rev"]},
            )
        )
        return {word: [term(draw.choice((ZONE, HOST, RACK)), draw.choice(APPS), **more)]}
    if word in ("likes", "dislikes"):
        wanted = term(draw.choice((ZONE, HOST)), draw.choice(APPS))
        return {word: [weighted(draw.choice((1, 50, 100)), wanted)]}
    if word == "rather":
        return {word: [(draw.choice((1, 80)), labelled("size", "In", draw.choice("15")))]}
    return draw.choice(SIMPLE_RULES[word])


def _spread(draw: random.Random) -> Object:
    when = draw.choice((HARD, HARD, SOFT))
    more: Object = {"when": when}
    if draw.random() < 0.3:
        more["nodeAffinityPolicy"] = draw.choice(("Honor", "Ignore"))
        more["nodeTaintsPolicy"] = draw.choice(("Honor", "Ignore"))
    if when == HARD and draw.random() < 0.2:
        more["minDomains"] = draw.choice((2, 5))
    if draw.random() < 0.2:
        more["matchLabelKeys"] = ["rev"]
    return spread(draw.choice((ZONE, ZONE, HOST, RACK)), draw.choice((1, 1, 2)), draw.choice(APPS), **more)


def _made(draw: random.Random, name: str, kinds: list[Object], on: str = "") -> Object:
    """A pod of one of the kinds, as one would write it: no status, what is missing is admission's to add."""
    words = deepcopy(draw.choice(kinds))
    rather, image, initial = words.pop("rather", ()), words.pop("image", "none"), words.pop("initial", None)
    if on:
        for word in ("claims", "ports"):
            words.pop(word, None)
    found = pod(name, on, **words)
    del found["status"]
    spec = found["spec"]
    spec["terminationGracePeriodSeconds"] = 0
    for container in spec["containers"]:
        container["image"] = image
        for port in container.get("ports", ()) if spec.get("hostNetwork") else ():
            port["containerPort"] = port["hostPort"]
        wanted = {} if "resources" in spec else container["resources"]["requests"]
        container["resources"]["requests"] = wanted
        container["resources"]["limits"] = {GPU: wanted[GPU]} if GPU in wanted else {}
    if initial and "resources" not in spec:
        spec["initContainers"] = [{"name": "first", "image": "none", **initial}]
    if rather:
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": wanted} for weight, wanted in rather
        ]
    return found
