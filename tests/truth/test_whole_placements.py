"""What is said of states that stand, and of orders of binds, is what manifests say, filter by filter."""

from collections.abc import Iterator
from random import Random

from models import Cluster
from planner import solve
from planner.audit.final_state import stands
from planner.documents.plan import PlacementPlan
from planner.problem.problem import Problem
from tests import seeds
from tests.truth import contested
from tests.truth.whole_placements import Most, WholePlacements

#: More states than tiny clusters have.
_LIMIT = 40_000


def test_verdicts_on_random_placements() -> None:
    """A state stands exactly where no filter refuses a pod that came, whatever order led there."""
    for seed in seeds.seeds(45):
        objects = contested.draw(seed)
        truth, problem = WholePlacements(objects), Problem(Cluster.from_objects(objects))
        for came in _placements(truth, Random(seed)):
            node_of = problem.node_of.copy()
            for pod, node in came.items():
                node_of[problem.pod_index[pod]] = problem.nodes.index[node]
            fault = truth.fault(came)
            assert stands(problem, node_of) == (not fault), f"seed {seed}: {came}: {fault}"


def _placements(truth: WholePlacements, chance: Random) -> Iterator[dict[str, str]]:
    """Some pods, each on a node that accepts it beside those that run: the planner places none elsewhere."""
    open_to = {
        key: [node for node in truth.nodes if not truth.refusal(key, node, truth.start, final=True)]
        for key in truth.waiting
    }
    for share in (0.4, 0.7, 0.7, 1.0, 1.0):
        yield {
            key: chance.choice(nodes) for key, nodes in open_to.items() if nodes and chance.random() < share
        }


def test_final_states_and_sequences_of_random_clusters() -> None:
    """No plan does what a filter refuses, verdicts are right, and no more is possible than is proved."""
    for seed in seeds.seeds(12):
        objects = contested.draw(seed)
        truth, cluster = WholePlacements(objects), Cluster.from_objects(objects)
        plan = solve(cluster, final_state=True)
        came = _steps(plan)
        assert not truth.fault(dict(came)), f"seed {seed}, final state: {came}: {truth.fault(dict(came))}"
        assert plan.verdicts.final_state, f"seed {seed}: {came}"
        assert plan.verdicts.sequence == (not truth.replay(came)), (
            f"seed {seed}: {came}: {truth.replay(came)}"
        )
        _assert_best(plan, truth, truth.most_final(_LIMIT), f"seed {seed}, final state")
        plan = solve(cluster)
        steps = _steps(plan)
        assert not truth.replay(steps), f"seed {seed}: {steps}: {truth.replay(steps)}"
        fault = truth.fault(dict(steps))
        assert plan.verdicts.final_state == (not fault), f"seed {seed}: {steps}: {fault}"
        _assert_best(plan, truth, truth.most_in_turn(_LIMIT), f"seed {seed}, sequence")


def _steps(plan: PlacementPlan) -> list[tuple[str, str]]:
    return [(step.pod, step.node) for step in plan.steps if step.node is not None]


def _assert_best(plan: PlacementPlan, truth: WholePlacements, most: Most, place: str) -> None:
    have = truth.value(step.pod for step in plan.steps)
    assert have <= most.value or not most.complete, (
        f"{place}: {have}, and no more than {most.value} is possible"
    )
    if plan.status == "Optimal":
        assert have >= most.value, f"{place}: Optimal with {have}, and {most.value} with {most.steps}"
