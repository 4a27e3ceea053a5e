"""`Filter.most` is a promise to the solver: no order of binds brings more pods of a template to a node."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import Cluster
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.problem.nodes import Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from tests.builders import HOST, Object, cluster, node, pod, spread, term
from tests.strategies import claiming, clusters, steady

#: Which one of several.
Choose = Callable[[Sequence[Any]], Any]


def broken_promises(found: Cluster, choose: Choose) -> list[str]:
    """The families that promised less than some order of admissible binds brought to some node."""
    pending = Pending(Problem(found))
    promised = {
        (number, plugin.name): plugin.most(pending.template(number), pending.wanted)
        for number in pending.pods
        for plugin in pending.framework(number).plan(pending.template(number)).changing
    }
    waiting = [(number, pod) for number, pods in pending.pods.items() for pod in pods]
    came: dict[int, Ints] = {number: 0 * pending.state.used[0] for number in pending.pods}
    while waiting:
        number, pod_ = waiting.pop(choose(range(len(waiting))))
        framework = pending.framework(number)
        nodes = framework.feasible(framework.plan(pending.template(number))).mask.nonzero()[0].tolist()
        if nodes:
            place = choose(nodes)
            pending.state.bind(pod_, place)
            came[number][place] += 1
    return sorted(
        {
            name
            for (number, name), most in promised.items()
            if most is not None and (came[number] > most).any()
        }
    )


@settings(steady, max_examples=150)
@given(clusters(running=True, config=True), st.data())
def test_no_node_takes_more_than_promised(objects: list[Object], order: st.DataObject) -> None:
    """Any order, any nodes that the filters accept: no family was below what came."""
    assert (
        broken_promises(Cluster.from_objects(objects), lambda some: order.draw(st.sampled_from(some))) == []
    )


@settings(steady, max_examples=60)
@given(claiming(shared=True), st.data())
def test_nor_with_volumes(objects: list[Object], order: st.DataObject) -> None:
    """The same for the families that look at volumes."""
    assert (
        broken_promises(Cluster.from_objects(objects), lambda some: order.draw(st.sampled_from(some))) == []
    )


#: For every family with a limit, a node that takes a pod about which the family is asked.
ROOMY: dict[type[Filter], list[Object]] = {
    NodeResourcesFit: [node("n1"), pod("a", cpu="1")],
    NodePorts: [node("n1"), pod("a", ports=[80])],
    PodTopologySpread: [node("n1"), pod("a", app="web", spread=[spread(HOST)])],
    InterPodAffinity: [node("n1"), pod("a", app="web", apart=[term(HOST, "web")])],
}


@pytest.mark.parametrize("family", ROOMY, ids=lambda family: family.name)
def test_a_promise_that_is_too_low_is_noticed(family: type[Filter], monkeypatch: pytest.MonkeyPatch) -> None:
    """The properties above can fail: a family that promises one pod too few is named."""
    found = cluster(*ROOMY[family])
    true_most = family.most

    def too_low(self: Filter, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        most = true_most(self, template, wanted)
        return None if most is None else np.minimum(most, sum(wanted.values())) - 1

    assert broken_promises(found, lambda some: some[0]) == []
    monkeypatch.setattr(family, "most", too_low)
    assert broken_promises(found, lambda some: some[0]) == [family.name]
