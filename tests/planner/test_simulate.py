"""The Simulation document: its fields, its notes, and that the same input gives the same bytes."""

import json
import random
from dataclasses import replace

from hypothesis import given

from models import Cluster
from planner import simulate
from tests.builders import (
    HOST,
    SOFT,
    ZONE,
    Object,
    cluster,
    node,
    pod,
    scheduler,
    service,
    spread,
    term,
    workload,
)
from tests.seeds import seeds
from tests.strategies import clusters, relaxed

WEB = workload("ReplicaSet", "web")
MACHINES = (node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="c", taints=["gpu=x:NoSchedule"]))


def web(name: str, on: str = "", **words: object) -> Object:
    """A pod of ReplicaSet web, spread over zones."""
    return pod(name, on, app="web", owner=WEB, **{"spread": [spread(nodeTaintsPolicy="Honor")], **words})


def test_the_fields_of_the_document() -> None:
    """The contract of the JSON: these names, in camelCase, and nothing about nodes unless asked."""
    found = json.loads(
        simulate(cluster(*MACHINES, WEB, web("w1", "n1"), web("w2"), pod("big", cpu="9"))).to_json()
    )
    assert (found["apiVersion"], found["kind"], found["notes"]) == ("planner/v1alpha1", "Simulation", [])
    placed, left = found["decisions"]
    told: Object = {"node": "n2", "message": "", "nominatedNode": None, "victims": []}
    assert placed == {"pod": "default/w2", "workload": "ReplicaSet/web", **told}
    assert left["node"] is None
    assert left["message"] == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
        "no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_a_later_one_lets_in_is_told() -> None:
    """What went wrong: cache goes where db is, and was said to stay pending; the real one tries it again."""
    near = pod("cache", near=[term(ZONE, app="db")])
    found = simulate(cluster(*MACHINES, near, pod("db", app="db"), pod("big", cpu="9")))
    assert [decision.node is None for decision in found.decisions] == [True, False, True]
    assert found.notes == (
        "default/cache, which stays pending at the first try, gets a node when kube-scheduler tries it "
        "again, after pods that came later in the queue",
    )
    assert not simulate(cluster(*MACHINES, near, pod("big", cpu="9"))).notes


def needing_others(rng: random.Random) -> list[Object]:
    """Pods that need others in their zone, which may come later, and spread or not, on a few small nodes."""
    machines = [node(f"n{number}", zone="abc"[number % 3], cpu=str(rng.randint(1, 3))) for number in range(4)]
    pods = []
    for number in range(rng.randint(2, 8)):
        words: Object = {"near": [term(ZONE, app=rng.choice("abc"))]} if rng.random() < 0.6 else {}
        if rng.random() < 0.3:
            words["spread"] = [spread(app="a")]
        pods.append(pod(f"p{number}", app=rng.choice("abc"), cpu=rng.choice(("500m", "1")), **words))
    return [*machines, *pods]


def test_what_is_told_of_further_tries_is_so() -> None:
    """A note is there where the queue places more once what it has placed is bound, and nowhere else."""
    for seed in seeds(25):
        found = Cluster.from_objects(needing_others(random.Random(seed)))
        first = simulate(found, preemption=False)
        on = {decision.pod: decision.node for decision in first.decisions if decision.node is not None}
        pods = tuple(pod.on(on[pod.key]) if pod.key in on else pod for pod in found.pods)
        again = simulate(replace(found, pods=pods), preemption=False)
        more = any(decision.node is not None for decision in again.decisions)
        told = any("kube-scheduler tries" in note for note in first.notes)
        assert told == more, f"seed {seed}"


def test_verbose_tells_every_node() -> None:
    """Refused nodes with plugin and reasons, feasible ones with their scores and the sum of these."""
    decision = simulate(
        cluster(*MACHINES, WEB, web("w1", "n1"), web("w2"), pod("q")), verbose=True
    ).decisions[0]
    assert decision.rejected is not None
    assert {name: (found.plugin, found.reasons) for name, found in decision.rejected.items()} == {
        "n1": ("PodTopologySpread", ("node(s) didn't match pod topology spread constraints",)),
        "n3": ("TaintToleration", ("node(s) had untolerated taint(s)",)),
    }
    assert (decision.scores, decision.totals) == ({}, {})
    document = simulate(cluster(*MACHINES, WEB, web("w1", "n1"), web("w2"), pod("q")), verbose=True).to_dict()
    assert set(document["decisions"][1]["totals"]) == {"n1", "n2"}
    for name, total in document["decisions"][1]["totals"].items():
        assert total == sum(scores[name] for scores in document["decisions"][1]["scores"].values())


def test_spread_before_and_after() -> None:
    """Each constraint that manifests ask for, hard or soft, with its pods per domain, and no built-in one."""
    more = [spread(nodeTaintsPolicy="Honor"), spread(HOST, skew=2, when=SOFT)]
    pods = web("w1", "n1", spread=more), web("w2", spread=more), pod("plain", app="x")
    hard, soft = simulate(cluster(*MACHINES, WEB, service("x", app="x"), *pods)).spread
    assert (hard.workload, hard.topology_key, hard.max_skew) == ("ReplicaSet/web", ZONE, 1)
    assert (dict(hard.before), dict(hard.after)) == ({"a": 1, "b": 0}, {"a": 1, "b": 1})
    assert (hard.skew_before, hard.skew_after) == (1, 0)
    assert dict(soft.after) == {"n1": 1, "n2": 1, "n3": 0}


def test_an_eviction_is_seen_in_the_spread() -> None:
    """Victims are gone from the counts after."""
    victim = web("w1", "n1", cpu="4")
    found = simulate(cluster(MACHINES[0], WEB, victim, pod("p", cpu="4", priority=5)))
    assert found.decisions[0].victims == ("default/w1",)
    assert [(dict(change.before), dict(change.after)) for change in found.spread] == [({"a": 1}, {"a": 0})]


def test_pending_verdicts_are_counted() -> None:
    """The same line once, with the number of pods and the first of them; the most frequent first."""
    pods = [pod("gated", gates=["wait"]), *[pod(f"big{n}", cpu="9") for n in range(3)], pod("ok")]
    found = simulate(cluster(*MACHINES, *pods), preemption=False).pending
    assert [(item.pods, item.example) for item in found] == [(3, "default/big0"), (1, "default/gated")]
    assert found[1].message == "scheduling gated"


def test_notes() -> None:
    """Remarks about the snapshot, about what is left out, and about the configuration, a sentence each."""
    pods = [
        pod("device", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]),
        pod("device-there", "n1", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]),
        pod("lost", "nowhere"),
        pod("other", scheduler="mine"),
        pod("gang", schedulingGroup={"podGroupName": "train"}),
    ]
    config = scheduler({"schedulerName": "default-scheduler"}, percentageOfNodesToScore=10)
    notes = simulate(cluster(*MACHINES, *pods, config)).notes
    for words in (
        "nowhere",
        "left undecided, for devices are not judged",
        "1 pending pod asks to be scheduled as part of a group (default/gang)",
        "percentageOfNodesToScore",
        "mine",
    ):
        assert sum(words in note for note in notes) == 1, words


@relaxed
@given(clusters(config=True))
def test_the_same_input_gives_the_same_bytes(objects: list[Object]) -> None:
    """Twice the same snapshot, in two readings, is twice the same document; the snapshot stays as it was."""
    snapshot = Cluster.from_objects(objects)
    first = simulate(snapshot, verbose=True, seed=7).to_json()
    assert simulate(Cluster.from_objects(objects), verbose=True, seed=7).to_json() == first
    assert snapshot == Cluster.from_objects(objects)


@relaxed
@given(clusters())
def test_what_is_told_does_not_change_what_is_decided(objects: list[Object]) -> None:
    """Verbose or not, the decisions are the same; each is for one pending pod, and no pod has two."""
    snapshot = Cluster.from_objects(objects)
    brief, full = simulate(snapshot), simulate(snapshot, verbose=True)
    short = [(found.pod, found.node, found.message, found.victims) for found in brief.decisions]
    assert short == [(found.pod, found.node, found.message, found.victims) for found in full.decisions]
    pending = {pod.key for pod in snapshot.pods if not pod.node_name and not pod.is_terminating}
    assert sorted(found.pod for found in brief.decisions) == sorted(pending)
    for found in full.decisions:
        if found.totals and found.nominated_node is None:
            best = max(found.totals.values())
            assert found.node == min(name for name, total in found.totals.items() if total == best)
