"""Moves one after the other: what holds a replacement to its node, and the notes at the time limit."""

import math
import sys
import threading
from itertools import chain
from typing import Any

import numpy as np
import pytest

from models.errors import InternalError
from planner import rebalance
from planner.documents.move_plan import MovePlan, OnNodes
from planner.eviction.budgets import Budgets
from planner.landing.landing import NO_PINS, Landing, PinPolicy, pinnable
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.proof.clock import Clock
from planner.proof.meter import Meter
from planner.waves.candidates import WaveRules
from planner.waves.wave_planner import OneMoveAWave, WavePlanner
from tests.builders import Object, cluster, node, pod, spread
from tests.planner.rebalance.recorded_like import recorded_like
from tests.planner.rebalance.test_exchanges import tight
from tests.planner.waves.test_orders import moves_of


def landing(*objects: Object, evict_only: bool = False) -> Landing | None:
    """The landing of pod `it` on node `there`; pins are allowed unless `evict_only`."""
    problem = Problem(cluster(*objects))
    number = problem.pod_index["default/it"]
    move = Move(number, int(problem.node_of[number]), problem.nodes.index["there"])
    pin_policy = NO_PINS if evict_only else PinPolicy(pinnable(problem))
    return SingleLandings(EvictionTimeline.of(TrialCluster(problem), [move]), pin_policy).of(move)


def replica(name: str, on: str, **words: Any) -> Object:
    """A pod of one workload."""
    return pod(name, on, app="web", cpu="1", owner="ReplicaSet/web", **words)


def coupled(least: int) -> list[Object]:
    """Two replicas in a cordoned zone, one in each of two others, of which `there` is the fuller one."""
    constraint = {**spread(), "minDomains": least}
    return [
        node("from", zone="a", cordoned=True),
        node("there", zone="b"),
        node("other", zone="c"),
        *(replica(name, on, spread=[constraint]) for name, on in (("it", "from"), ("w1", "from"))),
        replica("w2", "there", spread=[constraint]),
        replica("w3", "other", spread=[constraint]),
        pod("load", "there", cpu="2"),
    ]


def test_a_pin_names_one_node() -> None:
    """One node is enough where that hides no domain that a constraint requires."""
    found = landing(*coupled(1))
    assert found is not None
    assert (found.kind, found.place, found.pin) == (
        "pinned",
        OnNodes(nodes=("there",)),
        OnNodes(nodes=("there",)),
    )


def test_a_pin_is_wide_enough_for_the_domains_that_a_constraint_asks_for() -> None:
    """With one domain `minDomains` would refuse the pod; the cordoned zone is named so that it is counted."""
    found = landing(*coupled(2))
    assert found is not None
    assert (found.kind, found.place, found.pin) == (
        "pinned",
        OnNodes(nodes=("there",)),
        OnNodes(nodes=("from", "there")),
    )


def test_without_pins_nothing_holds_it() -> None:
    """The emptier node has the higher score."""
    assert landing(*coupled(1), evict_only=True) is None


@pytest.mark.parametrize(("others", "lands"), [((), "emptier"), (("emptier",), "")])
def test_another_node_of_the_planned_zone_will_do(others: tuple[str, ...], lands: str) -> None:
    """What went wrong: it was pinned to the planned node.

    The scheduler prefers the emptier node of the same zone; it is left alone if another move is to go there.
    """
    problem = Problem(
        cluster(
            node("from", zone="a", cordoned=True),
            *(node(name, zone="b") for name in ("there", "emptier")),
            *(replica(name, "from", spread=[spread()]) for name in ("it", "other")),
            pod("load", "there", cpu="2"),
        )
    )
    index, pods = problem.nodes.index, problem.pod_index
    moves = [Move(pods["default/it"], index["from"], index["there"])]
    moves += [Move(pods["default/other"], index["from"], index[name]) for name in others]
    landings = SingleLandings(EvictionTimeline.of(TrialCluster(problem), moves), NO_PINS)
    first = OneMoveAWave(landings).next_wave(moves[:])
    found = [problem.nodes.names[one.move.target] for one in first if one.move.pod == moves[0].pod]
    assert found == [lands] * bool(lands)


@pytest.mark.parametrize(
    ("moves", "waves"),
    [
        (("a0 to t0", "b0 to t1"), [["a0", "b0"]]),
        (("a0 to t0", "a1 to t1"), [["a0"], ["a1"]]),
        (("a0 to t0", "b1 to s0"), [["a0"], ["b1"]]),
        (("a0 to t0", "b0 to t1", "b1 to s0"), [["a0", "b0"], ["b1"]]),
    ],
    ids=["apart", "replicas", "room", "the next wave"],
)
def test_moves_that_depend_on_no_other_go_together(moves: tuple[str, ...], waves: list[list[str]]) -> None:
    """What went wrong: each of 311 moves of a cluster of 500 nodes had a wave of its own.

    Replicas go one by one, as does a pod that comes to where another one leaves.
    """
    problem = Problem(
        cluster(
            *(node(name, cpu="2") for name in ("s0", "s1", "s2", "s3", "t0", "t1")),
            *(
                pod(name, on, cpu="2", owner=f"ReplicaSet/{name[0]}")
                for name, on in (("a0", "s0"), ("a1", "s1"), ("b0", "s2"), ("b1", "s3"))
            ),
        )
    )
    planned = [move.split(" to ") for move in moves]
    home = {one.name: one.node_name or "" for one in problem.pods}
    rules = WaveRules(
        Budgets(problem), np.ones(len(problem.pods), np.int64), pin_policy=PinPolicy(pinnable(problem))
    )
    planner = WavePlanner(TrialCluster(problem), rules, Meter(math.inf, Clock(60)))
    single = planner.one_move_a_wave(moves_of(problem, *((name, home[name], to) for name, to in planned)))
    together = planner.with_fewer_waves(single)
    assert [[problem.pods[one.move.pod].name for one in wave] for wave in together.waves] == waves
    assert [(one.move, one.kind) for one in chain(*together.waves)] == [
        (one.move, one.kind) for one in chain(*single.waves)
    ]
    assert together.key == single.key


@pytest.mark.long
def test_evictions_alone_repair_what_no_planned_node_does() -> None:
    """What went wrong: three pods stayed too many; the scheduler prefers other nodes of their zones."""
    plan = rebalance(recorded_like(303, "tight"), evict_only=True, explain=False)
    assert (plan.before.hard_excess > 0, plan.after.hard_excess, plan.status) == (True, 0, "Optimal")


@pytest.mark.long
def test_large_clusters_lose_no_move_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: pods stayed too many which moves one by one repair, 23 on a cluster of 600 nodes."""
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    monkeypatch.setattr(effort, "SCARCE_MOVES", -1)
    monkeypatch.setattr(effort, "ONE_MOVE_A_WAVE_MOST", 0)
    plan = rebalance(cluster(*tight(5)))
    assert plan.after.hard_excess == 0
    assert plan.steps[-1].wave < len(plan.steps)


def alone(**words: Any) -> list[Object]:
    """Two zones, two other pods in one, and a pod beside them."""
    return [
        node("from", zone="a"),
        node("there", zone="b"),
        *(pod(f"other-{number}", "from", app="web") for number in range(2)),
        replica("it", "from", spread=[spread()], **words),
    ]


def test_a_replacement_waits_until_its_pod_has_ended() -> None:
    """While the old pod ends, the required peer is only in the fuller zone, where spread admits no pod."""
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"role": "it"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = landing(*alone(labels={"role": "it"}, affinity=affinity))
    assert found is not None
    assert found.kind == "filters"


def cut_off() -> MovePlan:
    """The plan when a stop is requested before the start."""
    stop_event = threading.Event()
    stop_event.set()
    return rebalance(cluster(*alone()), stop_event=stop_event)


def test_moves_found_before_a_stop_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that counts as large also gets a plan of the moves found so far."""
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    assert [step.pod for step in cut_off().steps] == ["default/it"]


def test_moves_are_not_called_unsafe_when_the_time_was_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: "no safe order was found" though none had been looked for."""
    monkeypatch.setattr(sys.modules["planner.waves.wave_planner"], "_never", lambda: True)
    plan = cut_off()
    assert plan.cut
    assert not plan.steps
    told = "left out: it was stopped first"
    assert any(note.endswith(told) for note in plan.notes)
    assert not any("no safe order" in note for note in plan.notes)


def test_waves_that_do_not_hold_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the moves go one by one, and the plan says that its waves were misjudged."""
    wrong = iter(["a mistake", None])
    monkeypatch.setattr(sys.modules["planner.rebalance.plan"], "first_failure", lambda *_, **__: next(wrong))
    plan = rebalance(cluster(*alone()))
    assert [step.pod for step in plan.steps] == ["default/it"]
    assert any("were not safe (a mistake)" in note for note in plan.notes)


def test_no_plan_is_printed_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one by one: that is an internal error."""
    monkeypatch.setattr(sys.modules["planner.rebalance.plan"], "first_failure", lambda *_, **__: "a mistake")
    with pytest.raises(InternalError, match="a mistake"):
        rebalance(cluster(*alone()))
