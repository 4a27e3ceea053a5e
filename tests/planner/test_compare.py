"""`compare`: the figures of both sides, against what the other commands say by themselves."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from models import Cluster
from planner import InputError, compare, simulate, solve
from planner.documents.comparison import Comparison
from planner.documents.figures import Summary
from tests import seeds
from tests.builders import Object, cluster, node, pod, profile, scheduler, spread
from tests.planner.compare.descheduler.restarted_rack import restarted_rack

STUCK = Path(__file__).parents[1] / "data" / "batch" / "stuck.jsonl.gz"


def recorded() -> Iterator[object]:
    """The batches that kube-scheduler gets stuck with."""
    with gzip.open(STUCK, "rt") as lines:
        for case in map(json.loads, lines):
            yield pytest.param(Cluster.from_objects(case["cluster"]["items"]), case, id=case["name"])


def grid(draw: Random | None = None) -> Cluster:
    """Nine nodes in racks and rows: by luck all nine pods are placed, or five; priorities may be drawn."""
    with gzip.open(STUCK, "rt") as lines:
        cases = {case["name"]: case for case in map(json.loads, lines)}
    items = cases["grid-3x3"]["cluster"]["items"]
    if draw is not None:
        for item in (item for item in items if item["kind"] == "Pod"):
            item["spec"]["priority"] = draw.choice((0, 0, 5, 10))
    return Cluster.from_objects(items)


def fragmented() -> list[Object]:
    """Two small pods that go to two nodes, and a large one that needs a whole node."""
    return [
        node("a1", zone="a"),
        node("b1", zone="b"),
        pod("small-1", cpu="1", memory="2Gi", app="web", spread=[spread(when="ScheduleAnyway", skew=1)]),
        pod("small-2", cpu="1", memory="2Gi", app="web", spread=[spread(when="ScheduleAnyway", skew=1)]),
        pod("large", cpu="4", memory="4Gi"),
    ]


def by_priority(side: Summary) -> list[tuple[int, int, int]]:
    """(priority, pods, placed) in the order of the document."""
    return [(count.priority, count.pods, count.placed) for count in side.by_priority]


def uses(side: Summary) -> dict[str, tuple[float, float, str]]:
    """(mean, fullest, its node) by resource."""
    return {
        use.resource: (use.mean_percent, use.fullest_percent, use.fullest_node) for use in side.utilisation
    }


@pytest.mark.parametrize(("found", "case"), [*recorded()])
def test_recorded_batches(found: Cluster, case: dict[str, int]) -> None:
    """Either side places as many pods as the recording, the plan those that an order leads to."""
    comparison = compare(found, replays=3)
    assert comparison.kube_scheduler.placed == case["kubeScheduler"]
    assert comparison.optimal.placed == len(solve(found).steps)
    assert comparison.optimal.status == "Optimal"
    assert comparison.difference.placed == comparison.optimal.placed - case["kubeScheduler"]


def test_the_replays_are_what_simulate_does_with_those_seeds() -> None:
    """Worst, median and best of the seeds 1 to N, each of them a run that can be looked at."""
    found, runs = grid(), 20
    placed = {
        seed: sum(
            decision.node is not None for decision in simulate(found, preemption=False, seed=seed).decisions
        )
        for seed in range(1, runs + 1)
    }
    replays = compare(found, replays=runs).kube_scheduler.replays
    chosen = (replays.worst, replays.median, replays.best)
    ranked = sorted(placed.values())
    assert ranked[0] < ranked[-1]
    assert replays.runs == runs
    assert [replay.placed for replay in chosen] == [ranked[0], ranked[(runs - 1) // 2], ranked[-1]]
    assert [placed[replay.seed] for replay in chosen] == [replay.placed for replay in chosen]


def test_runs_are_ranked_by_pods_placed_the_highest_priority_first() -> None:
    """Of an even number of runs the median is the worse of the two in the middle."""
    for seed in seeds.seeds(3):
        draw = Random(seed)
        found, runs = grid(draw), draw.randint(1, 8)
        priority_of = {item.key: item.spec.priority or 0 for item in found.pods}
        worth = dict[int, tuple[int, ...]]()
        for number in range(1, runs + 1):
            decisions = simulate(found, preemption=False, seed=number).decisions
            placed = Counter(priority_of[one.pod] for one in decisions if one.node is not None)
            worth[number] = tuple(placed[priority] for priority in (10, 5, 0))
        replays, ranked = compare(found, replays=runs).kube_scheduler.replays, sorted(worth.values())
        told = [worth[replay.seed] for replay in (replays.worst, replays.median, replays.best)]
        assert told == [ranked[0], ranked[(runs - 1) // 2], ranked[-1]], seed


def test_both_sides_in_figures() -> None:
    """Pods, nodes, what is requested and where it is the most, counted by hand."""
    comparison = compare(cluster(*fragmented(), pod("old", on="a1", owner="DaemonSet/agent")))
    theirs, ours = comparison.kube_scheduler, comparison.optimal
    assert (theirs.pods, theirs.placed, theirs.unplaced) == (3, 2, ("default/large",))
    assert (ours.pods, ours.placed, ours.unplaced) == (3, 3, ())
    assert [side.nodes_used for side in (comparison.before, theirs, ours)] == [0, 2, 2]
    assert uses(theirs)["cpu"] == (25.0, 25.0, "a1")
    assert uses(ours)["cpu"][:2] == (75.0, 100.0)
    assert uses(ours)["memory"][:2] == (50.0, 50.0)
    assert uses(comparison.before) == {
        "cpu": (0.0, 0.0, "a1"),
        "memory": (0.0, 0.0, "a1"),
        "pods": (0.5, 0.9, "a1"),
    }


def test_what_no_node_has_and_no_pod_wants_is_left_out() -> None:
    """A share of nothing is no figure."""
    comparison = compare(
        cluster(
            node("a1", gpu="2"), node("a2"), pod("one", requests={"gpu": "1"}), pod("odd", requests={"x": 1})
        )
    )
    assert set(uses(comparison.optimal)) == {"gpu", "pods"}
    assert uses(comparison.optimal)["gpu"] == (50.0, 50.0, "a1")


def test_the_spread_is_that_of_each_side() -> None:
    """Pods per domain and skew of the scheduler and of the plan, and what lies between them."""
    comparison = compare(cluster(*fragmented()))
    (before,), (theirs,), (ours,) = (
        side.spread for side in (comparison.before, comparison.kube_scheduler, comparison.optimal)
    )
    assert before.domains == {"a": 0, "b": 0}
    assert (theirs.domains, theirs.skew) == ({"a": 1, "b": 1}, 0)
    assert (sorted(ours.domains.values()), ours.skew) == ([0, 2], 2)
    (row,) = comparison.difference.spread
    assert row.domains == {domain: pods - 1 for domain, pods in ours.domains.items()}
    assert row.skew == 2


def test_domains_without_a_difference_are_not_repeated() -> None:
    """Of thousands of nodes only those are listed on which the sides differ."""
    comparison = compare(
        cluster(node("a1"), node("a2"), pod("web", app="web", spread=[spread("kubernetes.io/hostname")]))
    )
    assert comparison.optimal.spread[0].domains == comparison.kube_scheduler.spread[0].domains
    assert comparison.difference.spread[0].domains == {}


def test_pods_by_priority() -> None:
    """The highest priority first, with its own difference."""
    comparison = compare(cluster(*fragmented(), pod("last", cpu="4", priority=-10)))
    assert by_priority(comparison.kube_scheduler) == [(0, 3, 2), (-10, 1, 0)]
    assert by_priority(comparison.optimal) == [(0, 3, 3), (-10, 1, 0)]
    assert [(row.priority, row.placed) for row in comparison.difference.by_priority] == [(0, 1), (-10, 0)]


def test_nobody_is_evicted_on_either_side() -> None:
    """The plan moves no running pod, so the scheduler it is compared with preempts none."""
    found = cluster(node("a1"), pod("old", on="a1", cpu="4"), pod("new", cpu="4", priority=100))
    assert simulate(found).decisions[0].node == "a1"
    comparison = compare(found)
    assert (comparison.kube_scheduler.placed, comparison.optimal.placed) == (0, 0)
    assert comparison.kube_scheduler.nodes_used == comparison.optimal.nodes_used == 1


def test_pods_of_other_schedulers_are_on_neither_side() -> None:
    """They are pending for another scheduler; gated ones are pending, and stay so."""
    comparison = compare(cluster(node("a1"), pod("other", scheduler="volcano"), pod("held", gates=["wait"])))
    assert (comparison.kube_scheduler.pods, comparison.optimal.pods) == (1, 1)
    assert comparison.optimal.unplaced == ("default/held",)
    assert any("volcano" in note for note in comparison.notes)


def test_every_profile_schedules_its_own() -> None:
    """Pods of two profiles are one batch."""
    profiles = scheduler(profile(), profile("batch"))
    comparison = compare(cluster(profiles, node("a1"), pod("one"), pod("two", scheduler="batch")))
    assert (comparison.kube_scheduler.placed, comparison.optimal.placed) == (2, 2)


def test_no_draw_is_better_than_the_plan_however_soon_the_search_ends() -> None:
    """The draws of kube-scheduler are plans that are known already."""
    comparison = compare(grid(), replays=20, time_limit=0)
    best = comparison.kube_scheduler.replays.best
    assert (comparison.kube_scheduler.placed, best.placed, comparison.optimal.placed) == (5, 9, 9)


def test_nothing_pending() -> None:
    """Both sides are the snapshot as it is."""
    comparison = compare(cluster(node("a1"), pod("web", on="a1", cpu="1")))
    same = {"pods", "placed", "spread", "nodes_used", "utilisation"}
    before = comparison.before.model_dump(include=same)
    assert comparison.kube_scheduler.model_dump(include=same) == before
    assert comparison.optimal.model_dump(include=same) == before
    assert comparison.difference.placed == 0


def test_no_nodes() -> None:
    """Nothing can be placed and nothing is in use."""
    comparison = compare(cluster(pod("web")))
    assert (comparison.optimal.placed, comparison.optimal.nodes, comparison.optimal.utilisation) == (0, 0, ())


def test_progress_counts_every_run() -> None:
    """All runs are announced from the start: the one by name, then the replays."""
    told: list[tuple[int, int]] = []
    compare(cluster(*fragmented()), replays=3, progress=lambda done, total: told.append((done, total)))
    assert told[:12] == [(number, 12) for number in range(1, 13)]


@pytest.mark.parametrize("replays", [0, -1])
def test_at_least_one_replay(replays: int) -> None:
    """Without one there is no worst and no best."""
    with pytest.raises(InputError, match="replays: at least 1"):
        compare(cluster(node("a1")), replays=replays)


def test_the_same_input_gives_the_same_bytes() -> None:
    """Draws come from fixed seeds, and the plan is the same whenever it is proved."""
    first, second = (compare(grid(), replays=3).to_json() for _ in range(2))
    assert first == second
    assert Comparison.model_validate_json(first).to_json() == first


def test_the_plans_pods_are_those_of_solve() -> None:
    """The nodes of the plan's binds are those whose pods are counted."""
    found = grid()
    racks = {item.name: item.metadata.labels["rack"] for item in found.nodes}
    counts = Counter(racks[step.node] for step in solve(found).steps if step.node)
    assert dict(compare(found).optimal.spread[0].domains) == counts


def test_the_restarted_rack_is_repaired_with_16_moves() -> None:
    """Descheduler issue 1535: 16 moves, proved, where Descheduler evicts more in every draw."""
    found = compare(restarted_rack(), replays=3).repair
    assert found is not None
    assert (found.optimal.evictions, found.optimal.hard_excess, found.optimal.proved) == (16, 0, True)
    assert min(run.evictions for run in (found.descheduler, *found.draws)) > 16
    assert [run.seed for run in (found.descheduler, *found.draws)] == [None, 1, 2, 3]


def test_pending_pods_leave_the_repair_out() -> None:
    """Documents of batches are what they were."""
    assert "repair" not in compare(cluster(*fragmented())).to_dict()
