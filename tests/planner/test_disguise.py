"""Answers about a cluster under other names are the answers about the cluster, under other names."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models import Cluster
from models.errors import InputError
from planner import (
    capacity,
    check,
    compare,
    consolidate,
    diff,
    explain,
    rebalance,
    scale_down,
    simulate,
    solve,
    survive,
)
from planner.documents.plan import Document
from planner.simulation.drain import drain
from planner.simulation.rollout import rollout
from tests import seeds
from tests.models.sharing.anonymous import Disguise
from tests.planner.capacity_clusters import mixed
from tests.truth import mutations, sets_drawn, wide

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/"))
RECORDED = sorted((ROOT / "tests/data/conformance").glob("*.jsonl.gz"))
LIMIT = 20.0

QUICK: dict[str, Callable[[Cluster], Document]] = {
    "check": check,
    "simulate": lambda cluster: simulate(cluster, verbose=True),
}
SEARCHES: dict[str, Callable[[Cluster], Document]] = {
    "capacity": lambda cluster: capacity(cluster, best=True, autoscalers=True, time_limit=LIMIT),
    "consolidate": lambda cluster: consolidate(cluster, time_limit=LIMIT),
    "compare": lambda cluster: compare(cluster, replays=2, time_limit=LIMIT),
    "drain": lambda cluster: drain(cluster, [min(node.name for node in cluster.nodes)]),
    "explain": explain,
    "rebalance": lambda cluster: rebalance(cluster, time_limit=LIMIT),
    "solve": lambda cluster: solve(cluster, time_limit=LIMIT),
    "survive": lambda cluster: survive(cluster, "topology.kubernetes.io/zone"),
    "solve --allow-moves": lambda cluster: solve(cluster, time_limit=LIMIT, allow_moves=True),
}


def halved(cluster: Cluster) -> Document:
    """The scale-down of every Deployment to half of its replicas."""
    wanted = {
        f"deployment/{item.name}.{item.namespace}": item.spec.replicas // 2 for item in cluster.deployments
    }
    return scale_down(cluster, wanted)


def restarted(cluster: Cluster) -> Document:
    """The rollout of every workload as it is, each of its pods made anew."""
    return rollout(cluster, cluster, replays=3, restart=True, fixes=False)


ASKED = {**SEARCHES, "scale-down": halved, "rollout": restarted}


def _drawn(number: int) -> list[tuple[str, Disguise]]:
    seed = seeds.fresh()
    lines: list[tuple[str, str]] = []
    for path in RECORDED:
        with gzip.open(path, "rt") as file:
            lines += [(path.name.partition(".")[0], line) for line in file]
    chosen = random.Random(seed).sample(lines, min(number, len(lines)))
    cases = [(f"seed {seed}, {file}", json.loads(line)) for file, line in chosen]
    return [
        (f"{place} {case['name']}", Disguise([("a", json.dumps(case["cluster"]).encode())]))
        for place, case in cases
    ]


def _answer(ask: Callable[[Cluster], Document], cluster: Cluster) -> object:
    try:
        return json.loads(ask(cluster).to_json())
    except InputError as error:
        return list(error.problems)


def _disagreements(disguise: Disguise, asks: dict[str, Callable[[Cluster], Document]]) -> list[str]:
    here, there = disguise.clusters()
    answers = ((name, _answer(ask, here), _answer(ask, there)) for name, ask in asks.items())
    whole = ((name, one, other) for name, one, other in answers if not (_is_cut(one) or _is_cut(other)))
    found = ((name, disguise.difference(one, other)) for name, one, other in whole)
    return [f"{name}{difference}" for name, difference in found if difference]


def _is_cut(answer: object) -> bool:
    """Whether the clock ended the search, which on a busy machine it does here and not there."""
    return "cut short while" in json.dumps(answer)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples(example: Path) -> None:
    """The quick commands about every example."""
    assert _disagreements(_disguised(example), QUICK) == []


@pytest.mark.parametrize("name", ASKED)
def test_searches_about_examples(name: str) -> None:
    """Each of the others about one example, drawn afresh."""
    for example in seeds.some(EXAMPLES, 32):
        assert _disagreements(_disguised(example), {name: ASKED[name]}) == [], example.name


def _disguised(example: Path) -> Disguise:
    return Disguise([(path.name, path.read_bytes()) for path in sorted(example.glob("*.yaml"))])


def test_recorded_clusters() -> None:
    """The quick commands about recorded clusters, drawn afresh."""
    for name, disguise in _drawn(seeds.tries(7)):
        assert _disagreements(disguise, QUICK) == [], name


@pytest.mark.long
def test_searches_about_recorded_clusters() -> None:
    """The searches about two of them."""
    for name, disguise in _drawn(seeds.tries(2)):
        assert _disagreements(disguise, SEARCHES) == [], name


def test_a_search_about_fresh_clusters() -> None:
    """One of the commands about each."""
    for seed in seeds.seeds_for(0.15):
        objects = mixed(seed) if seed % 2 else wide.draw(seed, "rebalance").objects
        name = random.Random(seed).choice(sorted(SEARCHES))
        assert _disagreements(_listed(objects), {name: SEARCHES[name]}) == [], f"seed {seed}, {name}"


def _listed(objects: list[dict[str, Any]]) -> Disguise:
    return Disguise([("a", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode())])


def test_two_files_in_disguise() -> None:
    """Two snapshots beside each other, and copies of a set of manifests in a cluster."""
    for seed in seeds.seeds_for(0.15):
        case, (before, after, _) = sets_drawn.draw(seed), mutations.draw(seed)
        pairs = ((case.objects, case.manifests, copies), (before.objects(), after.objects(), diff))
        for first, second, ask in pairs:
            both, there = _listed([*first, *second]), len(first)
            objects, others = both.objects, both.disguised()
            one, other = (_told(ask, found[:there], found[there:]) for found in (objects, others))
            assert both.difference(one, other) == "", f"seed {seed}"


def copies(cluster: Cluster, manifests: Cluster) -> Document:
    """How many copies of the manifests fit."""
    return capacity(cluster, sets=manifests)


def _told(ask: Callable[[Cluster, Cluster], Document], first: list[Any], second: list[Any]) -> object:
    is_set = ask is copies
    found = Cluster.from_objects(second, partial=is_set)
    return _answer(lambda cluster: ask(cluster, found), Cluster.from_objects(first))
