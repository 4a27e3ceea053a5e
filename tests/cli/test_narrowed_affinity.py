"""The affinity that a pin writes into a template: what was required before is required with it."""

import pytest

from cli.output.views.scripts.affinity import narrowed
from models.objects.affinity import REQUIRED
from planner.documents.move_plan import OnNodes, Place, WithLabels
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.builders import ZONE, Object, cluster, labelled, node, pod

NODES = [
    node(f"{zone}-{disk}", zone=zone, labels={"disk": disk}) for zone in "abc" for disk in ("hdd", "ssd")
]
PLACES: list[tuple[Place, set[str]]] = [
    (OnNodes(nodes=("a-ssd", "b-hdd")), {"a-ssd", "b-hdd"}),
    (WithLabels(labels={ZONE: ("a", "c")}), {"a-hdd", "a-ssd", "c-hdd", "c-ssd"}),
]
AFFINITIES: list[list[Object]] = [
    [],
    [labelled("disk", "In", "ssd")],
    [labelled("disk", "In", "ssd"), labelled(ZONE, "In", "b")],
    [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a-ssd"]}]}],
]


def open_to(affinity: Object) -> set[str]:
    """The names of the nodes that are feasible for a pod with this affinity."""
    problem = Problem(cluster(*NODES, pod("p", affinity=affinity)))
    framework = Scheduler(problem).framework_of(0)
    mask = framework.feasible(framework.plan(problem.template(0))).mask
    return {name for name, fits in zip(problem.nodes.names, mask.tolist(), strict=False) if fits}


@pytest.mark.parametrize(("place", "inside"), PLACES)
@pytest.mark.parametrize("terms", AFFINITIES)
def test_the_nodes_of_the_place_that_were_allowed_before(
    terms: list[Object], place: Place, inside: set[str]
) -> None:
    """Of several terms one has to hold, as before, and the place with it; other affinity stays."""
    before: Object = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}} if terms else {}
    found = Problem(cluster(*NODES, pod("p", affinity=before))).pods[0].spec.affinity
    assert open_to(narrowed(found, place)) == open_to(before) & inside
