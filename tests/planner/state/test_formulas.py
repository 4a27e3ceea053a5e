"""The scores of resources: the formula for one node, for all nodes, and kube's own in plain numbers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.objects.scheduler_config import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategy,
)
from planner import simulate
from planner.constraints.balanced_allocation import NodeResourcesBalancedAllocation
from planner.constraints.node_resources import NodeResourcesFit
from planner.problem.nodes import ALL
from planner.problem.problem import Problem
from planner.state.state import State
from tests.builders import Object, cluster, node, pod, profile, scheduler
from tests.strategies import GPU, one_of, relaxed

SHAPE = ({"utilization": 0, "score": 0}, {"utilization": 33, "score": 9}, {"utilization": 90, "score": 2})
STRATEGIES: tuple[Object, ...] = (
    {"type": "LeastAllocated"},
    {"type": "MostAllocated"},
    {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": list(SHAPE)}},
)
RESOURCES = (
    ("cpu", "memory"),
    ("cpu", "memory", "ephemeral-storage"),
    (GPU, "cpu"),
    ("memory", GPU, "ephemeral-storage"),
    ("cpu",),
)
#: What a container without a request counts as, in thousandths of a core and in bytes.
DEFAULTS = {"cpu": 100, "memory": 200 << 20}

Amounts = dict[str, int]


@st.composite
def loads(draw: st.DrawFn, least: int = 0) -> tuple[list[Amounts], list[Amounts], Amounts]:
    """Rooms of some nodes, a running pod on each, and the pod that comes; odd numbers and missing ones."""
    room = st.fixed_dictionaries(
        {
            "cpu": one_of(least, 1, 3000, 7777, 64000),
            "memory": one_of(least, 1 << 30, 12345678901, 1 << 45),
            "ephemeral-storage": one_of(least, 10**9, 999_999_937),
            GPU: one_of(least, least, 4, 7),
        }
    )
    asked = st.fixed_dictionaries(
        {},
        optional={
            "cpu": one_of(0, 1, 333, 2500),
            "memory": one_of(0, 7, 1 << 28, 5_000_000_001),
            "ephemeral-storage": one_of(0, 123_456_789),
            GPU: one_of(1, 3),
        },
    )
    rooms = draw(st.lists(room, min_size=2, max_size=5))
    return rooms, [draw(asked) for _ in rooms], draw(asked)


def problem_of(
    rooms: Sequence[Amounts], there: Sequence[Amounts], asked: Amounts, kubernetes: str = "1.36"
) -> Problem:
    """A node for each room with a pod on it, and last the pod that comes."""
    machines = [node(f"n{number}", room=_amounts(room), pods="9") for number, room in enumerate(rooms)]
    pods = [
        pod(f"p{number}", on=f"n{number}", requests=_amounts(found)) for number, found in enumerate(there)
    ]
    found = cluster(*machines, *pods, pod("incoming", requests=_amounts(asked)))
    return Problem(found.as_of(kubernetes))


def _amounts(found: Amounts) -> dict[str, str]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in found.items()}


def fit_in_words(
    strategy: str, weights: dict[str, int], room: Amounts, there: Amounts, asked: Amounts
) -> int:
    """NodeResourcesFit's score as kube's Go computes it, one node and one resource at a time."""
    total = counted = 0
    for name, weight in weights.items():
        wanted = asked.get(name, DEFAULTS.get(name, 0))
        if not room[name] or (name == GPU and not wanted):
            continue
        load = there.get(name, DEFAULTS.get(name, 0)) + wanted
        rating = _rating(strategy, load, room[name])
        if strategy != "RequestedToCapacityRatio" or rating > 0:
            total, counted = total + rating * weight, counted + weight
    if not counted:
        return 0
    if strategy == "RequestedToCapacityRatio":
        return math.floor(total / counted + 0.5)
    return total // counted


def _rating(strategy: str, load: int, room: int) -> int:
    match strategy:
        case "LeastAllocated":
            return 0 if load > room else (room - load) * 100 // room
        case "MostAllocated":
            return min(load, room) * 100 // room
        case _:
            return _curve(100 if load > room else load * 100 // room)


def _curve(percent: int) -> int:
    """The broken line through SHAPE, scores times ten, rounded towards zero as Go divides."""
    before = SHAPE[0]
    for point in SHAPE:
        if percent <= point["utilization"]:
            if point is before:
                return point["score"] * 10
            run = point["utilization"] - before["utilization"]
            rise = (point["score"] - before["score"]) * 10 * (percent - before["utilization"])
            return before["score"] * 10 + int(rise / run)
        before = point
    return before["score"] * 10


def balance_in_words(
    names: Sequence[str], room: Amounts, there: Amounts, asked: Amounts, coming: int = 1
) -> int:
    """How NodeResourcesBalancedAllocation rates a node in kube's Go, with the pod or before it comes."""
    shares = []
    for name in names:
        wanted = asked.get(name, 0)
        if room[name] and (wanted or name != GPU):
            shares.append(min((there.get(name, 0) + wanted * coming) / room[name], 1.0))
    if len(shares) == 2:
        return int((1 - abs(shares[0] - shares[1]) / 2) * 100)
    if len(shares) < 2:
        return 100
    total = 0.0
    for share in shares:
        total += share
    mean, squares = total / len(shares), 0.0
    for share in shares:
        squares += (share - mean) * (share - mean)
    return int((1 - math.sqrt(squares / len(shares))) * 100)


def everywhere(rate: Callable[..., Any], problem: Problem) -> tuple[list[int], list[int]]:
    """The formula over all nodes at once, and node by node, as a follower keeps either."""
    size = problem.nodes.size
    whole = np.empty(size, np.int64)
    whole[:] = rate(problem.templates[problem.template_of[-1]], ALL)
    return whole.tolist(), [
        int(rate(problem.templates[problem.template_of[-1]], place)) for place in range(size)
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda found: str(found["type"]))
@relaxed
@given(data=st.data(), names=one_of(*RESOURCES), weights=st.lists(one_of(1, 3, 100), min_size=3, max_size=3))
def test_every_strategy_scores_as_kube_does(
    strategy: Object, data: st.DataObject, names: Sequence[str], weights: list[int]
) -> None:
    """One node, all nodes and the plain arithmetic agree, with missing, empty and crowded resources."""
    rooms, there, asked = data.draw(loads(least=int(strategy["type"] == "RequestedToCapacityRatio")))
    problem = problem_of(rooms, there, asked)
    weighted = dict(zip(names, weights, strict=False))
    resources = [{"name": name, "weight": weight} for name, weight in weighted.items()]
    args = NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy.model_validate({**strategy, "resources": resources})
    )
    whole, single = everywhere(NodeResourcesFit(problem, State(problem), args)._rate, problem)
    words = [
        fit_in_words(strategy["type"], weighted, room, here, asked)
        for room, here in zip(rooms, there, strict=True)
    ]
    assert single == whole
    assert whole == words


def test_a_curve_skips_resources_that_a_node_lacks() -> None:
    """kube leaves a resource with nothing allocatable out of the mean, whatever the curve says of 100 %."""
    rooms: list[Amounts] = [{"cpu": 1000, "memory": 0, "ephemeral-storage": 0, GPU: 0}] * 2
    problem = problem_of(rooms, [{}, {}], {})
    resources = [{"name": "cpu"}, {"name": "memory"}]
    found = ScoringStrategy.model_validate({**STRATEGIES[2], "resources": resources})
    plugin = NodeResourcesFit(problem, State(problem), NodeResourcesFitArgs(scoring_strategy=found))
    whole, single = everywhere(plugin._rate, problem)
    weights = dict.fromkeys(("cpu", "memory"), 1)
    expected = fit_in_words("RequestedToCapacityRatio", weights, rooms[0], {}, {})
    assert (whole, single) == ([expected] * 2, [expected] * 2)


def test_two_shares_that_count_are_compared_exactly() -> None:
    """kube takes half the difference where two resources remain; the root of the squares rounds otherwise."""
    rooms: list[Amounts] = [{"cpu": 1000, "memory": 1000, "ephemeral-storage": 0, GPU: 0}]
    problem = problem_of(rooms, [{"cpu": 100, "memory": 800}], {"cpu": 0, "memory": 0}, "1.35")
    names = ("cpu", "memory", "ephemeral-storage")
    args = NodeResourcesBalancedAllocationArgs.model_validate(
        {"resources": [{"name": name} for name in names]}
    )
    plugin = NodeResourcesBalancedAllocation(problem, State(problem), args)
    expected = balance_in_words(names, rooms[0], {"cpu": 100, "memory": 800}, {"cpu": 0, "memory": 0})
    assert everywhere(scores_of(plugin), problem) == ([expected], [expected])


def scores_of(plugin: NodeResourcesBalancedAllocation) -> Callable[..., Any]:
    """The plugin's formula of a template and a place."""
    return lambda template, where: plugin._formula(template)(where)


@relaxed
@given(found=loads(), names=one_of(*RESOURCES), kubernetes=st.sampled_from(("1.35", "1.36")))
def test_balance_scores_as_kube_does(
    found: tuple[list[Amounts], list[Amounts], Amounts], names: Sequence[str], kubernetes: str
) -> None:
    """One node, all nodes and the plain arithmetic agree, for one, two and three resources."""
    rooms, there, asked = found
    problem = problem_of(rooms, there, asked, kubernetes)
    args = NodeResourcesBalancedAllocationArgs.model_validate(
        {"resources": [{"name": name} for name in names]}
    )
    plugin = NodeResourcesBalancedAllocation(problem, State(problem), args)
    whole, single = everywhere(scores_of(plugin), problem)
    words = [balance_in_words(names, room, here, asked) for room, here in zip(rooms, there, strict=True)]
    if kubernetes == "1.36":
        before = [
            balance_in_words(names, room, here, asked, coming=0)
            for room, here in zip(rooms, there, strict=True)
        ]
        words = [50 + int((50 + new - old) / 2) for new, old in zip(words, before, strict=True)]
    assert single == whole
    assert whole == words


@relaxed
@given(found=loads())
def test_room_for_one_node_is_room_for_all(found: tuple[list[Amounts], list[Amounts], Amounts]) -> None:
    """The filter's codes for one node are those that it gives for all nodes together."""
    problem = problem_of(*found)
    plugin = NodeResourcesFit(problem, State(problem))
    whole, single = everywhere(plugin._judge, problem)
    assert single == whole


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "LeastAllocated"}, "empty"),
        ({"type": "MostAllocated"}, "full"),
        (
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [
                        {"utilization": 0, "score": 0},
                        {"utilization": 50, "score": 10},
                        {"utilization": 100, "score": 0},
                    ]
                },
            },
            "half",
        ),
    ],
)
def test_a_configured_strategy_decides(strategy: Object, expected: str) -> None:
    """Least likes the empty node, Most the full one, a curve with its peak in the middle the half-full."""
    machines = [node(name, cpu="8", memory="8Gi") for name in ("empty", "full", "half")]
    there = [
        pod("a", on="full", cpu="6", memory="6Gi"),
        pod("b", on="half", cpu="3", memory="3Gi"),
    ]
    config = scheduler(profile(NodeResourcesFit={"scoringStrategy": strategy}))
    found = simulate(cluster(*machines, *there, pod("p", cpu="1", memory="1Gi"), config)).decisions[0]
    assert found.node == expected
