"""Pods that cannot be pinned: what is done instead, and the notes on moves that are left out."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from models import Cluster
from models.objects.base import OwnerReference
from models.objects.pod import Pod
from planner import rebalance
from planner.documents.move_plan import MovePlan
from planner.proof import move_effort as effort
from tests import seeds
from tests.builders import HOST, SOFT, Object, cluster, node, pod, spread
from tests.planner.rebalance.lopsided import KINDS, drawn
from tests.planner.rebalance.test_recordings import wrong_in


def full_zone(*others: Object, more: tuple[Object, ...] = ()) -> Cluster:
    """Three replicas in zone a, and others in zone b whose replacements may land there again."""
    return cluster(
        node("n0", zone="a", cpu="3"),
        node("n1", zone="b", cpu=str(len(others))),
        node("n2", cpu="1"),
        *(
            pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()])
            for n in range(3)
        ),
        *others,
        *more,
    )


def ejectable(name: str, owner: str, **words: Any) -> Object:
    """A pod of one cpu in zone b; its own constraint replaces the scheduler's default constraints."""
    soft = [spread(HOST, app=name, when=SOFT)]
    return pod(name, "n1", cpu="1", owner=owner, app=name, spread=soft, **words)


def above(owner: str, controller: str) -> Object:
    """A ReplicaSet or ReplicationController that another object controls."""
    kind, name = owner.split("/")
    by, its_name = controller.split("/")
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1" if kind == "ReplicaSet" else "v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [{"apiVersion": "v1", "kind": by, "name": its_name, "controller": True}],
        },
        "spec": {"replicas": 1, "selector": {"matchLabels": labels} if kind == "ReplicaSet" else labels},
    }


def pinned(plan: MovePlan) -> list[str]:
    """The pods whose replacements are pinned."""
    return [step.pod for step in plan.steps if step.landing == "pinned"]


@pytest.mark.parametrize(
    ("owner", "controller", "possible"),
    [
        ("ReplicaSet/x", None, True),
        ("ReplicaSet/x", "Deployment/x", True),
        ("ReplicationController/x", None, True),
        ("ReplicaSet/x", "Rollout/x", False),
        ("ReplicationController/x", "DeploymentConfig/x", False),
        ("StatefulSet/x", None, False),
    ],
)
def test_only_templates_that_roll_nothing_out_are_narrowed(
    owner: str, controller: str | None, possible: bool
) -> None:
    """Otherwise the move is left out with all that depend on it, and a note says why."""
    more = () if controller is None else (above(owner, controller),)
    given = full_zone(ejectable("x", owner), more=more)
    plan = rebalance(given)
    assert pinned(plan) == (["default/x"] if possible else [])
    assert plan.after.hard_excess == (0 if possible else plan.before.hard_excess)
    told = [note for note in plan.notes if "left out" in note]
    assert bool(told) != possible
    if not possible:
        assert told[0].startswith("1 of 2 moves is left out: replacements of default ")
        assert "would have to be pinned" in told[0]
        assert plan.steps == ()
    assert wrong_in(given, plan, orders=20) == []


def test_a_curve_that_ends_below_the_plan_is_explained() -> None:
    """What went wrong: it said that two moves leave nothing too much, beside a plan without moves."""
    plan = rebalance(full_zone(ejectable("x", "StatefulSet/x")), curve=True)
    assert (plan.steps, plan.curve[-1].hard_excess) == ((), 0)
    assert plan.after.hard_excess == plan.before.hard_excess > 0
    assert any("the curve counts moves that cannot be scheduled safely" in note for note in plan.notes)
    other = rebalance(full_zone(ejectable("x", "ReplicaSet/x")), curve=True)
    assert other.curve[-1].hard_excess == other.after.hard_excess == 0
    assert not any("the curve" in note for note in other.notes)


@pytest.mark.parametrize("tiny", [False, True])
def test_another_pod_makes_room(monkeypatch: pytest.MonkeyPatch, tiny: bool) -> None:
    """Of two ejectable pods the pinnable one leaves, though the other comes first and costs less."""
    if not tiny:
        monkeypatch.setattr(effort, "EXHAUSTED_NODES", 0)
    cost = {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "1"}}
    given = full_zone(ejectable("x", "StatefulSet/x"), ejectable("y", "ReplicaSet/y", **cost))
    plan = rebalance(given)
    assert pinned(plan) == ["default/y"]
    assert plan.after.hard_excess == 0
    assert not any("left out" in note for note in plan.notes)


def of_stateful_sets(given: Cluster, share: float, draw: random.Random) -> Cluster:
    """The same cluster, but some of its workloads are StatefulSets."""
    names = sorted({owner.name for pod in given.pods for owner in pod.metadata.owner_references})
    chosen = {name for name in names if draw.random() < share}
    return replace(given, pods=tuple(_of_stateful_sets(given.pods, chosen)))


def _of_stateful_sets(pods: tuple[Pod, ...], chosen: set[str]) -> Iterator[Pod]:
    for found in pods:
        owner = found.metadata.controller
        if owner is None or owner.name not in chosen:
            yield found
            continue
        now = OwnerReference(api_version="apps/v1", kind="StatefulSet", name=owner.name, controller=True)
        metadata = found.metadata.model_copy(update={"owner_references": (now,)})
        yield found.model_copy(update={"metadata": metadata})


@pytest.mark.long
def test_stateful_sets_are_never_pinned() -> None:
    """Fresh clusters, half of whose workloads are StatefulSets: thirty random replays of every plan."""
    for seed in seeds.seeds(1):
        given = of_stateful_sets(drawn(seed, KINDS[seed % 4]), 0.5, random.Random(seed))
        plan = rebalance(given, time_limit=5)
        owners = {pod.key: pod.metadata.owner_references[0].kind for pod in given.pods}
        assert all(owners[key] == "ReplicaSet" for key in pinned(plan))
        assert plan.after.hard_excess <= plan.before.hard_excess
        assert wrong_in(given, plan, orders=30) == []
