"""Large neighbourhood search of a batch: more pods, spread more evenly, a few nodes at a time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest

from models import Cluster
from planner.batch.goals import PlanShape, soft_goals
from planner.batch.incumbent import Incumbent, Proof
from planner.batch.neighbourhood_search import NeighbourhoodSearch
from planner.batch.pending import Pending
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step
from tests import seeds
from tests.builders import HOST, SOFT, claim, cluster, node, pod, spread, storage_class, volume
from tests.planner.batch.nearly_full import nearly_full


def _improved(found: Cluster, *steps: tuple[str, str]) -> list[tuple[str, str]]:
    """Which pod is where, by names, when the search began with some binds."""
    pending = Pending(Problem(found))
    problem = pending.problem
    template_of = {problem.pods[pod].name: number for number, pods in pending.pods.items() for pod in pods}
    known: list[Step] = [(template_of[pod], problem.nodes.index[place]) for pod, place in steps]
    best = Incumbent(pending, soft_goals(pending, PlanShape.SPREAD, Counter()), None)
    best.offer(known)
    NeighbourhoodSearch(pending, Meter.of(10.0)).improve(known, best, Orderer(pending))
    waiting = {number: list(pods) for number, pods in pending.pods.items()}
    named = [(problem.pods[waiting[number].pop()].name, place) for number, place in best.steps or ()]
    return sorted((pod, problem.nodes.names[place]) for pod, place in named)


def test_pods_change_places_for_one_that_has_none() -> None:
    """Two pods of two cores lie together, so that one of three cores has no place until they part."""
    pods = [pod("small1", cpu="2"), pod("small2", cpu="2"), pod("large1", cpu="3"), pod("large2", cpu="3")]
    found = cluster(node("n1", cpu="5"), node("n2", cpu="5"), *pods)
    improved = _improved(found, ("small1", "n1"), ("small2", "n1"), ("large1", "n2"))
    assert len(improved) == len(pods)
    assert Counter(place for _, place in improved) == {"n1": 2, "n2": 2}


def test_no_pod_goes_for_several_of_a_lower_priority() -> None:
    """Two low pods would fit where the high one is; they are no gain."""
    low = [pod(f"low{number}", cpu="2", priority=0) for number in range(2)]
    found = cluster(node("n1", cpu="4"), pod("high", cpu="4", priority=100), *low)
    assert _improved(found, ("high", "n1")) == [("high", "n1")]


def test_pods_with_volumes_stay_where_they_are() -> None:
    """What their claims are bound to depends on the order of binds."""
    storage = [storage_class("local"), volume("v"), claim("c")]
    goals = [spread(HOST, 1, "web", when=SOFT)]
    pods = [pod(f"web{number}", app="web", spread=goals) for number in range(3)]
    pods.append(pod("db", app="web", spread=goals, claims=["c"]))
    found = cluster(node("n1"), node("n2"), *storage, *pods)
    improved = _improved(found, *((f"web{number}", "n1") for number in range(3)), ("db", "n1"))
    assert ("db", "n1") in improved
    assert Counter(place for _, place in improved) == {"n1": 2, "n2": 2}


class _Forgetful(Orderer):
    """Finds an order for all pods of a placement but one."""

    def follow(self, phases: Iterable[Placement], waiting: Mapping[int, Sequence[int]]) -> list[Step]:
        return super().follow(phases, waiting)[:-1]

    def extend(self, steps: Sequence[Step], waiting: Mapping[int, Sequence[int]]) -> list[Step]:
        return list(steps)


def test_what_has_no_order_is_no_plan() -> None:
    """What went wrong: a placement that no order leads to beat the proved bound, an internal error."""
    pods = [pod("small1", cpu="2"), pod("small2", cpu="2"), pod("large1", cpu="3"), pod("large2", cpu="3")]
    pending = Pending(Problem(cluster(node("n1", cpu="5"), node("n2", cpu="5"), *pods)))
    small = int(pending.problem.template_of[0])
    known = [(small, 0), (small, 0)]
    best = Incumbent(pending, (), None)
    best.offer(known)
    best.learn(Proof({"podsPlaced/0": 3}, {"podsPlaced/0": 3}, "a model"))
    NeighbourhoodSearch(pending, Meter.of(10.0)).improve(known, best, _Forgetful(pending))
    assert len(best.steps or ()) == len(pods) - 1


def test_full_nodes_are_spread_evenly() -> None:
    """What went wrong: of plans with the most pods the first that was found stayed, whatever lay together.

    On full nodes a pod has to change places with another one.
    """
    goals = [spread(HOST, 1, f"w{number}", when=SOFT) for number in range(4)]
    pods = [
        pod(f"w{number}-{replica}", cpu="1", app=f"w{number}", spread=[goals[number]])
        for number in range(4)
        for replica in range(4)
    ]
    found = cluster(*(node(f"n{place}", cpu="4") for place in range(4)), *pods)
    piled = [(f"w{number}-{replica}", f"n{number}") for number in range(4) for replica in range(4)]
    improved = _improved(found, *piled)
    assert len(improved) == len(pods)
    assert {place: Counter(name[:2] for name, on in improved if on == place) for _, place in improved} == {
        f"n{place}": Counter({f"w{number}": 1 for number in range(4)}) for place in range(4)
    }


@pytest.mark.parametrize("turn", range(seeds.tries(1)))
def test_what_is_offered_is_admissible_and_no_worse_than_what_is_known(number: int) -> None:
    """Next to full, where orders matter: the plan of the search alone, begun with kube-scheduler's."""
    found = Cluster.from_objects(nearly_full(number, nodes=6, fill=1.0))
    pending = Pending(Problem(found))
    template_of, orderer = pending.problem.template_of, Orderer(pending)
    known = [(int(template_of[d.pod]), d.node) for d in pending.scheduler.run() if d.node is not None]
    goals = soft_goals(pending, PlanShape.SPREAD, Counter())
    best = Incumbent(pending, goals, None)
    best.offer(known)
    before = [stage.value for stage in best.stages()]
    NeighbourhoodSearch(pending, Meter.of(1.0)).improve(known, best, orderer)
    pods, too_many, *_ = [stage.value for stage in best.stages()]
    assert (pods, -too_many) >= (before[0], -before[1])
    assert orderer.follow([Counter(best.steps or ())], pending.pods)
