"""Generated clusters on a real control plane: moves and drains end as their documents say."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.builders import REQUIRED
from tests.e2e.control_plane import ControlPlane, Manifest
from tests.e2e.generated import cleared, static
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, spread, workload
from tests.e2e.stories import carried_out

#: So many are drawn: `MOVES=60 make e2e E2E=tests/e2e/test_generated_moves.py`, half a minute each, from
#: `MOVES_SEED` on where one is to be looked at again.
_CASES = int(os.environ.get("MOVES", "0"))
_SEED = os.environ.get("MOVES_SEED")
_COMMANDS = (
    ("rebalance",),
    ("rebalance", "--soft"),
    ("rebalance", "--evict-only"),
    ("rebalance", "--may-cordon"),
    ("rebalance", "--max-unavailable", "2"),
    ("drain",),
    ("drain", "--at-once", "2"),
)
_HIGH: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}
_KINDS = ("Deployment", "Deployment", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Case:
    """A command, nodes that are there first, what runs on them, and nodes that come later."""

    command: Sequence[str]
    first: Sequence[Manifest]
    objects: Sequence[Manifest]
    later: Sequence[Manifest]


def case(chance: random.Random) -> Case:
    """Some nodes of some zones come late, so that pods lie together on the others."""
    zones = chance.choice(("ab", "abc", "aabc"))
    nodes = [
        node(f"n{number}", zone=zones[number % len(zones)], cpu=chance.choice(("2", "4")))
        for number in range(chance.randint(4, 9))
    ]
    command = chance.choice(_COMMANDS)
    late = {item["metadata"]["name"] for item in chance.sample(nodes, len(nodes) // chance.choice((2, 3)))}
    first = [item for item in nodes if item["metadata"]["name"] not in late]
    later = [item for item in nodes if item["metadata"]["name"] in late]
    if command[0] == "drain":
        names = [item["metadata"]["name"] for item in first]
        command = (*command, *sorted(chance.sample(names, chance.randint(1, 2))))
    objects: list[Manifest] = []
    for number in range(chance.randint(2, 5)):
        objects += _application(chance, f"w{number}")
    return Case(command, first, objects, later)


def _application(chance: random.Random, name: str) -> Iterator[Manifest]:
    replicas = chance.randint(1, 6)
    rules = [
        spread(name, key, skew=chance.choice((1, 1, 2)), soft=chance.random() < share)
        for key, share, likely in ((ZONE, 0.3, 0.7), (HOSTNAME, 0.7, 0.3))
        if chance.random() < likely
    ]
    more: dict[str, Any] = {}
    if chance.random() < 0.15:
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": name}}}
        more["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    if chance.random() < 0.15:
        more["priorityClassName"] = "high"
    notes = {}
    if chance.random() < 0.25:
        notes["stand-in/linger"] = chance.choice(("1", "4"))
        more["terminationGracePeriodSeconds"] = 15
    if chance.random() < 0.25:
        notes["stand-in/ready-after"] = chance.choice(("1", "3"))
    kind = chance.choice(_KINDS)
    cpu = chance.choice(("100m", "300m", "700m", "1200m"))
    found = workload(name, replicas, *rules, kind=kind, cpu=cpu, annotations=notes, **more)
    if kind == "StatefulSet":
        found["spec"]["podManagementPolicy"] = chance.choice(("OrderedReady", "Parallel"))
    yield found
    if chance.random() < 0.4:
        allowed: Any = chance.choice(({"maxUnavailable": 1}, {"maxUnavailable": "34%"}, {"minAvailable": 1}))
        yield budget(name, **allowed)


def _play(live: ControlPlane, folder: Path, seed: int) -> list[str]:
    """What goes otherwise than planned."""
    drawn = case(random.Random(seed))
    live.create(*drawn.first, *drawn.objects)
    static(live)
    live.create(*drawn.later)
    static(live)
    found = [*_differences(live, folder, drawn.command)]
    if found:
        print(seed, drawn.command, found)
    cleared(live)
    return found


def _differences(live: ControlPlane, folder: Path, command: Sequence[str]) -> Iterator[str]:
    before = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in live.pods()}
    told = live.planner(*command, "-o", "json")
    if told.returncode not in (0, 1):
        yield f"exit code {told.returncode}: {told.stderr}"
        return
    document = json.loads(told.stdout)
    printed = live.planner(*command, "-o", "script")
    if document.get("blocked"):
        if printed.returncode != 2 or printed.stdout:
            yield f"a script for a drain that gets stuck: {printed.returncode}"
        return
    if printed.returncode not in (0, 1):
        yield f"no script: {printed.stderr}"
        return
    print(f"{' '.join(command)}: {len(document['steps'])} steps")
    script = folder / "script.sh"
    script.write_text(printed.stdout)
    ended = carried_out(live, script)
    static(live)
    gone = {name for uid, name in before.items() if uid not in {p["metadata"]["uid"] for p in live.pods()}}
    if ended.returncode != 0:
        yield f"the script ends with {ended.returncode}: {ended.stderr}"
    if command[0] == "rebalance":
        yield from _moved(live, document, gone)
    else:
        yield from _drained(live, document)


def _moved(live: ControlPlane, document: Any, gone: set[str]) -> Iterator[str]:
    """Whether just the pods of the plan are gone, and as much is too much as was said."""
    steps = {step["pod"].partition("/")[2] for step in document["steps"]}
    now = json.loads(live.planner("check", "-o", "json").stdout)
    hard = document["after"]["hardExcess"]
    if gone != steps:
        yield f"{sorted(gone)} are gone, not {sorted(steps)}"
    if now["hardExcess"] != hard:
        yield f"{now['hardExcess']} pods are too many, not {hard}"


def _drained(live: ControlPlane, document: Any) -> Iterator[str]:
    """Whether the nodes are empty, and as many pods are without a node as was said.

    A StatefulSet makes the next pod when the one before is ready; those that are not made yet count.
    """
    placed = [pod["spec"]["nodeName"] for pod in live.pods() if pod["spec"].get("nodeName")]
    workloads = live.get("deployments,replicasets,statefulsets")
    wanted = sum(item["spec"]["replicas"] for item in workloads if "ownerReferences" not in item["metadata"])
    full, waiting = {*placed} & {*document["nodes"]}, wanted - len(placed)
    if full:
        yield f"{sorted(full)} are not empty"
    if waiting != document["after"]["pending"]:
        yield f"{waiting} pods are without a node, not {document['after']['pending']}"


@pytest.mark.skipif(not _CASES, reason="MOVES=N says how many are drawn")
def test_generated_moves(start: Callable[..., ControlPlane], tmp_path: Path) -> None:
    """Every script comes to its end, and what is left is what was said."""
    first = random.SystemRandom().randrange(1_000_000) if _SEED is None else int(_SEED)
    live = start()
    live.create(_HIGH)
    wrong = {seed: found for seed in range(first, first + _CASES) if (found := _play(live, tmp_path, seed))}
    assert not wrong, wrong
