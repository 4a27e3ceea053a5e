"""Nodes of a layout that are given back, so that no more pods than now are left when a domain is lost."""

import random
import time

import numpy as np
import pytest

from models.collector import old_left_alone
from planner import consolidate
from planner.consolidate.emptying import Emptying
from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import Layout
from planner.consolidate.loss import UNSURVIVED, DomainLosses, never_over
from planner.consolidate.setting import ConsolidationQuestion, Setting
from planner.consolidate.surviving import SurvivedLoss, SurvivingNodes
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter
from tests import seeds
from tests.builders import HOST, ZONE, cluster, node, pod
from tests.planner.consolidate.drawn import cases


def setting_of(found: object, **more: object) -> Setting:
    """What a consolidation of a cluster is about."""
    return Setting.of(ConsolidationQuestion(found, **more), {})  # type: ignore[arg-type]


def test_no_more_nodes_are_given_back_than_lack() -> None:
    """What went wrong: where one node was lacking half of those that a layout removes were kept.

    Any of four hosts has a pod that needs most of a node; without the four empty ones it would have none.
    """
    objects = [node(f"n{n}", cpu="4", labels={"type": "dear" if n < 6 else "cheap"}) for n in range(8)]
    objects += [pod(f"web-{n}", f"n{n}", cpu="3", owner="ReplicaSet/web") for n in range(4)]
    setting = setting_of(cluster(*objects), prices={"dear": 2, "cheap": 1}, price_label="type")
    losses = DomainLosses.of(setting.problem, setting.movable, HOST)
    empty = setting.problem.nodes.mask_of([4, 5, 6, 7])
    layout = Layout(setting.before.counts, empty)
    survived = SurvivingNodes(setting, losses, Meter.of(60)).removed(layout)
    removed = survived.removed
    # One of the cheaper ones stays.
    assert removed[[4, 5]].all()
    assert removed.sum() == 3
    assert len(consolidate(cluster(*objects), survive=HOST).removed) == 3
    # What went wrong: nodes had this reason also where no trial was made of each.
    assert {*survived.needed.values()} == {UNSURVIVED}
    over = SurvivingNodes(setting, losses, Meter.of(0)).removed(layout)
    assert (over.removed == empty).all()
    assert not over.needed


def test_a_plan_is_not_given_up_for_want_of_a_quick_trial() -> None:
    """What went wrong: once the time was over a plan that was made was not tried, and nothing went.

    With --survive of a zone 100 nodes were kept in 12 seconds, and 56 are.
    """
    nodes = [node(f"n{n}", "ab"[n % 2], cpu="4") for n in range(4)]
    pods = [pod(f"web-{n}", f"n{n}", cpu="1", owner="ReplicaSet/web") for n in range(4)]
    setting = setting_of(cluster(*nodes, *pods), pins=True)
    losses = DomainLosses.of(setting.problem, setting.movable, ZONE)
    task = setting.task()
    removal = NodeRemoval(task, Meter.of(60), setting.problem.nodes.none)
    assert removal.take_away(3)
    emptied = Emptying(setting, Meter.of(0), pins=True, losses=losses).of(task.read(removal.removed))
    assert setting.problem.nodes.names_of(emptied.removed) == ("n3",)


@pytest.mark.parametrize(("quick", "tried"), seeds.at_first(1, [(0.5, 4), (0.0, 1)]))
def test_after_the_limit_more_layouts_are_tried_only_if_that_is_quick(
    quick: float, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: all were while none survived, each trial made to its end, whatever it took."""
    from consolidation_large import objects

    now, trials = [0.0], list[object]()

    def worse(*asked: object) -> str:
        """The time is over with the first trial that is made to its end."""
        if asked[-1] is never_over:
            now.append(1e9)
            trials.append(asked)
        return UNSURVIVED

    monkeypatch.setattr(effort, "LOSS_TRIED_LATE", quick)
    monkeypatch.setattr(DomainLosses, "why_worse", worse)
    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    assert not consolidate(cluster(*objects(30, 150, 25, 2)), survive=ZONE, time_limit=0.5).removed
    assert len(trials) == tried


def test_what_goes_of_a_random_layout_is_survived() -> None:
    """Of nodes drawn at random those go without which no more pods than now are left over."""
    given_back: list[int] = []
    first = seeds.fresh()
    for number in seeds.until(2, given_back):
        for case in cases(seed := first + number, 10):
            setting, draw = setting_of(case.cluster()), random.Random(seed)
            losses = DomainLosses.of(setting.problem, setting.movable, ZONE)
            empty = setting.before.counts.per_node() == 0
            asked = empty & setting.removable.mask & np.array([draw.random() < 0.8 for _ in case.zones])
            layout = Layout(setting.before.counts, asked)
            removed = SurvivingNodes(setting, losses, Meter.of(60)).removed(layout).removed
            assert not (removed & ~asked).any(), seed
            assert not losses.why_worse(setting.end(layout, removed)), seed
            given_back += np.flatnonzero(asked & ~removed).tolist()


def test_some_nodes_go_also_where_one_after_the_other_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: what lacks was given back before every plan, and none went as the last did not hold.

    Of eight empty nodes two may go, and one more is given back each time.
    """
    setting = setting_of(cluster(*(node(f"n{n}") for n in range(9))))
    losses = DomainLosses.of(setting.problem, setting.movable, HOST)
    few = len(setting.problem.nodes.names) - 2
    monkeypatch.setattr(
        DomainLosses, "why_worse", lambda _, end, *__: UNSURVIVED if len(end.nodes) < few else ""
    )
    monkeypatch.setattr(SurvivingNodes, "removed", lambda _, layout: SurvivedLoss(layout.removed.copy()))
    monkeypatch.setattr(SurvivingNodes, "given_back", lambda _, __, removed: [int(removed.argmax())])
    empty = setting.problem.nodes.mask_of([*range(1, 9)])
    found = Emptying(setting, Meter.of(60), pins=False, losses=losses)
    # As in `consolidate`: each look for garbage would go through what all other tests have left.
    with old_left_alone():
        assert found.of(Layout(setting.before.counts, empty)).removed.sum() == 2
