"""Which budgets cover a pod, looked up by label as if all selectors were asked; which evictions draw on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.eviction.budgets import Budgets
from planner.problem.problem import Problem
from tests.builders import Object, budget, cluster, node, pod, revision, scaled
from tests.strategies import NAMESPACES, SELECTORS, relaxed


@st.composite
def covered(draw: st.DrawFn) -> list[Object]:
    """Pods with labels, and budgets with selectors of every kind."""
    apps, revisions = st.sampled_from(["web", "db", "api"]), st.sampled_from([None, "1", "2"])
    pods = []
    for number in range(draw(st.integers(0, 8))):
        labels = {"app": draw(apps), **({"rev": rev} if (rev := draw(revisions)) else {})}
        pods.append(pod(f"p{number}", on="n1", namespace=draw(st.sampled_from(NAMESPACES)), labels=labels))
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"b{number}", "namespace": draw(st.sampled_from(NAMESPACES))},
            "spec": {"selector": draw(st.sampled_from(SELECTORS)), "maxUnavailable": draw(st.integers(0, 3))},
        }
        for number in range(draw(st.integers(0, 8)))
    ]
    return [node("n1"), *pods, *budgets]


@relaxed
@given(covered())
def test_the_budgets_of_a_pod_are_those_whose_selector_matches(objects: list[Object]) -> None:
    """Asked one by one, in their namespace; what each allows is counted over the very same pods."""
    problem = Problem(cluster(*objects))
    budgets = Budgets(problem)
    members: list[list[int]] = [[] for _ in budgets.budgets]
    for number, item in enumerate(problem.pods):
        expected = tuple(
            place
            for place, budget in enumerate(budgets.budgets)
            if budget.namespace == item.namespace
            and budget.spec.selector is not None
            and budget.spec.selector.matches(item.metadata.labels)
        )
        assert budgets.of(number) == expected
        for place in expected:
            members[place].append(number)
    for found, pods, allowed in zip(budgets.budgets, members, budgets.allowed, strict=True):
        assert allowed == min(len(pods), int(found.spec.max_unavailable or 0))


_SHARES = st.one_of(st.integers(0, 5), st.sampled_from(["0%", "1%", "34%", "50%", "99%", "100%"]))
_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_KINDS = (*_SCALED, "Job", "")
_STATES: dict[str, Object] = {
    "ready": {},
    "not ready": {"conditions": [{"type": "Ready", "status": "False"}]},
    "ending": {"gone": True},
}


@st.composite
def replicated(draw: st.DrawFn) -> tuple[list[Object], int, int]:
    """Workloads and their pods; how many pods there should be, and how many of them are healthy."""
    objects, expected, healthy = [node("n1")], 0, 0
    for name in "abc"[: draw(st.integers(0, 3))]:
        kind, wanted = draw(st.sampled_from(_KINDS)), draw(st.integers(0, 4))
        states = draw(st.lists(st.sampled_from(sorted(_STATES)), max_size=4))
        owner: Object | str | None = "Job/sums" if kind == "Job" else None
        if kind in _SCALED:
            objects.append(owner := scaled(kind, name, wanted, app="web"))
            if kind == "Deployment":
                objects.append(owner := revision(owner))
        made = (
            pod(f"{name}-{number}", "n1", app="web", owner=owner, **_STATES[state])
            for number, state in enumerate(states)
        )
        objects += made
        expected += wanted if kind in _SCALED else len(states) - states.count("ending")
        healthy += states.count("ready")
    return objects, expected, healthy


@relaxed
@given(replicated(), st.sampled_from(["minAvailable", "maxUnavailable"]), _SHARES)
def test_what_is_allowed_is_what_is_healthy_beyond_what_should_be(
    case: tuple[list[Object], int, int], field: str, share: int | str
) -> None:
    """Of replicas, ready or not, ending or missing, and of pods that nothing asks for; shares rounded up."""
    spec: Object = {field: share}
    objects, expected, healthy = case
    part = share if isinstance(share, int) else math.ceil(expected * int(share[:-1]) / 100)
    desired = part if field == "minAvailable" else max(0, expected - part)
    asks_for_pods = field == "minAvailable" and isinstance(share, int)
    allowed = max(0, healthy - desired) if expected or asks_for_pods else 0
    assert _allowed(*objects, budget("one", "web", **spec)) == [allowed]


def test_no_budget_is_asked_about_a_pod_that_has_not_started() -> None:
    """What went wrong: one that had no Ready condition yet counted as ready, and as healthy."""
    starts = pod("starts", on="n1", app="web", phase="Pending")
    problem = Problem(cluster(node("n1"), starts, pod("runs", on="n1", app="web"), budget("one", "web")))
    budgets = Budgets(problem)
    asked = {item.name: budgets.asked(number) for number, item in enumerate(problem.pods)}
    assert asked == {"starts": (), "runs": (0,)}
    assert budgets.allowed == [0]


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [({"maxUnavailable": 1}, 1), ({"minAvailable": "50%"}, 1), ({"minAvailable": 1}, 1)],
)
def test_a_terminating_pod_is_no_pod_more_that_should_be_there(spec: Object, allowed: int) -> None:
    """What went wrong: two of two replicas are ready, a third pod ends, and its budget allowed nothing."""
    owner = scaled("ReplicaSet", "web", 2)
    pods = [pod(f"web-{n}", on="n1", app="web", owner=owner, gone=n == 2) for n in range(3)]
    assert _allowed(node("n1"), owner, *pods, budget("one", "web", **spec)) == [allowed]


def test_all_replicas_of_each_workload_should_be_there() -> None:
    """As many as a Deployment asks for, not its ReplicaSets; of others the pods that live."""
    owner = scaled("Deployment", "web", 3)
    old, new = revision(owner, 1), revision(owner, 2)
    surge = [pod(f"{n}", on="n1", app="web", owner=old if n < 3 else new) for n in range(5)]
    assert _allowed(node("n1"), owner, old, new, *surge, budget("one", "web", maxUnavailable=1)) == [3]
    few = pod("few", on="n1", app="web", owner=scaled("StatefulSet", "db", 3))
    there = [scaled("StatefulSet", "db", 3), few, pod("job", on="n1", app="web", owner="Job/job")]
    assert _allowed(node("n1"), *there, budget("one", "web", maxUnavailable=3)) == [1]


@pytest.mark.parametrize("replicas", [0, 2])
def test_a_budget_that_expects_no_pods_allows_nothing(replicas: int) -> None:
    """What went wrong: one that asks for nothing, or is over pods that nobody wants, allowed all of them."""
    owner = scaled("ReplicaSet", "web", replicas)
    pods = [pod(f"web-{n}", on="n1", app="web", owner=owner) for n in range(2)]
    asks_nothing = budget("one", "web", minAvailable=None)
    assert _allowed(node("n1"), owner, *pods, asks_nothing) == [0]
    assert _allowed(node("n1"), owner, *pods, budget("one", "web", maxUnavailable=1)) == [min(replicas, 1)]


def _allowed(*objects: Object) -> list[int]:
    """How many evictions the budgets allow."""
    return Budgets(Problem(cluster(*objects))).allowed
