"""What comes in the place of evicted pods: made from the template, and perhaps not made at all."""

import pytest

from tests.builders import REQUIRED, ZONE, Object, labelled, node, pod, quota, scaled, term, workload
from tests.builders import budget as pods_budget
from tests.planner.eviction.jobs import job, of_job
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


def _wants(kind: str, name: str, replicas: int) -> Object:
    """A workload without a template that wants so many pods."""
    owner = workload(kind, name)
    owner["spec"]["replicas"] = replicas
    return owner


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
    """What went wrong: the gate that its predecessor was let through was forgotten."""
    template = {"schedulingGates": [{"name": "example.com/quota"}]}
    plan = drained([*zones("ab"), *_made_from(template, narrowed=True)], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [None]
    assert [(row.message, row.example) for row in plan.pending] == [("scheduling gated", "default/web-1")]


@pytest.mark.parametrize(("cpu", "lands"), [("3", None), ("2", "b1")])
def test_a_replacement_of_a_newer_revision(cpu: str, lands: str | None) -> None:
    """What went wrong: it was as small as the pod that went; its template has it larger by now."""
    owner = workload("StatefulSet", "db")
    owner["spec"] = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "db"}},
        "template": {
            "metadata": {"labels": {"app": "db"}},
            "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]},
        },
        "updateStrategy": {"type": "OnDelete"},
    }
    owner["status"] = {"currentRevision": "db-1", "updateRevision": "db-2"}
    old = {"app": "db", "controller-revision-hash": "db-1"}
    nodes = [node("a1", "a", cpu="4"), node("b1", "b", cpu="2")]
    plan = drained([*nodes, owner, pod("db-0", on="a1", cpu="1", labels=old, owner=owner)], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [lands]
    assert plan.after.pending == (lands is None)


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


@pytest.mark.parametrize(
    ("bare", "grace", "pending"), [("default", 30, (1, 0)), ("default", 0, (1, 0)), ("other", 30, (1, 1))]
)
def test_a_pod_that_a_quota_refused_is_made_when_another_has_left(
    bare: str, grace: int, pending: tuple[int, int]
) -> None:
    """What went wrong: it was neither pending nor made, and took no room, when a bare pod left its quota."""
    owner = workload("ReplicaSet", "web", "web")
    owner["spec"] |= {"replicas": 2}
    owner["spec"]["template"] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
    }
    leaves = pod("bare", on="a1", namespace=bare, terminationGracePeriodSeconds=grace)
    pods = [pod("web-1", on="b1", app="web", cpu="3", owner=owner), leaves]
    filled = [] if bare == "default" else [pod("bare", on="b1")]
    many = quota({"pods": len(pods)})
    plan = drained([*zones("abb"), owner, *pods, *filled, many], "a1", force=True)
    assert (plan.before.pending, plan.after.pending) == pending
    assert plan.new_pending == 0


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
def test_the_room_of_an_evicted_pod_in_a_quota_is_for_its_replacement(kind: str) -> None:
    """What went wrong: a pod refused before came first where the next one is made after the end."""
    owner, other = scaled(kind, "db", 1), scaled("ReplicaSet", "web", 1)
    objects = [*zones("ab"), owner, other, pod("db-0", on="a1", app="db", owner=owner), quota({"pods": "1"})]
    plan = drained(objects, "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == ["b1"]
    assert (plan.before.pending, plan.after.pending, plan.new_pending) == (1, 1, 0)
    assert plan.failing_draws


@pytest.mark.parametrize(("kind", "node"), [("StatefulSet", "a2"), ("ReplicaSet", "b1")])
def test_the_pod_of_a_stateful_set_is_made_when_the_old_one_has_ended(kind: str, node: str) -> None:
    """It has the same name.  It was made beside the old one, which kept it out of its own zone."""
    apart = {"podAntiAffinity": {REQUIRED: [term(ZONE, "web")]}}
    item = web(1, kind=kind, constraints=[], pod={"affinity": apart})
    plan = drained(running(item, ["a1"], *zones("aab")), "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [node]


@pytest.mark.parametrize(("policy", "node"), [("Failed", "a2"), ("TerminatingOrFailed", "b1")])
def test_the_pod_of_a_job_is_made_when_the_job_replaces_one(policy: str, node: str) -> None:
    """With `Failed` that is when the old one has ended: it does not keep the other out of its zone."""
    alone = of_job("sums-1", "a1", spread=[], apart=[term(ZONE, "web")])
    owner = job(parallelism=1, podReplacementPolicy=policy)
    plan = drained([*zones("aab"), owner, alone], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [node]


def test_no_pod_comes_for_one_of_an_ordinal_that_is_not_wanted() -> None:
    """What went wrong: of a StatefulSet with one replica db-1 was drained, and landed."""
    owner = _wants("StatefulSet", "db", 1)
    pods = [pod(f"db-{n}", on="a1", app="db", owner=owner) for n in (0, 1)]
    plan = drained([*zones("ab"), owner, *pods], "a1")
    assert {row.pod: row.lands for step in plan.steps for row in step.evictions} == {
        "default/db-0": "b1",
        "default/db-1": None,
    }
    assert plan.after.pending == 0


def test_no_pod_comes_for_as_many_as_are_too_many() -> None:
    """What went wrong: three pods where two are wanted were three afterwards, and took another's room."""
    owner, another = _wants("ReplicaSet", "web", 2), _wants("ReplicaSet", "x", 1)
    pods = [pod(f"web-{n}", on="a1" if n else "b1", cpu="1", owner=owner) for n in range(3)]
    other = pod("x", on="a1", cpu="1", owner=another)
    plan = drained([node("a1"), node("b1", cpu="3"), owner, another, *pods, other], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [None, "b1", "b1"]
    assert plan.after.pending == 0


@pytest.mark.parametrize(
    "spec", [{"suspend": True}, {"parallelism": 0}, {"completions": 3, "status": {"succeeded": 3}}]
)
def test_no_pod_comes_for_one_of_a_job_that_wants_none(spec: Object) -> None:
    """A Job that is suspended, has no parallelism, or needs no further completions."""
    plan = drained([*zones("ab"), job(**spec), of_job("sums-1", "a1", spread=[])], "a1")
    assert [row.lands for step in plan.steps for row in step.evictions] == [None]


def test_no_pod_comes_for_what_a_rollout_has_left_over() -> None:
    """An old ReplicaSet of no replicas makes none, however many its Deployment wants."""
    objects = running(web(1, constraints=[]), ["a1"], *zones("ab"))
    old = next(item for item in objects if item["kind"] == "ReplicaSet")
    new = {**old, "metadata": {**old["metadata"], "name": "web-new", "uid": "new"}}
    new["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    old["spec"] = {**old["spec"], "replicas": 0}
    (step,) = drained([*objects, new], "a1").steps
    assert [row.lands for row in step.evictions] == [None]


@pytest.mark.parametrize(("room", "lands"), [("1", [None, None]), ("3", ["n2", "n2"])])
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_higher_ordinal_waits_for_the_lower_ones(policy: str, room: str, lands: list[str | None]) -> None:
    """What went wrong: db-1 was said to land, though db-0, which has no room, never becomes ready."""
    owner = _wants("StatefulSet", "db", 2)
    owner["spec"]["podManagementPolicy"] = policy
    pods = [pod(f"db-{n}", on="n1", app="db", cpu=cpu, owner=owner) for n, cpu in enumerate(("2", "1"))]
    plan = drained([node("n1"), node("n2", cpu=room), owner, *pods], "n1")
    expected = [None, "n2"] if policy == "Parallel" and room == "1" else lands
    assert [row.lands for step in plan.steps for row in step.evictions] == expected
    assert plan.after.pending == expected.count(None)
    assert any("lower ordinals" in row.message for row in plan.pending) == (expected == [None, None])
