"""What is said of the shape of a batch at best, beside every placement of all its pods."""

from hypothesis import assume, given
from hypothesis import strategies as st

from models import Cluster
from planner.batch.coarse import Coarse
from planner.batch.goals import PlanShape, soft_goals
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer
from tests.builders import HOST, Object, node, pod, spread
from tests.planner.batch.enumeration import reachable, usual
from tests.strategies import relaxed
from tests.truth.large_paths import SOLVE_PATHS

_AMOUNTS = st.sampled_from(["500m", "1", "1500m"])


@st.composite
def _batches(draw: st.DrawFn) -> list[Object]:
    """A few pods of two workloads, one of which may be spread over hosts, and nodes for them."""
    sizes = draw(st.lists(st.sampled_from(["2", "2", "3"]), min_size=2, max_size=5))
    nodes = [node(f"n{number}", cpu=cpu, memory="4Gi") for number, cpu in enumerate(sizes)]
    runs = [pod("runs", on="n0", cpu=draw(_AMOUNTS))] if draw(st.booleans()) else []
    rules = [spread(HOST, draw(st.integers(1, 2)))] if draw(st.booleans()) else []
    first, second, memory = draw(_AMOUNTS), draw(_AMOUNTS), draw(st.sampled_from(["100Mi", "2Gi"]))
    pods = [pod(f"a{n}", app="web", cpu=first, spread=rules) for n in range(draw(st.integers(1, 4)))]
    pods += [pod(f"b{n}", cpu=second, memory=memory) for n in range(draw(st.integers(0, 2)))]
    return [*nodes, *runs, *pods]


@relaxed
@given(_batches(), st.sampled_from(PlanShape), st.sampled_from(["cells", "coarse cells"]))
def test_no_placement_of_all_is_nearer_to_a_shape_than_is_said(
    objects: list[Object], shape: PlanShape, path: str
) -> None:
    """Whatever cells of nodes hold together."""
    found = Cluster.from_objects(objects)
    pending = Pending(Problem(found))
    goals = soft_goals(pending, shape, usual(found))
    wanted = sum(pending.wanted.values())
    values = [
        ([*placement.elements()], goals[-1].value(placement))
        for placement in reachable(pending)
        if placement.total() == wanted
    ]
    assume(values)
    best = Incumbent(pending, goals, None)
    best.offer(max(values, key=lambda value: value[1])[0])
    meter = Meter.of(60.0, effort=SOLVE_PATHS[path])
    Coarse(pending, Orderer(pending), meter).learn_shape(best, goals[-1])
    bound = [*best.stages()][-1].bound
    assert bound is not None
    assert bound.value <= min(value for _, value in values)
