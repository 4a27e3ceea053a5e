"""Which pods a ReplicaSet takes in a rollout: those that `--scale` takes of the same snapshot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster
from planner import whatif
from planner.simulation.rollout.draw import play
from planner.simulation.rollout.prepare import prepare
from tests.builders import Object, replica
from tests.planner.simulation.rollout.running import manifests, web, zones

NOW = datetime(2026, 1, 2, tzinfo=UTC)
COST = "controller.kubernetes.io/pod-deletion-cost"
STARTING = ("Pending", False)
READY = ("Running", True)


def of_kind(kind: str, replicas: int) -> Object:
    """A workload `web` without constraints that has no controller above it."""
    item = web(replicas, kind=kind, constraints=[])
    if kind == "ReplicationController":
        item |= {"apiVersion": "v1"}
        item["spec"]["selector"] = {"app": "web"}
    return item


def some_pod(owner: Object, number: int, place: str, state: tuple[str, bool], cost: int) -> Object:
    """A bound pod in a state: its phase, and whether it is ready; the higher its number, the older it is."""
    since = (NOW - timedelta(seconds=2**number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    phase, ready = state
    words: dict[str, Any] = {
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "created": since,
        "phase": phase,
        "annotations": {COST: str(cost)},
        "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": since}],
    }
    return replica(owner, f"web-{number}", place, **words)


def kept(kind: str, pods: list[tuple[str, tuple[str, bool], int]], number: int) -> tuple[set[str], set[str]]:
    """The pods that stay of so many: in a rollout without chance, and with `--scale`."""
    owner = of_kind(kind, len(pods))
    owner["metadata"] |= {"uid": "owner"}
    nodes = zones("abc")
    for found in nodes:
        found["metadata"]["creationTimestamp"] = NOW.isoformat()
    there = Cluster.from_objects(
        [*nodes, owner, *(some_pod(owner, place + 1, *words) for place, words in enumerate(pods))]
    )
    draw = play(prepare(there, manifests(of_kind(kind, number))), None, preemption=True)
    names = [pod.name for pod in draw.simulation.problem.pods]
    played = {names[pod] for pod in draw.runs[0].pods if draw.simulation.alive[pod]}
    return played, {pod.name for pod in whatif.scale(there, f"{kind}/web.shop", number).pods}


SICK, UNKNOWN = ("Running", False), ("Unknown", False)


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
@pytest.mark.parametrize(
    "pods",
    [
        [("a1", STARTING, 5), ("b1", SICK, -5)],
        [("a1", STARTING, 5), ("b1", UNKNOWN, -5)],
        [("a1", UNKNOWN, 5), ("b1", SICK, -5)],
        [("a1", SICK, 5), ("b1", READY, -5)],
        [("c1", READY, 0), ("b1", READY, 0), ("b1", READY, 0)],
    ],
)
def test_the_first_of_these_goes(kind: str, pods: list[tuple[str, tuple[str, bool], int]]) -> None:
    """The phase counts before readiness and cost; without a controller above, others on the node do not."""
    stay = {f"web-{number}" for number in range(2, len(pods) + 1)}
    assert kept(kind, pods, len(pods) - 1) == (stay, stay)


states = st.sampled_from([STARTING, UNKNOWN, SICK, READY])
places = st.sampled_from(["a1", "b1", "c1"])


@pytest.mark.long
@given(st.lists(st.tuples(places, states, st.integers(-1, 1)), min_size=1, max_size=8), st.data())
def test_a_rollout_and_a_what_if_take_the_same_pods(
    pods: list[tuple[str, tuple[str, bool], int]], data: st.DataObject
) -> None:
    """One ranking in two places: each is told here what the other takes."""
    played, supposed = kept("ReplicaSet", pods, data.draw(st.integers(0, len(pods))))
    assert played == supposed
