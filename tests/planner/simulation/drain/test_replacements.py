"""What comes in the place of evicted pods: made from the template, and perhaps not made at all."""

import pytest

from tests.builders import Object, labelled, pod, workload
from tests.builders import budget as pods_budget
from tests.planner.simulation.rollout.running import running, web, zones
from tests.planner.test_drain import drained


def _made_from(template: Object, *, narrowed: bool) -> list[Object]:
    """A pod of a ReplicaSet on a1 that was narrowed to its node, and the template that made it."""
    owner = workload("ReplicaSet", "web")
    owner["spec"] = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {**template, "containers": [{"name": "c"}]},
        },
    }
    only = [labelled("kubernetes.io/hostname", "In", "a1")] if narrowed else None
    return [owner, pod("web-1", on="a1", app="web", owner=owner, **({"only_on": only} if only else {}))]


def test_a_replacement_is_not_narrowed_as_the_pod_was() -> None:
    """What went wrong: a pod that `solve --gated` or a pin had narrowed to its node was made again like that.

    Its template is narrowed to nothing, so it lands elsewhere; without the template nothing better is known.
    """
    objects = [*zones("ab"), *_made_from({}, narrowed=True)]
    plan = drained(objects, "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == ["b1"]
    assert (plan.pending, plan.after.pending) == ((), 0)
    assert drained([*objects[:2], objects[3]], "a1").after.pending == 1


def test_a_replacement_is_held_by_the_gate_of_its_template() -> None:
    """What went wrong: the gate that its forerunner was let through was forgotten."""
    template = {"schedulingGates": [{"name": "example.com/quota"}]}
    plan = drained([*zones("ab"), *_made_from(template, narrowed=True)], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [None]
    assert [(row.message, row.example) for row in plan.pending] == [("scheduling gated", "default/web-1")]


def test_a_replacement_that_is_another_pod_gives_its_budget_back() -> None:
    """Two narrowed pods, one may be away at a time: both go."""
    owner, first = _made_from({}, narrowed=True)
    second = {**first, "metadata": {**first["metadata"], "name": "web-2"}}
    owner["spec"]["replicas"] = 2
    objects = [*zones("ab"), owner, first, second, pods_budget("one", "web", maxUnavailable=1)]
    plan = drained(objects, "a1")
    assert (plan.blocked, plan.after.pending) == ((), 0)
    assert [row.lands for step in plan.steps for row in step.evictions] == ["b1", "b1"]


@pytest.mark.parametrize(
    ("hard", "line"),
    [
        ({"pods": "0"}, "not created: forbidden: exceeded quota: q, requested: pods=1, used: pods=0, "),
        (
            {"requests.memory": "8Gi"},
            "not created: forbidden: failed quota: q: must specify requests.memory for",
        ),
    ],
)
def test_a_replacement_that_is_not_created_is_told_like_a_pending_one(
    hard: dict[str, str], line: str
) -> None:
    """What went wrong: the node was emptied, nothing came in the pod's place, and all was well."""
    objects = running(web(1, constraints=[]), ["a1"], *zones("ab"))
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": hard},
    }
    plan = drained([*objects, quota], "a1")
    assert plan.blocked == ()
    assert (plan.before.pending, plan.after.pending) == (0, 1)
    assert [(row.pods, row.message.startswith(line)) for row in plan.pending] == [(1, True)], plan.pending
