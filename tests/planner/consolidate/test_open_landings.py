"""Replacements that may land anywhere: every order of evictions and every node that the filters leave."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models import Cluster
from planner import consolidate
from planner.audit.findings import findings_of
from planner.audit.replicas_down import ReplicaLimit
from planner.consolidate.open_landings import OpenLandings
from planner.consolidate.possible_counts import CountedMove, PossibleCounts
from planner.consolidate.removable import NodeChoice
from planner.consolidate.wave_order import EmptyingOrder
from planner.eviction.budgets import Budgets
from planner.landing.landing import Landing
from planner.moves.trial_cluster import EvictionTimeline, Phase, TrialCluster
from planner.problem.problem import Problem
from planner.proof import consolidation_effort
from planner.state.state import State
from planner.whatif.nodes import cordon, without_nodes
from tests import seeds
from tests.builders import HOST, ZONE, cluster, node, pod, spread, term
from tests.planner.consolidate.replay import failure

RACK = "rack"
#: What some constraints over zones have, too.
TERMS: Sequence[dict[str, object]] = ({}, {}, {"minDomains": 3}, {"nodeTaintsPolicy": "Honor"})
#: Of a plan with more moves there are too many ways to try all; of very many ends some are looked at.
MOST_MOVES, MOST_ENDS = 4, 8


def drawn(chance: random.Random) -> Cluster:
    """A few nodes in zones, racks and pools, with pods of workloads with all sorts of rules."""
    zones = chance.choice(["ab", "aab", "abc", "a"])
    nodes = [
        node(
            f"n{number}",
            chance.choice(zones) if chance.random() < 0.95 else None,
            cpu=str(chance.choice([4, 8, 12])),
            labels={
                "pool": chance.choice("xxxy"),
                RACK: chance.choice("rs"),
                **({HOST: None} if chance.random() < 0.1 else {}),
            },
        )
        for number in range(chance.randint(4, 7))
    ]
    pods = []
    for app in "uvw"[: chance.randint(1, 3)]:
        words: dict[str, object] = {"cpu": str(chance.choice([1, 1, 2, 3]))}
        rules = [
            spread(ZONE, chance.choice([1, 1, 2, 3]), app, **chance.choice(TERMS)),
            spread(HOST, chance.choice([1, 2]), app),
            spread(RACK, chance.choice([1, 2]), app),
            spread(ZONE, 1, chance.choice("uvw")),
        ]
        words["spread"] = chance.choice(
            [[], rules[:1], rules[:1], rules[1:2], rules[:2], rules[1:3], rules[3:]]
        )
        if chance.random() < 0.2:
            words["apart"] = [term(HOST, chance.choice([app, app, "u"]))]
        if chance.random() < 0.1:
            words["near"] = [term(ZONE, chance.choice("uvw"))]
        if chance.random() < 0.2:
            words["node_selector"] = {"pool": "x"}
        kinds = ["ReplicaSet"] * 8 + ["StatefulSet", "DaemonSet"]
        pods += [
            pod(
                f"{app}-{one}",
                f"n{chance.randrange(len(nodes))}",
                app=app,
                owner=f"{chance.choice(kinds)}/{app}",
                **words,
            )
            for one in range(chance.randint(1, 7))
        ]
    return cluster(*nodes, *pods)


def drawn_over_zones(chance: random.Random) -> Cluster:
    """Nodes in zones with pods of a workload, with a constraint over zones.

    Those of an earlier revision may have their own nodes, which are in some of the zones.
    """
    zones, size = chance.choice(["ab", "ab", "abc"]), chance.randint(6, 9)
    own = chance.choice(["", "a", "ab"])
    zone_of = [zones[number % len(zones)] for number in range(size)]
    nodes = [
        node(f"n{number}", zone, cpu=str(chance.choice([6, 16, 32])), labels={"own": str(zone in own)})
        for number, zone in enumerate(zone_of)
    ]
    words: dict[str, Any] = {"app": "u", "cpu": str(chance.choice([1, 1, 2])), "owner": "ReplicaSet/u"}
    words["spread"] = [spread(ZONE, chance.choice([1, 1, 2, 3]), "u", nodeAffinityPolicy="Ignore")]
    there = [number for number, zone in enumerate(zone_of) if zone in own]
    pods = [pod(f"u-{one}", f"n{one % size}", **words) for one in range(chance.randint(2, 8))]
    words["node_selector"] = {"own": "True"}
    earlier = range(chance.randint(1, 3) if there else 0)
    pods += [pod(f"u-earlier-{one}", f"n{chance.choice(there)}", **words) for one in earlier]
    return cluster(*nodes, *pods)


class Adversary:
    """Plays waves in every order, each replacement on every node that the filters leave it."""

    def __init__(self, problem: Problem, waves: Sequence[Sequence[Landing]]) -> None:
        moves = [landing.move for wave in waves for landing in wave]
        self._timeline = EvictionTimeline(problem, [move.pod for move in moves])
        self._trial = self._timeline.trial
        self._waves, self._pods = waves, len(problem.pods)
        self._hard = [one for one in self._trial.ledger.constraints if one.hard]
        self._known: set[object] = set()
        #: The nodes of all pods at the end of every way.
        self.ends: set[tuple[int, ...]] = set()

    def faults(self, number: int = 0) -> Iterator[str]:
        """What goes wrong on some way through the waves from one on."""
        if number == len(self._waves):
            self.ends.add(tuple(self._trial.state.node_of[: self._pods].tolist()))
            return
        before = [one.excess() for one in self._hard]
        for fault in self._ways(number, [*self._waves[number]], []):
            if fault:
                yield fault
            elif any(one.excess() > most for one, most in zip(self._hard, before, strict=True)):
                yield f"a constraint is worse after wave {number + 1}"
            else:
                yield from self.faults(number + 1)

    def _ways(self, number: int, waiting: list[Landing], leaving: list[Landing]) -> Iterator[str]:
        """What goes wrong on the ways through a wave; an empty text where the cluster is at its end."""
        state = self._trial.state
        key = number, tuple(one.move.pod for one in waiting), tuple(state.node_of.tolist())
        if key in self._known:
            return
        self._known.add(key)
        if not waiting and not leaving:
            yield ""
        for one in waiting:
            mark = state.mark()
            self._timeline.put(one.move, Phase.GONE)
            yield from self._ways(number, _without(waiting, one), [*leaving, one])
            state.rollback(mark)
        for one in leaving:
            nodes = np.flatnonzero(self._trial.open_to(self._trial.template(one.move.pod))).tolist()
            if not nodes:
                yield f"{self._trial.problem.pods[one.move.pod].key} finds no node"
            for target in nodes:
                if not one.nodes[target]:
                    yield f"{self._trial.problem.pods[one.move.pod].key} lands where it was not to"
                mark, move = state.mark(), replace(one.move, target=target)
                self._timeline.put(move, Phase.LANDED)
                yield from self._ways(number, waiting, _without(leaving, one))
                state.rollback(mark)


def _without(several: Sequence[Landing], one: Landing) -> list[Landing]:
    return [other for other in several if other is not one]


def excess(found: Cluster) -> Counter[tuple[str, str]]:
    """How many pods the hard constraints of each workload have too many, by their keys."""
    counted = Counter[tuple[str, str]]()
    for one in TrialCluster(Problem(found)).ledger.constraints:
        if one.hard:
            counted[one.asked.workload, one.rule.column.key] += one.excess()
    return counted


def affinities(found: Cluster) -> int:
    """How many pods miss others that they are to be near, or are near some that they are not to be."""
    problem = Problem(found)
    return sum(one.plugin == "InterPodAffinity" for one in findings_of(problem, State(problem)))


def emptied(
    found: Cluster, going: Sequence[str], most: int = 1, *, is_over: bool = False
) -> tuple[Problem, list[list[Landing]], list[str]]:
    """The cluster with nodes cordoned, the waves that empty some of these, and which.

    At most so many replicas of a workload are down; the time may be over from the start.
    """
    problem = Problem(cordon(found, *going))
    removed = np.isin(np.array(problem.nodes.names), going)
    kinds = [one.metadata.controller.kind for one in problem.pods if one.metadata.controller]
    moving = np.array([kind != "DaemonSet" for kind in kinds])
    nodes = np.unique(problem.node_of[moving]).tolist()
    pods = {
        node: np.flatnonzero(moving & (problem.node_of == node)).tolist() for node in nodes if removed[node]
    }
    timeline = EvictionTimeline(problem, [pod for several in pods.values() for pod in several])
    landings = OpenLandings(timeline, removed, pods, lambda: is_over, most)
    left = landings.run([*pods])
    trial = TrialCluster(problem)
    order = EmptyingOrder(trial, Budgets(problem), ReplicaLimit(most), landings.coupled())
    waves = order.of(landings.moves)
    return problem, waves, [problem.nodes.names[node] for node in pods if node not in left]


def placed(found: Cluster, problem: Problem, nodes: Sequence[int], gone: Sequence[str] = ()) -> Cluster:
    """The cluster with its pods on some nodes, and without those that are gone."""
    names = [problem.nodes.names[number] for number in nodes]
    pods = (one.on(name) for one, name in zip(problem.pods, names, strict=True) if name not in gone)
    return without_nodes(replace(found, pods=tuple(pods)), frozenset(gone))


def is_worse(found: Cluster, problem: Problem, nodes: Sequence[int], gone: Sequence[str]) -> bool:
    """Whether a rule is broken more than before with pods on some nodes, or once those that go are gone."""
    pairs = (
        (problem.cluster, placed(problem.cluster, problem, nodes)),
        (found, placed(found, problem, nodes, gone)),
    )
    return any(
        not excess(after) <= excess(before) or affinities(after) > affinities(before)
        for before, after in pairs
    )


@pytest.mark.parametrize("draw", [drawn, drawn_over_zones])
def test_whatever_node_is_chosen_each_pod_finds_one_and_no_constraint_is_worse(
    draw: Callable[[random.Random], Cluster],
) -> None:
    """Every order within the waves, every node that the filters leave; also when the nodes are deleted."""
    chance, played = random.Random(seeds.fresh()), list[int]()
    for _ in seeds.until(8, played):
        found = draw(chance)
        names = [one.name for one in found.nodes]
        going = chance.sample(names, chance.randint(1, len(names) - 2))
        problem, waves, gone = emptied(found, going, chance.randint(1, 3))
        if sum(map(len, waves)) > MOST_MOVES:
            continue
        adversary = Adversary(problem, waves)
        assert [*adversary.faults()] == [], waves
        planned = problem.node_of.tolist()
        for landing in (landing for wave in waves for landing in wave):
            planned[landing.move.pod] = landing.move.target
        if is_worse(found, problem, planned, gone):
            # Another workload is worse without its nodes: such a plan is no answer.
            continue
        played += range(len(waves))
        ends = sorted(adversary.ends)[:: 1 + len(adversary.ends) // MOST_ENDS]
        assert not any(is_worse(found, problem, end, gone) for end in ends), waves
        totals = {sum(excess(placed(problem.cluster, problem, end)).values()) for end in ends}
        assert len(totals) <= 1
    assert played


@pytest.mark.parametrize(
    ("pods", "skew", "left", "open_domains"),
    [
        # In one domain the pod leaves another one with too many, in the other it does not.
        ((1, 3, 1), 2, 0, (0, 2)),
        # It can only land where it leaves another domain with too many.
        ((1, 1, 3), 2, 0, (1, 2)),
        # No domain that is open to it admits it.
        ((2, 2, 2), 1, 0, (1, 2)),
    ],
)
def test_a_pod_stays_whose_constraint_could_be_worse(
    pods: tuple[int, ...], skew: int, left: int, open_domains: tuple[int, ...]
) -> None:
    """One of the fullest domain may go: every end is as good."""
    zones = "abc"[: len(pods)]
    nodes = [node(f"n{zone}", zone, cpu="32") for zone in zones]
    several = [
        pod(f"w-{zone}{one}", f"n{zone}", app="w", owner="ReplicaSet/w", spread=[spread(ZONE, skew, "w")])
        for zone, number in zip(zones, pods, strict=True)
        for one in range(number)
    ]
    constraint = TrialCluster(Problem(cluster(*nodes, *several))).ledger.constraints[0]
    assert PossibleCounts.of(constraint).after(CountedMove(0, left, open_domains)) is None
    fullest = CountedMove(0, pods.index(max(pods)), (0, 1, 2))
    assert PossibleCounts.of(constraint).after(fullest) is not None


@pytest.mark.parametrize(("most", "expected"), [(1, [1] * 6), (3, [3, 3]), (9, [6])])
def test_a_wave_moves_several_pods_that_a_constraint_over_zones_counts(
    most: int, expected: list[int]
) -> None:
    """Each zone has as many: whatever is under way, replacements even that out again."""
    nodes = [node(f"n{number}", "abc"[number % 3], cpu="32") for number in range(9)]
    pods = [
        pod(f"w-{number}", f"n{number % 6}", app="w", owner="ReplicaSet/w", spread=[spread(ZONE, 1, "w")])
        for number in range(12)
    ]
    _, waves, gone = emptied(cluster(*nodes, *pods), ["n0", "n1", "n2"], most)
    assert (gone, [*map(len, waves)]) == (["n0", "n1", "n2"], expected)


def test_a_constraint_over_nodes_that_all_have_pods_holds_its_pods() -> None:
    """When the first node is empty the global minimum is 0, and three pods on a node are too many."""
    nodes = [node(f"n{number}", cpu="32") for number in range(8)]
    words = {"app": "w", "owner": "ReplicaSet/w", "spread": [spread(HOST, 2, "w")]}
    few = [pod(f"w-{number}", f"n{number}", **words) for number in range(4)]
    more = [pod(f"w-{number}", "n1", **words) for number in (4, 5)]
    assert emptied(cluster(*nodes[:4], *few, *more), ["n0"])[2] == []
    assert emptied(cluster(*nodes, *few), ["n0"])[2] == ["n0"]


def test_some_nodes_go_even_if_the_time_is_over() -> None:
    """What went wrong: on a machine with other work nothing was emptied, after all that was done for it."""
    nodes = [node(f"n{number}", cpu="8") for number in range(9)]
    pods = [pod(f"w-{number}", f"n{number}", cpu="4", owner=f"ReplicaSet/w{number}") for number in range(9)]
    going = [f"n{number}" for number in range(8)]
    *_, gone = emptied(cluster(*nodes, *pods), going)
    *_, late = emptied(cluster(*nodes, *pods), going, is_over=True)
    assert (len(gone), len(late)) == (1, 1)


@pytest.mark.parametrize("zones", seeds.at_first(1, ["abc", ""]))
def test_nodes_of_a_large_cluster_are_emptied_by_evictions_alone(
    zones: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: where more nodes are kept than are cordoned for a replacement, next to none went.

    Nor did any where no label told the nodes that replacements may land on.
    """
    monkeypatch.setattr(consolidation_effort, "EMPTYING_CORDONED", 170)
    linux = {"kubernetes.io/os": "linux"}
    nodes = [
        node(f"n{number:03}", zones[number % 3] if zones else None, labels=linux) for number in range(190)
    ]
    pods = [
        pod(
            f"{app}-{number}",
            f"n{number:03}",
            app=app,
            cpu="1",
            owner=f"ReplicaSet/{app}",
            spread=[spread(ZONE, 1, app)] if zones and number % 2 else [],
        )
        for number in range(190)
        for app in (f"x{number % 16}", f"y{number % 20}")
    ]
    found = cluster(*nodes, *pods)
    plan = consolidate(
        found, choice=NodeChoice(named=frozenset(f"n{number:03}" for number in range(17))), time_limit=20
    )
    assert len(plan.removed) > 13
    assert not any(step.cordon or step.pin for step in plan.steps)
    assert {step.landing for step in plan.steps} == {"filters"}
    for seed in range(3):
        assert failure(found, plan, seed) is None
