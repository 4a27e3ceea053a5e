"""Every pod that stays pending in the recordings: it has a fix, and every fix works when it is applied."""

import pytest

from models import Cluster
from planner import explain
from planner.documents.explanation import Explanation
from planner.documents.plan import Decision
from tests import seeds
from tests.planner.explain.applying import Object, applied, at_rest, landing, name_of
from tests.planner.explain.asking import read
from tests.planner.test_conformance import Case, cases
from tests.truth import wide
from tests.truth.claims import makes_pods


def explanations(case: Case) -> tuple[Explanation, ...]:
    """All that `planner explain` says about a recorded cluster."""
    return explain(Cluster.from_objects(case["cluster"]["items"]), preemption=case["preemption"]).items


def failures(case: Case) -> list[str]:
    """The fixes after which a fresh simulation does not put the pod where it was promised."""
    preemption = case["preemption"]
    resting = at_rest(case["cluster"]["items"], preemption=preemption)
    wrong = []
    # Tried again and again some pods find a node that are explained as pending after one try.
    placed = {name_of(item) for item in resting if item["kind"] == "Pod" and item["spec"].get("nodeName")}
    for found in (one for one in explanations(case) if one.pod not in placed):
        for fix in (*found.fixes, *found.risky):
            decision = landing(applied(resting, found.pod, fix), found.pod, preemption=preemption)
            if not _lands_on(decision, fix.node):
                wrong.append(f"{found.pod}: {[change.summary for change in fix.changes]}")
    return wrong


def _lands_on(decision: Decision, node: str | None) -> bool:
    """Whether a pod goes to a node, or to another one of the same score."""
    totals = decision.totals or {}
    tied = node is not None and node in totals and totals[node] == totals.get(decision.node or "")
    return decision.node == node or tied


#: What the documentation of topology spread names for each scenario, by the actions that say it.
NAMED = {
    "conflicting-constraints": {"RaiseMaxSkew", "ScheduleAnyway", "DeletePod"},
    "node-affinity-ignored": {"RaiseMaxSkew", "ScheduleAnyway", "NodeAffinityPolicy"},
    "min-domains-5-on-3-nodes": {"RelaxMinDomains", "ScheduleAnyway", "AddNode"},
    "kep-infeasible-zone-hard": {"RaiseMaxSkew", "ScheduleAnyway", "HonorTaints", "DeletePod"},
    "kep-110-hard": {"RaiseMaxSkew", "ScheduleAnyway", "HonorTaints", "DeletePod"},
    "kep-210-hard": {"RaiseMaxSkew", "ScheduleAnyway", "HonorTaints", "DeletePod"},
    "pods-on-tainted-nodes-counted": {"RaiseMaxSkew", "ScheduleAnyway", "HonorTaints", "DeletePod"},
}


@pytest.mark.parametrize("name", NAMED)
def test_stuck_scenarios_have_the_fixes_that_the_documentation_names(name: str) -> None:
    """At least two different fixes of one change each, those from the documentation among them."""
    case = next(case for case in cases("scenarios") if case["name"] == name)
    for found in explanations(case):
        told = (*found.fixes, *found.risky)
        assert {fix.changes[0].action for fix in told if len(fix.changes) == 1} >= NAMED[name]
        assert len({fix.changes[0].action for fix in found.fixes if len(fix.changes) == 1}) >= 2
    assert failures(case) == []


def test_only_those_scenarios_are_stuck() -> None:
    """Nothing is explained where no pod is pending, and no pending pod goes unexplained."""
    stuck = {case["name"] for case in cases("scenarios") if explanations(case)}
    assert stuck == NAMED.keys()


#: Pods without a fix in the recordings, by cluster.
WITHOUT_FIX = [
    ("affinity-100102", "default/p0009"),
    ("affinity-100375", "prod/p0005"),
    ("tight-100019", "default/p0003"),
]


@pytest.mark.long
def test_every_recorded_pending_pod_has_a_fix_or_the_proof_that_there_is_none() -> None:
    """Of all pods that kube-scheduler left pending, each is explained; few are without a fix.

    For most of those a pod could go whose replacement would wait instead, or that nothing makes again.
    An eighth of the clusters, others on every run.
    """
    without_fix, step = set(), seeds.every(8)
    some = cases("schedule", seeds.fresh() % step, step)
    for case in some:
        pending = {step["pod"] for step in case["expected"] if not step["node"]}
        found = explanations(case)
        assert {pod for item in found for pod in (item.pod, *item.alike)} >= pending
        without_fix |= {(case["name"], item.pod) for item in found if not item.fixes}
        assert all(item.exhausted for item in found if not item.fixes)
    names = {case["name"] for case in some}
    assert without_fix == {(name, pod) for name, pod in WITHOUT_FIX if name in names}


def test_a_constraint_that_is_in_the_way_once_a_node_is_open_is_given_up_with_it() -> None:
    """What went wrong: to one pod nothing was said to help, as no refusal names its constraint yet."""
    case = next(case for case in cases("schedule") if case["name"] == "spread-100162")
    (found,) = (item for item in explanations(case) if item.pod == "default/p0003")
    actions = [{change.action for change in fix.changes} for fix in found.fixes]
    assert {"Uncordon", "AddToleration", "ScheduleAnyway"} in actions


@pytest.mark.parametrize(("name", "step"), [("schedule", 70), ("preemption", 50)])
def test_every_fix_works_when_it_is_applied(name: str, step: int) -> None:
    """A sample of the recorded clusters: patch the manifests, read them afresh, simulate."""
    wrong, step = {}, seeds.every(step)
    for case in cases(name, seeds.fresh() % step, step):
        if lines := failures(case):
            wrong[case["name"]] = lines
    assert wrong == {}


def test_every_fix_works_on_fresh_clusters() -> None:
    """The same of clusters of the wider generator.

    Without those in which more happens than manifests say: controllers lack pods, claims are bound, or
    DaemonSets have pods on new nodes.
    """
    for seed in seeds.seeds(3):
        objects = wide.draw(seed, "solve").objects
        if read(objects) is not None and not makes_pods(objects) and not any(map(_acts, objects)):
            case = {"cluster": {"items": objects}, "preemption": True}
            assert failures(case) == [], f"seed {seed}"


def _acts(found: Object) -> bool:
    """Whether it is a claim to be bound, or a pod of a DaemonSet."""
    if found["kind"] == "PersistentVolumeClaim":
        return bool(found["status"]["phase"] == "Pending")
    return any(
        owner["kind"] == "DaemonSet" for owner in found.get("metadata", {}).get("ownerReferences") or ()
    )


def test_the_harness_notices_a_fix_that_does_not_work() -> None:
    """The test above can fail: a patch that says something else leaves the pod pending."""
    case = next(case for case in cases("scenarios") if case["name"] == "kep-infeasible-zone-hard")
    fix = explanations(case)[0].fixes[0]
    patch = {"spec": {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 2}]}}
    weak = fix.model_copy(update={"changes": (fix.changes[0].model_copy(update={"patch": patch}),)})
    decision = landing(
        applied(case["cluster"]["items"], "default/mypod", weak), "default/mypod", preemption=False
    )
    assert decision.node is None
