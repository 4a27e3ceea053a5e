"""Cordons for pods that cannot be pinned: the few wrong nodes, one replacement at a time, on request."""

import random
from collections import Counter
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest

from models import Cluster
from planner import rebalance
from planner.documents.move_plan import MovePlan, MoveStep, OnNodes
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.scheduler.scheduler import Scheduler
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import HOST, PREFERRED, SOFT, ZONE, Object, cluster, node, pod, spread
from tests.planner.rebalance.lopsided import KINDS, drawn
from tests.planner.rebalance.test_recordings import wrong_in
from tests.planner.rebalance.test_unscheduled import ejectable, full_zone, of_stateful_sets


def cordoned(plan: MovePlan) -> list[MoveStep]:
    """The moves for which nodes are cordoned."""
    return [step for step in plan.steps if step.landing == "cordoned"]


def test_the_wrong_nodes_are_cordoned() -> None:
    """Here the node where the replacement would take the room that was just freed; it counts as a pin."""
    given = full_zone(ejectable("x", "StatefulSet/x"))
    plan = rebalance(given, cordon=True)
    (step,) = cordoned(plan)
    assert (step.pod, step.cordon, step.pin) == ("default/x", ("n1",), None)
    assert step.lands == OnNodes(nodes=("n2",))
    assert plan.after.hard_excess == 0
    assert {stage.name: stage.value for stage in plan.objective}["pinned"] == 1
    assert wrong_in(given, plan) == []


def test_nothing_is_cordoned_without_being_asked() -> None:
    """A note names the flag and the nodes that it would cordon."""
    given = full_zone(ejectable("x", "StatefulSet/x"))
    plan = rebalance(given)
    assert cordoned(plan) == []
    told = [note for note in plan.notes if "--may-cordon" in note]
    assert told == [
        "with --may-cordon a plan of 2 moves leaves 0 pods too many; meanwhile it cordons n1 for default/x",
    ]


def test_on_large_clusters_a_note_names_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the flag would do is not tried there."""
    monkeypatch.setattr(effort, "TRIED_PLACES", 0)
    plan = rebalance(full_zone(ejectable("x", "StatefulSet/x")))
    notes = [note for note in plan.notes if "--may-cordon" in note]
    assert notes == ["--may-cordon keeps those that cannot be pinned off up to 3 nodes"]


def test_a_replica_set_is_pinned_all_the_same() -> None:
    """A cordon affects other pods, a pin does not."""
    plan = rebalance(full_zone(ejectable("x", "ReplicaSet/x")), cordon=True)
    assert [step.landing for step in plan.steps] == ["pinned", "filters"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            "tolerates it",
        ),
        ({"tolerations": [{"operator": "Exists"}]}, "tolerates everything"),
        (
            {"spread": [{**spread(HOST, app="x", skew=5), "nodeTaintsPolicy": "Honor"}]},
            "would see fewer domains",
        ),
    ],
)
def test_which_pods_a_cordon_does_not_hold(words: dict[str, Any], why: str) -> None:
    """Pods that tolerate the taint of a cordon, and those whose constraints honour taints."""
    plan = rebalance(full_zone(pod("x", "n1", cpu="1", owner="StatefulSet/x", app="x", **words)), cordon=True)
    assert (cordoned(plan), plan.after) == ([], plan.before), why


def test_a_node_that_is_cordoned_already_is_not_cordoned_again() -> None:
    """It is not in the plan, which would uncordon it afterwards."""
    closed = node("n3", zone="b", cpu="1", cordoned=True)
    plan = rebalance(full_zone(ejectable("x", "StatefulSet/x"), more=(closed,)), cordon=True)
    assert [step.cordon for step in cordoned(plan)] == [("n1",)]


def stuck(wrong: int) -> Cluster:
    """Three replicas in zone a; StatefulSet pods in zone b that may move to one node, or back to several."""
    nodes = [node("n0", zone="a", cpu="3"), node("n2", cpu="1")]
    nodes += [node(f"b{n}", zone="b", cpu="1") for n in range(wrong)]
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()]) for n in range(3)
    ]
    pods += [
        pod(
            f"x{n}",
            f"b{n}",
            cpu="1",
            owner="StatefulSet/x",
            app="x",
            spread=[spread(HOST, app="x", when=SOFT)],
        )
        for n in range(wrong)
    ]
    return cluster(*nodes, *pods)


@pytest.mark.parametrize(("most", "possible"), [(1, True), (0, False)])
def test_at_most_so_many_nodes_are_cordoned(
    monkeypatch: pytest.MonkeyPatch, most: int, possible: bool
) -> None:
    """Otherwise the move is left out, and the note says that the flag does not help."""
    monkeypatch.setattr(effort, "MOST_CORDONED", most)
    given = stuck(2)
    assert bool(cordoned(rebalance(given, cordon=True))) == possible
    notes = [note for note in rebalance(given).notes if "--may-cordon" in note]
    assert len(notes) == 1
    assert (notes == ["with --may-cordon no plan was found that leaves less"]) != possible


def held_apart(plan: MovePlan, given: Cluster) -> None:
    """What holds for every plan with cordons."""
    waves = Counter(step.wave for step in plan.steps)
    closed = {item.name for item in given.nodes if item.spec.unschedulable}
    owners = {pod.key: pod.metadata.owner_references[0].kind for pod in given.pods}
    for step in cordoned(plan):
        assert waves[step.wave] == 1
        assert 1 <= len(step.cordon) <= effort.MOST_CORDONED == 3
        assert not closed.intersection(step.cordon)
        assert owners[step.pod] == "StatefulSet"
        assert isinstance(step.lands, OnNodes)
        assert not set(step.lands.nodes).intersection(step.cordon)
    assert all(bool(step.cordon) == (step.landing == "cordoned") for step in plan.steps)
    assert all(owners[step.pod] == "ReplicaSet" for step in plan.steps if step.landing == "pinned")


#: The preference of pods that would land in zone z0 again.
PREFERS_ZONE_0: Object = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z0"]}]},
}


def crowded(seed: int) -> Cluster:
    """Zones of one or two nodes: z0 is full of other pods; a spread workload and free room are elsewhere."""
    draw = random.Random(seed)
    zones, nodes, pods = draw.randint(2, 3), list[Object](), list[Object]()
    odd = {app: draw.random() for app in "xy"}
    for number in range(zones * draw.randint(1, 2)):
        size, zone = draw.randint(2, 3), number % zones
        filled = size if zone == 0 else draw.randint(max(0, size - 2), size)
        nodes.append(node(f"n{number}", zone=f"z{zone}", cpu=str(size)))
        for _ in range(filled):
            app = draw.choice("xy") if zone == 0 or draw.random() < 0.3 else "web"
            key = spread(app="web") if app == "web" else spread(HOST, app=app, when=SOFT)
            words: dict[str, Any] = {"owner": f"ReplicaSet/{app}", "app": app, "cpu": "1", "spread": [key]}
            if odd.get(app, 1) < 0.1:
                words["tolerations"] = [{"operator": "Exists"}]
            elif odd.get(app, 1) < 0.2:
                words["spread"] = [{**spread(HOST, app=app, skew=4), "nodeTaintsPolicy": "Honor"}]
            if app != "web" and draw.random() < 0.7:
                words["affinity"] = {"nodeAffinity": {PREFERRED: [PREFERS_ZONE_0]}}
            pods.append(pod(f"{app}-{len(pods)}", f"n{number}", **words))
    nodes += [
        node(f"m{number}", cpu="1", cordoned=draw.random() < 0.3) for number in range(draw.randint(1, 2))
    ]
    return of_stateful_sets(cluster(*nodes, *pods), 0.8, draw)


@pytest.mark.parametrize(("number", "possible"), [(2, True), (3, True), (4, False)])
def test_a_zone_of_a_few_nodes_is_cordoned(number: int, possible: bool) -> None:
    """Four replicas prefer the zone that they are in, and --soft wants two of them in the other."""
    preference = {"nodeAffinity": {PREFERRED: [PREFERS_ZONE_0]}}
    words = {
        "app": "db",
        "owner": "StatefulSet/db",
        "affinity": preference,
        "spread": [spread(app="db", when=SOFT)],
    }
    given = cluster(
        *(node(f"a{n}", zone="z0") for n in range(number)),
        *(node(f"b{n}", zone="z1") for n in range(2)),
        *(pod(f"db-{n}", f"a{n % number}", **words) for n in range(4)),
    )
    plan = rebalance(given, soft=True, cordon=True)
    closed, wide = tuple(f"a{n}" for n in range(number)), OnNodes(nodes=("b0", "b1"))
    assert [(step.cordon, step.lands) for step in cordoned(plan)] == ([(closed, wide)] if possible else [])
    assert (plan.after.soft_excess == 0) == possible
    assert wrong_in(given, plan, soft=True) == []


@pytest.mark.parametrize("tiny", seeds.at_first(1, [True, False]))
def test_crowded_clusters_end_as_the_document_says(monkeypatch: pytest.MonkeyPatch, tiny: bool) -> None:
    """Random runs of each plan on fresh clusters, until some plan cordons; none leaves more."""
    if not tiny:
        monkeypatch.setattr(effort, "EXHAUSTED_NODES", 0)
    number, seed = 0, (first := seeds.fresh())
    # One plan in seven cordons: two hundred plans without a cordon are no coincidence.
    while seed < first + (seeds.tries(1) if number else 200):
        given = crowded(seed)
        plan = rebalance(given, cordon=True, time_limit=5)
        held_apart(plan, given)
        assert wrong_in(given, plan, orders=seeds.tries(4)) == [], seed
        assert plan.after.hard_excess <= plan.before.hard_excess
        if cordoned(plan):
            number += 1
            assert cordoned(rebalance(given, time_limit=5)) == []
        seed += 1
    assert number


@pytest.mark.long
def test_larger_clusters_end_as_the_document_says() -> None:
    """Larger clusters with StatefulSets and ReplicaSets, thirty random runs of each plan."""
    for seed in seeds.seeds(1):
        soft = bool(seed // 4 % 2)
        given = of_stateful_sets(drawn(seed, KINDS[seed % 4], soft_alone=soft), 0.7, random.Random(seed))
        plan = rebalance(given, soft=soft, cordon=True, time_limit=5)
        held_apart(plan, given)
        assert wrong_in(given, plan, orders=30, soft=soft) == []


def test_without_a_cordon_the_replacement_may_go_wrong() -> None:
    """No cordon is superfluous: with one cordon fewer some run of the plan ends differently."""
    for seed in seeds.seeds(1):
        given = crowded(seed)
        plan = rebalance(given, cordon=True, time_limit=5)
        for number, step in enumerate(plan.steps):
            for name in step.cordon:
                fewer = step.model_copy(update={"cordon": tuple(n for n in step.cordon if n != name)})
                steps = (*plan.steps[:number], fewer, *plan.steps[number + 1 :])
                assert wrong_in(given, plan.model_copy(update={"steps": steps}), orders=200), (seed, name)


def evicted(given: Cluster, plan: MovePlan, step: MoveStep) -> Cluster:
    """The cluster when a pod has just ended, after all earlier waves, with the nodes of its step cordoned."""
    target = {other.pod: other.node for other in plan.steps if other.wave < step.wave} | {step.pod: ""}
    pods = []
    for found in given.pods:
        if found.key in target:
            place = target[found.key]
            spec = found.spec.model_copy(update={"node_name": place})
            status = found.status.model_copy(update={"phase": "Running" if place else "Pending"})
            pods.append(found.model_copy(update={"spec": spec, "status": status}))
        else:
            pods.append(found)
    return reduce(cordon, step.cordon, replace(given, pods=tuple(pods)))


def test_the_scheduler_lands_it_as_planned() -> None:
    """With the nodes cordoned every tie-break of the scheduler puts the replacement where it may land."""
    asked, seed = 0, (first := seeds.fresh())
    while seed < first + (seeds.tries(3) if asked else 200):
        given = crowded(seed)
        plan = rebalance(given, cordon=True, time_limit=5, explain=False)
        for step in cordoned(plan):
            problem = Problem(evicted(given, plan, step))
            assert isinstance(step.lands, OnNodes)
            for draw in (None, *range(1, 10)):
                (decision,) = Scheduler(problem, preemption=False, seed=draw).run()
                assert decision.node is not None, (seed, step.pod)
                name = problem.nodes.names[decision.node]
                assert name in step.lands.nodes, (seed, step.pod, name)
                assert draw is not None or name == step.node, (seed, step.pod, name)
                asked += 1
        seed += 1
    assert asked
