"""What `capacity` says, beside workloads that are scaled, and what `--best` says, beside random binds."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from models import Cluster, InputError
from planner import capacity
from planner.documents.capacity import WorkloadCapacity
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from planner.whatif import scale
from tests.planner.capacity_clusters import left_over, replica_set
from tests.truth import manifests
from tests.truth.findings import Finding
from tests.truth.generator import Case
from tests.truth.manifests import Object
from tests.truth.random_binds import bound_at_random
from tests.truth.search_profiles import leave_filters_out

#: Replicas above the bound that are tried, orders for each workload, the largest bound that is looked at.
_MORE, _ORDERS, _MOST = 3, 6, 80


def capacity_refuted(case: Case, time_limit: float) -> Iterator[Finding]:
    """Workloads that kube-scheduler has not as much room for as is said, or some order of binds more.

    Profiles without some filter are left out: where none looks at resources there is no limit.
    """
    if leave_filters_out(case.objects):
        return
    try:
        cluster = Cluster.from_objects(with_workloads(case.objects))
        rows = capacity(cluster, best=True, time_limit=time_limit).workloads
    except InputError:
        return
    chance = random.Random(f"capacity {case.seed}")
    # Pods that are missing of a StatefulSet wait, too, and take their room first.
    waiting = any(not pod.spec.node_name for pod in cluster.pods)
    for row in rows:
        if row.more <= _MOST and row.limited_by != ("SchedulerName",):
            fewer, one_more = (len(left_over(cluster, row, more)) for more in (row.more, row.more + 1))
            if fewer or not one_more:
                yield Finding(
                    "false", f"{row.workload}: more {row.more}, {fewer} and {one_more} are left over"
                )
        # What the API server does not create is not asked here.
        if waiting or row.bound is None or row.bound > _MOST or row.message.startswith("not created"):
            continue
        placed = max(_placed(cluster, row, chance) for _ in range(_ORDERS))
        if placed > row.bound:
            text = f"{row.workload}: more {row.more}, best {row.best}, bound {row.bound}, {placed} are placed"
            yield Finding("false", text)


def with_workloads(objects: Sequence[Object]) -> list[Object]:
    """The same without pods that wait, which would come first, and with the ReplicaSets behind the others."""
    kept = [item for item in objects if item["kind"] != "Pod" or item["spec"].get("nodeName")]
    pods: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for item in kept:
        owner = manifests.controller(item) if item["kind"] == "Pod" else None
        if owner is not None and owner["kind"] == "ReplicaSet":
            pods[item["metadata"]["namespace"], owner["name"]].append(item)
    return [*kept, *(replica_set(name, found) for (_, name), found in pods.items())]


def _placed(cluster: Cluster, row: WorkloadCapacity, chance: random.Random) -> int:
    """How many new replicas find a node when each takes any that the filters accept."""
    assert row.bound is not None
    known = {pod.key for pod in cluster.pods}
    more = row.bound + _MORE
    scaled = scale(cluster, f"{row.workload}.{row.namespace}", row.replicas + more)
    scheduler = Scheduler(Problem(scaled), preemption=False)
    fresh = (number for number, pod in enumerate(scheduler.problem.pods) if pod.key not in known)
    return len(bound_at_random(scheduler, fresh, chance))
