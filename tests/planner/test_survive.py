"""What the loss of each domain would mean, workload by workload."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pytest

from planner import InputError, simulate
from planner.documents.survival import DomainLoss, Survival, WorkloadLoss
from planner.proof.effort import STANDARD
from planner.simulation.processes import AT_A_TIME, Processes
from planner.simulation.survive import survive
from planner.whatif import remove_nodes
from tests.builders import ZONE, Object, cluster, node, pod, spread, term, workload
from tests.planner.eviction.jobs import FAILS, IGNORES, on_exit, policy

ZONES = (node("a", zone="a"), node("b", zone="b"), node("c", zone="c"))


def replicas(name: str, nodes: Sequence[str], **words: Any) -> list[Object]:
    """A ReplicaSet with a running replica on each of these nodes, and a pending one for each empty name."""
    owner = {**workload("ReplicaSet", name), "spec": {"replicas": len(nodes), **_template(name, words)}}
    pods = [
        pod(f"{name}-{number}", on=on, app=name, owner=f"ReplicaSet/{name}", **words)
        for number, on in enumerate(nodes)
    ]
    return [owner, *pods]


def _template(name: str, words: dict[str, Any]) -> Object:
    made = pod(name, app=name, **words)
    return {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": made["spec"]},
    }


def without(found: Survival, domain: str) -> DomainLoss:
    """The loss of one domain."""
    return next(loss for loss in found.domains if loss.domain == domain)


def row(loss: DomainLoss) -> WorkloadLoss:
    """The only workload that a loss concerns."""
    (found,) = loss.workloads
    return found


def test_a_spread_workload_survives() -> None:
    """A replica a zone: the lost one finds a place among the zones that are left."""
    found = survive(cluster(*ZONES, *replicas("web", "abc", spread=[spread()])), ZONE)
    assert (found.failures, [loss.ok for loss in found.domains]) == (0, [True, True, True])
    lost = row(without(found, "a"))
    assert (lost.replicas, lost.lost, lost.replaced, lost.pending) == (3, 1, 1, 0)


def test_nodes_that_stay_unreachable_are_still_counted() -> None:
    """Two a zone: the empty zone keeps pods out of the others, until its nodes are gone or not counted."""
    found = survive(cluster(*ZONES, *replicas("web", "aabbcc", spread=[spread()])), ZONE)
    (waits,) = without(found, "a").meanwhile
    assert (waits.pods, waits.workload, without(found, "a").ok) == (2, "ReplicaSet/web", True)
    assert "didn't match pod topology spread constraints" in waits.message
    heeds = spread(nodeTaintsPolicy="Honor")
    found = survive(cluster(*ZONES, *replicas("web", "aabbcc", spread=[heeds])), ZONE)
    assert [loss.meanwhile for loss in found.domains] == [(), (), ()]


def test_who_waits_meanwhile_waits_in_the_simulation_of_these_nodes() -> None:
    """The nodes tainted by hand, their pods deleted and made again: as many find no node."""
    lost = "node.kubernetes.io/unreachable:NoSchedule"
    nodes = (node("a", zone="a", taints=[lost]), *ZONES[1:])
    left = [item for item in replicas("web", "aabbcc", spread=[spread()]) if _node_of(item) != "a"]
    played = simulate(cluster(*nodes, *left))
    assert sum(decision.node is None for decision in played.decisions) == 2


def _node_of(item: Object) -> str:
    return str(item["spec"].get("nodeName", ""))


def test_a_workload_in_one_zone_alone_is_lost_with_it() -> None:
    """Its replacements find places, but none ran in between."""
    found = survive(cluster(*ZONES, *replicas("web", "aa")), ZONE)
    lost = row(without(found, "a"))
    assert (lost.lost, lost.replaced, lost.pending, lost.ok) == (2, 2, 0, False)
    assert without(found, "b").workloads == ()
    assert found.failures == 1


def test_min_domains_outlive_the_zone() -> None:
    """With minDomains 3 the third replica waits for a zone that is gone."""
    found = survive(cluster(*ZONES, *replicas("web", "abc", spread=[spread(minDomains=3)])), ZONE)
    (left,) = without(found, "b").pending
    assert left.fix is not None
    assert left.fix.changes[0].summary == f"maxSkew 2 instead of 1 for {ZONE}"


def test_bare_pods_do_not_come_back() -> None:
    """Nothing makes them again: lost, neither replaced nor pending."""
    lost = row(without(survive(cluster(*ZONES, pod("bare", on="a")), ZONE), "a"))
    assert (lost.workload, lost.lost, lost.replaced, lost.pending, lost.ok) == ("Pod/bare", 1, 0, 0, False)


def test_what_is_not_made_again_is_not_replaced() -> None:
    """Two replicas where one is wanted: what went wrong is that the lost one was said to get another node."""
    objects = replicas("web", "ab")
    objects[0]["spec"]["replicas"] = 1
    lost = row(without(survive(cluster(*ZONES, *objects), ZONE), "a"))
    assert (lost.replicas, lost.lost, lost.replaced, lost.pending, lost.ok) == (2, 1, 0, 0, True)


def test_pods_whose_template_names_a_lost_node_are_not_replaced() -> None:
    """What went wrong: a workload survived of which two pods came to no node, and were not pending either."""
    owner, *pods = replicas("web", "aab")
    owner["spec"]["template"]["spec"]["nodeName"] = "a"
    found = cluster(*ZONES, owner, *pods)
    lost = row(without(survive(found, ZONE), "a"))
    assert (lost.lost, lost.replaced, lost.ok) == (2, 0, False)
    assert lost.reason == "its template has spec.nodeName a, and that node is lost"
    (note,) = remove_nodes(found, "a").notes
    assert note.startswith("remove a: 2 pods of a template with spec.nodeName, never started: default/web-")


def test_pods_of_a_stateful_set_are_replaced_under_their_names() -> None:
    """As many get another node as were lost."""
    found = survive(cluster(*ZONES, pod("db-0", on="a", owner="StatefulSet/db")), ZONE)
    assert (row(without(found, "a")).lost, row(without(found, "a")).replaced) == (1, 1)


def job_in(nodes: Sequence[str], **spec: Any) -> list[Object]:
    """A Job of four pods with one of them on each of these nodes, half a node each."""
    words = {"cpu": "2"}
    template = _template("sum", words)["template"]
    template["spec"]["restartPolicy"] = "Never"
    made = {**workload("Job", "sum"), "spec": {"parallelism": len(nodes), "completions": 4, **spec}}
    made["spec"]["template"] = template
    pods = [pod(f"sum-{n}-x", on=on, app="sum", owner="Job/sum", **words) for n, on in enumerate(nodes)]
    for number, item in enumerate(pods):
        item["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = str(number)
    return [made, *pods]


@pytest.mark.parametrize(
    ("spec", "replaced", "reason"),
    [
        ({"backoffLimit": 0}, 0, "BackoffLimitExceeded"),
        ({"backoffLimit": 1}, 1, ""),
        (policy(FAILS), 0, "PodFailurePolicy"),
        ({"backoffLimit": 0, **policy(on_exit("FailJob", "In", 137), IGNORES)}, 1, ""),
    ],
)
def test_a_job_fails_by_the_loss_of_a_pod(spec: dict[str, Any], replaced: int, reason: str) -> None:
    """As with the real job controller: Pod GC fails the pods of nodes that are gone."""
    lost = row(without(survive(cluster(*ZONES, *job_in("ab", **spec)), ZONE), "a"))
    assert (lost.workload, lost.lost, lost.replaced, lost.pending) == ("Job/sum", 1, replaced, 0)
    assert (lost.reason, lost.ok) == (reason, not reason)


def test_pods_of_a_job_that_fails_leave_room() -> None:
    """The job controller deletes them: a pod of zone a gets the place of one in zone b."""
    web = replicas("web", "a", cpu="2")
    objects = [*ZONES[:2], *job_in("ab", backoffLimit=0), *web, *replicas("db", "b", cpu="2")]
    rows = {item.workload: item for item in without(survive(cluster(*objects), ZONE), "a").workloads}
    assert (rows["Job/sum"].replaced, rows["ReplicaSet/web"].replaced) == (0, 1)
    assert rows["ReplicaSet/web"].pending == 0


def test_an_index_of_a_job_fails_for_good() -> None:
    """The Job goes on with another index, and fails in the end."""
    spec = {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
    found = survive(cluster(*ZONES, *job_in("ab", **spec)), ZONE)
    lost = row(without(found, "a"))
    assert (lost.replaced, lost.reason, lost.ok) == (1, "FailedIndexes", False)


def test_daemon_pods_are_no_loss() -> None:
    """They belong to their node."""
    found = survive(cluster(*ZONES, pod("agent", on="a", owner="DaemonSet/agent")), ZONE)
    assert without(found, "a").workloads == ()


@pytest.mark.parametrize("owner", ["", "Node/a"])
def test_static_pods_are_no_loss(owner: str) -> None:
    """They belong to their node: what went wrong is that only an owner reference was taken to say so."""
    mirror = pod("static-a", on="a", **({"owner": owner} if owner else {}))
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    loss = without(survive(cluster(*ZONES, mirror), ZONE), "a")
    assert (loss.workloads, loss.ok) == ((), True)


def test_pods_that_were_pending_before_are_no_part_of_the_loss() -> None:
    """A pod that found no node with all zones there is not told of again."""
    found = survive(cluster(*ZONES, pod("huge", cpu="99"), *replicas("web", "abc")), ZONE)
    assert (found.failures, without(found, "a").pending) == (0, ())


def test_a_replica_that_waited_takes_the_place_of_a_lost_one() -> None:
    """What went wrong: the pod made anew waited in its stead, and the workload was said not to survive."""
    racks = [node(name, zone=name, labels={"rack": rack}) for name, rack in zip("abc", "112", strict=True)]
    web = replicas("web", ["a", "c", ""], apart=[term("rack", "web")])
    loss = without(survive(cluster(*racks, *web), ZONE), "a")
    assert (row(loss).replicas, row(loss).lost, row(loss).replaced, row(loss).pending) == (2, 1, 1, 0)
    assert (loss.ok, loss.failing_draws, loss.pending) == (True, 0, ())


def test_pending_pods_are_placed_before_a_zone_is_lost() -> None:
    """The survey is about the cluster as the scheduler will have it."""
    objects = [found for found in replicas("web", "abc") if found["kind"] != "Pod"]
    assert row(without(survive(cluster(*ZONES, *objects), ZONE), "a")).replicas == 3


def test_an_unknown_key_is_bad_input() -> None:
    """No node has it: most likely a slip of the pen."""
    with pytest.raises(InputError, match="no node has the label rack"):
        survive(cluster(*ZONES), "rack")


def test_the_snapshot_is_untouched() -> None:
    """Losing zones is a thought."""
    found = cluster(*ZONES, *replicas("web", "abc"))
    before = {name: value for name, value in asdict(found).items()}
    survive(found, ZONE)
    assert asdict(found) == before


def test_two_processes_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses are shared by two processes, which answer in the same bytes."""
    items = [*ZONES, *replicas("web", "abc", cpu="3", spread=[spread(ZONE, 1)]), *replicas("db", "ab")]
    two = replace(STANDARD, explain=replace(STANDARD.explain, pods_for_two=0))
    alone = survive(cluster(*items), ZONE)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert survive(cluster(*items), ZONE, effort=two) == alone
    assert any(loss.pending for loss in alone.domains)


def _with_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
def test_tasks_are_done_by_processes_of_their_own() -> None:
    """Each is done once, by another process, however many there are."""
    with Processes() as processes:
        answers = [processes.start(partial(_with_process, number)) for number in range(AT_A_TIME + 2)]
        found = [answer.get() for answer in answers]
    assert [number for number, _ in found] == [*range(AT_A_TIME + 2)]
    assert len({os.getpid(), *(pid for _, pid in found)}) == AT_A_TIME + 3


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
def test_a_process_that_ends_is_done_without() -> None:
    """What a process did not answer is worked out here, and not waited for."""
    here = os.getpid()

    def answers_here_alone() -> int:
        if os.getpid() != here:
            os._exit(1)
        return here

    with Processes() as processes:
        assert processes.start(answers_here_alone).get() == here


@pytest.mark.parametrize("room", [False, True])
def test_pods_that_a_replacement_preempts_are_lost_too(room: bool) -> None:
    """What went wrong: they were gone, and their workload was said to survive; elsewhere may be room."""
    nodes = [node("a", zone="a", cpu="1"), node("b", zone="b", cpu="1")]
    nodes += [node("c", zone="c", cpu="1")] if room else []
    high = replicas("high", "a", cpu="1", priority=9)
    if room:
        high[1]["spec"]["nodeSelector"] = high[0]["spec"]["template"]["spec"]["nodeSelector"] = {"tier": "x"}
        for item in nodes[:2]:
            item["metadata"]["labels"]["tier"] = "x"
    found = survive(cluster(*nodes, *high, *replicas("low", "b", cpu="1")), ZONE)
    loss = without(found, "a")
    rows = {item.workload: (item.lost, item.replaced, item.pending, item.ok) for item in loss.workloads}
    assert rows["ReplicaSet/high"] == (1, 1, 0, False)
    assert rows.get("ReplicaSet/low") == (None if room else (0, 0, 1, False))
    told = [(item.workload, item.message[:25], item.sought) for item in loss.pending]
    assert told == ([] if room else [("ReplicaSet/low", "0/1 nodes are available: ", True)])


def preempted_at_once(*more: Object) -> list[Object]:
    """Two full nodes, one in zone a and one in zone b, and a pending pod that preempts one of theirs."""
    nodes = (node("n1", zone="a", cpu="2"), node("n2", zone="b", cpu="2"), *more)
    return [*nodes, *replicas("low", ["n1", "n2"], cpu="2"), *replicas("high", [""], cpu="2", priority=9)]


def test_pods_that_were_preempted_before_are_no_part_of_the_loss() -> None:
    """What went wrong: every zone was blamed for them, even one with a node that is too small for any pod."""
    found = survive(cluster(*preempted_at_once(node("tiny", zone="c", cpu="1"))), ZONE)
    assert (without(found, "c").ok, without(found, "c").pending) == (True, ())
    for zone in "ab":
        rows = {item.workload: item for item in without(found, zone).workloads}
        assert (rows["ReplicaSet/low"].replicas, rows["ReplicaSet/low"].pending) == (1, 1)


def test_pods_that_were_preempted_before_come_to_another_node() -> None:
    """Room in zone c is left, as pods of high have to be on n1: it is lost with that zone, not before."""
    objects = preempted_at_once(node("n3", zone="c", cpu="2"))
    for item in objects:
        if item["metadata"]["name"] == "n1":
            item["metadata"]["labels"]["tier"] = "x"
        elif item["metadata"]["name"] == "high-0":
            item["spec"]["nodeSelector"] = {"tier": "x"}
    lost = row(without(survive(cluster(*objects), ZONE), "c"))
    assert (lost.workload, lost.replicas, lost.lost, lost.pending) == ("ReplicaSet/low", 2, 1, 1)
