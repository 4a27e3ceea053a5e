"""When a pod counts as available, and what follows from it, as the real controllers have it."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from models import Cluster
from planner.documents.rollout import Rollout
from planner.simulation.rollout import rollout
from tests.e2e.contact_record import Event, Recorder
from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import node, workload

_SECONDS = 4
_KINDS = "deployments,replicasets,statefulsets,daemonsets,nodes,pods,namespaces,priorityclasses"


def _foreseen(live: ControlPlane, *items: Manifest) -> Rollout:
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    after = Cluster.from_objects(items, partial=True)
    return rollout(Cluster.from_objects(dump["items"]), after, replays=0, fixes=False)


def _changed(item: Manifest, **annotations: str) -> Manifest:
    new: Manifest = json.loads(json.dumps(item))
    template = new["spec"]["template"]
    template["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "200m"
    template["metadata"]["annotations"] = annotations
    return new


def _applied(live: ControlPlane, *items: Manifest) -> None:
    live.kubectl("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _cpu(pod: Manifest) -> str:
    return str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _are_new(live: ControlPlane, pods: int) -> list[Manifest] | None:
    found = live.get("pods")
    done = len(found) == pods and all(is_ready(pod) and _cpu(pod) == "200m" for pod in found)
    return found if done else None


def _looked_at(live: ControlPlane, pods: int) -> list[Manifest] | None:
    """The new pods once all are ready; until then their controllers are made to look at them.

    A queue of client-go keeps one time for each key, the earliest.  Where a controller is about to try again
    because its cache was stale (as those of 1.36 find out), it forgets that it was to look when a pod becomes
    available, and without another event a rollout waits for ever.
    """
    found = _are_new(live, pods)
    if found is None:
        touch = f"touched={time.monotonic()}"
        live.kubectl("annotate", "statefulsets,daemonsets", "--all", "--overwrite", touch)
    return found


def _when(pod: Manifest) -> tuple[datetime, datetime]:
    """When it was made, and when it became ready."""
    ready = next(c["lastTransitionTime"] for c in pod["status"]["conditions"] if c["type"] == "Ready")
    made: datetime = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    return made, datetime.fromisoformat(ready)


def _daemons(name: str, **rolling: Any) -> Manifest:
    item = workload(name, 0, kind="DaemonSet")
    del item["spec"]["replicas"]
    item["spec"]["updateStrategy"] = {"rollingUpdate": rolling}
    return item


def test_the_next_pod_waits_for_min_ready_seconds(live: ControlPlane) -> None:
    """Of every kind, one by one: as in a draw no pod is made before the last one was ready for so long."""
    live.create(*(node(f"n{zone}", zone=zone) for zone in "abc"))
    parallel = workload("parallel", 3, kind="StatefulSet")
    parallel["spec"]["podManagementPolicy"] = "Parallel"
    web = workload("web", 3)
    web["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    items = [
        web,
        parallel,
        workload("ordered", 3, kind="StatefulSet"),
        _daemons("surge", maxSurge=1, maxUnavailable=0),
        _daemons("place", maxUnavailable=1),
    ]
    for item in items:
        item["spec"]["minReadySeconds"] = _SECONDS
    live.create(*items)
    live.at_rest(3 * len(items))
    after = [_changed(item) for item in items]
    foreseen = _foreseen(live, *after)
    assert foreseen.completes
    _applied(live, *after)
    times: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for pod in wait_for("new pods", lambda: _looked_at(live, 3 * len(items))):
        times[pod["metadata"]["labels"]["app"]].append(_when(pod))
    assert len(times) == len(items)
    for name, found in times.items():
        found.sort()
        waits = [(made - ready).total_seconds() for (_, ready), (made, _) in pairwise(found)]
        assert min(waits) >= _SECONDS, (name, waits)


def _have_nodes(live: ControlPlane, pods: int) -> bool:
    return sum("nodeName" in pod["spec"] for pod in live.get("pods")) == pods


def test_with_surge_sick_pods_are_replaced_all_at_once(live: ControlPlane) -> None:
    """Whatever maxSurge says; the old ones go as soon as the new ones are there, before these are ready."""
    live.create(*(node(f"n{zone}", zone=zone) for zone in "abc"))
    old = _daemons("web", maxSurge=1, maxUnavailable=0)
    old["spec"]["template"]["metadata"]["annotations"] = {"stand-in/ready-after": "1000"}
    live.create(old)
    wait_for("pods with nodes", lambda: _have_nodes(live, 3))
    new = _changed(old, **{"stand-in/ready-after": "3"})
    row = _foreseen(live, new).workloads[0]
    with Recorder(live) as recorder:
        _applied(live, new)
        wait_for("new pods", lambda: _are_new(live, 3))
    states = list(_states(recorder.events))
    assert [(step.old, step.new) for step in row.steps] == [(3, 3), (0, 3)]
    assert (3, 3, False) in states
    assert {old for old, _, ready in states if ready} == {0}


def _states(events: Sequence[Event]) -> Iterator[tuple[int, int, bool]]:
    """After every event the old pods and the new ones that are there, and whether one of them is ready."""
    there: dict[str, Manifest] = {}
    for event in events:
        there[event.name] = event.item
        if event.gone:
            del there[event.name]
        new = sum(_cpu(pod) == "200m" for pod in there.values())
        yield len(there) - new, new, any(map(is_ready, there.values()))
