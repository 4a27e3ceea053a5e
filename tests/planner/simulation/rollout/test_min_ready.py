"""minReadySeconds: a pod that has just become ready is not available yet, and controllers wait for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import Cluster
from planner.simulation.rollout.draw import RolloutDraw, begin, play
from planner.simulation.rollout.prepare import Prepared, prepare
from tests import seeds
from tests.builders import Object
from tests.planner.simulation.rollout.running import manifests, running, web, zones

#: Longer than the kubelets of most draws take.
SECONDS = 120
ONE_BY_ONE: list[dict[str, Any]] = [
    {"kind": "Deployment", "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
    {"kind": "StatefulSet", "podManagementPolicy": "Parallel"},
    {"kind": "StatefulSet", "podManagementPolicy": "OrderedReady"},
    {"kind": "DaemonSet", "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}},
    {"kind": "DaemonSet", "updateStrategy": {"rollingUpdate": {"maxSurge": 1}}},
]


def prepared(objects: list[Object], item: Object) -> Prepared:
    """The item applied to these objects."""
    return prepare(Cluster.from_objects(objects), manifests(item))


def rolled(seconds: int, seed: int | None, **spec: Any) -> RolloutDraw:
    """A draw in which the three pods of a workload are replaced one by one."""
    objects = running(web(3, **spec), ["a1", "b1", "c1"], *zones("abc"))
    new = web(3, cpu="200m", minReadySeconds=seconds, **spec)
    return play(prepared(objects, new), seed, preemption=True)


def waits(ended: RolloutDraw) -> list[float]:
    """From a new pod being ready until the next one was made, in whole seconds."""
    simulation = ended.simulation
    new = np.flatnonzero(simulation.alive & ~np.isnan(simulation.made_at))
    new = new[np.argsort(simulation.made_at[new])]
    return [float(found) for found in simulation.made_at[new[1:]] - simulation.ready_at[new[:-1]]]


@pytest.mark.parametrize("spec", ONE_BY_ONE, ids=lambda spec: " ".join(map(str, spec.values()))[:40])
def test_the_next_pod_waits_until_one_is_available(spec: dict[str, Any]) -> None:
    """Whatever is drawn: no pod goes, and none follows, before the last one has been ready so long."""
    for seed in (None, *seeds.seeds(3)):
        ended = rolled(SECONDS, seed, **spec)
        assert ended.at_rest
        assert ended.runs[0].completes(ended.simulation)
        found = waits(ended)
        assert len(found) == 2
        assert min(found) >= SECONDS, (seed, found)


def test_without_it_ready_is_available() -> None:
    """The next one follows at once."""
    assert max(waits(rolled(0, None, **ONE_BY_ONE[0]))) == 0


def begun(ready_for: int, seconds: int) -> RolloutDraw:
    """Three pods that became ready so long before the snapshot was taken."""
    objects = running(web(3), ["a1", "b1", "c1"], *zones("abc"))
    objects[0]["metadata"]["creationTimestamp"] = "2026-01-01T01:00:00Z"
    since = f"2026-01-01T00:{59 - ready_for // 60:02}:{60 - ready_for % 60:02}Z"
    for item in objects:
        if item["kind"] == "Pod":
            item["status"]["conditions"][0]["lastTransitionTime"] = since
        if item["kind"] == "ReplicaSet":
            item["spec"]["minReadySeconds"] = seconds
    return begin(prepared(objects, web(3, cpu="200m")), None, preemption=True)


@pytest.mark.parametrize(("ready_for", "left"), [(50, 0), (10, 20.0)])
def test_running_pods_may_not_be_available_yet(ready_for: int, left: float) -> None:
    """Pods of the snapshot have a while to go where they became ready a moment ago."""
    simulation = begun(ready_for, 30).simulation
    assert sorted(simulation.proving.values()) == [left] * 3 * (left > 0)
    assert simulation.ready.sum() == 3
    assert simulation.available.sum() == (0 if left else 3)
