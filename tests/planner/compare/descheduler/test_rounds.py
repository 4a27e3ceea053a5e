"""Descheduler's rounds: which pods are evicted, and how it ends."""

import pytest

from models import Cluster
from planner.audit.findings import audit
from planner.compare.descheduler import Descheduled, descheduled
from planner.compare.descheduler.eviction_round import given, is_balanced
from planner.eviction.protections import protections_of
from planner.problem.problem import Problem
from tests.builders import HOST, LONG_AGO, Object, budget, cluster, node, pod, spread
from tests.planner.compare.descheduler.restarted_rack import restarted_rack


def played(found: Cluster, seed: int | None = None, most_rounds: int = 6) -> Descheduled:
    """What Descheduler makes of a cluster."""
    return descheduled(Problem(found), protections_of(found), seed=seed, most_rounds=most_rounds)


def lopsided(many: int = 4, **words: object) -> list[Object]:
    """So many pods in zone a, none in zone b."""
    words = {"spread": [spread()], "app": "web", "owner": "ReplicaSet/web", **words}
    return [
        node("a1", zone="a"),
        node("b1", zone="b"),
        *(pod(f"web-{number}", on="a1", cpu="100m", **words) for number in range(many)),
    ]


def evicted(*objects: Object, seed: int | None = None) -> list[str]:
    """The pods of the first round."""
    found = cluster(*objects)
    problem = Problem(found)
    rounds = descheduled(problem, protections_of(found), seed=seed, most_rounds=1).rounds
    return sorted(problem.pods[pod].name for several in rounds for pod in several)


def policy(**more: object) -> Object:
    """A DeschedulerPolicy."""
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", **more}


def test_two_domains_are_evened_out() -> None:
    """Of 4 and 0 two go: half of what is above maxSkew, rounded up."""
    ended = played(cluster(*lopsided()))
    assert (list(map(len, ended.rounds)), ended.ending, ended.waiting) == ([2], "AtRest", ())


def test_a_balanced_cluster_is_left_alone() -> None:
    """Within maxSkew nothing happens, in no round."""
    ended = played(cluster(*lopsided(1)))
    assert (ended.rounds, ended.ending) == ((), "AtRest")


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_highest_priority_goes_first(seed: int | None) -> None:
    """As it is, and other than its comments say: pods are taken from the end of an ascending list."""
    assert evicted(*lopsided(3), pod("high", on="a1", priority=9, **WEB), seed=seed)[0] == "high"


WEB = {"app": "web", "owner": "ReplicaSet/web", "spread": [spread()], "cpu": "100m"}


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_pods_with_a_node_selector_go_last(seed: int | None) -> None:
    """Whatever their priority."""
    picky = pod("picky", on="a1", priority=9, node_selector={"kubernetes.io/os": "linux"}, **WEB)
    found = [*lopsided(3), picky]
    for item in found[:2]:
        item["metadata"]["labels"]["kubernetes.io/os"] = "linux"
    # The selector makes its constraint one of its own, as nodes are eligible by it.
    assert "picky" not in evicted(*found, seed=seed)


@pytest.mark.parametrize(
    "words",
    [
        {"owner": None},
        {"owner": "DaemonSet/web"},
        {"priority": 2_000_000_000},
        {"volumes": [{"name": "scratch", "emptyDir": {}}]},
    ],
)
def test_protected_pods_are_neither_evicted_nor_counted(words: Object) -> None:
    """DefaultEvictor lets none of them go, so the plugin does not see that the zone is too full."""
    assert evicted(*lopsided(**words)) == []


def test_an_annotation_against_eviction_is_not_asked() -> None:
    """It is a preference, which this plugin does not look at; `rebalance` does."""
    stay = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": "true"}
    assert len(evicted(*lopsided(annotations=stay))) == 2


def test_budgets_hold() -> None:
    """The API server refuses what the budget does not allow; the next round asks again."""
    ended = played(cluster(*lopsided(8), budget("web", "web", 1)))
    assert all(len(several) == 1 for several in ended.rounds)


def test_limits_of_the_policy_hold_in_every_round() -> None:
    """In all, per node and per namespace."""
    for name in ("maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"):
        ended = played(cluster(*lopsided(8), policy(**{name: 2})))
        assert [len(several) for several in ended.rounds] == [2, 2]


def test_soft_constraints_count_when_the_policy_says_so() -> None:
    """DoNotSchedule alone by default."""
    found = lopsided(spread=[spread(when="ScheduleAnyway")])
    config = {
        "name": "RemovePodsViolatingTopologySpreadConstraint",
        "args": {"constraints": ["DoNotSchedule", "ScheduleAnyway"]},
    }
    assert evicted(*found) == []
    assert len(evicted(*found, policy(profiles=[{"name": "soft", "pluginConfig": [config]}]))) == 2


def test_without_room_where_there_are_few_nothing_is_evicted() -> None:
    """topologyBalanceNodeFit: a cordoned node takes no pod."""
    first, second, *pods = lopsided()
    second["spec"]["unschedulable"] = True
    assert evicted(first, second, *pods) == []


def test_pods_that_nothing_makes_again_are_gone() -> None:
    """They are neither placed nor Pending: of 4 and 0 two go, of 2 and 0 one more."""
    deleted = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "web",
            "deletionTimestamp": LONG_AGO,
        },
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}},
    }
    ended = played(cluster(*lopsided(), deleted))
    assert (sum(map(len, ended.rounds)), len(ended.waiting), int((ended.node_of >= 0).sum())) == (3, 0, 1)


def test_two_constraints_evict_more_than_has_to_move() -> None:
    """Descheduler issue 1535: each constraint chooses by itself, by a draw 26 pods where 16 must move."""
    problem = Problem(restarted_rack())
    protections = protections_of(problem.cluster)
    runs = [descheduled(problem, protections, seed=seed) for seed in range(1, 31)]
    firsts = [len(run.rounds[0]) for run in runs]
    assert min(firsts) > 16
    assert 26 in firsts
    assert {audit(problem, run.node_of).hard_excess for run in runs if run.ending == "AtRest"} == {0}


def test_domains_give_what_brings_them_together() -> None:
    """[0, 1, 3, 5] becomes [2, 2, 3, 2], whichever pods these are."""
    domains = [[], [1], [2, 3, 4], [5, 6, 7, 8, 9]]
    assert len([*given(domains, 1, lambda _: True)]) == 3
    assert sorted(map(len, domains)) == [2, 2, 2, 3]
    assert is_balanced([2, 2, 2, 3], 1)
    assert not is_balanced([1, 3], 1)


def test_pods_that_fit_elsewhere_are_given_first() -> None:
    """The others count as given only where there are no more of those that fit."""
    assert [*given([[], [1, 2, 3, 4]], 1, lambda pod: pod < 3)] == [1, 2]


def without_a_look_for_room(**more: object) -> Object:
    """A policy that evicts pods wherever they may go."""
    args = {"topologyBalanceNodeFit": False, **more}
    config = {"name": "RemovePodsViolatingTopologySpreadConstraint", "args": args}
    return policy(profiles=[{"name": "x", "pluginConfig": [config]}])


def test_it_can_go_in_circles() -> None:
    """Without the look for room a pod that has nowhere else to go comes back in every round."""
    tied = {"node_selector": {HOST: "a1"}}
    soft = lopsided(3, spread=[spread(when="ScheduleAnyway", nodeAffinityPolicy="Ignore")], **tied)
    both = without_a_look_for_room(constraints=["DoNotSchedule", "ScheduleAnyway"])
    ended = played(cluster(*soft, both))
    assert (ended.ending, sum(map(len, ended.rounds)), len(ended.waiting)) == ("Circles", 6, 0)


def test_a_pod_that_has_nowhere_else_to_go_stays_pending() -> None:
    """Where the constraint is hard it cannot come back either."""
    hard = lopsided(3, spread=[spread(nodeAffinityPolicy="Ignore")], node_selector={HOST: "a1"})
    ended = played(cluster(*hard, without_a_look_for_room()))
    assert (ended.ending, len(ended.waiting)) == ("AtRest", 2)


def test_an_evicted_pod_of_another_scheduler_waits_for_it() -> None:
    """What went wrong: it was given to a scheduler that there is no profile of."""
    ended = played(cluster(*lopsided(4, scheduler="volcano")))
    assert (ended.ending, sum(map(len, ended.rounds)), len(ended.waiting)) == ("AtRest", 3, 3)
