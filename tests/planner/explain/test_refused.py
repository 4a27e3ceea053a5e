"""Pods that the API server does not create: which quota would have to allow more, and what helps nothing."""

from typing import Any

from models import Cluster
from planner import explain
from planner.documents.explanation import Explanation
from tests.builders import LONG_AGO, Object, cluster, node, pod, scaled
from tests.planner.problem.test_quotas import quota


def refused(*quotas: Object, cpu: str = "4") -> tuple[Explanation, ...]:
    """What is said of three pods of 1 cpu and one of 500m, of two workloads in a namespace with a quota."""
    there = [scaled("Deployment", "web", 3, cpu="1"), scaled("Deployment", "cache", 1, cpu="500m")]
    return explain(cluster(node("a", cpu=cpu), *there, *quotas)).items


def told(found: Explanation) -> list[tuple[str, str, str, int]]:
    """The fixes: what is changed, how, where the pod goes, how many of those alike get a node."""
    return [
        (fix.changes[0].target, fix.changes[0].summary, fix.node, fix.places)
        for fix in found.fixes
        if len(fix.changes) == 1
    ]


def test_the_quota_that_would_have_to_be_raised_is_named() -> None:
    """By as much as all pods need that it keeps out, whoever is first; only what is too small is raised."""
    web, cache = refused(quota(requests_cpu="1", pods="10"))
    words = "let ResourceQuota q allow requests.cpu 3500m"
    assert told(web) == [("ResourceQuota/q", words, "a", 2)]
    assert told(cache) == [("ResourceQuota/q", words, "a", 1)]
    (change,) = web.fixes[0].changes
    assert change.patch == {"spec": {"hard": {"requests.cpu": "3500m"}}}
    assert change.command.startswith("kubectl patch resourcequota q -n default -p ")


def test_the_raised_quota_lets_the_pods_in() -> None:
    """Read afresh with the patch, nothing is pending."""
    web, _ = refused(quota(requests_cpu="1"))
    patched: Any = quota()
    assert web.fixes[0].changes[0].patch is not None
    patched["spec"] |= web.fixes[0].changes[0].patch["spec"]
    there = [scaled("Deployment", "web", 3, cpu="1"), scaled("Deployment", "cache", 1, cpu="500m")]
    assert explain(cluster(node("a", cpu="4"), *there, patched)).items == ()


def test_several_quotas_are_raised_together() -> None:
    """The API server names one of them; the pods need room in both."""
    web, _ = refused(quota("more", pods="1"), quota(requests_cpu="1"))
    assert [[change.summary for change in fix.changes] for fix in web.fixes] == [
        ["let ResourceQuota more allow pods 4", "let ResourceQuota q allow requests.cpu 3500m"]
    ]


def test_a_quota_is_no_help_where_no_node_takes_the_pod() -> None:
    """It was tried: with room in the quota the pod would be pending."""
    web, _ = refused(quota(requests_cpu="1"), cpu="1500m")
    assert (web.fixes, web.tried, web.exhausted) == ((), 1, True)


def test_other_refusals_have_no_fix() -> None:
    """No node and no quota has a part in a template that is refused."""
    there = scaled("Deployment", "web", 1, priorityClassName="gone")
    (found,) = explain(Cluster.from_objects([node("a"), there])).items
    assert (found.fixes, found.tried) == ((), 0)
    assert found.message == "not created: forbidden: no PriorityClass with name gone was found"


def _in_bounds(**more: Any) -> list[Object]:
    """A pod that asks for a label no node has, made before its namespace got a LimitRange."""
    item = {"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2"}, **more}
    bounds: Object = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "most"}}
    bounds |= {"spec": {"limits": [item]}}
    new = pod("new", cpu="1", node_selector={"disk": "ssd"}, created=LONG_AGO)
    return [node("a", cpu="2"), bounds, new]


def test_a_pod_that_is_made_anew_gets_the_defaults_of_limit_ranges() -> None:
    """Every change of a pod without a limit was taken for one that the API server refuses."""
    (found,) = explain(cluster(*_in_bounds())).items
    assert ("Pod/new", "drop nodeSelector disk=ssd", "a", 1) in told(found)


def test_what_limit_ranges_add_takes_room() -> None:
    """The pod had no request of memory: with the one that it gets when it is made anew it has no room."""
    (found,) = explain(cluster(*_in_bounds(defaultRequest={"memory": "16Gi"}))).items
    assert not any(len(fix.changes) == 1 and fix.node == "a" for fix in found.fixes)


def test_a_gate_is_taken_off_the_pod_that_is_there() -> None:
    """LimitRanges are not asked about pods that stay: this one goes on without a request of memory."""
    machine, bounds, new = _in_bounds(defaultRequest={"memory": "16Gi"})
    new["spec"] |= {"nodeSelector": {}, "schedulingGates": [{"name": "example.com/wait"}]}
    (found,) = explain(cluster(machine, bounds, new)).items
    assert ("Pod/new", "remove the scheduling gate example.com/wait", "a", 1) in told(found)
