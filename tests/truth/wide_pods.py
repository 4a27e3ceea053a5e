"""Features of pods: what else they ask for, how they preempt and end, whether they are ready."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from tests.truth import manifests
from tests.truth.manifests import Object

_AMOUNTS = ("500m", "1", "1", "2")


def templates(objects: Iterable[Object]) -> list[list[Object]]:
    """Pods by what controllers would make them of: all alike but for names and places."""
    found: dict[str, list[Object]] = {}
    for item in objects:
        if item["kind"] == "Pod":
            spec = {key: value for key, value in item["spec"].items() if key != "nodeName"}
            owner = manifests.controller(item)
            found.setdefault(manifests.spelled([spec, item["metadata"].get("labels"), owner]), []).append(
                item
            )
    return list(found.values())


def _some(chance: random.Random, objects: Iterable[Object], share: float = 0.6) -> list[list[Object]]:
    """Some of the templates, at least one."""
    found = templates(objects)
    chosen = [pods for pods in found if chance.random() < share]
    return chosen or found[:1]


def _container(name: str, cpu: str, **more: str) -> Object:
    return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}


def _pods(groups: Sequence[list[Object]]) -> list[tuple[list[Object], Object]]:
    return [(pods, pod) for pods in groups for pod in pods]


def init_containers(chance: random.Random, objects: list[Object], _: str) -> None:
    """Steps before the containers, which may need more than all of these."""
    for pods in _some(chance, objects):
        steps = [
            _container(f"i{number}", chance.choice(_AMOUNTS)) for number in range(chance.choice((1, 1, 2)))
        ]
        for pod in pods:
            pod["spec"].setdefault("initContainers", []).extend(steps)


def memory(chance: random.Random, objects: list[Object], _: str) -> None:
    """Nodes with little memory, and pods that ask for whole parts of it."""
    for item in objects:
        allocatable = item["status"]["allocatable"] if item["kind"] == "Node" else {}
        if "memory" in allocatable:
            allocatable["memory"] = chance.choice(("4Gi", "8Gi", "8Gi"))
    for pods in _some(chance, objects):
        amount = chance.choice(("1Gi", "2Gi", "4Gi"))
        for pod in pods:
            pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = amount


def sidecars(chance: random.Random, objects: list[Object], _: str) -> None:
    """Init containers that go on running, before or after others."""
    for pods in _some(chance, objects):
        side = _container("side", chance.choice(_AMOUNTS), restartPolicy="Always")
        first = chance.random() < 0.5
        more = [_container("late", chance.choice(_AMOUNTS))] if chance.random() < 0.4 else []
        for pod in pods:
            before = pod["spec"].get("initContainers", [])
            pod["spec"]["initContainers"] = [side, *before, *more] if first else [*before, *more, side]


def overhead(chance: random.Random, objects: list[Object], _: str) -> None:
    """What the sandbox takes."""
    for pods in _some(chance, objects):
        amount = {"cpu": chance.choice(("250m", "500m", "1"))}
        for pod in pods:
            pod["spec"]["overhead"] = amount


def pod_level(chance: random.Random, objects: list[Object], _: str) -> None:
    """Requests of the pod as a whole, at least what its containers ask for."""
    for pods in _some(chance, objects):
        asked = manifests.asks(pods[0]).get("cpu", 0)
        more = asked + 1000 * chance.choice((0, 1, 1, 2))
        if more:
            for pod in pods:
                pod["spec"]["resources"] = {"requests": {"cpu": f"{more}m"}}


def priorities(chance: random.Random, objects: list[Object], _: str) -> None:
    """Replacements that would preempt: high priorities beside low ones."""
    for pods in templates(objects):
        priority = chance.choice((0, 0, 100, 1000, -10))
        for pod in pods:
            if pod["spec"].get("priority", 0) < 1_000_000:
                pod["spec"]["priority"] = priority


def never_preempts(chance: random.Random, objects: list[Object], command: str) -> None:
    """High priorities, some of which preempt nothing."""
    priorities(chance, objects, command)
    for pods in _some(chance, objects, 0.4):
        for pod in pods:
            pod["spec"]["preemptionPolicy"] = "Never"


def grace(chance: random.Random, objects: list[Object], _: str) -> None:
    """Pods that take their time; some are on their way out already."""
    for pods in templates(objects):
        seconds = chance.choice((0, 5, 30, 600))
        for pod in pods:
            pod["spec"]["terminationGracePeriodSeconds"] = seconds
            if pod["spec"].get("nodeName") and chance.random() < 0.12:
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z"
                pod["metadata"]["deletionGracePeriodSeconds"] = seconds


def huge(chance: random.Random, objects: list[Object], _: str) -> None:
    """Memory near the end of 64 bits."""
    for item in objects:
        if item["kind"] == "Node":
            memory = chance.choice(("7E", "8E", "4Ei", "6Ei"))
            item["status"]["allocatable"] = {**item["status"]["allocatable"], "memory": memory}
            item["status"]["capacity"] = item["status"]["allocatable"]
    for pods in _some(chance, objects):
        amount = chance.choice(("1E", "2E", "3E", "2Ei"))
        for pod in pods:
            pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})["memory"] = (
                amount
            )


def readiness(chance: random.Random, objects: list[Object], _: str) -> None:
    """Running pods that are not ready, or say that they are."""
    for _pods_alike, pod in _pods(templates(objects)):
        if pod["spec"].get("nodeName") and (drawn := chance.choice(("", "True", "False"))):
            pod["status"]["conditions"] = [{"type": "Ready", "status": drawn}]
