"""Pods that cannot be placed together: the set is a conflict, and nothing in it can be left out."""

import random
import threading

import numpy as np

from models import Cluster
from planner import explain
from planner.documents.explanation import Conflict
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests import seeds
from tests.builders import (
    HARD,
    HOST,
    ZONE,
    Object,
    cluster,
    labelled,
    node,
    pod,
    profile,
    scheduler,
    service,
    spread,
    term,
)
from tests.planner.explain.asking import read
from tests.truth import wide
from tests.truth.random_binds import bound_at_random


def conflict_of(*objects: Object, seconds: float = 30.0) -> Conflict | None:
    """The conflict of all pending pods."""
    return explain(cluster(*objects), batch=seconds).conflict


def test_too_many_pods_for_the_cpu() -> None:
    """Two of three pods of two cores fit on one node of four; other pods are no part of it."""
    pods = [pod(f"web-{number}", cpu="2", memory="1Gi") for number in range(3)]
    found = conflict_of(node("a"), *pods, pod("small", memory="1Gi"))
    assert found is not None
    assert found.pods == ("default/web-0", "default/web-1", "default/web-2")
    assert [field.field for field in found.fields] == ["spec.containers[].resources.requests.cpu"]
    assert found.minimal


def test_many_pods_alike_are_left_out_together() -> None:
    """What went wrong: one by one, each with a whole plan: of 600, 449 were left after half a minute."""
    pods = [pod(f"web-{number:03}", cpu="1") for number in range(1000)]
    found = conflict_of(node("a"), *pods, pod("small", memory="1Mi"))
    assert found is not None
    assert (found.pods[0], len(found.pods), found.minimal) == ("default/web-995", 5, True)


def test_two_constraints_of_one_pod() -> None:
    """Each alone could be kept: both are named."""
    running = [pod(f"p{n}", on=on, app="web") for n, on in enumerate(["n1", "n1", "n2", "n3", "n3"])]
    nodes = [node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")]
    found = conflict_of(*nodes, *running, pod("new", app="web", spread=[spread(), spread(HOST)]))
    assert found is not None
    assert [field.value for field in found.fields] == [f"{ZONE}, maxSkew 1", f"{HOST}, maxSkew 1"]
    assert found.minimal


def test_what_is_left_out_last_may_leave_less_that_is_needed() -> None:
    """What went wrong: with one domain more a constraint does alone what took two, and both were told."""
    kind = {"kind": "y"}
    places = {"a1": ("a", "r2"), "b1": ("b", "r1"), "c1": ("b", "r3")}
    nodes = [
        node(name, zone, labels={"rack": rack, "pool": name[0]}, cordoned=name == "c1")
        for name, (zone, rack) in places.items()
    ]
    running = [pod(f"y{n}", on=on, labels=kind) for n, on in enumerate(["a1", "b1", "b1"])]
    in_pool = labelled("pool", "In", "a", "b")
    by_rack = spread("rack", selects={"matchLabels": kind})
    new = pod("new", app="web", labels=kind, only_on=[in_pool], spread=[spread(), by_rack])
    found = conflict_of(*nodes, *running, pod("x", on="a1", app="web"), new)
    assert found is not None
    assert [field.value for field in found.fields] == ["rack, maxSkew 1"]
    assert found.minimal


def test_a_port_of_the_host_is_a_field() -> None:
    """What went wrong: no field was named, and the table had `<none>` and `<any>`."""
    both = [pod(f"plex-{n}", ports=[32400]) for n in (1, 2)]
    found = conflict_of(node("a"), *both)
    assert found is not None
    assert [(field.field, field.value) for field in found.fields] == [
        ("spec.containers[].ports[].hostPort", "TCP 32400")
    ]
    assert found.fields[0].pods == found.pods == ("default/plex-1", "default/plex-2")
    assert found.minimal


def test_no_field_is_named_where_none_decides() -> None:
    """A taint keeps the pod away, whatever it asks for."""
    found = conflict_of(node("a", taints=["gpu:NoSchedule"]), pod("web", cpu="1", spread=[spread(HOST)]))
    assert found is not None
    assert (found.pods, found.fields, found.minimal) == (("default/web",), (), True)


def test_anti_affinity_against_a_selector() -> None:
    """Two pods with anti-affinity to each other, and both want the only node with the label."""
    both = [pod(f"db-{n}", app="db", node_selector={"disk": "ssd"}, apart=[term(HOST, "db")]) for n in (1, 2)]
    found = conflict_of(node("a", labels={"disk": "ssd"}), node("b"), *both)
    assert found is not None
    assert {field.field for field in found.fields} == {"spec.nodeSelector", "spec.affinity.podAntiAffinity"}


def test_no_order_places_all_pods_of_a_conflict() -> None:
    """On fresh clusters of the wider generator; the pods of the conflict alone, and with all others."""
    for seed in seeds.seeds(2):
        if (snapshot := read(wide.draw(seed, "solve").objects)) is not None:
            found = explain(snapshot, batch=3.0).conflict
            assert found is None or not _placed_together(snapshot, {*found.pods}, seed), (
                f"seed {seed}: {found}"
            )


def _placed_together(snapshot: Cluster, names: set[str], seed: int) -> bool:
    """Whether some of twenty random orders places all of these pods."""
    scheduler, chance = Scheduler(Problem(snapshot), preemption=False), random.Random(seed)
    keys = [pod.key for pod in scheduler.problem.pods]
    waiting = np.flatnonzero(scheduler.state.node_of < 0).tolist()
    start = scheduler.state.mark()
    for turn in range(20):
        pods = [pod for pod in waiting if turn % 2 or keys[pod] in names]
        placed = {keys[pod] for pod in bound_at_random(scheduler, pods, chance)}
        scheduler.state.rollback(start)
        if names <= placed:
            return True
    return False


def test_an_order_that_places_all_pods_is_noticed() -> None:
    """What the test above looks for can be found."""
    three = cluster(node("a"), *(pod(f"web-{number}", cpu="1") for number in range(3)))
    assert _placed_together(three, {"default/web-0", "default/web-2"}, 1)


def test_no_conflict_where_an_order_places_all() -> None:
    """The scheduler left a pod over that a plan places: nothing excludes anything."""
    small = [pod(f"small-{n}", cpu="500m") for n in (1, 2)]
    found = explain(cluster(node("a"), node("b"), *small, pod("large", cpu="4")), batch=30)
    assert found.conflict is None
    assert any("`planner solve` may place more of them together" in note for note in found.notes)


def test_pods_that_get_room_by_preemption_are_no_conflict() -> None:
    """What went wrong: no pod stayed pending, and yet one could not be placed, whatever went where."""
    running = pod("low", "a", cpu="4")
    high, huge = pod("high", cpu="4", priority=9), pod("a-huge", cpu="64", priority=9)
    assert conflict_of(node("a"), running, high) is None
    found = conflict_of(node("a"), running, high, huge)
    assert found is not None
    assert found.pods == ("default/a-huge",)


def test_of_gated_pods_it_is_not_said_that_a_plan_may_place_them() -> None:
    """What went wrong: beside a pod that only its gate holds it was."""
    held = pod("held")
    held["spec"]["schedulingGates"] = [{"name": "example.com/batch"}]
    found = explain(cluster(node("a"), held), batch=30)
    assert [item.pod for item in found.items] == ["default/held"]
    assert not any("exclude each other" in note for note in found.notes)


def test_pods_alike_of_two_namespaces_are_not_alike() -> None:
    """What went wrong: what one of them needs was left out, and it alone was called a minimal conflict."""
    near = {**term(HOST, "web"), "namespaces": ["first"]}
    both = [pod("web", app="web", namespace=name, near=[near]) for name in ("first", "second")]
    found = conflict_of(node("a"), *both, pod("x-1", cpu="3"), pod("x-2", cpu="3"))
    assert found is not None
    assert {"default/x-1", "default/x-2"} <= {*found.pods}
    assert not found.minimal


def test_without_time_nothing_is_claimed() -> None:
    """No answer was proved, so there is no conflict to tell."""
    assert conflict_of(node("a"), pod("huge", cpu="64"), seconds=1e-9) is None


def test_nothing_is_solved_unless_asked_for() -> None:
    """The search is the caller's choice."""
    assert explain(cluster(node("a"), pod("huge", cpu="64"))).conflict is None


def test_a_stop_is_not_called_the_limit() -> None:
    """What went wrong: the search for a conflict went on, to the limit."""
    stop = threading.Event()
    stop.set()
    pods = [pod(f"web-{number}", cpu="2", memory="1Gi") for number in range(3)]
    found = explain(cluster(node("a"), *pods), batch=600, stop_event=stop)
    assert found.cut
    assert "it was stopped before it was known which pods and fields exclude each other" in found.notes


def test_a_pod_that_others_count_is_not_left_out() -> None:
    """What went wrong: without `a` the pod `z`, which has to be near it, was a conflict of its own."""
    found = explain(
        cluster(
            node("n1", "a"),
            pod("a", app="a", cpu="1"),
            pod("b", app="b", cpu="1", apart=[term(HOST, "z")]),
            pod("z", app="z", cpu="1", near=[term(HOST, "a")]),
        ),
        batch=5,
    ).conflict
    assert found is not None
    assert {"default/b", "default/z"} <= {*found.pods}
    assert [item.field for item in found.fields] == ["spec.affinity.podAntiAffinity"]
    assert not found.minimal


def test_a_pod_that_default_constraints_count_is_not_left_out() -> None:
    """What went wrong: only constraints of their own were seen; `z0` and `z1` fit with `a` alone."""
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": HARD}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    found = conflict_of(
        node("a1", "a", cpu="1"),
        node("b1", "b"),
        pod("a", app="web", cpu="1", node_selector={ZONE: "a"}, priority=5),
        pod("c", cpu="1", node_selector={ZONE: "a"}),
        *(pod(f"z{number}", app="web", cpu="2") for number in range(2)),
        service("web", app="web"),
        scheduler(profile(PodTopologySpread=args)),
    )
    assert found is not None
    assert {"default/a", "default/c"} <= {*found.pods}


def test_pods_of_another_scheduler_are_no_part_of_a_conflict() -> None:
    """Nothing is known of where they go."""
    pods = [
        pod(f"web-{number}", cpu="3", scheduler=name) for number, name in enumerate((None, None, "other"))
    ]
    found = conflict_of(node("a"), *pods)
    assert found is not None
    assert found.pods == ("default/web-0", "default/web-1")
