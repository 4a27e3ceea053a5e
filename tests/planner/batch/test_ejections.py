"""Room that other pods make: small cases by hand, and drawn ones beside the filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from models import Cluster
from planner import solve
from planner.batch.ejections import Ejections
from planner.batch.goals import SpreadExcess
from planner.batch.pending import Pending
from planner.batch.placed_pods import PlacedPods
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.state.state import State
from tests import seeds
from tests.builders import (
    HOST,
    SOFT,
    Object,
    budget,
    claim,
    cluster,
    node,
    pod,
    spread,
    storage_class,
    volume,
)
from tests.planner.batch.nearly_full import nearly_full


def _placed(found: Cluster, *known: tuple[str, str], moves: bool = True) -> dict[str, str | None]:
    """Where every pod is in the end, if running ones and those that are known begin where they are."""
    pending = Pending(Problem(found), moves=moves)
    names, pods = pending.problem.nodes.names, pending.problem.pods
    template_of = {pod.name: int(pending.problem.template_of[place]) for place, pod in enumerate(pods)}
    home = Counter({step: len(pods) for step, pods in pending.running.items()})
    home += Counter((template_of[name], names.index(node)) for name, node in known)
    soft = () if moves else SpreadExcess(pending).rules
    fixed = {number for number in pending.wanted if pending.template(number).pod.spec.volumes}
    Ejections(pending, Meter.of(10.0), soft, fixed).place(PlacedPods(pending, home, home))
    at = pending.state.node_of.tolist()
    return {item.name: names[place] if place >= 0 else None for item, place in zip(pods, at, strict=True)}


def _ran(name: str, on: str, cpu: str, **words: object) -> Object:
    return pod(name, on, cpu=cpu, owner=f"ReplicaSet/{name}", **words)


def test_a_pod_goes_to_a_gap_for_one_that_has_no_place() -> None:
    """Room for three is there, on two nodes."""
    found = cluster(
        node("n1"), node("n2"), _ran("a", "n1", "2"), _ran("b", "n2", "3"), pod("new", cpu="2500m")
    )
    assert _placed(found)["new"] is None
    found = cluster(node("n1"), node("n2"), _ran("a", "n1", "2"), _ran("b", "n2", "2"), pod("new", cpu="3"))
    assert _placed(found) in (
        {"a": "n2", "b": "n2", "new": "n1"},
        {"a": "n1", "b": "n1", "new": "n2"},
    )


def test_two_pods_go_where_one_does_not_do() -> None:
    """Neither of two small pods alone leaves enough room."""
    found = cluster(
        node("n1"), node("n2", cpu="2"), _ran("a", "n1", "1"), _ran("b", "n1", "1"), pod("new", cpu="4")
    )
    assert _placed(found) == {"a": "n2", "b": "n2", "new": "n1"}


def test_a_pod_ejects_another_where_it_comes() -> None:
    """Three nodes: the middle one has to give its pod to the last."""
    found = cluster(
        node("n1", cpu="4"),
        node("n2", cpu="3"),
        node("n3", cpu="2"),
        _ran("a", "n1", "3"),
        _ran("b", "n2", "2"),
        pod("new", cpu="4"),
    )
    assert _placed(found) == {"a": "n2", "b": "n3", "new": "n1"}


@pytest.mark.parametrize(("allowed", "place"), [(1, None), (2, "n1")])
def test_no_more_pods_go_than_a_budget_allows(allowed: int, place: str | None) -> None:
    """Both pods of the one node would have to go."""
    web = [_ran(f"w{number}", "n1", "2", app="web") for number in range(2)]
    others = [_ran("b", "n2", "4", app="db"), budget("db", "db", 0), budget("web", "web", allowed)]
    found = cluster(
        node("n1"), node("n2", cpu="8"), *web, *others, pod("new", cpu="4", nodeSelector={HOST: "n1"})
    )
    assert _placed(found)["new"] == place


@pytest.mark.parametrize(("claims", "place"), [(["c"], None), ([], "n1")])
def test_pods_with_volumes_stay_where_they_are(claims: list[str], place: str | None) -> None:
    """What their claims are bound to depends on the order of binds."""
    storage = [storage_class("local"), volume("v"), claim("c")]
    pods = [pod("db", cpu="2", claims=claims), pod("new", cpu="3", nodeSelector={HOST: "n1"})]
    found = cluster(node("n1"), node("n2"), *storage, *pods)
    assert _placed(found, ("db", "n1"), moves=False)["new"] == place


@pytest.mark.parametrize(("app", "place"), [("web", None), ("other", "n0")])
def test_no_hard_constraint_ends_with_more_too_much(app: str, place: str | None) -> None:
    """A pod without a constraint that is counted by one would leave the other's domain too full."""
    web = _ran("w", "n1", "1", app="web", spread=[spread(HOST, 1, "web")])
    found = cluster(
        node("n0"),
        node("n1"),
        web,
        _ran("plain", "n0", "2", app=app),
        pod("new", cpu="4", nodeSelector={HOST: "n0"}),
    )
    assert _placed(found)["new"] == place


@pytest.mark.parametrize(("app", "place"), [("web", None), ("other", "n0")])
def test_no_soft_constraint_of_a_batch_ends_with_more_too_much(app: str, place: str | None) -> None:
    web = pod("w", cpu="1", app="web", spread=[spread(HOST, 1, "web", when=SOFT)])
    plain, new = pod("plain", cpu="2", app=app), pod("new", cpu="4", nodeSelector={HOST: "n0"})
    found = cluster(node("n0"), node("n1"), web, plain, new)
    assert _placed(found, ("w", "n1"), ("plain", "n0"), moves=False)["new"] == place


@pytest.mark.parametrize("turn", range(seeds.tries(3)))
def test_what_is_placed_is_what_the_state_has(number: int) -> None:
    """Puts, takes and returns in any order: the state is the one of a fresh placement."""
    draw, found = Random(number), Cluster.from_objects(nearly_full(number, nodes=4, fill=0.6))
    pending = Pending(Problem(found))
    pods, marks = PlacedPods(pending, {}, {}), list[tuple[tuple[int, int], Counter[tuple[int, int]]]]()
    for _ in range(60):
        now = pods.placement()
        match draw.randrange(4):
            case 0 if now:
                pods.take(_part(draw, now))
            case 1 if marks:
                mark, before = marks.pop()
                pods.go_back(mark)
                assert pods.placement() == before
            case 2:
                marks.append((pods.mark(), now))
            case _:
                some = [number for number, waiting in pods.waiting.items() if waiting]
                numbers = draw.sample(some, min(3, len(some)))
                pods.put(
                    Counter({(t, draw.randrange(4)): draw.randint(1, len(pods.waiting[t])) for t in numbers})
                )
        fresh = State(pending.problem, pending.state.node_of.copy())
        assert (fresh.used == pending.state.used).all()
        assert Counter(_steps(pending)) == pods.placement()


def _part(draw: Random, placement: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    chosen = draw.sample(sorted(placement), min(4, len(placement)))
    return Counter({step: draw.randint(1, placement[step]) for step in chosen})


def _steps(pending: Pending) -> Sequence[tuple[int, int]]:
    state, template_of = pending.state, pending.problem.template_of
    return [(int(template_of[pod]), int(at)) for pod, at in enumerate(state.node_of) if at >= 0]


@pytest.mark.parametrize("turn", range(seeds.tries(1)))
def test_running_pods_move_so_that_all_have_a_place(number: int) -> None:
    """Twenty drawn nodes without a gap for any of six pods; `test_figures.py` has larger ones."""
    draw, nodes = Random(number), 20
    found = [node(f"n{place:02}", cpu="16", memory="64Gi") for place in range(nodes)]
    left, count = [16.0] * nodes, 0
    while max(left) > 1:
        cpu, place = draw.choice((0.5, 0.7, 1.0, 1.3, 2.0, 2.7)), draw.randrange(nodes)
        if left[place] - cpu >= 0.9:
            left[place] -= cpu
            count += 1
            found.append(_ran(f"p{count}", f"n{place:02}", f"{int(cpu * 1000)}m"))
        elif max(left) < 1.5:
            break
    waiting = [pod(f"new{index}", cpu="2") for index in range(6)]
    plan = solve(Cluster.from_objects([*found, *waiting]), allow_moves=True, time_limit=60)
    moves = sum(stage.value for stage in plan.objective if stage.name == "moves")
    assert not plan.unplaced
    assert moves <= 24
