"""`Filter.most` is a promise to the solver: no order of binds brings more pods of a template to a node.

Nor does a static rule, of which the models hear only as a mask, refuse what it accepts later.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster
from planner import solve
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.constraints.family import PLENTY
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.problem.nodes import Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.scheduler.order import Step
from tests import seeds
from tests.builders import (
    HOST,
    ZONE,
    Object,
    claim,
    cluster,
    csi_node,
    node,
    pod,
    profile,
    scheduler,
    spread,
    storage_class,
    term,
    volume,
)
from tests.planner.batch.enumeration import is_admissible, most_pods, pods_placed, reachable
from tests.strategies import claiming, clusters, relaxed
from tests.tiny import tiny
from tests.tiny_volumes import tiny_volumes

FOUND = Path(__file__).parents[2] / "data" / "found"
#: For every template what its rules promise of every node, by their names.
Promises = dict[int, dict[str, Ints]]

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


@relaxed
@given(clusters(running=True, config=True), st.data())
def test_no_node_takes_more_than_promised(objects: list[Object], order: st.DataObject) -> None:
    """Any order, any nodes that the filters accept: no family was below what came."""
    assert (
        broken_promises(Cluster.from_objects(objects), lambda some: order.draw(st.sampled_from(some))) == []
    )


def beaten(came: Mapping[Step, int], promised: Promises) -> set[str]:
    """The rules that promised less than came."""
    return {
        name
        for (number, node), pods in came.items()
        for name, most in promised[number].items()
        if pods > most[node]
    }


def promises(pending: Pending) -> Promises:
    """For every template what each of its rules leaves to every node in the state as it is."""
    found: Promises = {}
    for number in pending.pods:
        plan = pending.framework(number).plan(pending.template(number))
        found[number] = {"static": np.where(plan.static, PLENTY, 0)}
        for plugin in plan.changing:
            most = plugin.most(plan.template, pending.wanted)
            if most is not None:
                found[number][plugin.name] = most
    return found


@pytest.mark.parametrize("turn", range(seeds.tries(38)))
def test_no_order_beats_what_is_promised_with_volumes(number: int) -> None:
    """Volumes of every kind, bound by any pods in any order: all that some order leads to was promised."""
    pending = Pending(Problem(Cluster.from_objects(tiny_volumes(number))))
    promised = promises(pending)
    assert not set().union(*(beaten(placement, promised) for placement in reachable(pending)))


def test_a_volume_in_use_is_counted_once() -> None:
    """Of two volumes that a node attaches one is in use: there is room for one pod with the other."""
    objects = [node("n1"), csi_node("n1", "disk", 2)]
    for name, place in (("runs", "n1"), ("waits", "")):
        objects.append(volume(name, csi={"driver": "disk", "volumeHandle": name}))
        objects.append(claim(name, bound_to=name))
        objects.append(pod(name, on=place, claims=[name]))
    pending = Pending(Problem(cluster(*objects)))
    promised = promises(pending)
    assert not set().union(*(beaten(placement, promised) for placement in reachable(pending)))
    (of_volumes,) = (found["NodeVolumeLimits"] for found in promised.values())
    assert of_volumes.tolist() == [1]


@pytest.mark.parametrize("make", [tiny, tiny_volumes])
@pytest.mark.parametrize("turn", range(seeds.tries(8)))
def test_nor_after_evictions(number: int, make: Callable[[int], list[Object]]) -> None:
    """What rules promise without the pods that may be evicted holds whichever of them are."""
    pending, draw = Pending(Problem(Cluster.from_objects(make(number))), moves=True), Random(number)
    promised = promises(pending)
    for _ in range(5):
        mark, waiting = pending.state.mark(), [pod for pods in pending.pods.values() for pod in pods]
        for pod_, bound in pending.current_nodes():
            if draw.random() < 0.5:
                pending.state.bind(pod_, bound)
            else:
                waiting.append(pod_)
        assert not beaten(_bound_anywhere(pending, waiting, draw), promised)
        pending.state.rollback(mark)


def _bound_anywhere(pending: Pending, waiting: list[int], draw: Random) -> Counter[Step]:
    """What comes of pods in a random order, each bound to any node that accepts it."""
    came = Counter[Step]()
    draw.shuffle(waiting)
    for pod_ in waiting:
        number = int(pending.problem.template_of[pod_])
        framework = pending.framework(number)
        nodes = framework.feasible(framework.plan(pending.template(number))).mask.nonzero()[0].tolist()
        if nodes:
            node_ = draw.choice(nodes)
            came[number, node_] += 1
            pending.state.bind(pod_, node_)
    return came


@pytest.mark.parametrize("turn", range(seeds.tries(8)))
def test_a_proof_with_volumes_is_true(number: int) -> None:
    """A tiny batch whose claims wait is placed as well as the best order of binds does, and proved so."""
    found = Cluster.from_objects(tiny_volumes(number, pods=5))
    plan = solve(found)
    assert pods_placed(plan) == most_pods(found)
    assert plan.status == "Optimal"


def test_a_claim_that_another_pod_binds_first() -> None:
    """What went wrong: 1 pod was proved to be all; q, which shares a claim with p, makes room for p."""
    found = Cluster.load(FOUND / "waiting-claim-shared.json")
    plan = solve(found)
    assert [step.pod for step in plan.steps] == ["default/q", "default/p"]
    assert (plan.status, plan.unplaced) == ("Optimal", ())
    assert is_admissible(found, plan)


def test_a_claim_with_a_volume_stays_with_it_where_its_class_provisions_others() -> None:
    """A claim that was bound to a volume of zone a for one pod is not provisioned anew in zone b."""
    found = cluster(
        node("n1", zone="a", pods="1"),
        node("n2", zone="b"),
        storage_class("local", "example.com/disk"),
        volume("pv", ["a"]),
        claim("c"),
        pod("p1", claims=["c"], node_selector={ZONE: "a"}),
        pod("p2", claims=["c"]),
    )
    pending = Pending(Problem(found))
    first, second = (pending.problem.pod_index[f"default/{name}"] for name in ("p1", "p2"))
    pending.state.bind(first, 0)
    number = int(pending.problem.template_of[second])
    framework = pending.framework(number)
    assert not framework.feasible(framework.plan(pending.template(number))).mask.any()


def test_a_pod_that_runs_with_a_waiting_claim_is_left_alone() -> None:
    """What went wrong: with moves, a plan broke its own filters; the snapshot is older than the binding."""
    found = cluster(
        node("n1"),
        node("n2"),
        storage_class("local", "example.com/disk"),
        claim("c"),
        pod("runs", on="n1", claims=["missing", "c"], owner="ReplicaSet/r"),
        pod("waits", claims=["c"]),
    )
    plan = solve(found, allow_moves=True)
    assert [(step.action, step.pod) for step in plan.steps] == [("bind", "default/waits")]


@pytest.mark.parametrize("make", [tiny, tiny_volumes])
@pytest.mark.parametrize("turn", range(seeds.tries(8)))
def test_pods_that_leave_only_help_where_a_rule_says_so(
    number: int, make: Callable[[int], list[Object]]
) -> None:
    """A rule that wants no pods accepts without some of them whatever it accepted beside them."""
    assert_leaving_only_helps(make(number), number)


def test_a_shared_volume_on_a_node_that_is_over_its_limit() -> None:
    """What went wrong: the node takes a pod beside another with the same volume, and not without it."""
    assert_leaving_only_helps(tiny_volumes(3470795656), 3470795656)


def assert_leaving_only_helps(objects: list[Object], seed: int) -> None:
    """Some of the running pods leave: what was accepted by rules that want no pods still is."""
    pending, draw = Pending(Problem(Cluster.from_objects(objects)), moves=True), Random(seed)
    mark, current_nodes = pending.state.mark(), list(pending.current_nodes())
    rules = [
        (plugin, pending.template(t))
        for t in pending.pods
        for plugin in pending.framework(t).plan(pending.template(t)).changing
        if not plugin.wants_pods(pending.template(t))
    ]
    few = [bound for bound in current_nodes if draw.random() < 0.5]
    accepted = []
    for there in (current_nodes, few):
        for pod_, bound in there:
            pending.state.bind(pod_, bound)
        accepted.append([plugin.reject(template) == 0 for plugin, template in rules])
        pending.state.rollback(mark)
    assert not any((many & ~few_).any() for many, few_ in zip(*accepted, strict=True))


@relaxed
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


def test_an_extended_resource_is_left_to_devices_where_a_node_has_none() -> None:
    """What went wrong: the fit let a pod in where DynamicResources is off, and promised 0."""
    device = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    }
    no_devices = profile(plugins={"filter": {"disabled": [{"name": "DynamicResources"}]}})
    found = cluster(
        node("n1", pods="1"),
        device,
        scheduler(no_devices),
        pod("a", requests={"example.com/gpu": "1"}, priority=1),
        pod("b"),
    )
    assert broken_promises(found, lambda some: some[0]) == []
    plan = solve(found)
    assert ([step.pod for step in plan.steps], plan.status) == (["default/a"], "Optimal")


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
