"""Final states of batches too large to be searched: no pod that comes ends with a broken constraint."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from models import Cluster
from planner import solve
from planner.audit.final_state import stands
from planner.audit.spread_counts import asked
from planner.documents.plan import PlacementPlan
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD
from planner.state.state import State
from tests.builders import (
    HARD,
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
from tests.strategies import clusters, relaxed

#: Every batch is too large for a model of all nodes.
_TOO_LARGE = replace(STANDARD, exact=replace(STANDARD.exact, small_pairs=0))


def test_what_heals_elsewhere_excuses_nothing() -> None:
    """As many constraints were broken after the plan as before, and it was called the best: another one."""
    db = [pod(f"db-{n}", on="a1", app="db", spread=[spread(app="db")]) for n in range(2)]
    heals = pod("db-2", app="db", spread=[spread(app="db")])
    in_a = {ZONE: "a"}
    early = pod("early", app="web", spread=[spread() | {"nodeAffinityPolicy": "Ignore"}], node_selector=in_a)
    late = [pod(f"late-{n}", app="web", node_selector=in_a) for n in range(3)]
    found = cluster(node("a1", zone="a"), node("b1", zone="b"), *db, heals, early, *late)
    plan = solve(found, final_state=True, effort=_TOO_LARGE)
    assert 0 < len(plan.steps) < 5
    assert plan.status == "Feasible"
    sequence = solve(found)
    assert (len(sequence.steps), sequence.verdicts.final_state) == (5, False)


@relaxed
@given(clusters())
def test_who_comes_lives_with_its_constraints(objects: list[Object]) -> None:
    """Also where something else was healed meanwhile: counted anew on the plan's own steps."""
    found = cluster(*objects)
    _assert_all_hold(found, solve(found, final_state=True, effort=_TOO_LARGE))
    if (sequence := solve(found)).verdicts.final_state:
        _assert_all_hold(found, sequence)


def _assert_all_hold(found: Cluster, plan: PlacementPlan) -> None:
    problem = Problem(found)
    node_of = problem.node_of.copy()
    came: list[tuple[int, int]] = []
    for step in plan.steps:
        assert step.node is not None
        pod, node = problem.pod_index[step.pod], problem.nodes.index[step.node]
        node_of[pod] = node
        came.append((int(problem.template_of[pod]), node))
    for constraint in asked(problem, State(problem, node_of)):
        rule = constraint.rule
        if rule.constraint.when_unsatisfiable == HARD:
            sums, most = rule.counts.sums(), rule.minimum() + rule.constraint.max_skew
            for template, node in came:
                code = int(rule.column.codes[node])
                if template in constraint.carriers and code >= 0:
                    assert sums[code] <= most, (constraint.workload, np.asarray(sums).tolist())


def test_a_node_that_a_plan_overcommits_is_no_final_state() -> None:
    """What went wrong: one finding went, one came, and the new one is about a node and names no pod.

    A pod that lacks its peer gets it on a node with too little room, which its profile does not look at.
    """
    without_room = profile(plugins={"filter": {"disabled": [{"name": "NodeResourcesFit"}]}})
    lonely = pod("lonely", "n1", near=[term(HOST, "db")])
    plan = solve(cluster(node("n1", cpu="1"), scheduler(without_room), lonely, pod("db", cpu="2", app="db")))
    assert (len(plan.steps), plan.verdicts.final_state) == (1, False)


def _without(name: str, *scheduler_names: str) -> Object:
    """Profiles of these names without a filter, and the usual one beside them where it is not named."""
    off = {"filter": {"disabled": [{"name": name}]}}
    usual = [] if "default-scheduler" in scheduler_names else [profile()]
    return scheduler(*usual, *(profile(found, plugins=off) for found in scheduler_names))


_FREE: Object = {"scheduler": "free"}
_CLAIM = [volume("v", zones=["b"]), claim("c", bound_to="v")]
#: By filter, what is there, pods of the profile `free` that lacks it, and how many stand together.
_LEFT_OUT: dict[str, tuple[list[Object], list[Object], int]] = {
    # What nodes have: room, ports and volumes hold for all pods.
    "NodeResourcesFit": ([node("n1", cpu="1")], [pod(p, cpu="1", **_FREE) for p in "ab"], 1),
    "NodePorts": ([node("n1")], [pod(p, ports=[80], **_FREE) for p in "ab"], 1),
    "VolumeBinding": ([node("a1", zone="a"), *_CLAIM], [pod("a", claims=["c"], **_FREE)], 0),
    # What schedulers ask for is asked by profile.
    "InterPodAffinity": (
        [node("n1"), pod("db", "n1", app="db", **_FREE)],
        [pod(p, app="web", apart=[term(HOST, "web"), term(HOST, "db")], **_FREE) for p in "ab"],
        2,
    ),
    "PodTopologySpread": (
        [node("a1", zone="a"), node("b1", zone="b", cpu="0")],
        [pod(p, app="web", cpu="1", spread=[spread(ZONE)], **_FREE) for p in "ab"],
        2,
    ),
}


@pytest.mark.parametrize("name", _LEFT_OUT)
def test_a_filter_that_no_profile_of_the_batch_has(name: str) -> None:
    """What went wrong: a final state was proved to be the best, and the verdict said that it was none."""
    there, pods, placed = _LEFT_OUT[name]
    plan = solve(cluster(*there, *pods, _without(name, "free")), final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (placed, "Optimal", True)


@pytest.mark.parametrize("name", ["VolumeRestrictions", "NodeVolumeLimits"])
def test_volumes_are_what_nodes_have(name: str) -> None:
    """Nodes attach no more, and a claim has no more pods, than they can, where no profile asks either."""
    found = [item for one in "ab" for item in (volume(one, csi=_csi(one)), claim(one, bound_to=one))]
    pods = [pod(p, claims=[p], **_FREE) for p in "ab"]
    if name == "VolumeRestrictions":
        found = [volume("a"), claim("a", bound_to="a", accessModes=["ReadWriteOncePod"])]
        pods = [pod(p, claims=["a"], **_FREE) for p in "ab"]
    plan = solve(
        cluster(node("n1"), csi_node("n1", "disk", 1), *found, *pods, _without(name, "free")),
        final_state=True,
    )
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)


def _csi(name: str) -> Object:
    return {"driver": "disk", "volumeHandle": name}


def test_no_pod_is_its_own_peer() -> None:
    """What went wrong: pods that have to be together were alone in their zones, each its own peer."""
    nodes = [node("a1", zone="a", cpu="1"), node("b1", zone="b", cpu="1")]
    pods = [pod(p, cpu="1", app="web", near=[term(ZONE, "web")]) for p in "ab"]
    plan = solve(cluster(*nodes, *pods), final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)
    problem = Problem(cluster(*nodes, *pods))
    assert not stands(problem, np.array([0, 1]))
    assert stands(problem, np.array([0, -1]))


def test_a_pod_is_kept_out_by_one_that_was_not_asked() -> None:
    """What went wrong: the anti-affinity of a pod whose profile does not ask was asked of no other either."""
    free = pod("free", app="db", apart=[term(HOST, "web")], **_FREE)
    plan = solve(
        cluster(node("n1"), free, pod("web", app="web"), _without("InterPodAffinity", "free")),
        final_state=True,
    )
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)


def test_nothing_comes_near_a_running_pod_that_excludes_it() -> None:
    """What went wrong: a pod whose profile does not ask came beside it, proved, and the verdict was false."""
    runs = pod("runs", "n1", app="db", apart=[term(HOST, "web")])
    free = pod("free", app="web", **_FREE)
    plan = solve(
        cluster(node("n1"), node("n2", cordoned=True), runs, free, _without("InterPodAffinity", "free")),
        final_state=True,
    )
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (0, "Optimal", True)


def test_what_others_take_unasked_counts() -> None:
    """What went wrong: pods took a resource that their profile ignores, and one that asks had it as well."""
    wants: Object = {"requests": {"example.com/gpu": "1"}}
    config = scheduler(profile(), profile("free", NodeResourcesFit={"ignoredResources": ["example.com/gpu"]}))
    pods = [pod(p, **wants, **_FREE) for p in "ab"]
    plan = solve(
        cluster(node("n1", room={"example.com/gpu": "1"}), pod("asks", **wants), *pods, config),
        final_state=True,
    )
    assert {step.pod for step in plan.steps} == {"default/a", "default/b"}
    assert (plan.status, plan.verdicts.final_state) == ("Optimal", True)


def test_running_pods_are_not_judged_again() -> None:
    """What went wrong: a proved final state did not stand, for the spread of pods that ran before.

    kube-scheduler does not judge their constraints again, and neither does the bound: that is a note.
    """
    runs = [pod(f"r{n}", on, app="web", spread=[spread(ZONE)]) for n, on in enumerate(("a1", "b1"))]
    comes = [pod(p, app="web", node_selector={ZONE: "a"}) for p in "xy"]
    plan = solve(cluster(node("a1", zone="a"), node("b1", zone="b"), *runs, *comes), final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (2, "Optimal", True)
    (note,) = [note for note in plan.notes if "does not judge it again" in note]
    assert ZONE in note


def test_shared_volumes_are_counted_once_and_not_never() -> None:
    """Pods that share all their volumes bring nothing new beside each other, and yet too much together."""
    volumes = [item for one in "ab" for item in (volume(one, csi=_csi(one)), claim(one, bound_to=one))]
    pods = [pod(p, claims=["a", "b"]) for p in "xy"]
    found = cluster(node("n1"), csi_node("n1", "disk", 1), *volumes, *pods)
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (0, "Optimal", True)
    assert not stands(Problem(found), np.array([0, 0]))


def test_a_waiting_claim_without_a_volume_is_no_final_state() -> None:
    """What went wrong: a sequence stood though no node reaches a volume, which its profile does not ask."""
    local = storage_class("local", volumeBindingMode="WaitForFirstConsumer")
    waits = claim("c", storageClassName="local")
    found = cluster(
        node("n1"), local, waits, pod("a", claims=["c"], **_FREE), _without("VolumeBinding", "free")
    )
    plan = solve(found)
    assert (len(plan.steps), plan.verdicts.final_state) == (1, False)
    assert len(solve(found, final_state=True).steps) == 0


def test_two_claims_with_one_volume_are_no_final_state() -> None:
    """What went wrong: each claim was looked at alone, and a sequence gave two of them the same volume."""
    waiting = [item for one in "ab" for item in (claim(one), pod(one, claims=[one], **_FREE))]
    there = [node("n1"), storage_class("local"), volume("v"), _without("VolumeBinding", "free")]
    found = cluster(*there, *waiting)
    plan = solve(found)
    assert (len(plan.steps), plan.verdicts.final_state) == (2, False)
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)
    assert solve(cluster(*there, *waiting, volume("w"))).verdicts.final_state


def test_a_pod_where_none_is_counted_is_one_too_many() -> None:
    """What went wrong: on a node that does not count for its constraint it was not counted itself.

    Its profile leaves NodeAffinity out, so that it comes to a node that it does not select.
    """
    nodes = [
        node("a1", zone="a", labels={"in": "y"}),
        node("a2", zone="a"),
        node("b1", zone="b", labels={"in": "y"}),
    ]
    runs = pod("runs", "a1", app="web")
    comes = pod("comes", app="web", spread=[spread(ZONE)], node_selector={"in": "y"}, **_FREE)
    found = cluster(
        *nodes[:2],
        nodes[2] | {"spec": {"unschedulable": True}},
        runs,
        comes,
        _without("NodeAffinity", "free"),
    )
    assert not stands(Problem(found), np.array([0, 1]))
    plan = solve(found, final_state=True)
    assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (0, "Optimal", True)


def test_a_claim_is_reserved_for_no_more_pods_than_it_can_be() -> None:
    """What went wrong: two pods came where a ResourceClaim takes one more, and that was proved."""
    users = [{"resource": "pods", "name": f"u{n}", "uid": f"u{n}"} for n in range(255)]
    claimed: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": {"devices": {"results": []}}, "reservedFor": users},
    }
    mine: Object = {"resourceClaims": [{"name": "d", "resourceClaimName": "d"}]}
    found = cluster(node("n1"), claimed, *(pod(name, uid=name, **mine) for name in "ab"))
    for final_state in (True, False):
        plan = solve(found, final_state=final_state)
        assert (len(plan.steps), plan.status, plan.verdicts.final_state) == (1, "Optimal", True)
    assert not stands(Problem(found), np.array([0, 0]))
