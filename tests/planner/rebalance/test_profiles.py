"""Pods of several scheduler profiles, some of which do not run every filter."""

import json
from pathlib import Path

import pytest

from models import Cluster
from planner import rebalance
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.rebalance.search.chains import AlternativeNodes
from tests.builders import Object, cluster, node, pod, profile, scheduler, spread, term
from tests.planner.rebalance.test_recordings import wrong_in

FOUND = Path(__file__).parents[2] / "data" / "found"
WEB: Object = {"app": "web", "cpu": "1", "owner": "ReplicaSet/web"}


def without(*plugins: str, name: str = "other") -> Object:
    """A profile that does not run some filters."""
    return profile(name, plugins={"filter": {"disabled": [{"name": plugin} for plugin in plugins]}})


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("profile-without-fit", "NodeResourcesFit"),
        ("profile-without-pod-affinity", "InterPodAffinity"),
    ],
)
def test_pods_that_no_filter_keeps_from_doing_harm_stay(name: str, plugin: str) -> None:
    """What went wrong: they were moved to where they broke something else, which is an internal error."""
    given = Cluster.from_objects(json.loads((FOUND / f"{name}.json").read_text())["items"])
    for evict_only in (False, True):
        plan = rebalance(given, evict_only=evict_only)
        assert (plan.steps, plan.after.hard_excess) == ((), 1)
        assert plan.stays[f"of a profile without {plugin}"] == 1


def lopsided(*configured: Object, **words: object) -> Cluster:
    """Three pods in zone a, none in zone b."""
    return cluster(
        node("a", zone="a", cpu="8"),
        node("b", zone="b", cpu="8"),
        *(pod(f"web-{n}", "a", **{**WEB, "spread": [spread()], **words}) for n in range(3)),
        *configured,
    )


def test_a_filter_that_could_refuse_nothing_is_not_missed() -> None:
    """No pod has a host port or a volume, and spread is counted by the plan itself."""
    config = scheduler(without("NodePorts", "VolumeBinding", "PodTopologySpread"))
    given = lopsided(config, scheduler="other")
    plan = rebalance(given)
    assert (len(plan.steps), plan.after.hard_excess) == (1, 0)
    assert wrong_in(given, plan) == []


def test_affinity_peers_stay_whatever_the_scheduler_looks_at() -> None:
    """A pod without a profile, or with one that lacks InterPodAffinity, keeps the peer that it requires."""
    needs = [term("kubernetes.io/hostname", "web")]
    for config in (scheduler(profile(), without("InterPodAffinity")), scheduler(profile())):
        given = cluster(
            node("a1", zone="a"),
            node("a2", zone="a"),
            node("b1", zone="b"),
            pod("web-0", "a1", spread=[spread()], **WEB),
            pod("web-1", "a2", spread=[spread()], **WEB),
            pod("near", "a1", app="near", near=needs, scheduler="other"),
            config,
        )
        plan = rebalance(given)
        assert [step.pod for step in plan.steps] == ["default/web-1"]


def test_room_is_counted_beside_pods_of_other_schedulers() -> None:
    """What went wrong: a pod of a scheduler without a profile was a KeyError where chains are tried."""
    given = cluster(
        node("n1", cpu="2"),
        pod("web", "n1", **WEB),
        pod("strange", "n1", cpu="1", scheduler="stranger"),
    )
    elsewhere = AlternativeNodes(TrialCluster(Problem(given)))
    assert [elsewhere.roomy(template).tolist() for template in (0, 1)] == [[False], [False]]
