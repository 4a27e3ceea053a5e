"""Every figure of `compare`, beside the same counted from where the pods are."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from models import Cluster
from planner import compare, simulate
from planner.compare.ways import Outcome
from planner.documents.columns import ComparedColumn
from planner.documents.comparison import Comparison
from tests import seeds
from tests.builders import Object
from tests.planner.oracle import key_of
from tests.tiny import tiny
from tests.truth.compared import Column, refuted

_FIGURES = import_module("planner.compare.columns").ClusterFigures


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> list[Column]:
    """The columns of the last comparison, each with where its pods are."""
    found: list[Column] = []
    usual = _FIGURES.column

    def kept(self: Any, outcome: Outcome, *given: Any) -> ComparedColumn:
        told: ComparedColumn = usual(self, outcome, *given)
        problem = self._problem
        placed = np.flatnonzero(outcome.node_of >= 0).tolist()
        names = {problem.pods[pod].key: problem.nodes.names[outcome.node_of[pod]] for pod in placed}
        found.append(Column(told, names, outcome.lost))
        return told

    monkeypatch.setattr(_FIGURES, "column", kept)
    return found


def question(seed: int) -> tuple[list[Object], dict[str, Any]]:
    """A cluster with pending pods or without, and what is asked about it."""
    objects = tiny(seed)
    if seed % 3 == 1:
        objects = [item for item in objects if item["kind"] != "Pod" or item["spec"].get("nodeName")]
    options: dict[str, Any] = {"afresh": seed % 3 == 2, "columns": ("descheduler",) if seed % 2 else ()}
    return objects, options


def asked(objects: list[Object], found: Comparison) -> set[str]:
    """The pods that a question is about."""
    pods = [item for item in objects if item["kind"] == "Pod"]
    running = [item for item in pods if item["spec"].get("nodeName")]
    staying = [item for item in running if "deletionTimestamp" not in item["metadata"]]
    waiting = {key_of(item) for item in pods} - {key_of(item) for item in running}
    if found.question == "running":
        return {key_of(item) for item in staying}
    again = {key_of(item) for item in staying if item["metadata"].get("ownerReferences")}
    return waiting | again if found.question == "afresh" else waiting


def wrong(seed: int, columns: list[Column]) -> Iterator[str]:
    """What is wrong with the comparison of a seed."""
    columns.clear()
    objects, options = question(seed)
    found = compare(Cluster.from_objects(objects), replays=2, time_limit=5.0, **options)
    for column in columns:
        yield from refuted(objects, asked(objects, found), column)
    ours, theirs = found.optimal, found.kube_scheduler
    told = found.difference.placed, found.difference.nodes_used
    if told != (ours.placed - theirs.placed, ours.nodes_used - theirs.nodes_used):
        yield f"{found.difference} is not {ours} less {theirs}"


def test_every_figure_is_that_of_the_places(columns: list[Column]) -> None:
    """Of pending pods, of running ones and afresh; kube-scheduler, Descheduler and the best plan."""
    for seed in seeds.seeds_for(0.1):
        assert [*wrong(seed, columns)] == [], f"seed {seed}"


def test_places_of_kube_scheduler_are_those_that_it_simulates(columns: list[Column]) -> None:
    """Without draws, and for each draw that is told."""
    for seed in seeds.seeds_for(0.1):
        objects, _ = question(3 * seed)
        cluster = Cluster.from_objects(objects)
        columns.clear()
        if compare(cluster, replays=2, time_limit=5.0).question != "pending":
            continue
        for column in (column for column in columns if column.told.name == "kubeScheduler"):
            decisions = simulate(cluster, preemption=False, seed=column.told.seed).decisions
            placed = {row.pod: row.node for row in decisions if row.node is not None}
            assert placed.items() <= column.places.items(), f"seed {seed}, {column.told.seed}"


def test_another_figure_is_noticed(columns: list[Column]) -> None:
    """A pod is somewhere else than told."""
    assert not [*wrong(3, columns)]
    (column, *_) = [found for found in columns if found.places]
    objects, _ = question(3)
    pod, *_ = column.places
    fewer = {key: node for key, node in column.places.items() if key != pod}
    pods = {key_of(item) for item in objects if item["kind"] == "Pod"}
    assert [*refuted(objects, pods, Column(column.told, fewer, column.lost))]
