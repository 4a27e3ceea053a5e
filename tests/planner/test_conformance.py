"""The reference scheduler against what the real kube-scheduler of each release answered, step by step."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models import Cluster
from planner import simulate
from planner.documents.plan import Decision, Simulation
from tests import seeds

DATA = Path(__file__).parents[1] / "data" / "conformance"
Case = dict[str, Any]


def cases(name: str, first: int = 0, step: int = 1) -> list[Case]:
    """The clusters of one file with the real scheduler's answers, or some of them."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as file:
        lines = list(file)
    assert len(lines) == FILES[name]
    return [json.loads(line) for line in lines[first::step]]


def differences(simulation: Simulation, case: Case) -> Iterator[str]:
    """Where a simulation and the real scheduler part, in words."""
    steps = {decision.pod: decision for decision in simulation.decisions}
    if [decision.pod for decision in simulation.decisions] != [step["pod"] for step in case["expected"]]:
        yield "the pods were taken in another order"
        return
    for step in case["expected"]:
        found, wanted = _found(steps[step["pod"]]), _wanted(step)
        for field, value in wanted.items():
            if found[field] != value:
                yield f"{step['pod']} {field}: {found[field]!r} instead of {value!r}"


def _found(decision: Decision) -> Case:
    """A decision in the terms of the recording."""
    rejected = decision.rejected or {}
    placed_by_score = decision.node is not None and decision.nominated_node is None
    return {
        "node": decision.node or "",
        "message": decision.message,
        "nominated": decision.nominated_node,
        "victims": sorted(decision.victims),
        "rejected": {
            node: (found.plugin, sorted(found.reasons)) for node, found in rejected.items() if found.plugin
        },
        "scores": (decision.scores or {}) if placed_by_score else {},
        "totals": (decision.totals or {}) if placed_by_score else {},
    }


def _wanted(step: Case) -> Case:
    """A recorded step; reasons of one node have no order of their own."""
    return {
        "node": step["node"],
        "message": step.get("message", ""),
        "nominated": step.get("nominated"),
        "victims": sorted(step.get("victims", [])),
        "rejected": {
            node: (found["plugin"], sorted(found["reasons"])) for node, found in step["rejected"].items()
        },
        "scores": step.get("scores", {}),
        "totals": step.get("totals", {}),
    }


def recorded(version: str) -> dict[str, list[Case]]:
    """What a release decided by default, for each cluster by name."""
    with gzip.open(DATA.parent / "versions" / f"{version}.jsonl.gz", "rt") as lines:
        return {case["name"]: case["expected"] for case in map(json.loads, lines)}


FILES = {"scenarios": 37, "schedule": 420, "volumes": 80, "preemption": 100, "preemption-tail": 3}


@pytest.mark.parametrize(("version", "step"), [("1.34", 30), ("1.35", 30), ("1.36", 15)])
def test_every_decision_is_kube_schedulers(version: str, step: int) -> None:
    """Node, message, first rejecting plugin and reasons per node, scores, totals, nomination, victims.

    A fifteenth of the clusters for the newest release, half as many for the others, others on every run.
    """
    expected = recorded(version)
    step = seeds.every(step)
    first = seeds.fresh() % step
    wrong = {}
    for name in FILES:
        for case in cases(name, first, step):
            cluster = Cluster.from_objects(case["cluster"]["items"], kubernetes=version)
            simulation = simulate(cluster, preemption=case["preemption"], verbose=True)
            case["expected"] = expected[case["name"]]
            if lines := list(differences(simulation, case)):
                wrong[case["name"]] = lines
    assert wrong == {}
    assert len(expected) == sum(FILES.values())


def without_claims(items: list[Case]) -> list[Case]:
    """The objects with a configuration in which DynamicResources is disabled."""
    rest = [item for item in items if item["kind"] != "KubeSchedulerConfiguration"]
    config: Case = next((i for i in items if i["kind"] == "KubeSchedulerConfiguration"), {"profiles": [{}]})
    off = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
    profiles = [{**profile, "plugins": off} for profile in config["profiles"]]
    assert not any("plugins" in profile for profile in config["profiles"])
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return [*rest, {**config, **head, "profiles": profiles}]


def has_one_size_an_image(case: Case) -> bool:
    """Whether nodes agree on their images; these recordings weighed each node's own report."""
    nodes = [item for item in case["cluster"]["items"] if item["kind"] == "Node"]
    images = [image for node in nodes for image in node["status"].get("images", ())]
    sizes = {(name, image["sizeBytes"]) for image in images for name in image["names"]}
    return len({name for name, _ in sizes}) == len(sizes)


@pytest.mark.parametrize("name", seeds.at_first(2, ["scenarios", "schedule", "volumes", "preemption"]))
def test_without_dynamic_resources(name: str) -> None:
    """1.34.1 with the plugin disabled, as a configuration can: the messages have no part of its own."""
    wrong = {}
    step = seeds.every(5)
    some = cases(name, seeds.fresh() % step, step)
    found = [case for case in some if has_one_size_an_image(case)]
    assert len(found) > len(some) / 5
    for case in found:
        cluster = Cluster.from_objects(without_claims(case["cluster"]["items"]), kubernetes="1.34.1")
        simulation = simulate(cluster, preemption=case["preemption"], verbose=True)
        if lines := list(differences(simulation, case)):
            wrong[case["name"]] = lines
    assert wrong == {}


def test_the_comparison_notices_a_difference() -> None:
    """The test above can fail: a recording that is changed in any field is reported."""
    case = cases("scenarios")[0]
    items = without_claims(case["cluster"]["items"])
    simulation = simulate(Cluster.from_objects(items, kubernetes="1.34"), verbose=True)
    step = case["expected"][0]
    for field, value in [
        ("node", "elsewhere"),
        ("message", "x"),
        ("rejected", {}),
        ("totals", {"node3": 1}),
    ]:
        changed = {**case, "expected": [{**step, field: value}]}
        assert list(differences(simulation, changed)), field
