"""`planner.capacity` of workloads whose pods bring claims: counted in bulk where these are all alike."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from models import Cluster
from models.objects.annotations import SELECTED_NODE
from planner import capacity
from planner.capacity.growth import Asked
from planner.capacity.replicas import Found
from planner.problem.volume_claims import claims_of
from planner.scheduler.scheduler import Scheduler
from tests import seeds
from tests.builders import (
    LONG_AGO,
    Object,
    claim,
    cluster,
    csi_node,
    node,
    quota,
    scaled,
    storage_class,
    volume,
)
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import left_over
from tests.planner.claim_clusters import with_claims

WALK, ROOM = sys.modules["planner.capacity.walk"], sys.modules["planner.capacity.replicas"]
_DRIVER = "example.com/disk"
_WAITS = storage_class("cloud", _DRIVER)


@pytest.mark.parametrize("number", seeds.given_and_fresh(56, 1012))
@nothing_drawn()
def test_replicas_with_claims_are_counted_as_simulated(number: int | None) -> None:
    """In one state and in bulk it is what simulations find, in which each claim has its own name."""
    ways = Counter[str]()
    first = seeds.fresh()
    for seed in [number] if number is not None else (first + turn for turn in seeds.until(4, ways, 2)):
        objects = with_claims(seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WALK, "is_plain", lambda *_: False)
            simulated = rows(objects)
        with one_by_one(1_000), watched(ways):
            assert rows(objects) == simulated, f"seed {seed}"
        if mounts_claims_to_come(Cluster.from_objects(objects)):
            continue
        with one_by_one(1), watched(ways):
            # Of a domain that is full to its limit the line may count other nodes.
            assert [row[:2] for row in rows(objects)] == [row[:2] for row in simulated], f"seed {seed}"
    assert number is not None or len(ways) == 2


@pytest.mark.parametrize("number", seeds.given_and_fresh(1012))
@nothing_drawn()
def test_more_replicas_with_claims_are_those_that_scale_has_placed(number: int | None) -> None:
    """Scaled by `more` all are placed; by one more exactly one is not, for the reason that simulate has."""
    for seed in [number] if number is not None else seeds.seeds(3):
        found = Cluster.from_objects(with_claims(seed))
        if mounts_claims_to_come(found):
            continue
        with one_by_one(1_000):
            several = capacity(found).workloads
        for row in several:
            assert not row.more or not left_over(found, row, row.more), f"seed {seed}"
            (decision,) = left_over(found, row, row.more + 1)
            assert decision.message == row.message, f"seed {seed}"


def mounts_claims_to_come(found: Cluster) -> bool:
    """Whether a pod mounts a claim of a replica to come: then it matters how many are simulated at once."""
    known = {claim.key for claim in found.persistent_volume_claims}
    return any(use.key not in known and not use.ephemeral for pod in found.pods for use in claims_of(pod))


def rows(objects: list[Object]) -> list[tuple[Any, ...]]:
    """How many more there are of each workload, and what limits it."""
    found = capacity(Cluster.from_objects(objects)).workloads
    return sorted((row.workload, row.more, row.limited_by, row.message) for row in found)


@contextmanager
def one_by_one(replicas: int) -> Iterator[None]:
    """So many replicas are placed at most before the others are counted in bulk."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (WALK, ROOM):
            patch.setattr(module, "REPLICAS_ONE_BY_ONE", replicas)
        yield


@contextmanager
def watched(ways: Counter[str]) -> Iterator[None]:
    """Note how workloads are counted whose replicas bring claims that wait."""
    simulate, count = WALK._by_simulation, ROOM._in_bulk

    def simulated(found: Cluster, asked: Asked, *more: Any) -> Any:
        if getattr(asked.workload.spec, "volume_claim_templates", ()):
            ways["simulated"] += 1
        return simulate(found, asked, *more)

    def in_bulk(scheduler: Scheduler, pod: int, *more: Any) -> Found | None:
        found: Found | None = count(scheduler, pod, *more)
        waiting = scheduler.state.claims.open_claims(scheduler.problem.pods[pod])
        if found is not None and waiting:
            ways["in bulk"] += 1
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WALK, "_by_simulation", simulated)
        patch.setattr(ROOM, "_in_bulk", in_bulk)
        yield


def with_templates(kind: str = "StatefulSet", **words: Any) -> Object:
    """A workload without replicas so far, each to come with a claim."""
    made = claim("data", storageClassName="cloud", **words)
    found = scaled("ReplicaSet" if kind == "CloneSet" else kind, "db", 0, cpu="1")
    found["spec"]["volumeClaimTemplates"] = [{key: made[key] for key in ("metadata", "spec")}]
    found["kind"] = kind
    if kind == "CloneSet":
        found["apiVersion"] = "apps.kruise.io/v1alpha1"
    return found


def test_claims_alike_are_counted_on_many_nodes() -> None:
    """What went wrong: each of thousands of replicas was simulated, for minutes."""
    machines = [node(f"n{number}", cpu="8") for number in range(300)]
    limits = [csi_node(f"n{number}", _DRIVER, 5) for number in range(200)]
    ways = Counter[str]()
    with nothing_drawn(), watched(ways):
        (row,) = capacity(cluster(*machines, *limits, _WAITS, with_templates())).workloads
    assert (row.more, row.limited_by) == (200 * 5 + 100 * 8, ("NodeVolumeLimits", "NodeResourcesFit"))
    assert ways == {"in bulk": 1}


@pytest.mark.parametrize("modes", [["ReadWriteOnce"], ["ReadWriteOncePod"]])
def test_every_clone_has_a_claim_for_itself(modes: list[str]) -> None:
    """What went wrong: the first pod's claim stood for those of all, and they fitted on its node alone."""
    machines = [node(f"n{number}", cpu="4") for number in range(3)]
    (row,) = capacity(cluster(*machines, _WAITS, with_templates("CloneSet", modes=modes))).workloads
    assert row.more == 12


def test_a_claim_that_is_kept_of_an_earlier_replica_binds_the_next_one() -> None:
    """Replicas are not alike then: that of ordinal 2 has a volume on n0, where no room is left for it."""
    kept = claim("data-db-2", storageClassName="cloud")
    kept["metadata"] |= {"annotations": {SELECTED_NODE: "n0"}, "creationTimestamp": LONG_AGO}
    machines = [node("n0", cpu="500m"), node("n1", cpu="9")]
    (row,) = capacity(cluster(*machines, _WAITS, kept, with_templates())).workloads
    assert (row.more, row.limited_by) == (2, ("NodeResourcesFit", "VolumeBinding"))


def test_a_quota_counts_the_claims_of_replicas_to_come() -> None:
    """Each brings 1Gi, and five have room, of which none is simulated by itself."""
    limited, ways = quota({"requests.storage": "5Gi"}, "disks"), Counter[str]()
    with watched(ways):
        (row,) = capacity(cluster(node("n0", cpu="9"), _WAITS, limited, with_templates())).workloads
    assert (row.more, row.limited_by, ways["simulated"]) == (5, ("ResourceQuota",), 0)
    told = "exceeded quota: disks, requested: requests.storage=1Gi, used: requests.storage=5Gi"
    assert told in row.message


@pytest.mark.parametrize(("mode", "more"), [("ReadWriteMany", 12), ("ReadWriteOncePod", 1)])
def test_a_bound_claim_that_all_replicas_mount(mode: str, more: int) -> None:
    """With ReadWriteOncePod the first replica keeps all others out."""
    shared = [claim("all", "of-all", modes=[mode]), volume("of-all", claimRef={"name": "all"})]
    web = scaled("Deployment", "web", 0, cpu="1", claims=["all"])
    machines = [node(f"n{number}", cpu="4") for number in range(3)]
    with one_by_one(1):
        (row,) = capacity(cluster(*machines, *shared, web)).workloads
    assert row.more == more
