"""Requests made smaller, so that a pod fits."""

from planner import explain
from tests.builders import (
    cluster,
    node,
    pod,
)
from tests.planner.explain.asking import only, summaries

_DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


def test_a_request_is_lowered_to_what_fits() -> None:
    """The largest request that some node has room for, in the container that asks."""
    found = only(node("a", cpu="4"), pod("big", on="a", cpu="3"), pod("new", cpu="2"))
    fix = next(fix for fix in found.fixes if fix.changes[0].action == "LowerRequest")
    assert fix.changes[0].patch == {
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}
    }


def test_no_request_is_lowered_below_what_a_limit_range_allows() -> None:
    """What went wrong: the workload was left without its new pod, which the API server refused."""
    bounds = {
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "min": {"cpu": "4500m"}}]},
    }
    assert "request 4 cpu instead of 5" in summaries(only(node("n1"), pod("new", cpu="5")))
    found = summaries(only(node("n1"), pod("new", cpu="5"), bounds))
    assert found
    assert not any(text.startswith("request") for text in found)


def test_huge_pages_are_lowered_with_their_limit_and_by_whole_pages() -> None:
    """The API server wants request and limit equal; nothing but whole pages can be asked for."""
    new = pod("new")
    asked = {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "90Mi"}
    new["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": {"hugepages-2Mi": "90Mi"}}
    found = only(node("n1", room={"hugepages-2Mi": "65Mi"}), new)
    (change,) = next(fix.changes for fix in found.fixes if fix.changes[0].action == "LowerRequest")
    assert change.summary == "request 64Mi hugepages-2Mi instead of 90Mi"
    assert change.patch is not None
    (container,) = change.patch["spec"]["containers"]
    pages = {"hugepages-2Mi": "64Mi"}
    assert container["resources"] == {"requests": pages, "limits": pages}


def test_a_pod_asks_for_no_less_than_its_containers() -> None:
    """The API server refuses a pod-level request below their sum."""
    new = pod("new", cpu="2500m", resources={"requests": {"cpu": "3"}})
    assert "request 2600m cpu instead of 3" in summaries(only(node("n1", cpu="2600m"), new))
    assert not any(text.startswith("request") for text in summaries(only(node("n1", cpu="2"), new)))


def test_the_largest_request_that_fits_is_the_only_one_offered() -> None:
    """What went wrong: one as small as another node has room for was offered beside it, for the same node."""
    full = [pod(f"p{name}", on=name, cpu=cpu) for name, cpu in (("a", "2500m"), ("b", "3"), ("c", "3500m"))]
    nodes = [
        node("a", cpu="4", labels={"disk": "ssd"}),
        node("b", cpu="4", cordoned=True),
        node("c", cpu="4"),
    ]
    found = only(*nodes, *full, pod("new", cpu="2"))
    lowered = [fix for fix in (*found.fixes, *found.risky) if fix.changes[0].action == "LowerRequest"]
    assert [fix.changes[0].summary for fix in lowered] == ["request 1500m cpu instead of 2"]


def test_a_smaller_request_is_offered_where_more_pods_alike_fit_with_it() -> None:
    """Two that ask for 1 cpu fit where one that asks for 1500m does."""
    objects = [
        node("a", cpu="4"),
        node("b", cpu="4"),
        pod("pa", on="a", cpu="2500m"),
        pod("pb", on="b", cpu="3"),
    ]
    waiting = [pod(f"w-{number}", cpu="2", app="web", owner="ReplicaSet/web") for number in range(2)]
    found = explain(cluster(*objects, *waiting)).items[0]
    lowered = {f.changes[0].summary: f.places for f in found.fixes if f.changes[0].action == "LowerRequest"}
    assert lowered == {"request 1500m cpu instead of 2": 1, "request 1 cpu instead of 2": 2}
