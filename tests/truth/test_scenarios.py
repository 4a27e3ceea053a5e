"""The rows of a sweep, beside their flags carried out on the manifests, and beside the commands alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cli.commands.asking import CommandLine
from cli.main import run
from models import Cluster, InputError
from planner.fleet import tasks
from planner.fleet.tasks import Reply
from planner.fleet.variations import Scenario, variations
from planner.fleet.variations import scenarios as combinations
from tests import seeds
from tests.builders import HOST
from tests.truth import scenarios
from tests.truth.scenarios import Places, ScenarioCase

_COMMANDS = (
    ["check"],
    ["simulate"],
    ["capacity"],
    ["capacity", "--survive", HOST],
    ["check", "--survive", HOST],
    ["explain"],
)


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a cluster, about which no cluster is held yet."""
    monkeypatch.setattr(tasks, "_HELD", [])
    return tmp_path / "cluster.json"


def drawn(seed: int, snapshot: Path) -> tuple[ScenarioCase, list[Scenario]]:
    """A case with its cluster in a file, and some of its scenarios."""
    case = scenarios.draw(seed)
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case.objects}))
    cluster = Cluster.from_objects(case.objects)
    try:
        found = combinations([one.of(cluster) for one in variations(case.vary)])
    except InputError:
        return case, []
    return case, random.Random(seed).sample(found, min(4, len(found)))


def asked(command: Sequence[str], snapshot: Path, scenario: Scenario, content: str) -> Reply:
    """A row of a sweep; a worker that was asked about the same content has the cluster at hand."""
    name, *flags = command
    words = (name, "-f", str(snapshot), *flags, *scenario.flags, "-o", "json")
    return CommandLine(run, words, content)()


def told(reply: Reply) -> Places | None:
    """Where a simulation puts the pods that wait; None without an answer."""
    if reply.document is None:
        return None
    rows = json.loads(reply.document)["decisions"]
    return Places((_workload(row["pod"]), row["node"]) for row in rows)


def _workload(pod: str) -> str:
    name = pod.partition("/")[2]
    return name.partition("-")[0] if name.startswith("s") else ""


def refuted(seed: int, snapshot: Path) -> Iterator[str]:
    """Scenarios in which pods come elsewhere than their flags lead to."""
    case, found = drawn(seed, snapshot)
    for scenario in found:
        said = told(asked(["simulate"], snapshot, scenario, f"seed {seed}"))
        if said is not None and said != scenarios.places(case.objects, scenario.flags):
            yield f"seed {seed}: {scenario.name}"


def test_pods_come_to_where_the_flags_lead(snapshot: Path) -> None:
    """Domains that are lost, nodes that are drained and added, ReplicaSets that grow, in any combination."""
    for seed in seeds.seeds_for(0.1):
        assert [*refuted(seed, snapshot)] == []


def test_flags_that_are_left_out_are_noticed(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last flag is not carried out on the manifests."""
    usual = scenarios.places
    monkeypatch.setattr(scenarios, "places", lambda objects, flags: usual(objects, flags[:-2]))
    assert any([*refuted(seed, snapshot)] for seed in range(20))


def test_a_row_is_what_the_command_alone_prints(snapshot: Path) -> None:
    """One worker is asked about all scenarios, and has the cluster of the last one at hand."""
    for seed in seeds.seeds_for(0.1):
        _, found = drawn(seed, snapshot)
        command = random.Random(seed).choice(_COMMANDS)
        rows = [asked(command, snapshot, scenario, f"seed {seed}") for scenario in found]
        for scenario, row in zip(found, rows, strict=True):
            alone = asked(command, snapshot, scenario, f"alone {scenario.name}")
            assert (row.exit_code, row.document) == (alone.exit_code, alone.document), f"seed {seed}"
