"""A pin hides domains from constraints that honour affinity: what that opens, and what it closes."""

import random

import numpy as np
import pytest

from models import Cluster
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod, coupled_constraints
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from tests import seeds
from tests.builders import HOST, Object, cluster, node, pod, spread

#: Up to eight nodes are distinguished one by one, more of them only by how many pods they have.
SIZES = (5, 14)


def drawn(draw: random.Random) -> Cluster:
    """A few nodes in two or three zones, and pods of one workload anywhere on them."""
    size, zones = draw.randint(*SIZES), draw.randint(2, 3)
    constraints = [_constraint(draw, key) for key in draw.sample((HOST, "zone"), draw.randint(1, 2))]
    nodes = [node(f"n{n:02}", labels={"zone": f"z{draw.randrange(zones)}"}) for n in range(size)]
    words = {"app": "web", "owner": "ReplicaSet/web", "spread": constraints}
    places = draw.choices(range(size), k=draw.randint(2, 2 * size))
    return cluster(*nodes, *(pod(f"web-{n}", f"n{place:02}", **words) for n, place in enumerate(places)))


def _constraint(draw: random.Random, key: str) -> Object:
    more: Object = {"nodeAffinityPolicy": "Ignore"} if draw.random() < 0.2 else {}
    more |= {"minDomains": draw.randint(2, 4)} if draw.random() < 0.3 else {}
    return spread(key, draw.randint(1, 3), **more)


def pins(draw: random.Random, trial: TrialCluster) -> list[np.ndarray]:
    """A zone, some nodes, and one node."""
    zone = trial.problem.nodes.column("zone").codes
    size = len(zone)
    some = np.isin(np.arange(size), draw.sample(range(size), draw.randint(1, size)))
    one = np.arange(size) == draw.randrange(size)
    return [zone == draw.choice(zone.tolist()), some, some & (zone == draw.choice(zone.tolist())), one]


def moving(draw: random.Random) -> tuple[TrialCluster, CoupledConstraints, int, int]:
    """A trial cluster that a pod has left, its coupled constraints, the pod's template and old node."""
    problem = Problem(drawn(draw))
    trial = TrialCluster(problem)
    found: int = draw.randrange(len(problem.pods))
    source, template = int(trial.state.node_of[found]), trial.template(found)
    coupled = coupled_constraints(trial, {template: [source]}, lambda constraint: constraint.hard)[template]
    trial.state.unbind(found)
    return trial, coupled, template, source


def test_a_pin_admits_what_was_predicted_or_is_refused() -> None:
    """A thousand pins, compared with what the filters answer for a pod with that node affinity."""
    refused = kept = 0
    for seed in seeds.seeds(70):
        draw = random.Random(seed)
        trial, coupled, template, source = moving(draw)
        sure, levels = trial.problem.nodes.none, coupled.counts_on_nodes()
        for pin in pins(draw, trial):
            held = coupled.restriction(pin, levels, sure, pin)
            leaving = LeavingPod(template, int(coupled.cell_of[source]), held)
            options = coupled.options(coupled.seen(coupled.counts_on_nodes()), leaving)
            said = pin & coupled.nodes_at(options, levels, sure)
            real = trial.open_pinned(template, pin)
            by_spec = trial.open_to(template) & pin
            if options:
                assert (said == real).all(), (seed, pin)
                kept += 1
            refused += bool(not options and real.any())
            assert not (said & ~by_spec).any(), (seed, pin)
    assert kept > 40
    assert refused > 10


@pytest.mark.parametrize("others", [0, 1])
def test_a_zone_without_empty_nodes_is_no_pin_for_a_pod_that_sees_an_empty_one(others: int) -> None:
    """Pinned to its zone a pod would land on the node with two pods, which its own spec rejects."""
    words = {"app": "web", "owner": "ReplicaSet/web", "spread": [spread(HOST, 2)]}
    places = ["a0", "a1", "a1", "b1", "b1", *["b0"] * others]
    given = cluster(
        *(node(name, labels={"zone": name[0]}) for name in ("a0", "a1", "b0", "b1")),
        *(pod(f"web-{n}", place, **words) for n, place in enumerate(places)),
    )
    trial = TrialCluster(Problem(given))
    last, source = 3, 3
    coupled = coupled_constraints(trial, {0: [source]}, lambda constraint: constraint.hard)[0]
    trial.state.unbind(last)
    pin = trial.problem.nodes.column("zone").one_of(["a"])
    held = coupled.restriction(pin, coupled.counts_on_nodes(), trial.problem.nodes.none, pin)
    cell = int(coupled.cell_of[source])
    options = coupled.options(coupled.seen(coupled.counts_on_nodes()), LeavingPod(0, cell, held))
    assert trial.open_pinned(0, pin).tolist() == [True, True, False, False]
    assert bool(options) == bool(others)
