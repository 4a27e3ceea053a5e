"""Consolidations that the user stops: what was found holds, and the notes name what ended the search."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest

from models import Cluster
from planner import consolidate
from planner.consolidate.loss import UNTRIED, DomainLosses
from planner.documents.consolidation import ConsolidationPlan
from planner.moves.movable import Movable
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from tests import seeds
from tests.builders import ZONE, cluster, node, pod
from tests.planner.consolidate.drawn import Drawn, crowded
from tests.planner.consolidate.test_plan import carried_out, planned
from tests.planner.consolidate.test_survive import two_zones


def stopped(case: Drawn, seconds: float, **words: object) -> ConsolidationPlan:
    """The plan when a stop is requested after so many seconds."""
    stop = threading.Event()
    timer = threading.Timer(seconds, stop.set)
    if seconds:
        timer.start()
    else:
        stop.set()
    try:
        return planned(case, time_limit=600, stop_event=stop, **words)
    finally:
        timer.cancel()


@pytest.mark.parametrize("words", [{}, {"curve": True}, {"survive": "topology.kubernetes.io/zone"}], ids=str)
def test_a_stop_before_the_start(words: dict[str, object]) -> None:
    """What went wrong: the notes said that the time was over."""
    plan = stopped(crowded(1), 0, **words)
    assert plan.cut
    (note,) = (note for note in plan.notes if "looking for" in note)
    assert note.startswith("stopped while looking for")
    assert not [note for note in plan.notes if "--time-limit" in note or "time was" in note]


def test_the_limit_is_not_called_a_stop() -> None:
    """Nor the other way round."""
    plan = planned(crowded(1), time_limit=0.01)
    assert plan.cut
    assert any(note.startswith("cut short while looking for") for note in plan.notes)
    assert not any("stopped" in note for note in plan.notes)


@pytest.mark.parametrize("seed", seeds.given_and_fresh(31))
def test_plans_hold_whenever_the_user_stops(seed: int | None) -> None:
    """With what was found until then the nodes that go end empty, and all rules hold."""
    chance = random.Random(seeds.fresh() if seed is None else seed)
    for _ in range(seeds.tries(3)):
        case = crowded(chance.randrange(1 << 20))
        plan = stopped(case, chance.choice((0, chance.uniform(0, 1.5))))
        end = carried_out(case.cluster(), plan, chance.randrange(1 << 20))
        places = {item.name: int((item.node_name or "n-1")[1:]) for item in end.pods}
        ordered = [places[name] for name in sorted(places, key=lambda name: int(name.partition("-")[2]))]
        assert case.holds(ordered), (case, plan.steps)
        assert not {f"n{place}" for place in ordered} & {row.node for row in plan.removed}


def test_pins_are_not_tried_where_losses_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: `with --pin no cheaper plan was found either`, though no node may go then."""
    losses_of = DomainLosses.of

    def cut_short(problem: Problem, movable: Movable, key: str, is_over: object) -> DomainLosses:
        return replace(losses_of(problem, movable, key), complete=False)

    monkeypatch.setattr(DomainLosses, "of", cut_short)
    plan = consolidate(two_zones(), survive=ZONE)
    assert "whether --pin saves more was not tried: the time was over" in plan.notes


def test_where_the_time_ends_the_losses_no_wave_is_called_unsafe(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: of the nodes that waves had emptied half were said to stay as no safe wave does."""
    over = threading.Event()

    def untried(losses: DomainLosses, found: Cluster, is_over: object) -> str:
        over.set()
        return UNTRIED

    monkeypatch.setattr(DomainLosses, "why_worse", untried)
    monkeypatch.setattr(Meter, "limit_is_over", lambda meter: over.is_set())
    nodes = [f"{zone}{number}" for zone in "ab" for number in range(5)]
    pods = [pod(f"web-{name}", name, owner="ReplicaSet/web", cpu="1") for name in nodes]
    plan = consolidate(cluster(*(node(name, name[0], cpu="8") for name in nodes), *pods), survive=ZONE)
    assert plan.removed == ()
    assert {row.reason for row in plan.kept} == {UNTRIED, "no cheaper set of nodes was found"}
