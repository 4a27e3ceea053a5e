"""What evictions do to Jobs: facts that were observed on a control plane of 1.36, one case each."""

import json
from pathlib import Path
from typing import Any

import pytest

from models import Cluster, InputError
from models.sharing.kept import kept
from planner import rebalance, solve
from planner.eviction.jobs import LOST, Impact, JobDisruptions, action_of, depends_on_exit_codes
from tests.builders import Object, cluster, node, pod
from tests.planner.eviction.jobs import FAILS, IGNORES, job, of_job, on_exit, policy

FOUND = Path(__file__).parents[2] / "data/found"


def impact(found: Object, *pods: Object, evicted: int | None = None) -> Impact:
    """What comes of evicting the first so many of a Job's pods, all unless a number is given."""
    snapshot = cluster(node("n1"), found, *pods)
    jobs = JobDisruptions(snapshot)
    return jobs.impact(snapshot.jobs[0], snapshot.pods[:evicted])


def three() -> list[Object]:
    """Three running pods."""
    return [of_job(f"sums-{number}", "n1") for number in range(3)]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({"backoffLimit": 0}, {}, Impact(1, "Fails", "BackoffLimitExceeded", 0, 0), id="none"),
        pytest.param({"backoffLimit": 2}, {}, Impact(1, "LosesRetries", "", 2, 1), id="two"),
        pytest.param({}, {}, Impact(1, "LosesRetries", "", 6, 5), id="six are the default"),
        pytest.param(
            {"backoffLimit": 2},
            {"failed": 2},
            Impact(1, "Fails", "BackoffLimitExceeded", 2, 0),
            id="used up",
        ),
        pytest.param(
            {"backoffLimit": 2},
            {"failed": 1, "uncountedTerminatedPods": {"failed": ["u"]}},
            Impact(1, "Fails", "BackoffLimitExceeded", 2, 0),
            id="used up by pods that are being counted",
        ),
        pytest.param({"backoffLimit": 0, **policy(IGNORES)}, {}, Impact(1, "KeepsRunning"), id="ignored"),
        pytest.param(policy(FAILS, IGNORES), {}, Impact(1, "Fails", "PodFailurePolicy"), id="first rule"),
    ],
)
def test_one_eviction(spec: dict[str, Any], status: Object, expected: Impact) -> None:
    """An evicted pod has failed, unless the first rule of the podFailurePolicy that matches ignores it."""
    assert impact(job(status=status, **spec), *three(), evicted=1) == expected


def test_evictions_add_up() -> None:
    """Two retries allow two evictions, three fail the Job."""
    found = job(backoffLimit=2)
    assert impact(found, *three(), evicted=2) == Impact(2, "LosesRetries", "", 2, 0)
    assert impact(found, *three()).outcome == "Fails"


def test_an_ending_pod_is_still_to_be_counted_with_the_replacement_policy_failed() -> None:
    """Otherwise the Job counts it as soon as it is told to end, and then it has no finalizer."""
    pods = [of_job("sums-0", "n1"), of_job("sums-1", "n1", gone=True)]
    for replacement, left in (("Failed", 0), ("TerminatingOrFailed", 1)):
        found = impact(job(backoffLimit=2, podReplacementPolicy=replacement), *pods, evicted=1)
        assert found == Impact(1, "LosesRetries", "", 2, left)


@pytest.mark.parametrize(
    ("gone", "phase", "left"),
    [(True, "Failed", 0), (False, "Failed", 0), (True, "Running", 0), (False, "Succeeded", 1)],
)
def test_a_pod_with_the_finalizer_is_still_to_be_counted(gone: bool, phase: str, left: int) -> None:
    """What went wrong: during the back-off the status lacks what has failed since: too few were counted."""
    ended = of_job("sums-1", "n1", gone=gone, phase=phase)
    ended["metadata"] |= {"finalizers": ["batch.kubernetes.io/job-tracking"], "uid": "1"}
    pods = [of_job("sums-0", "n1"), ended]
    assert impact(job(backoffLimit=2), *pods, evicted=1) == Impact(1, "LosesRetries", "", 2, left)
    counting = job(backoffLimit=2, status={"uncountedTerminatedPods": {"failed": ["1"]}})
    assert impact(counting, *pods, evicted=1) == Impact(1, "LosesRetries", "", 2, 0)


@pytest.mark.parametrize(
    ("failures", "spec", "expected"),
    [
        ("0", {"backoffLimitPerIndex": 1}, Impact(1, "LosesRetries", "", 1, 0)),
        ("1", {"backoffLimitPerIndex": 1}, Impact(1, "Fails", "FailedIndexes")),
        ("0", {"backoffLimitPerIndex": 0}, Impact(1, "Fails", "FailedIndexes")),
        (
            "0",
            {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1},
            Impact(1, "Fails", "MaxFailedIndexesExceeded"),
        ),
        (
            "0",
            {"backoffLimitPerIndex": 3, "backoffLimit": 0},
            Impact(1, "Fails", "BackoffLimitExceeded", 0, 0),
        ),
    ],
)
def test_retries_of_an_index(failures: str, spec: dict[str, Any], expected: Impact) -> None:
    """Each index has failures of its own, in the annotation of its pod."""
    notes = {"batch.kubernetes.io/job-index-failure-count": failures}
    found = job(completionMode="Indexed", status={"failedIndexes": "4"}, **spec)
    assert impact(found, of_job("sums-0-x", "n1", annotations=notes)) == expected


@pytest.mark.parametrize(
    ("rules", "action", "depends"),
    [
        ([on_exit("FailJob", "In", 42), IGNORES], "Ignore", True),
        ([on_exit("FailJob", "In", 143), IGNORES], "FailJob", False),
        ([on_exit("FailJob", "NotIn", 1), IGNORES], "FailJob", False),
        ([on_exit("Ignore", "In", 137, 143)], "Ignore", False),
        ([on_exit("Ignore", "In", 143)], "Count", False),
        ([IGNORES, on_exit("FailJob", "In", 42)], "Ignore", False),
        ([{"action": "Ignore", "onPodConditions": [{"type": "ConfigIssue"}]}], "Count", False),
    ],
)
def test_exit_codes_of_containers_that_are_told_to_stop(
    rules: list[Object], action: str, depends: bool
) -> None:
    """Assumed to be 143 or 137, whichever is worse; whether another code could be worse is reported."""
    (found,) = cluster(node("n1"), job(**policy(*rules))).jobs
    assert (action_of(found), depends_on_exit_codes(found)) == (action, depends)


@pytest.mark.parametrize(
    ("rules", "action"),
    [
        ([on_exit("FailJob", "In", 137, 143), IGNORES], "Ignore"),
        ([on_exit("FailJob", "NotIn", 42)], "Count"),
        ([FAILS], "FailJob"),
        (
            [{"action": "FailJob", "onPodConditions": [{"type": "ContainersReady", "status": "False"}]}],
            "Count",
        ),
    ],
)
def test_pods_of_lost_nodes_have_no_exit_codes(rules: list[Object], action: str) -> None:
    """Observed on a control plane of 1.36: what Pod GC deletes has failed, and conditions alone match."""
    (found,) = cluster(node("n1"), job(**policy(*rules))).jobs
    assert action_of(found, LOST) == action


def test_a_job_without_retries_is_left_alone() -> None:
    """A regression: the move that was planned, and called optimal, would have failed the Job."""
    items = json.loads((FOUND / "job-without-retries.json").read_text())["items"]
    for jobs in (False, True):
        plan = rebalance(Cluster.from_objects(items), jobs=jobs)
        assert (plan.steps, plan.after.hard_excess) == ((), plan.before.hard_excess)
        assert plan.stays == {"of a Job that would not survive it": 3}
        assert "3 pods of Jobs are left alone, with --jobs or without" in "\n".join(plan.notes)


def lopsided(found: Object, pods: int = 3, **words: Any) -> list[Object]:
    """All pods of a Job in zone a, and an empty zone b."""
    return [
        node("a1", zone="a"),
        node("b1", zone="b"),
        found,
        *(of_job(f"sums-{number}", "a1", **words) for number in range(pods)),
    ]


def test_jobs_are_moved_when_they_survive_it_and_that_is_asked_for() -> None:
    """A note says how many pods of Jobs there are, and what the moves cost."""
    given = cluster(*lopsided(job(backoffLimit=2)))
    plan = rebalance(given)
    assert (plan.steps, plan.stays) == ((), {"of a Job": 3})
    line = "3 pods of Jobs are left alone, as an eviction may fail a Job: with --jobs 3 of them may be moved"
    assert line in "\n".join(plan.notes)
    plan = rebalance(given, jobs=True)
    assert (len(plan.steps), plan.after.hard_excess, plan.status) == (1, 0, "Optimal")
    assert "Job default/sums: 1 eviction, 1 of 2 retries left" in plan.notes


@pytest.mark.parametrize("places", [1, 200_000])
@pytest.mark.parametrize("retries", [1, 2])
def test_no_more_evictions_than_retries(monkeypatch: pytest.MonkeyPatch, places: int, retries: int) -> None:
    """Of six pods three should move; as many move as the Job survives, also by the large-cluster path."""
    monkeypatch.setattr("planner.proof.move_effort.REGION_VARIABLES", places)
    plan = rebalance(cluster(*lopsided(job(parallelism=6, backoffLimit=retries), pods=6)), jobs=True)
    assert len(plan.steps) == retries
    assert plan.after.hard_excess == 5 - 2 * retries


def test_moves_of_several_jobs_are_counted_for_each() -> None:
    """One retry each, and both move a pod."""
    objects = lopsided(job(backoffLimit=1), pods=2)
    more = [of_job(f"sorts-{number}", "a1", owner="sorts") for number in range(2)]
    plan = rebalance(cluster(*objects, job("sorts", backoffLimit=1), *more), jobs=True)
    assert (len({step.owner for step in plan.steps}), plan.after.hard_excess) == (2, 0)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (job(suspend=True), "of a workload that has more pods than it wants"),
        (job(parallelism=2), "of a workload that has more pods than it wants"),
        (job("other"), "whose controller is gone"),
        (node("c1"), "of a Job that was not read"),
        (
            job(status={"conditions": [{"type": "Failed", "status": "True"}]}),
            "of a workload that has more pods than it wants",
        ),
    ],
)
def test_jobs_that_do_not_recreate_pods(found: Object, reason: str) -> None:
    """Suspended, finished, with too many pods already, or unknown."""
    plan = rebalance(cluster(*lopsided(found)), jobs=True)
    assert plan.steps == ()
    assert plan.stays == {reason: 3}


def test_a_policy_of_descheduler_does_not_change_that() -> None:
    """Whatever pods it allows to evict: pods of Jobs stay."""
    evictor = {"name": "DefaultEvictor", "args": {"evictLocalStoragePods": True}}
    policy_ = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [{"name": "p", "pluginConfig": [evictor]}],
    }
    plan = rebalance(cluster(*lopsided(job(backoffLimit=2)), policy_))
    assert (plan.steps, plan.stays) == ((), {"of a Job": 3})


def crowded(found: Object) -> list[Object]:
    """Two nodes half full with a pod of a Job each, and a pending pod that needs three quarters of one."""
    running = [of_job(f"sums-{n}", n, cpu="2", spread=[]) for n in ("n1", "n2")]
    return [node("n1"), node("n2"), found, *running, pod("big", cpu="3")]


@pytest.mark.parametrize(("retries", "evictions"), [(0, 0), (1, 1)])
def test_solve_follows_the_same_policy(retries: int, evictions: int) -> None:
    """With --allow-moves and --jobs a pod of a Job is moved to make room, if the Job survives it."""
    given = cluster(*crowded(job(parallelism=2, backoffLimit=retries)))
    plan = solve(given, allow_moves=True)
    assert sum(step.action == "evict" for step in plan.steps) == 0
    assert "2 pods of Jobs are left alone" in "\n".join(plan.notes)
    plan = solve(given, allow_moves=True, jobs=True)
    assert sum(step.action == "evict" for step in plan.steps) == evictions
    with pytest.raises(InputError):
        solve(given, jobs=True)


def test_a_snapshot_keeps_what_decides_about_jobs() -> None:
    """Also under other names: the same impact, of a Job with every field that is looked at."""
    notes = {"batch.kubernetes.io/job-index-failure-count": "1"}
    rules = policy(on_exit("FailJob", "In", 42), {"action": "Count", "onPodConditions": [{"type": "X"}]})
    found = job(
        completionMode="Indexed",
        status={"failed": 1, "failedIndexes": "0,4-5", "uncountedTerminatedPods": {"failed": ["u"]}},
        **{"backoffLimit": 4, "backoffLimitPerIndex": 1, "maxFailedIndexes": 3, **rules},
        podReplacementPolicy="Failed",
    )
    objects = [found, of_job("sums-1-x", "n1", annotations=notes), of_job("sums-2-x", "n1", gone=True)]
    snapshots = [cluster(*(kept(item) for item in objects)), cluster(*objects)]
    impacts = [JobDisruptions(item).impact(item.jobs[0], item.pods[:1]) for item in snapshots]
    assert impacts == [Impact(1, "Fails", "MaxFailedIndexesExceeded")] * 2
    assert snapshots[0].jobs == snapshots[1].jobs
