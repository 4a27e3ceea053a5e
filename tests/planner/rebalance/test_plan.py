"""Plans on small artificial clusters: the fewest moves, orders that hold, limits that are kept."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from planner import check, rebalance
from planner.moves.constraint_counts import fewest_moves
from tests.builders import HOST, SOFT, ZONE, Object, budget, cluster, node, pod, spread, term, tolerate
from tests.planner.rebalance.test_recordings import moved, wrong_in
from tests.strategies import relaxed


def web(name: str, on: str, **words: Any) -> Object:
    """A replica of a ReplicaSet with a hard zone constraint."""
    more = {"spread": [spread()], "cpu": "1", "owner": "ReplicaSet/web", "app": "web", **words}
    return pod(name, on, **more)


def zones(*names: str, **words: Any) -> list[Object]:
    """A node in each zone."""
    return [node(f"n{number}", zone=zone, **words) for number, zone in enumerate(names)]


def test_a_balanced_cluster_has_no_moves() -> None:
    """Nothing to do is an answer, and proved."""
    plan = rebalance(cluster(*zones("a", "b"), web("w1", "n0"), web("w2", "n1")))
    assert (plan.status, plan.steps, plan.after) == ("Optimal", (), plan.before)


def test_constraints_without_movable_pods_are_left_in_a_large_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside a constraint that lacks room, so that the solver is asked about both."""
    monkeypatch.setattr("planner.proof.move_effort.REGION_VARIABLES", 1)
    scratch = [{"name": "scratch", "emptyDir": {}}]
    plan = rebalance(
        cluster(
            *zones("a", "b", cpu="10"),
            *(node(f"far{number}") for number in range(3)),
            pod("full", "n1", cpu="10"),
            *(web(f"w{n}", "n0") for n in range(3)),
            *(web(f"v{n}", "n0", spread=[spread(app="v")], app="v", volumes=scratch) for n in range(3)),
        )
    )
    assert (plan.status, plan.steps, plan.after) == ("Feasible", (), plan.before)
    assert plan.stays == {"with local storage": 3}


def test_a_lopsided_workload_is_evened_out() -> None:
    """3-0 becomes 2-1 with one eviction."""
    given_ = cluster(*zones("a", "b"), *(web(f"w{n}", "n0") for n in range(3)))
    plan = rebalance(given_)
    assert [(step.source, step.node, step.landing) for step in plan.steps] == [("n0", "n1", "filters")]
    assert (plan.before.hard_excess, plan.after.hard_excess, plan.status) == (2, 0, "Optimal")


def test_other_pods_are_ejected_to_make_room() -> None:
    """A full zone takes a pod when another pod that may run elsewhere leaves it."""
    given_ = cluster(
        *zones("a", "b", cpu="3"),
        *(web(f"w{n}", "n0") for n in range(3)),
        *(pod(f"x{n}", "n1", cpu="1", owner="ReplicaSet/x", app="x") for n in range(3)),
        node("n2", zone="c", cpu="1", taints=["only=x:NoSchedule"]),
    )
    assert rebalance(given_).after.hard_excess == 2
    objects = [
        *zones("a", "b", cpu="3"),
        *(web(f"w{n}", "n0") for n in range(3)),
        *(pod(f"x{n}", "n1", cpu="1", owner="ReplicaSet/x", app="x") for n in range(2)),
        pod("y", "n1", cpu="1", owner="ReplicaSet/y", app="y", tolerations=[tolerate("only")]),
        node("n2", zone=None, cpu="1", taints=["only=x:NoSchedule"]),
    ]
    plan = rebalance(cluster(*objects))
    assert [(step.wave, step.pod, step.node) for step in plan.steps] == [
        (1, "default/y", "n2"),
        (2, plan.steps[1].pod, "n1"),
    ]
    assert plan.steps[0].why == f"makes room on n1 for {plan.steps[1].pod}"
    assert wrong_in(cluster(*objects), plan) == []


def test_a_budget_makes_waves() -> None:
    """With max-unavailable 2 and a budget of one, one pod goes at a time."""
    pods = [web(f"w{n}", "n0", spread=[spread(skew=1)]) for n in range(4)]
    free = cluster(*zones("a", "b"), *pods)
    tight = cluster(*zones("a", "b"), *pods, budget("web", "web", allowed=1))
    shut = cluster(*zones("a", "b"), *pods, budget("web", "web", allowed=0))
    assert [step.wave for step in rebalance(tight, max_unavailable=2).steps] == [1, 2]
    assert len(rebalance(free).steps) == 2
    stays = rebalance(shut)
    assert stays.steps == ()
    assert stays.stays == {"under a PodDisruptionBudget that allows no eviction": 4}


@pytest.mark.parametrize("most", [1, 2])
def test_no_wave_takes_more_of_a_workload_than_may_be_unavailable(most: int) -> None:
    """Six replicas in one of two zones: three of them move, so many at a time and no more."""
    given_ = cluster(*zones("a", "b"), *(web(f"w{n}", "n0", spread=[spread(skew=1)]) for n in range(6)))
    waves = [step.wave for step in rebalance(given_, max_unavailable=most).steps]
    assert len(waves) == 3
    assert max(map(waves.count, waves)) == most


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"owner": None}, "without a controller"),
        ({"owner": "DaemonSet/web"}, "of a DaemonSet"),
        ({"priority": 2_000_000_000}, "of too high a priority"),
        ({"volumes": [{"name": "x", "emptyDir": {}}]}, "with local storage"),
        ({"scheduler": "other"}, "of another scheduler"),
    ],
)
def test_protected_pods_stay(words: Object, reason: str) -> None:
    """What may not be moved stays, and the plan says why."""
    plan = rebalance(cluster(*zones("a", "b"), *(web(f"w{n}", "n0", **words) for n in range(3))))
    assert plan.steps == ()
    assert plan.stays == {reason: 3}


def test_an_owner_that_is_no_controller_makes_no_pod() -> None:
    """What went wrong: pods with any owner reference were evicted, and counted as coming back."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}]
    plan = rebalance(cluster(*zones("a", "b"), *pods))
    assert (plan.steps, plan.stays) == ((), {"without a controller": 3})


@pytest.mark.parametrize(
    "annotation",
    [
        {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
        {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""},
        {"kubernetes.io/config.mirror": "x"},
    ],
)
def test_annotations_protect(annotation: dict[str, str]) -> None:
    """Annotations against eviction are respected."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    for item in pods:
        item["metadata"]["annotations"] = annotation
    assert rebalance(cluster(*zones("a", "b"), *pods)).steps == ()


@pytest.mark.parametrize("value", ["true", "false", "yes"])
def test_scratch_data_that_may_be_lost_holds_no_pod(value: str) -> None:
    """Pods with `safe-to-evict: "true"` are evicted by cluster-autoscaler, and were left alone here."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    for item in pods:
        item["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
        item["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": value}
    assert bool(rebalance(cluster(*zones("a", "b"), *pods)).steps) is (value == "true")
    # Descheduler does not read the annotation, and a policy is kept as Descheduler keeps it.
    assert not rebalance(cluster(*zones("a", "b"), *pods, policy())).steps


def test_local_storage_is_looked_for_pod_by_pod() -> None:
    """What went wrong: the first pod of a template spoke for all, and volumes do not tell templates apart."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    for item in pods[:2]:
        item["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    plan = rebalance(cluster(*zones("a", "b"), *pods))
    assert ([step.pod for step in plan.steps], plan.status) == (["default/w2"], "Optimal")


def test_the_age_of_pods_is_that_in_the_snapshot() -> None:
    """What went wrong: minPodAge asked the wall clock, so the answer changed from day to day."""
    times = ("2026-01-01T00:00:00Z", "2026-01-01T00:50:00Z", "2026-01-01T01:00:00Z")
    pods = [web(f"w{n}", "n0", created=time) for n, time in enumerate(times)]
    plan = rebalance(cluster(*zones("a", "b"), *pods, policy({"minPodAge": "30m"})))
    assert [step.pod for step in plan.steps] == ["default/w0"]
    assert any("2026-01-01T01:00:00" in note for note in plan.notes)


def test_the_cheapest_pod_goes() -> None:
    """Among pods of a template the one with the lowest deletion cost is moved."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    for number, item in enumerate(pods):
        cost = "-5" if number == 1 else "0"
        item["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    assert [step.pod for step in rebalance(cluster(*zones("a", "b"), *pods)).steps] == ["default/w1"]


def policy(evictor: Object | None = None, spreading: Object | None = None, **limits: int) -> Object:
    """A DeschedulerPolicy with these arguments."""
    config = [
        {"name": "DefaultEvictor", "args": evictor or {}},
        {"name": "RemovePodsViolatingTopologySpreadConstraint", "args": spreading or {}},
    ]
    profiles = [{"name": "p", "pluginConfig": config}]
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": profiles, **limits}


@pytest.mark.parametrize(
    ("given_policy", "moves"),
    [
        (policy(), 2),
        (policy(maxNoOfPodsToEvictTotal=1), 1),
        (policy(maxNoOfPodsToEvictPerNode=1), 1),
        (policy(maxNoOfPodsToEvictPerNamespace=0), 0),
        (policy({"priorityThreshold": {"value": 0}}), 0),
        (policy({"minReplicas": 5}), 0),
        (policy({"labelSelector": {"matchLabels": {"app": "db"}}}), 0),
        (policy({"ignorePodsWithoutPDB": True}), 0),
        (policy(None, {"namespaces": {"exclude": ["default"]}}), 0),
        (policy(None, {"namespaces": {"include": ["default"]}}), 2),
    ],
)
def test_a_policy_protects_and_limits(given_policy: Object, moves: int) -> None:
    """What a DeschedulerPolicy says is kept, while as much as possible is repaired."""
    pods = [web(f"w{n}", "n0") for n in range(4)]
    assert len(rebalance(cluster(*zones("a", "b"), *pods, given_policy)).steps) == moves


def test_a_policy_may_ask_for_soft_constraints() -> None:
    """With ScheduleAnyway among the constraints these are repaired as well."""
    pods = [web(f"w{n}", "n0", spread=[spread(when=SOFT)]) for n in range(3)]
    asked = policy(None, {"constraints": ["DoNotSchedule", "ScheduleAnyway"]})
    assert rebalance(cluster(*zones("a", "b"), *pods)).steps == ()
    plan = rebalance(cluster(*zones("a", "b"), *pods, asked))
    assert (len(plan.steps), plan.after.soft_excess) == (1, 0)


def test_an_unknown_duration_is_refused() -> None:
    """minPodAge is a duration as Go spells it."""
    pods = [web(f"w{n}", "n0") for n in range(3)]
    with pytest.raises(InputError, match="minPodAge"):
        rebalance(cluster(*zones("a", "b"), *pods, policy({"minPodAge": "soon"})))


def test_the_best_use_of_few_moves() -> None:
    """--max-moves takes what helps most, and the curve says what more would do."""
    given_ = cluster(*zones("a", "b"), *(web(f"w{n}", "n0") for n in range(6)))
    plan = rebalance(given_, max_moves=1, curve=True)
    assert [(point.moves, point.hard_excess) for point in plan.curve] == [(0, 5), (1, 3)]
    assert (len(plan.steps), plan.after.hard_excess) == (1, 3)


def test_required_affinity_peers_stay() -> None:
    """A pod that another one requires on its node is not moved away."""
    given_ = cluster(
        *zones("a", "b"),
        web("w0", "n0"),
        web("w1", "n0"),
        pod("friend", "n0", near=[term(HOST, "web")], owner="ReplicaSet/friend"),
    )
    plan = rebalance(given_)
    assert check(moved(given_, plan)).findings == ()
    assert len(plan.steps) == 1


@pytest.mark.parametrize(
    ("counts", "skew", "least"),
    [
        ([3, 1], 1, 1),
        ([100, 1, 0], 1, 66),
        ([5, 3, 1, 0], 1, 3),
        ([6, 2], 2, 1),
        ([2, 1, 0], 1, 1),
        ([2, 2], 1, 0),
    ],
)
def test_the_counting_bound(counts: list[int], skew: int, least: int) -> None:
    """The fewest moves between domains, from the numbers alone."""
    import numpy as np

    found = fewest_moves(np.array(counts), skew)
    assert (None if found is None else found[0]) == least


@st.composite
def lopsided(draw: st.DrawFn) -> list[Object]:
    """A small cluster with pods on arbitrary nodes, zone and hostname constraints and little room."""
    machines = [
        node(f"n{number}", zone=draw(st.sampled_from("abc")), cpu=draw(st.sampled_from(["2", "3", "6"])))
        for number in range(draw(st.integers(2, 5)))
    ]
    left = {item["metadata"]["name"]: int(item["status"]["allocatable"]["cpu"]) for item in machines}
    kinds = [
        {
            "app": app,
            "owner": f"ReplicaSet/{app}",
            "spread": [spread(draw(st.sampled_from([ZONE, HOST])), draw(st.integers(1, 2)), app)]
            if draw(st.booleans())
            else [],
            "apart": [term(HOST, app)] if draw(st.integers(0, 5)) == 0 else [],
        }
        for app in ("web", "db", "job")[: draw(st.integers(1, 3))]
    ]
    pods = []
    for number in range(draw(st.integers(1, 9))):
        open_nodes = [name for name, cpu in left.items() if cpu]
        if open_nodes:
            name = draw(st.sampled_from(open_nodes))
            left[name] -= 1
            words = draw(st.sampled_from(kinds))
            pods.append(pod(f"p{number}", name, cpu="1", **{k: v for k, v in words.items() if v}))
    budgets = [budget("web", "web", allowed=draw(st.integers(0, 2)))] if draw(st.booleans()) else []
    return [*machines, *pods, *budgets]


@relaxed
@given(lopsided(), st.integers(1, 2), st.booleans())
def test_any_plan_holds_in_any_order(objects: list[Object], down: int, evict_only: bool) -> None:
    """Whatever finishes first: landings as planned, nothing worse, no pod pending, budgets kept."""
    given_ = cluster(*objects)
    plan = rebalance(given_, max_unavailable=down, evict_only=evict_only, time_limit=20)
    assert wrong_in(given_, plan, orders=4) == []
    assert plan.after.hard_excess <= plan.before.hard_excess
    assert check(moved(given_, plan)).violations <= check(given_).violations
    assert not evict_only or all(step.landing != "pinned" for step in plan.steps)
    for wave in {step.wave for step in plan.steps}:
        workloads = [step.workload for step in plan.steps if step.wave == wave]
        assert all(workloads.count(name) <= down for name in workloads)
        for found in given_.pod_disruption_budgets:
            allowed = found.status.disruptions_allowed if found.status else 0
            assert workloads.count("ReplicaSet/web") <= allowed


def every_placement(given_: Cluster) -> Iterator[tuple[int, int]]:
    """(hard excess, moves) of every placement in which all else holds; pods of one app are alike."""
    names, apps = [item.name for item in given_.nodes], [item.metadata.labels["app"] for item in given_.pods]
    excess: dict[tuple[tuple[str, str], ...], int | None] = {}
    for places in product(names, repeat=len(given_.pods)):
        alike = tuple(sorted(zip(apps, places, strict=True)))
        if alike not in excess:
            excess[alike] = hard_excess(given_, places)
        if (found := excess[alike]) is not None:
            yield found, sum(item.node_name != name for item, name in zip(given_.pods, places, strict=True))


def hard_excess(given_: Cluster, places: Sequence[str]) -> int | None:
    """That of the same cluster with its pods in these places; None where something else does not hold."""
    pods = tuple(
        item.model_copy(update={"spec": item.spec.model_copy(update={"node_name": name})})
        for item, name in zip(given_.pods, places, strict=True)
    )
    report = check(replace(given_, pods=pods))
    return None if report.findings else report.hard_excess


@relaxed
@given(st.lists(st.integers(0, 2), min_size=2, max_size=4), st.integers(1, 2), st.integers(0, 1))
def test_no_placement_is_better(places: list[int], skew: int, others: int) -> None:
    """On tiny clusters: what is proved is what an enumeration of every placement finds."""
    machines = [node(f"n{number}", zone="aab"[number], cpu="3") for number in range(3)]
    pods = [web(f"w{n}", f"n{place}", spread=[spread(skew=skew)]) for n, place in enumerate(places)]
    pods += [pod(f"x{n}", "n2", cpu="2", owner="ReplicaSet/x", app="x") for n in range(others)]
    given_ = cluster(*machines, *pods)
    if check(given_).findings:
        return
    plan = rebalance(given_)
    stages = {stage.name: stage for stage in plan.objective}
    best = min(every_placement(given_))
    reached = (plan.after.hard_excess, len(plan.steps))
    assert reached >= best
    if stages["hardExcess"].proved and stages["moves"].proved:
        assert reached == best
