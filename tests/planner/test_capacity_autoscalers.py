"""`capacity --autoscalers`: who stays pending when all are at their maximum, and who even alone."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from planner import capacity
from planner.documents.capacity import AutoscalerCapacity
from tests import seeds
from tests.builders import HOST, ZONE, Object, cluster, node, pod, replica, revision, scaled, term
from tests.draws import nothing_drawn
from tests.planner.capacity_clusters import web


@pytest.fixture(autouse=True)
def _one_way_of_ties() -> Iterator[None]:
    """No test here looks at draws of other ties."""
    with nothing_drawn():
        yield


def autoscaler(most: int, name: str = "web", kind: str = "Deployment") -> Object:
    """One of a workload."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name},
            "minReplicas": 1,
            "maxReplicas": most,
        },
    }


@pytest.mark.parametrize(("most", "pending"), [(4, 0), (9, 5)])
def test_autoscalers_at_their_maximum(most: int, pending: int) -> None:
    """How many pods stay pending then, and whether that is so for one alone."""
    found = cluster(node("a1", cpu="4"), web(1, cpu="1"), autoscaler(most))
    (row,) = capacity(found, autoscalers=True).autoscalers
    assert (row.workload, row.max_replicas, row.pending, row.alone) == (
        "Deployment/web",
        most,
        pending,
        pending,
    )


def pending(room: int, asked: dict[str, int], ranks: dict[str, int]) -> dict[str, int]:
    """Of pods of one cpu how many of each workload have none of these, the highest priority first."""
    found = {}
    for name in sorted(asked, key=ranks.__getitem__, reverse=True):
        found[name] = max(0, asked[name] - room)
        room -= asked[name] - found[name]
    return found


class Drawn:
    """Nodes with room for so many pods of one cpu, and Deployments with priorities, replicas and maxima."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.room = [draw.randint(0, 5) for _ in range(draw.randint(1, 4))]
        self.zones = draw.choices("ab", k=len(self.room))
        self.names = [f"w{number}" for number in range(draw.randint(1, 4))]
        ranks = draw.sample(range(1, 9), len(self.names))
        self.ranks = dict(zip(self.names, ranks, strict=True))
        self.now, self.most = ({name: draw.randint(1, 6) for name in self.names} for _ in range(2))

    def rows(self, **options: Any) -> Sequence[AutoscalerCapacity]:
        """What is said of the autoscalers."""
        nodes = enumerate(zip(self.zones, self.room, strict=True))
        items = [node(f"n{number}", zone, cpu=str(cpu)) for number, (zone, cpu) in nodes]
        for name in self.names:
            items.append(scaled("Deployment", name, self.now[name], cpu="1", priority=self.ranks[name]))
            items.append(autoscaler(self.most[name], name))
        return capacity(cluster(*items), autoscalers=True, **options).autoscalers

    def pending(self, name: str, lost: str | None = None) -> tuple[int, int]:
        """How many pods of a Deployment have no room, together and alone, without one of the zones."""
        room = sum(cpu for zone, cpu in zip(self.zones, self.room, strict=True) if zone != lost)
        together, alone = self.most, {**self.now, name: self.most[name]}
        return pending(room, together, self.ranks)[name], pending(room, alone, self.ranks)[name]


def test_of_pods_of_one_size_those_of_the_highest_priorities_have_the_room() -> None:
    """So many pods stay pending, together and alone, as arithmetic says."""
    for seed in seeds.seeds(12):
        case = Drawn(seed)
        told = {row.name: (row.pending, row.alone) for row in case.rows()}
        assert told == {name: case.pending(name) for name in case.names}, seed


def test_of_any_zone_that_is_lost_the_worst_counts() -> None:
    """For each autoscaler by itself: the zone that is named leaves so many of its pods pending."""
    for seed in seeds.seeds(4):
        case = Drawn(seed)
        for row in case.rows(survive=ZONE):
            without = {zone: case.pending(row.name, zone) for zone in case.zones}
            assert row.lost is not None
            assert (row.pending, row.alone) == without[row.lost] == max(without.values()), (seed, row)


def test_autoscalers_at_their_maximum_without_any_one_zone() -> None:
    """What went wrong: the loss of a zone was left out, and 0 pods were pending."""
    nodes = [node("a1", zone="a", cpu="4"), node("b1", zone="b", cpu="2")]
    (row,) = capacity(
        cluster(*nodes, web(1, cpu="1"), autoscaler(5)), autoscalers=True, survive=ZONE
    ).autoscalers
    assert (row.pending, row.alone, row.lost) == (3, 3, "a")


def test_two_autoscalers_of_a_workload() -> None:
    """What went wrong: the last one's maximum counted, and nothing was pending."""
    one, other = autoscaler(9), autoscaler(4)
    other["metadata"]["name"] = "smaller"
    found = capacity(cluster(node("a1", cpu="4"), web(1, cpu="1"), one, other), autoscalers=True)
    assert {row.name: (row.pending, row.alone) for row in found.autoscalers} == {
        "web": (5, 5),
        "smaller": (5, 0),
    }


def test_an_autoscaler_of_a_replicaset_that_a_deployment_scales_is_left_out() -> None:
    """What went wrong: an error that did not name the autoscaler."""
    owner = web(1, cpu="1")
    target = revision(owner)
    scaler = autoscaler(9, target["metadata"]["name"], "ReplicaSet")
    found = capacity(cluster(node("a1"), owner, target, scaler), autoscalers=True)
    assert found.autoscalers == ()
    assert any("is left out: Deployment default/web sets the replicas" in note for note in found.notes)


def test_an_autoscaler_that_takes_pods_away_makes_room_for_another() -> None:
    """Together they fit; at its maximum alone one leaves pods pending."""
    db = scaled("Deployment", "db", 3, cpu="1", priority=1)
    found = cluster(node("a1", cpu="4"), web(1, cpu="1"), db, autoscaler(3), autoscaler(1, "db"))
    rows = {row.name: (row.pending, row.alone) for row in capacity(found, autoscalers=True).autoscalers}
    assert rows == {"web": (0, 2), "db": (0, 0)}


@pytest.mark.parametrize(("cpu", "pending"), [("3", 2), ("4", 1), ("5", 0)])
def test_replicas_that_another_workload_preempts_stay_pending(cpu: str, pending: int) -> None:
    """What went wrong: their workload was said to be complete; coming back they find no node."""
    web = scaled("Deployment", "web", 2, cpu="1")
    pods = [replica(revision(web), f"web-{number}", "a1") for number in range(2)]
    api = scaled("Deployment", "api", 0, cpu="1", priority=1)
    scalers = [autoscaler(2), autoscaler(3, "api")]
    found = cluster(node("a1", cpu=cpu), web, revision(web), *pods, api, *scalers)
    rows = {row.name: (row.pending, row.alone) for row in capacity(found, autoscalers=True).autoscalers}
    assert rows == {"web": (pending, 0), "api": (0, 0)}


def test_a_pod_that_asks_for_one_that_comes_later_is_tried_again() -> None:
    """What went wrong: it was said to stay pending, with exit code 1; kube-scheduler takes it up again."""
    asks = scaled("Deployment", "asks", 0, cpu="1", near=[term(HOST, "web")])
    scalers = [autoscaler(1, "asks"), autoscaler(1)]
    found = capacity(cluster(node("a1", cpu="4"), asks, web(0, cpu="1"), *scalers), autoscalers=True)
    assert {row.name: (row.pending, row.alone) for row in found.autoscalers} == {
        "asks": (0, 1),
        "web": (0, 0),
    }


def test_alone_an_autoscaler_lacks_the_pods_that_another_one_brings() -> None:
    """What went wrong: where all pods have nodes together, alone was 0 without a look, and it is 2."""
    asks = scaled("Deployment", "asks", 0, cpu="1", near=[term(HOST, "web")])
    scalers = [autoscaler(2, "asks"), autoscaler(1)]
    found = capacity(cluster(node("a1", cpu="4"), asks, web(0, cpu="1"), *scalers), autoscalers=True)
    assert {row.name: (row.pending, row.alone) for row in found.autoscalers} == {
        "asks": (0, 2),
        "web": (0, 0),
    }


def test_alone_an_autoscaler_lacks_the_room_that_another_one_makes() -> None:
    """What went wrong: a pod of `api` preempts one that is larger than itself, and alone was 0 for `web`."""
    owner, api = web(0, cpu="1"), scaled("Deployment", "api", 0, cpu="1", priority=1)
    scalers = [autoscaler(1), autoscaler(1, "api")]
    large = pod("large", "a1", cpu="2")
    found = capacity(cluster(node("a1", cpu="2"), owner, api, large, *scalers), autoscalers=True)
    assert {row.name: (row.pending, row.alone) for row in found.autoscalers} == {
        "web": (0, 1),
        "api": (0, 0),
    }


def test_a_preempted_pod_that_nothing_makes_again_takes_no_room() -> None:
    """What went wrong: it came back, and took the room of a replica that was preempted with it."""
    owner = web(1, cpu="1")
    running = [pod("bare", "a1", cpu="1"), replica(revision(owner), "web-1", "a1")]
    api = scaled("Deployment", "api", 0, cpu="2", priority=1)
    nodes = [node("a1", cpu="2"), node("b1", cpu="1")]
    scalers = [autoscaler(1), autoscaler(1, "api")]
    found = capacity(cluster(*nodes, owner, revision(owner), *running, api, *scalers), autoscalers=True)
    assert {row.name: row.pending for row in found.autoscalers} == {"web": 0, "api": 0}


def test_replicas_of_a_scheduler_without_a_profile_stay_pending() -> None:
    """What went wrong: at their maximum none was pending, and one that is preempted was an internal error."""
    other = web(1, cpu="1", scheduler="volcano")
    (row,) = capacity(cluster(node("a1"), other, autoscaler(9)), autoscalers=True).autoscalers
    assert (row.pending, row.alone) == (9, 9)
    assert row.message == "it asks for scheduler volcano, which has no profile here"
    low = scaled("Deployment", "web", 1, cpu="3", scheduler="volcano")
    runs, api = replica(revision(low), "web-0", "a1"), scaled("Deployment", "api", 0, cpu="2", priority=1)
    found = cluster(node("a1"), low, revision(low), runs, api, autoscaler(1), autoscaler(1, "api"))
    rows = {row.name: row.pending for row in capacity(found, autoscalers=True).autoscalers}
    assert rows == {"web": 1, "api": 0}
