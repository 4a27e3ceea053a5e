"""No replacement of a plan ever preempts, and waves hold however late the old pods end."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import Cluster
from planner import rebalance
from planner.eviction.budgets import Budgets
from planner.landing.landing import Landing, NodeSets, PinPolicy, pinnable
from planner.landing.single_landings import PreemptionRisk
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.problem import Problem
from planner.waves.candidates import Candidates, WaveRules
from planner.waves.replay import failures
from planner.waves.wave_planner import CertainFirst, fill_waves
from tests import seeds
from tests.builders import ZONE, Object, cluster, node, pod, spread, term
from tests.truth import preempting
from tests.truth.adversary.plans import against_moves

FOUND = Path(__file__).parents[2] / "data" / "found"


def found(name: str) -> list[Object]:
    """The manifests of a small cluster for which a plan was wrong once."""
    items: list[Object] = json.loads((FOUND / f"{name}.json").read_text())["items"]
    return items


@pytest.mark.parametrize("evict_only", [False, True])
@pytest.mark.parametrize("name", ["replacement-preempts", "lingering", "lingering-affinity"])
def test_small_clusters_on_which_waves_failed(name: str, *, evict_only: bool) -> None:
    """Everything is repaired, and in whatever order pods land or end, every replacement lands as planned."""
    objects = found(name)
    plan = rebalance(Cluster.from_objects(objects), time_limit=10, evict_only=evict_only)
    assert (plan.after.hard_excess, against_moves(objects, plan).failures) == (0, [])


def test_a_replacement_that_waits_is_pinned_to_where_it_preempts_nothing() -> None:
    """Unpinned it would preempt a filler elsewhere; on the pinned node no pod has a lower priority."""
    plan = rebalance(Cluster.from_objects(found("replacement-preempts")), time_limit=10)
    (step,) = plan.steps
    assert (step.pod, step.node, step.landing) == ("default/web-1", "n2", "pinned")


def test_evictions_alone_make_room_first() -> None:
    """Without a pin the filler moves first; one move above the bound, so the plan is not proved optimal."""
    plan = rebalance(Cluster.from_objects(found("replacement-preempts")), time_limit=10, evict_only=True)
    assert [step.pod for step in plan.steps] == ["default/filler", "default/web-1"]
    assert plan.status == "Feasible"


def waiting(**words: Any) -> list[Object]:
    """Pod `it` can only move from `from` to `there`, once it has ended; until then it might preempt `low`."""
    own: Object = {"app": "web", "priority": 10, "owner": "ReplicaSet/web", **words}
    return [
        node("from", zone="a", cordoned=True),
        node("there", zone="a"),
        node("other", zone="b", cpu="1"),
        pod("it", "from", cpu="500m", apart=[term(ZONE, "web")], **own),
        pod("low", "other", cpu="1", owner="ReplicaSet/low"),
    ]


def risk(objects: list[Object], *, pinned: str = "", cordoned: str = "") -> bool:
    """Whether the replacement of `it` could preempt while its old pod is terminating."""
    problem = Problem(cluster(*objects))
    number = problem.pod_index["default/it"]
    at = problem.nodes.index
    move = Move(number, at["from"], at["there"])
    timeline = EvictionTimeline.of(TrialCluster(problem), [move])
    timeline.put(move, timeline.own_phases(move)[0])
    pin = np.arange(problem.nodes.size) == at[pinned] if pinned else None
    closed = [at[cordoned]] if cordoned else []
    before = timeline.trial.state.node_of.copy()
    answer = PreemptionRisk(timeline.trial).threatens(timeline.trial.template(number), pin, cordoned=closed)
    assert (timeline.trial.state.node_of == before).all()
    return answer


@pytest.mark.parametrize(
    ("words", "held", "answer"),
    [
        ({}, {}, True),
        ({"never": "Never"}, {}, False),
        ({"priority": 0}, {}, False),
        ({}, {"pinned": "there"}, False),
        ({}, {"pinned": "other"}, True),
        ({}, {"cordoned": "other"}, False),
    ],
)
def test_when_a_replacement_could_preempt(words: Object, held: dict[str, str], *, answer: bool) -> None:
    """Only if its priority and policy allow it, and if preemption makes room on a node it may use."""
    assert risk(waiting(**words), **held) is answer


def test_a_node_that_preemption_does_not_open_is_no_risk() -> None:
    """A pod of the same priority keeps the node full."""
    objects = [*waiting(), pod("alike", "other", cpu="600m", priority=10)]
    assert not risk(objects)


def test_a_scheduler_that_does_not_preempt() -> None:
    """A profile may have its DefaultPreemption turned off."""
    plugins = {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }
    assert not risk([*waiting(), config])


def played(objects: list[Object], kind: str, *moves: tuple[str, str, str]) -> set[str]:
    """The failures in a hundred random runs of one wave; each landing is on its target alone."""
    problem = Problem(cluster(*objects))
    at = problem.nodes.index
    several = [Move(problem.pod_index[f"default/{name}"], at[a], at[b]) for name, a, b in moves]
    timeline = EvictionTimeline.of(TrialCluster(problem), several)
    places = NodeSets(timeline.trial)
    wave = []
    for move in several:
        only = np.arange(problem.nodes.size) == move.target
        there = places.named(only)
        pin = there if kind == "pinned" else None
        wave.append(Landing(move, kind, only, there, pin))  # type: ignore[arg-type]
    return {line for seed in range(1, 101) for line in failures(timeline, [wave], seed=seed)}


def test_the_replay_has_preemption_on() -> None:
    """The replacement does not wait for its old pod to end: it preempts another pod."""
    lines = played(waiting(), "filters", ("it", "from", "there"))
    assert lines == {"wave 1: default/it finds no node, and preempts default/low on other"}
    assert played(waiting(never="Never"), "filters", ("it", "from", "there")) == set()
    assert played(waiting(), "pinned", ("it", "from", "there")) == set()


def test_the_replay_has_pods_end_after_all_have_landed() -> None:
    """`second` needs the room of `first`, which may still be terminating when its replacement has landed."""
    objects = [
        *(node(name, cpu="1") for name in ("a", "b", "c")),
        pod("first", "a", cpu="1", owner="ReplicaSet/first"),
        pod("second", "b", cpu="1", owner="ReplicaSet/second"),
    ]
    lines = played(objects, "pinned", ("first", "a", "c"), ("second", "b", "a"))
    assert lines == {"wave 1: default/second does not land on a planned node"}


def test_waves_look_at_pods_that_end_late() -> None:
    """Where a terminating pod keeps another replacement off its node, both are not in one wave."""
    objects = [
        *(node(name, zone=name[0]) for name in ("a1", "a2", "b1", "c1")),
        pod("first", "a1", app="web", owner="ReplicaSet/first", nodeSelector={ZONE: "c"}),
        pod(
            "second",
            "b1",
            app="x",
            owner="ReplicaSet/second",
            apart=[term(ZONE, "web")],
            nodeSelector={ZONE: "a"},
        ),
    ]
    problem = Problem(cluster(*objects))
    at, pods = problem.nodes.index, problem.pod_index
    moves = [
        Move(pods["default/first"], at["a1"], at["c1"]),
        Move(pods["default/second"], at["b1"], at["a2"]),
    ]
    rules = WaveRules(
        Budgets(problem), np.ones(len(problem.pods), np.int64), pin_policy=PinPolicy(pinnable(problem))
    )
    timeline = EvictionTimeline.of(TrialCluster(problem), moves)
    waves, left = fill_waves(CertainFirst(Candidates(timeline, moves, rules)), moves, lambda: False)
    assert left == []
    assert [len(wave) for wave in waves] == [1, 1]


def test_fresh_plans_against_every_order_and_linger() -> None:
    """Tiny clusters with priorities: nothing is preempted, nothing stays pending, nothing lands elsewhere."""
    for seed in seeds.seeds(3):
        objects = preempting.draw(seed).objects
        words: Any = random.Random(seed).choice(({}, {"evict_only": True}, {"cordon": True}))
        plan = rebalance(Cluster.from_objects(objects), time_limit=1, explain=False, **words)
        assert against_moves(objects, plan, seed=seed).failures == [], seed


def test_a_note_says_what_cannot_be_moved_without_preemption() -> None:
    """No other pod can make room, and pods of such a controller cannot be pinned."""
    own: Object = {"app": "web", "labels": {"g": "1"}, "priority": 10, "owner": "CloneSet/web"}
    own |= {"spread": [spread("kubernetes.io/hostname", app=None, selects={"matchLabels": {"g": "1"}})]}
    objects = [
        node("from", zone="a"),
        node("there", zone="a"),
        node("other", zone="b", cpu="1"),
        pod("it", "from", apart=[term(ZONE, "web")], **own),
        pod("counted", "from", labels={"g": "1"}),
        pod("low", "other", cpu="1", labels={"g": "1"}),
    ]
    plan = rebalance(cluster(*objects), time_limit=10)
    assert plan.steps == ()
    assert (
        "1 of 1 move is left out: as long as the old pod ends, a replacement of default CloneSet/web "
        "could find no node and preempt pods of lower priority"
    ) in plan.notes


def test_pods_of_one_priority_are_planned_as_before() -> None:
    """If all pods have one priority, the plan does not depend on it."""
    objects = found("replacement-preempts")
    for item in objects:
        if item["kind"] == "Pod":
            item["spec"]["priority"] = 7
    (step,) = rebalance(Cluster.from_objects(objects), time_limit=10).steps
    assert (step.node, step.landing) == ("n2", "filters")
