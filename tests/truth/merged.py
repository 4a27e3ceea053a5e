"""Random clusters of some six to sixty nodes: wide tiny clusters side by side, whose rules meet.

Names of one part are made its own, labels are not: zones, applications and namespaces are common, so that a
constraint of one part counts the pods of another.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from models import Cluster, InputError
from planner.problem.problem import Problem
from tests.truth import wide
from tests.truth.generator import Case
from tests.truth.manifests import Object

COMMANDS = ("solve", "solve", "solve --allow-moves", "solve --final-state", "rebalance", "consolidate")
_PARTS = (2, 3, 4, 6, 8)
#: Of these kinds the first of a name is kept.
_COMMON = ("Namespace", "PriorityClass", "KubeSchedulerConfiguration")


def draw(seed: int, command: str | None = None, *, parts: int | None = None) -> Case:
    """The case of a seed, of so many tiny ones."""
    chance = random.Random(f"merged {seed}")
    chosen = command or chance.choice(COMMANDS)
    size = parts or chance.choice(_PARTS)
    drawn: list[Case] = []
    while len(drawn) < size:
        part = wide.draw(chance.randrange(1 << 40), chosen)
        if _is_read(part.objects):
            drawn.append(part)
    objects: list[Object] = []
    common: set[tuple[str, str]] = set()
    for number, part in enumerate(drawn):
        for item in _renamed(part.objects, f"m{number}-"):
            name = item["kind"], str((item.get("metadata") or {}).get("name"))
            if item["kind"] in _COMMON:
                if name in common:
                    continue
                common.add(name)
            objects.append(item)
    objects += _copies(objects, chance.choice((0, 0, 1, 3)))
    chance.shuffle(objects)
    options = drawn[0].options
    if chosen == "consolidate":
        options = wide.consolidate_options(chance, objects)
    return replace(drawn[0], seed=seed, objects=objects, options=options)


def _is_read(objects: Iterable[Object]) -> bool:
    """Whether the planner reads them; one amount that it refuses to count would be the end of all parts."""
    try:
        Problem(Cluster.from_objects(objects))
    except InputError:
        return False
    return True


def _copies(objects: Iterable[Object], times: int) -> list[Object]:
    """The pods that wait, so many times again; not those with a name or a claim of their own."""
    found = []
    for item in objects:
        spec = item.get("spec") or {}
        owners = (item.get("metadata") or {}).get("ownerReferences", ())
        if item["kind"] != "Pod" or spec.get("nodeName") or spec.get("volumes"):
            continue
        if any(owner["kind"] == "StatefulSet" for owner in owners):
            continue
        for number in range(times):
            again: Object = copy.deepcopy(item)
            for field in ("name", "uid"):
                again["metadata"][field] += f"-again{number}"
            found.append(again)
    return found


def _renamed(objects: Iterable[Object], prefix: str) -> list[Object]:
    """The same objects, their names and whatever names them with a prefix."""
    objects = list(objects)
    names = {
        (item.get("metadata") or {}).get(field)
        for item in objects
        if item["kind"] not in _COMMON
        for field in ("name", "uid")
    } - {None}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        return prefix + value if value in names else value

    return [item if item["kind"] in _COMMON else walk(item) for item in objects]
