"""The adversary finds every kind of failure in plans that are made up to be wrong, and none in right ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from models import Cluster, InputError
from planner import consolidate, rebalance
from planner.consolidate.removable import NodeChoice
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import Balance, MovePlan, MoveStep
from planner.documents.plan import Verdicts
from tests import seeds
from tests.builders import HOST, LONG_AGO, ZONE, budget, labelled, node, pod, spread
from tests.truth import wide
from tests.truth.adversary.failures import KINDS, Failure
from tests.truth.adversary.plans import against_moves
from tests.truth.adversary.waves import Limits
from tests.truth.large_paths import lowered
from tests.truth.manifests import Object

#: The kinds of failure that some test below plants, and sees caught.
_PLANTED: set[str] = set()

_Test = TypeVar("_Test", bound=Callable[..., None])


def plants(*kinds: str) -> Callable[[_Test], _Test]:
    """Mark a test that plants failures of these kinds."""
    _PLANTED.update(kinds)
    return lambda test: test


def _node(name: str, zone: str, cpu: str = "4") -> Object:
    return node(name, zone, cpu=cpu, pods="10")


def _pod(name: str, on: str, owner: str = "ReplicaSet/web", cpu: str = "1", **spec: Any) -> Object:
    app = owner.partition("/")[2]
    return pod(name, on, app=app, owner=owner, cpu=cpu, uid=f"uid-{name}", created=LONG_AGO, **spec)


def _spread(skew: int = 1) -> dict[str, Any]:
    return {"spread": [spread(ZONE, skew)]}


def _only(*nodes: str) -> dict[str, Any]:
    return {"only_on": [labelled(HOST, "In", *nodes)]}


def _step(pod: str, source: str, *lands: str, wave: int = 1, **more: Any) -> MoveStep:
    return MoveStep.model_validate(
        {
            "wave": wave,
            "pod": f"default/{pod}",
            "workload": "ReplicaSet/web",
            "owner": "ReplicaSet/web",
            "from": source,
            "node": lands[0],
            "landing": "filters",
            "lands": {"nodes": list(lands)},
            "why": "",
            **more,
        }
    )


def _plan(*steps: MoveStep, excess: int = 0) -> MovePlan:
    """A document that says what it is told to say."""
    after = Balance(hard_violations=excess, hard_excess=excess, soft_excess=0, pending=0)
    return MovePlan(
        status="Optimal",
        objective=(),
        steps=steps,
        before=after,
        after=after,
        verdicts=Verdicts(sequence=True, final_state=True),
    )


def _failures(objects: Sequence[Object], plan: MovePlan, **options: Any) -> list[Failure]:
    return against_moves(objects, plan, **options).failures


def _kinds(objects: Sequence[Object], plan: MovePlan, **options: Any) -> set[str]:
    return {failure.kind for failure in _failures(objects, plan, **options)}


#: Three replicas in zone a, none in zone b.
_NODES = [_node("a1", "a"), _node("a2", "a"), _node("b1", "b")]
_WEB = [_pod(f"web-{number}", f"a{1 + number % 2}", **_spread()) for number in range(3)]


def test_a_right_plan_has_no_failure() -> None:
    """One replica to the empty zone leaves two and one."""
    assert _failures([*_NODES, *_WEB], _plan(_step("web-0", "a1", "b1"))) == []


@plants("end")
def test_an_end_that_is_not_as_said() -> None:
    """The document says that one is too many, and none is."""
    assert _kinds([*_NODES, *_WEB], _plan(_step("web-0", "a1", "b1"), excess=1)) == {"end"}


@plants("elsewhere")
def test_a_landing_outside_the_set() -> None:
    """Two nodes of zone b are open, and the plan knows of one."""
    assert _kinds([*_NODES, _node("b2", "b"), *_WEB], _plan(_step("web-0", "a1", "b1"))) == {"elsewhere"}


@plants("pending")
def test_a_replacement_that_finds_no_node() -> None:
    """Zone b has no room, and zone a may take no more."""
    nodes = [*_NODES[:2], _node("b1", "b", cpu="0")]
    assert _kinds([*nodes, *_WEB], _plan(_step("web-0", "a1", "b1"))) == {"pending"}


def test_a_second_move_takes_the_room_of_the_first() -> None:
    """Only where both are under way together does one of them find no node: order decides."""
    pods = [
        _pod("web-0", "a1", cpu="2", **_only("b1", "b2")),
        _pod("web-1", "a2", "ReplicaSet/other", cpu="2", **_only("b1")),
    ]
    nodes = [*_NODES[:2], _node("b1", "b", cpu="2"), _node("b2", "b", cpu="2")]
    apart = _plan(_step("web-1", "a2", "b1"), _step("web-0", "a1", "b2", wave=2))
    assert _kinds([*nodes, *pods], apart) == set()
    together = _plan(_step("web-1", "a2", "b1"), _step("web-0", "a1", "b2", "b1", workload="ReplicaSet/x"))
    assert _kinds([*nodes, *pods], together) == {"pending"}


@plants("preempts")
def test_a_replacement_that_preempts_while_its_old_pod_lingers() -> None:
    """As long as the old pod holds the only room, a pod of lower priority is evicted for the replacement."""
    nodes = [_node("a1", "a", cpu="2"), _node("b1", "b", cpu="1"), _node("b2", "b", cpu="1")]
    pods = [
        _pod("web-0", "a1", priority=1000, cpu="1", **_only("b1", "b2")),
        _pod("blocker-0", "b1", "ReplicaSet/blocker", priority=2000),
        _pod("filler-0", "b2", "ReplicaSet/filler"),
    ]
    found = _failures([*nodes, *pods], _plan(_step("web-0", "a1", "b1")))
    assert [failure.kind for failure in found] == ["preempts"]
    assert "default/filler-0" in found[0].text
    pods[0]["spec"]["preemptionPolicy"] = "Never"
    assert _kinds([*nodes, *pods], _plan(_step("web-0", "a1", "b1"))) == {"pending"}


@plants("budget")
def test_evictions_beyond_a_budget() -> None:
    """Two pods under a budget that allows one, in a wave."""
    held = budget("one", "web", maxUnavailable=1)
    pods = [_pod(f"web-{number}", "a1") for number in range(2)]
    steps = [_step(f"web-{number}", "a1", "a1", "a2", "b1") for number in range(2)]
    assert _kinds([*_NODES, *pods, held], _plan(*steps), max_unavailable=2) == {"budget"}


@plants("unavailable")
def test_too_many_replicas_down() -> None:
    """Two of a workload in a wave where one may be down."""
    pods = [_pod(f"web-{number}", "a1") for number in range(2)]
    steps = [_step(f"web-{number}", "a1", "a1", "a2", "b1") for number in range(2)]
    assert _kinds([*_NODES, *pods], _plan(*steps)) == {"unavailable"}
    assert _kinds([*_NODES, *pods], _plan(*steps), max_unavailable=2) == set()


@plants("worse")
def test_a_constraint_that_gets_worse_on_the_way() -> None:
    """The only replica of zone b leaves before one comes: all is well in the end, and not in between."""
    pods = [_pod("web-0", "a1", **_spread()), _pod("web-1", "a2"), _pod("web-2", "b1")]
    plan = _plan(_step("web-2", "b1", "b1"))
    assert _kinds([*_NODES, *pods], plan) == {"worse"}


@plants("job")
@pytest.mark.parametrize(
    ("spec", "failing"),
    [
        ({"backoffLimit": 0}, True),
        ({"backoffLimit": 1}, False),
        ({"backoffLimitPerIndex": 0}, True),
        (
            {
                "backoffLimit": 0,
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
                },
            },
            False,
        ),
    ],
)
def test_a_job_that_an_eviction_ends(spec: Object, failing: bool) -> None:
    """An eviction is a failure of the Job unless its policy ignores it, or retries are left."""
    job: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "default", "uid": "job"},
        "spec": {"completions": 1, "parallelism": 1, "template": {"spec": {"containers": []}}, **spec},
    }
    pods = [_pod("job-0", "a1", "Job/job", restartPolicy="Never", **_only("b1"))]
    plan = _plan(_step("job-0", "a1", "b1"))
    job["spec"]["template"] = {"metadata": {"labels": {"app": "job"}}, "spec": pods[0]["spec"]}
    assert _kinds([*_NODES, *pods, job], plan) == ({"job"} if failing else set())


@plants("not made")
@pytest.mark.parametrize(("policy", "expected"), [("OrderedReady", {"not made"}), ("Parallel", set())])
def test_a_controller_that_waits_for_a_lower_ordinal(policy: str, expected: set[str]) -> None:
    """A StatefulSet with OrderedReady does not make db-1 again while db-0 is not ready."""
    pods = [_pod(f"db-{number}", "a1", "StatefulSet/db", **_only("a1", "b1")) for number in range(2)]
    pods[0]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": pods[0]["spec"]["containers"]}}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "uid": "db"},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "podManagementPolicy": policy,
            "selector": {"matchLabels": {"app": "db"}},
            "template": template,
        },
    }
    assert _kinds([*_NODES, *pods, owner], _plan(_step("db-1", "a1", "a1", "b1"))) == expected


@plants("step")
def test_a_step_that_contradicts_the_snapshot() -> None:
    """The pod is not where the step takes it from."""
    assert _kinds([*_NODES, *_WEB], _plan(_step("web-0", "a2", "b1"))) == {"step"}


def test_random_ways_find_what_all_ways_find() -> None:
    """With no room for states the walks still see the wrong landing."""
    limits = Limits(states=0, walks=20)
    found = _kinds([*_NODES, _node("b2", "b"), *_WEB], _plan(_step("web-0", "a1", "b1")), limits=limits)
    assert found == {"elsewhere"}


def test_every_kind_is_planted() -> None:
    """Each kind of failure but a crash is planted by a test of this file."""
    assert set(KINDS) - _PLANTED == {"crash"}


def _consolidated(objects: Sequence[Object], going: str) -> ConsolidationPlan:
    plan = consolidate(Cluster.from_objects(objects), choice=NodeChoice(named=frozenset((going,))))
    assert [row.node for row in plan.removed] == [going]
    assert against_moves(objects, plan).failures == []
    return plan


def test_a_consolidation_that_empties_less_than_it_says() -> None:
    """A node that still has a pod of a workload goes, too."""
    objects = [*_NODES, _pod("web-0", "a1"), _pod("db-0", "b1", "ReplicaSet/db", cpu="4")]
    plan = _consolidated(objects, "a1")
    more = plan.removed[0].model_copy(update={"node": "b1"})
    (failure,) = against_moves(objects, plan.model_copy(update={"removed": (*plan.removed, more)})).failures
    assert (failure.kind, failure.text) == ("end", "db-0 are on nodes that go")


def test_a_consolidation_after_which_a_constraint_is_worse() -> None:
    """The pod that moves does not have the constraint that counts it."""
    objects = [*_NODES[1:], _pod("web-0", "a2"), _pod("web-1", "b1")]
    plan = _consolidated(objects, "b1")
    held = [*_NODES[1:], _pod("web-0", "a2", **_spread()), _pod("web-1", "b1")]
    (failure,) = against_moves(held, plan).failures
    assert failure.kind == "worse"
    assert "default/web-1 lands on a2" in failure.events


def test_a_zone_that_does_not_count_while_its_node_is_cordoned() -> None:
    """It was judged with the node open again, where it counts for the constraint, and has no pod."""
    plan = _consolidated([*_NODES[1:], _pod("web-0", "a2"), _pod("web-1", "b1")], "b1")
    words: dict[str, Any] = {"spread": [spread(ZONE, 1, nodeTaintsPolicy="Honor")]}
    honouring = [*_NODES[1:], _pod("web-0", "a2", **words), _pod("web-1", "b1", **words)]
    assert against_moves(honouring, plan).failures == []


@pytest.mark.parametrize(
    ("command", "path"), [("rebalance", None), ("consolidate", None), ("consolidate", "landings anywhere")]
)
def test_fresh_plans_hold(command: str, path: str | None) -> None:
    """A few plans for fresh clusters; a consolidation may have several replicas down."""
    most = {"rebalance": 1, "consolidate": 3}[command]
    for number in seeds.seeds(5):
        case = wide.draw(number, command)
        given, plan = Cluster.from_objects(case.objects), rebalance if command == "rebalance" else consolidate
        try:
            with lowered(path):
                found = plan(given, time_limit=5, max_unavailable=most)
        except InputError:
            # Amounts near 2^63 are refused, with a line.
            continue
        verdict = against_moves(case.objects, found, max_unavailable=most)
        assert not verdict.failures, f"seed {number}: {verdict.failures}"


def test_a_node_that_no_wave_empties_counts_in_the_end() -> None:
    """What went wrong: without moves it was taken for cordoned all the same, and a pod too many not told."""
    objects = wide.draw(4242285, "consolidate").objects
    plan = consolidate(Cluster.from_objects(objects), time_limit=60)
    assert (len(plan.removed), plan.steps, plan.after.hard_excess) == (3, (), 8)
    assert against_moves(objects, plan).failures == []
