"""Both halves of the encodings, on clusters whose running pods may break their constraints already.

Incoming pods respect what they find; of pods that run and stay nothing is asked.  So every placement that
evictions and then binds lead to satisfies the models, and none of their bounds is below it.
"""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from models import Cluster
from planner.batch.moves import exact_model, relaxation
from planner.batch.pending import Pending
from planner.cpsat.model import BatchModel
from planner.cpsat.variables import Batch, Counts
from planner.documents.plan import PODS_PLACED
from planner.problem.node_groups import NodeGroups
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.scheduler.order import Step
from tests import seeds
from tests.builders import HOST, ZONE, Object, cluster, node, pod, spread, term
from tests.planner.batch.test_every_sequence import truth
from tests.tiny import tiny

Placed = Counter[Step]


def walked(pending: Pending, draw: Random) -> tuple[Placed, Placed]:
    """Which pods stay and which have come after some evictions, within budgets, and admissible binds."""
    current_nodes = dict(pending.current_nodes())
    gone = {pod for pod in current_nodes if draw.random() < 0.4}
    for covered, allowed in pending.budgets:
        gone -= set(sorted(gone & covered)[allowed:])
    state, template_of = pending.state, pending.problem.template_of
    mark = state.mark()
    for pod_number, place in current_nodes.items():
        if pod_number not in gone:
            state.bind(pod_number, place)
    staying = Counter((int(template_of[p]), place) for p, place in current_nodes.items() if p not in gone)
    waiting = [*(p for pods in pending.pods.values() for p in pods), *sorted(gone)]
    draw.shuffle(waiting)
    coming: Placed = Counter()
    for pod_number in waiting[: draw.randint(0, len(waiting))]:
        number = int(template_of[pod_number])
        framework = pending.framework(number)
        mask = framework.feasible(framework.plan(pending.template(number))).mask
        if mask.any():
            place = draw.choice(mask.nonzero()[0].tolist())
            state.bind(pod_number, place)
            coming[number, place] += 1
    state.rollback(mark)
    return staying, coming


def admits(model: BatchModel, staying: Placed, coming: Placed) -> bool:
    """Whether a model allows just this."""
    for number, place, variable in model.counts.staying():
        model.counts.require(variable == staying[number, place])
    for number, place, variable in model.counts.coming():
        model.counts.require(variable == coming[number, place])
    if any(place not in model.counts.cells_of(number) for number, place in coming):
        return False
    return model.solve(model.pods_placed(5.0), None, Meter.of(60.0)) is not None


def moving(number: int) -> Pending:
    """A tiny cluster with pods that wait or may be evicted; another one where there are none."""
    pending = Pending(Problem(Cluster.from_objects(tiny(number))), moves=True)
    return pending if pending.wanted else moving(number + 1)


@pytest.mark.parametrize("turn", range(seeds.tries(10)))
def test_what_binds_lead_to_the_model_allows(number: int) -> None:
    """What stays, and what has come in an admissible order, is a solution of the exact model."""
    pending, draw = moving(number), Random(number)
    for _ in range(3):
        staying, coming = walked(pending, draw)
        assert admits(exact_model(pending), staying, coming), (staying, coming)


def bounds(pending: Pending, found: Any) -> tuple[int, ...]:
    """What a model says no plan exceeds, per priority."""
    return tuple(found.bounds[f"{PODS_PLACED}{priority}"] for priority in pending.priorities)


@pytest.mark.parametrize("turn", range(seeds.tries(6)))
def test_no_bound_is_below_what_moves_lead_to(number: int) -> None:
    """Of no model the best is less than the best that going through all sequences finds."""
    pending = moving(number)
    *best, _ = truth(pending.problem.cluster)
    exact, meter = exact_model(pending), Meter.of(60.0)
    assert bounds(pending, exact.solve(exact.pods_placed(5.0), None, meter)) >= tuple(best)
    assert bounds(pending, relaxation(pending, {}, meter)) >= tuple(best)
    for cells in (np.zeros(pending.problem.nodes.size, np.intp), np.arange(pending.problem.nodes.size) // 2):
        batch = Batch(
            pending.problem,
            pending.wanted,
            pending.room(pending.wanted),
            cells=NodeGroups(cells),
            running=pending.running_counts(),
        )
        coarse = BatchModel(batch, pending.profiles())
        assert bounds(pending, coarse.solve(coarse.pods_placed(5.0), None, meter)) >= tuple(best)


def _owned(name: str, on: str = "", **words: Any) -> Object:
    return pod(name, on=on, owner="ReplicaSet/r", **words)


_PAIR = [node("n1", zone="a", cpu="2", pods="9"), node("n2", zone="b", cpu="2", pods="9")]

#: Pods that run where their own rule is broken, and one more that waits: it has no place on their node.
BROKEN: dict[str, list[Object]] = {
    "NodeResourcesFit": [*_PAIR, *(_owned(p, "n1", cpu="2") for p in "ab"), _owned("c", cpu="2")],
    "NodePorts": [*_PAIR, *(_owned(p, "n1", ports=[80]) for p in "ab"), _owned("c", ports=[80])],
    "PodTopologySpread": [
        *_PAIR,
        *(_owned(p, "n1", app="web", spread=[spread(ZONE)]) for p in "abc"),
        _owned("d", app="web", spread=[spread(ZONE)]),
    ],
    "InterPodAffinity": [
        *_PAIR,
        *(_owned(p, "n1", app="web", apart=[term(HOST, "web")]) for p in "ab"),
        _owned("c", app="web", apart=[term(HOST, "web")]),
    ],
}


def _ask_stayers(self: Counts, present: Any, condition: Any) -> None:
    """What is asked only where a pod comes is asked of every pod."""
    self.require(condition)


def _ask_nobody(self: Counts, present: Any, condition: Any) -> None:
    """What is asked where a pod comes is not asked at all."""


@pytest.mark.parametrize("family", BROKEN)
def test_pods_that_run_where_a_rule_is_broken_may_stay(family: str) -> None:
    """The snapshot itself is a solution, and an incoming pod does not join them."""
    pending = Pending(Problem(cluster(*BROKEN[family])), moves=True)
    (number,) = pending.wanted
    current_nodes = Counter({(number, 0): len(pending.running[number, 0])})
    assert admits(exact_model(pending), current_nodes, Counter())
    assert admits(exact_model(pending), current_nodes, Counter({(number, 1): 1}))
    assert not admits(exact_model(pending), current_nodes, Counter({(number, 0): 1}))


@pytest.mark.parametrize("mistake", [_ask_stayers, _ask_nobody])
@pytest.mark.parametrize("family", BROKEN)
def test_a_mistake_in_either_half_is_noticed(
    family: str, mistake: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: stayers thrown out, or incoming pods let in where they find too many."""
    monkeypatch.setattr(Counts, "require_if", mistake)
    if mistake is _ask_stayers:
        monkeypatch.setattr(Counts, "any_of", lambda self, *_: self.start("always"))
        monkeypatch.setattr(Counts, "running", lambda self, _: np.zeros(2, np.int64))
    else:
        monkeypatch.setattr(Counts, "limit", lambda *_, **__: None)
    with pytest.raises(AssertionError):
        test_pods_that_run_where_a_rule_is_broken_may_stay(family)
