"""The model over cells and over phases, against the one over nodes and against every order tried out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster
from planner import solve
from planner.batch.goals import FullestNode
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread, Rule
from planner.constraints.volumes import NodeVolumeLimits, VolumeRestrictions
from planner.cpsat.model import BatchModel, Goal
from planner.cpsat.variables import Batch
from planner.problem.node_groups import NodeGroups
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from tests.builders import ZONE, Object, claim, cluster, csi_node, node, pod, scheduler, spread, term, volume
from tests.planner.batch.enumeration import is_admissible, most_pods, pods_placed
from tests.strategies import clusters, relaxed


def best_of(pending: Pending, cells: NodeGroups | None = None, **how: Any) -> tuple[int, ...]:
    """The pods per priority that a model places at best, the highest priority first; all proved."""
    batch = Batch(pending.problem, pending.wanted, pending.room(pending.wanted), cells=cells)
    model = BatchModel(batch, pending.profiles(), **how)
    goals = model.pods_placed(60.0)
    found = model.solve(goals, None, Meter.of(60.0))
    if not goals:
        return ()
    assert found is not None
    assert found.values == found.bounds
    return tuple(found.values.values())


@relaxed
@given(clusters(running=True, pods=8))
def test_cells_never_promise_less_than_nodes(objects: list[Object]) -> None:
    """The model over cells is a relaxation, whatever nodes are taken together."""
    pending = Pending(Problem(Cluster.from_objects(objects)))
    size = pending.problem.nodes.size
    exact = best_of(pending)
    for cells in (NodeGroups(np.zeros(size, np.intp)), NodeGroups(np.arange(size) // 2), _by_traits(pending)):
        assert best_of(pending, cells) >= exact


@relaxed
@given(clusters(running=True, pods=8))
def test_mixed_integer_programming_promises_no_less(objects: list[Object]) -> None:
    """Its bounds are never below what CP-SAT proves to be the best, and its placement is one of the model."""
    pending = Pending(Problem(Cluster.from_objects(objects)))
    size = pending.problem.nodes.size
    for cells in (NodeGroups(np.zeros(size, np.intp)), _by_traits(pending)):
        batch = Batch(pending.problem, pending.wanted, pending.room(pending.wanted), cells=cells)
        model = BatchModel(batch, pending.profiles())
        found = model.solve_linear(model.pods_placed(60.0), Meter.of(60.0))
        if found is None or not found.bounds:
            continue
        exact = best_of(pending, cells)
        assert tuple(found.values.values()) <= exact
        if [*found.values.values()][:-1] == [*exact][:-1]:
            assert [*found.bounds.values()][-1] >= exact[-1]
        assert next(iter(found.bounds.values())) >= exact[0]
        assert sum(found.phases[0].values()) == sum(found.values.values())


def _by_traits(pending: Pending) -> NodeGroups:
    """Nodes together that no rule tells apart; on few nodes every trait counts."""
    of = np.zeros(pending.problem.nodes.size, np.intp)
    for trait in pending.traits():
        codes = np.unique(trait, return_inverse=True)[1]
        of = np.unique(of * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return NodeGroups(of.astype(np.intp))


@relaxed
@given(clusters(running=True, pods=5))
def test_cells_never_promise_less_than_some_order_places(objects: list[Object]) -> None:
    """Their best is a bound for every order of binds."""
    found = Cluster.from_objects(objects)
    pending = Pending(Problem(found))
    whole = NodeGroups(np.zeros(pending.problem.nodes.size, np.intp))
    best = most_pods(found)
    assert best_of(pending, whole) >= best
    assert best_of(pending, _by_traits(pending)) >= best


#: Two cells of two nodes each, and a batch that fills them evenly.
EVEN = (
    *(node(f"a{n}", zone="a", cpu="2") for n in range(2)),
    *(node(f"b{n}", zone="b", cpu="2") for n in range(2)),
    *(pod(f"p{n}", app="web", cpu="1", spread=[spread(ZONE)]) for n in range(8)),
)


@pytest.mark.parametrize("mistake", ["room of one node", "no minimum"])
def test_cells_that_promise_too_little_are_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The properties above can fail: a cell with the room of one node, a spread that ignores the minimum."""
    pending = Pending(Problem(cluster(*EVEN)))
    cells = _by_traits(pending)
    assert (cells.size, best_of(pending, cells), best_of(pending)) == (2, (8,), (8,))
    if mistake == "room of one node":
        monkeypatch.setattr(NodeGroups, "sums", lambda self, amounts: amounts[self.first])
    else:
        monkeypatch.setattr(Rule, "ceiling", lambda *_: 0)
    assert best_of(pending, cells) < (8,)


@pytest.mark.parametrize("family", [NodeResourcesFit, PodTopologySpread], ids=lambda family: family.name)
def test_cells_that_forbid_nothing_are_noticed(family: type[Filter], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over cells a family's encoding decides as it does over nodes."""
    many = [pod(f"more{n}", cpu="1") for n in range(4)]
    closed = [node(f"c{n}", zone="c", cordoned=True) for n in range(2)]
    pending = Pending(Problem(cluster(*EVEN, *(many if family is NodeResourcesFit else closed))))
    cells = _by_traits(pending)
    right = best_of(pending, cells)
    assert right == ((8,) if family is NodeResourcesFit else (2,))
    monkeypatch.setattr(family, "encode", Filter.encode)
    monkeypatch.setattr(family, "most", Filter.most)
    assert best_of(pending, cells) > right


@relaxed
@given(clusters(running=True, pods=4))
def test_one_pod_a_phase_is_the_best_order(objects: list[Object]) -> None:
    """With a phase for every bind the model has exactly what some order of binds places."""
    found = Cluster.from_objects(objects)
    pending = Pending(Problem(found))
    pods = sum(pending.wanted.values())
    if pods:
        assert best_of(pending, phases=pods, one_by_one=True) == most_pods(found)


def test_one_pod_a_phase_finds_what_one_phase_does_not() -> None:
    """A final state may break what held at an early pod's turn; in phases it held when the pod came."""
    early = pod("early", app="web", spread=[spread(ZONE)])
    late = [pod(f"late-{n}", app="web", node_selector={ZONE: "a"}) for n in range(3)]
    found = cluster(node("a1", zone="a"), node("b1", zone="b", cordoned=True), early, *late)
    pending = Pending(Problem(found))
    assert best_of(pending, phases=1) < best_of(pending, phases=4, one_by_one=True) == most_pods(found)


def _two_profiles(*off: str) -> Object:
    """The usual profile, and one called `free` without some filters."""
    disabled = {"filter": {"disabled": [{"name": name} for name in off]}}
    return scheduler({"schedulerName": "default-scheduler"}, {"schedulerName": "free", "plugins": disabled})


#: What the second profile may lack.
_OFF = ("PodTopologySpread", "InterPodAffinity", "NodeResourcesFit", "NodePorts", "NodeAffinity")


@relaxed
@given(clusters(running=True, pods=5), st.sets(st.sampled_from(_OFF), min_size=1))
def test_two_profiles_in_one_batch(objects: list[Object], off: set[str]) -> None:
    """Every other pod belongs to a profile without some filters: as good as the best order, when proved."""
    pods = [item for item in objects if item["kind"] == "Pod"]
    for item in pods[::2]:
        item["spec"]["schedulerName"] = "free"
    found = Cluster.from_objects([*objects, _two_profiles(*sorted(off))])
    plan, best = solve(found), most_pods(found)
    assert is_admissible(found, plan)
    assert pods_placed(plan) == best if plan.status == "Optimal" else pods_placed(plan) <= best


def _attached(name: str) -> tuple[Object, Object]:
    """A volume of the driver `disk`, and the claim of the same name that is bound to it."""
    return volume(name, csi={"driver": "disk", "volumeHandle": name}), claim(name, bound_to=name)


_DISK = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]}

#: A filter that one of two profiles lacks, what is there, and two pods that the filter alone keeps apart.
ONE_SIDED: dict[str, tuple[list[Object], Object, Object]] = {
    "NodeResourcesFit": ([node("n1", cpu="1")], {"cpu": "1"}, {"cpu": "1"}),
    "NodePorts": ([node("n1")], {"ports": [80]}, {"ports": [80]}),
    "InterPodAffinity": (
        [node("n1", zone="a")],
        {"app": "web", "apart": [term(ZONE, "db")]},
        {"app": "db"},
    ),
    "VolumeRestrictions": ([node("n1")], _DISK, _DISK),
    "NodeVolumeLimits": (
        [node("n1"), csi_node("n1", "disk", 1), *_attached("one"), *_attached("two")],
        {"claims": ["one"]},
        {"claims": ["two"]},
    ),
}


@pytest.mark.parametrize("name", ONE_SIDED)
def test_a_filter_that_one_profile_lacks_does_not_bind_its_pods(name: str) -> None:
    """What went wrong: a bound denied that a pod may come unasked at the end, so one was proved best."""
    there, strict, free = ONE_SIDED[name]
    first = pod("free", scheduler="free", created="2023-01-01T00:00:00Z", **free)
    found = cluster(*there, first, pod("strict", **strict), _two_profiles(name))
    pending, plan = Pending(Problem(found)), solve(found)
    assert most_pods(found) == (2,)
    assert best_of(pending) >= (2,)
    assert best_of(pending, phases=2, one_by_one=True) >= (2,)
    assert (pods_placed(plan), plan.status) == ((2,), "Optimal")
    final = solve(found, final_state=True)
    assert (pods_placed(final), final.verdicts.final_state) == ((1,), True)


@pytest.mark.parametrize("family", [VolumeRestrictions, NodeVolumeLimits], ids=lambda family: family.name)
def test_a_volume_encoding_that_forbids_nothing_is_noticed(
    family: type[Filter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no audit judges is compared with every order: without the encoding the model places more."""
    there, one, other = ONE_SIDED[family.name]
    found = cluster(*there, pod("one", **one), pod("other", **other))
    assert best_of(Pending(Problem(found))) == most_pods(found) == (1,)
    monkeypatch.setattr(family, "encode", Filter.encode)
    monkeypatch.setattr(family, "most", Filter.most)
    assert best_of(Pending(Problem(found))) > most_pods(found)


def test_company_may_be_somebody_who_needs_none() -> None:
    """What went wrong: a pod that needs the same peers but is not asked for them did not count as a peer."""
    words: Object = {"app": "web", "near": [term(ZONE, "web")]}
    found = cluster(
        node("a1", zone="a", cpu="1"),
        node("b1", zone="b", cpu="1"),
        pod("starts", cpu="1", **words),
        pod("joins", cpu="1", **words),
        pod("free", scheduler="free", node_selector={ZONE: "b"}, **words),
        _two_profiles("InterPodAffinity"),
    )
    plan = solve(found)
    assert most_pods(found) == (3,)
    assert best_of(Pending(Problem(found))) >= (3,)
    assert (pods_placed(plan), plan.status) == ((3,), "Optimal")


def test_a_node_may_be_overfull_where_nobody_asks() -> None:
    """What went wrong: the stage about the fullest node kept it below 100 per cent, and pods away."""
    off = {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}
    one = scheduler({"schedulerName": "default-scheduler", "plugins": off})
    pending = Pending(Problem(cluster(node("n1", cpu="1"), *(pod(p, cpu="1") for p in "abc"), one)))
    batch = Batch(pending.problem, pending.wanted, pending.room(pending.wanted))
    model = BatchModel(batch, pending.profiles())
    fullest = FullestNode(pending).express(model.counts)
    goals = [*model.pods_placed(9.0), Goal("fullest", fullest, largest=False, work=9.0)]
    found = model.solve(goals, None, Meter.of(60.0))
    assert found is not None
    assert found.values == found.bounds == {"podsPlaced/0": 3, "fullest": 300}


@relaxed
@given(clusters(running=True, config=True, pods=5))
def test_a_configured_scheduler_against_every_order(objects: list[Object]) -> None:
    """Filters switched off, affinity added, default constraints: what is proved is the best order's."""
    found = Cluster.from_objects(objects)
    plan, best = solve(found), most_pods(found)
    assert is_admissible(found, plan)
    assert pods_placed(plan) == best if plan.status == "Optimal" else pods_placed(plan) <= best


@relaxed
@given(clusters(running=True, pods=5))
def test_a_batch_without_spread_against_every_order(objects: list[Object]) -> None:
    """Without any spread constraint or required podAffinity the plan is the best there is, and proved."""
    for item in objects:
        if item["kind"] == "Pod":
            item["spec"].pop("topologySpreadConstraints", None)
            item["spec"].get("affinity", {}).pop("podAffinity", None)
    found = Cluster.from_objects(objects)
    plan = solve(found)
    assert is_admissible(found, plan)
    assert (plan.status, pods_placed(plan)) == ("Optimal", most_pods(found))
