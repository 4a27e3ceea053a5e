"""Rollouts from manifests to their end: those that complete, those that stop, those that end lopsided."""

from typing import Any

import numpy as np
import pytest

from models import Cluster, InputError
from planner import rollout, simulate
from planner.documents.rollout import AppliedSimulation, Rollout
from planner.problem.problem import Problem
from planner.simulation.rollout.before import Before
from planner.simulation.rollout.report import counts_at
from planner.state.state import State
from planner.whatif import add_nodes
from tests.builders import ZONE, Object, node, pod, priority_class, replica, scaled, spread, workload
from tests.planner.simulation.rollout.running import applied, daemons, manifests, running, web, zones
from tests.seeds import at_first, tries

OTHER = workload("ReplicaSet", "db", namespace="shop")
ONE_MORE: dict[str, Any] = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def sizes(found: Rollout) -> list[tuple[int, int]]:
    """Old and new pods asked for, after every step of the first workload."""
    return [(step.old, step.new) for step in found.workloads[0].steps]


def test_one_pod_after_the_other() -> None:
    """A pod more at most and none less: one comes, one goes."""
    found = applied(running(web(2), ["a1", "b1"], *zones("ab")), web(2, cpu="200m", **ONE_MORE))
    assert found.completes
    assert sizes(found) == [(2, 1), (1, 1), (1, 2), (0, 2)]
    assert found.workloads[0].least_ready == 2


def test_a_template_that_fits_nowhere_stops_after_its_first_pod() -> None:
    """kubernetes#98215 and its like: the new ReplicaSet's first pod stays pending, and so does all else."""
    found = applied(running(web(2), ["a1", "b1"], *zones("ab")), web(2, cpu="5", **ONE_MORE))
    row = found.workloads[0]
    assert not found.completes
    assert (found.replays.completed, row.stopped_at, row.least_ready) == (0, 1, 2)
    assert row.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert [end.messages for end in row.ends] == [{row.message: end.runs} for end in row.ends]
    assert any("request" in change.summary for fix in found.fixes for change in fix.changes)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [({}, 600), ({"progressDeadlineSeconds": 30}, 30), ({"progressDeadlineSeconds": 2**31 - 1}, None)],
)
def test_a_deployment_that_stops_gives_up_at_its_deadline(spec: dict[str, Any], seconds: int | None) -> None:
    """Unless it waits for ever; one that completes has nothing to say."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    row = applied(objects, web(4, cpu="5", **spec), replays=0).workloads[0]
    assert (row.completes, row.gives_up_after) == (False, seconds)
    assert applied(objects, web(2, cpu="200m", **spec), replays=0).workloads[0].gives_up_after is None


def test_the_same_apply_is_not_green_in_a_simulation() -> None:
    """A changed template was taken as rolled out: not one pod could start, and the answer was 'placed'."""
    objects = running(web(4), ["a1", "b1", "a1", "b1"], *zones("ab"))
    changed = web(4, cpu="5", **ONE_MORE)
    found = simulate(Cluster.from_objects([*objects, changed]))
    assert isinstance(found, AppliedSimulation)
    assert not found.decisions
    assert [row.completes for row in found.rollouts] == [False]


def test_more_replicas_of_the_same_template_are_simulated_as_ever() -> None:
    """Nothing is rolled out where the template is the same: the pods that lack are pending."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    found = simulate(Cluster.from_objects([*objects, web(3)]))
    assert not isinstance(found, AppliedSimulation)
    assert [decision.node is not None for decision in found.decisions] == [True]


@pytest.mark.long
def test_old_pods_that_are_counted_leave_a_rollout_lopsided() -> None:
    """kubernetes#105661: every decision was right, and the end is not; matchLabelKeys mends it, tried out."""
    objects = running(web(3), ["a1", "b1", "c1"], *zones("aabbcc"))
    found = applied(objects, web(3, cpu="200m", **ONE_MORE), replays=60)
    assert found.completes
    assert found.replays.held < found.replays.runs
    assert found.broken[0].topology_key == ZONE
    assert found.fixes[0].changes[0].action == "matchLabelKeys"
    by_revision = {**spread(app="web"), "matchLabelKeys": ["pod-template-hash"]}
    mended = applied(objects, web(3, cpu="200m", constraints=[by_revision], **ONE_MORE), replays=60)
    assert mended.replays.held == mended.replays.runs


def test_recreate_takes_all_before_it_makes_any() -> None:
    """The least number of ready pods says what that costs."""
    found = applied(
        running(web(3), ["a1", "b1", "a1"], *zones("ab")), web(3, cpu="200m", strategy={"type": "Recreate"})
    )
    assert found.completes
    assert sizes(found) == [(0, 0), (0, 3)]
    assert found.workloads[0].least_ready == 0


def test_paused_does_nothing() -> None:
    """A paused Deployment rolls nothing out, and that is no failure."""
    found = applied(running(web(2), ["a1", "b1"], *zones("ab")), web(2, cpu="5", paused=True))
    assert (found.completes, sizes(found)) == (True, [])


def test_the_old_template_again_goes_back_to_its_replica_set() -> None:
    """Applying what runs is nothing to do."""
    found = applied(running(web(2), ["a1", "b1"], *zones("ab")), web(2))
    assert (found.completes, sizes(found)) == (True, [])


@pytest.mark.parametrize(
    ("policy", "partition", "least"), [("OrderedReady", 0, 2), ("Parallel", 0, 2), ("OrderedReady", 2, 2)]
)
def test_stateful_sets_go_from_the_highest(policy: str, partition: int, least: int) -> None:
    """One at a time, never two away; those below the partition stay as they are."""
    more: dict[str, Any] = {
        "kind": "StatefulSet",
        "podManagementPolicy": policy,
        "updateStrategy": {"rollingUpdate": {"partition": partition}},
    }
    objects = running(web(3, **more), ["a1", "b1", "a1"], *zones("ab"))
    found = applied(objects, web(3, cpu="200m", **more))
    row = found.workloads[0]
    assert found.completes
    assert row.least_ready == least
    assert row.steps[-1].new == 3 - partition


def test_a_stateful_set_that_cannot_start_stops_at_its_highest() -> None:
    """Its place is lost, and the line says why."""
    objects = running(web(3, kind="StatefulSet"), ["a1", "b1", "a1"], *zones("ab"))
    found = applied(objects, web(3, cpu="9", kind="StatefulSet"))
    row = found.workloads[0]
    assert (row.completes, row.least_ready, row.steps[-1].new) == (False, 2, 1)
    assert "Insufficient cpu" in row.message


@pytest.mark.parametrize(("rolling", "least"), [({"maxUnavailable": 1}, 2), ({"maxSurge": 1}, 3)])
def test_daemon_sets_go_node_by_node(rolling: dict[str, Any], least: int) -> None:
    """Without surge a node is without its pod for a while; with surge never."""
    objects = running(daemons("100m"), ["a1", "b1", "c1"], *zones("abc"))
    found = applied(objects, daemons("200m", **rolling))
    assert (found.completes, found.workloads[0].least_ready) == (True, least)
    assert found.workloads[0].ends[0].domains == {ZONE: {"a": 1, "b": 1, "c": 1}}


def test_domains_are_told_by_name() -> None:
    """They came in the order of the nodes' names: zone c, a, b where the nodes of c have the first one."""
    nodes = node("arm", zone="c"), node("pool-a", zone="a"), node("pool-b", zone="b")
    objects = running(web(2), ["pool-a", "pool-b"], *nodes)
    found = applied(objects, web(2, cpu="200m"))
    assert [*found.workloads[0].ends[0].domains[ZONE]] == ["a", "b", "c"]


def test_the_lines_of_all_draws_are_kept() -> None:
    """Where pods are last tried at other moments their lines differ; an end that completes has none."""
    nodes = [node(f"{zone}{number}", zone=zone, cpu="2") for zone in "abc" for number in "12"]
    found = applied(
        running(web(4), ["a1", "b1", "b2", "c1"], *nodes),
        web(6, cpu="1500m"),
        scaled("Deployment", "db", 1, namespace="shop", cpu="900m"),
        replays=tries(12),
    )
    told = {line for row in found.workloads for end in row.ends for line in end.messages}
    for row in found.workloads:
        assert all(sum(end.messages.values()) == (0 if end.completes else end.runs) for end in row.ends)
        assert row.completes or row.message in {line for end in row.ends for line in end.messages}
    assert len(told) > 1


def test_two_workloads_take_each_others_room() -> None:
    """Both roll at once; whether both complete may depend on which is first, and the draws say so."""
    first, second = web(1, cpu="500m", constraints=[]), web(1, cpu="500m", constraints=[])
    second["metadata"]["name"] = "api"
    for part in (second["spec"]["selector"]["matchLabels"], second["spec"]["template"]["metadata"]["labels"]):
        part["app"] = "api"
    found = applied([node("a1", zone="a", cpu="900m")], first, second)
    assert {row.completes for row in found.workloads} == {False}
    assert found.replays.completed == 0
    ends = [sum(end.runs for end in row.ends if end.completes) for row in found.workloads]
    assert sum(ends) == found.replays.runs
    assert all(ends)


def test_nothing_to_roll_out_is_an_error() -> None:
    """An answer over nothing would be green by mistake."""
    with pytest.raises(InputError, match="no workload"):
        rollout(Cluster.from_objects(zones("a")), manifests(node("b1")))


@pytest.mark.parametrize(
    ("replicas", "strategy", "least"),
    at_first(
        1,
        [
            (8, {}, 6),
            (10, {"maxSurge": 1, "maxUnavailable": 3}, 7),
            (6, {"maxSurge": 0, "maxUnavailable": 2}, 4),
        ],
    ),
)
def test_no_draw_has_fewer_ready_pods_than_the_strategy_allows(
    replicas: int, strategy: dict[str, Any], least: int
) -> None:
    """A ReplicaSet's status that lagged behind let draws go to 4 of 8; eleven real rollouts never did."""
    places = [f"{zone}1" for zone in ("abab" * replicas)[:replicas]]
    rolling: dict[str, Any] = {"strategy": {"rollingUpdate": strategy}}
    found = applied(
        running(web(replicas), places, *zones("ab")), web(replicas, cpu="150m", **rolling), replays=tries(15)
    )
    row = found.workloads[0]
    assert row.completes
    assert least == row.least_ready <= row.least_ready_median <= row.least_ready_best <= replicas
    assert all(step.ready <= step.old + step.new for step in row.steps)


def test_what_was_broken_before_is_a_note() -> None:
    """A gate that is red for the constraint of another workload would be red for every apply."""
    other = [
        pod(f"db-{n}", on="a1", app="db", namespace="shop", owner=OTHER, spread=[spread(app="db")])
        for n in range(3)
    ]
    free: dict[str, Any] = {"constraints": [], **ONE_MORE}
    objects = [*running(web(2, **free), ["a1", "b1"], *zones("ab")), OTHER, *other]
    found = applied(objects, web(2, cpu="200m", **free))
    assert (found.completes, found.replays.held, found.broken) == (True, found.replays.runs, ())
    assert [note for note in found.notes if "had 2 pods too many before" in note]


def test_what_was_broken_before_elsewhere_is_one_note() -> None:
    """After the outage of a zone every workload was a note of three lines, whichever one was applied."""
    free: dict[str, Any] = {"constraints": [], **ONE_MORE}
    objects = [*running(web(2, **free), ["a1", "b1"], *zones("ab"))]
    for name in "db", "mq":
        owner = f"StatefulSet/{name}"
        objects += [
            pod(f"{name}-{n}", on="a1", app=name, namespace="shop", owner=owner, spread=[spread(app=name)])
            for n in range(3)
        ]
    (note,) = (
        note for note in applied(objects, web(2, cpu="200m", **free)).notes if "too many before" in note
    )
    assert note == (
        "2 DoNotSchedule constraints of workloads that are not applied had 4 pods too many before, "
        "and no run ends with more"
    )


def test_what_becomes_worse_is_broken() -> None:
    """Pods too many before excuse as many at the end, and not one more."""
    objects = [*zones("ab"), *running(web(2), ["a1", "b1"])]
    problem = Problem(Cluster.from_objects(objects))
    counts = counts_at(problem, State(problem, np.zeros(len(problem.pods), np.intp)))
    whose = ("shop", "Deployment/web", ZONE)
    assert [*Before({}, frozenset()).worse(counts)] == [(whose, 1)]
    assert [*Before({whose: 1}, frozenset()).worse(counts)] == []


def test_pods_that_waited_before_are_a_note_where_nothing_changes() -> None:
    """A workload in the manifests that runs as it is applied, with a pod pending for long, fails no gate."""
    stuck = web(3, cpu="3")
    objects = [*running(stuck, ["a1", "b1"], *zones("ab"))]
    objects[-3]["spec"]["replicas"] = 3
    found = applied(objects, stuck)
    assert not found.workloads[0].completes
    assert (found.completes, found.workloads[0].as_before, found.fixes) == (True, True, ())
    assert [note for note in found.notes if "lacked ready pods before" in note]
    changed = applied(objects, web(3, cpu="3100m"))
    assert (changed.completes, changed.workloads[0].as_before) == (False, False)


def test_what_the_manifests_bring_along_is_gone_by() -> None:
    """A LimitRange that is applied with the Deployment refuses its pods, as one that is there does."""
    limits: Object = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "shop"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]},
    }
    for there, coming in (([], [limits, web(2, cpu="1")]), ([limits], [web(2, cpu="1")])):
        found = applied([*zones("ab"), *there], *coming, replays=1)
        assert not found.completes
        line = 'not created: invalid: spec.containers[0].resources.requests: Invalid value: "1": must be less'
        assert found.workloads[0].message.startswith(line)


def test_without_preemption_no_fix_needs_it() -> None:
    """What went wrong: fixes were tried out with preemption, and one that evicted others was told to help."""
    others = [
        priority_class("low", -1),
        scaled("ReplicaSet", "filler", 1, namespace="shop", cpu="2", priorityClassName="low"),
    ]
    filler = replica(others[1], "filler-1", "a1", created="2026-01-01T00:00:00Z", priority=-1)
    cluster = Cluster.from_objects([*others, filler, *running(web(1), ["a1"], *zones("a"))])
    item = manifests(web(1, cpu="3"))
    assert rollout(cluster, item, replays=2).completes
    found = rollout(cluster, item, replays=2, preemption=False)
    assert not found.completes
    assert "strategy" not in {change.action for fix in found.fixes for change in fix.changes}


@pytest.mark.parametrize(("cpu", "helps"), [("1", False), ("750m", True)])
def test_a_node_that_would_help_has_its_daemon_pods(cpu: str, helps: bool) -> None:
    """What went wrong: the new node was empty, and so had room for two pods where it has room for one."""
    agent = scaled("DaemonSet", "agent", 1, namespace="shop", cpu="500m")
    others = [agent, replica(agent, "agent-1", "a1"), pod("full", on="a1", cpu="1500m")]
    old = web(2, cpu="0", constraints=[])
    cluster = Cluster.from_objects([*others, *running(old, ["a1", "a1"], *zones("a", cpu="2"))])
    item = manifests(web(2, cpu=cpu, constraints=[], strategy={"type": "Recreate"}))
    found = rollout(cluster, item, replays=3)
    assert not found.completes
    assert rollout(add_nodes(cluster, 1, "a1"), item, replays=3, fixes=False).completes == helps
    told = [change.summary for fix in found.fixes for change in fix.changes]
    assert ("one more node like a1" in told) == helps


@pytest.mark.parametrize(("cpu", "helps"), [("1", False), ("750m", True)])
def test_daemon_pods_come_to_a_node_without_its_taint(cpu: str, helps: bool) -> None:
    """What went wrong: without the taint two pods had room, and the DaemonSet's was forgotten."""
    agent = scaled("DaemonSet", "agent", 1, namespace="shop", cpu="500m")
    others = [agent, replica(agent, "agent-1", "a1"), pod("full", on="a1", cpu="1500m")]
    nodes = [*zones("a", cpu="2"), node("b1", zone="b", cpu="2", taints=["team:NoSchedule"])]
    cluster = Cluster.from_objects([*others, *running(web(2, cpu="0", constraints=[]), ["a1", "a1"], *nodes)])
    item = manifests(web(2, cpu=cpu, constraints=[], strategy={"type": "Recreate"}))
    told = [change.summary for fix in rollout(cluster, item, replays=3).fixes for change in fix.changes]
    assert "tolerate team:NoSchedule" in told
    assert ("take team:NoSchedule off node b1" in told) == helps


def test_a_node_is_kept_for_a_pod_that_preempts_and_waits() -> None:
    """What went wrong: beside an old pod that still ends the next new one preempts another; that one came
    back to the same node, and was preempted again, until the run was given up and said not to complete."""
    shares: dict[str, Any] = {
        "strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "34%"}},
        "constraints": [],
    }
    objects = running(web(3, cpu="1", **shares), ["a1", "a1", "a1"], *zones("a", cpu="7"))
    assert applied(objects, web(3, cpu="2", pod={"priority": 5}, **shares), replays=3).completes
