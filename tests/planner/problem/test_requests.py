"""What a pod asks of a node, container by container."""

from typing import Any

import pytest

from models.objects.pod import Pod
from planner import simulate
from planner.problem.requests import SCORING_DEFAULTS, Resize, pod_requests
from tests.builders import LONG_AGO, cluster, node, pod

Words = dict[str, Any]


def container(cpu: str = "", memory: str = "", *, sidecar: bool = False, **more: Any) -> Words:
    """A container with these requests; a sidecar restarts always."""
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    return {
        "name": "c",
        "resources": {"requests": {**requests, **more.pop("requests", {})}, **more},
        **({"restartPolicy": "Always"} if sidecar else {}),
    }


def read(**words: Any) -> Pod:
    """A pod as the planner reads it."""
    return Pod.model_validate(pod("p", **words))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param({"containers": [container()]}, {}, id="nothing"),
        pytest.param({"containers": [container("1"), container("500m")]}, {"cpu": 1500}, id="sum"),
        pytest.param(
            {"containers": [container("1")], "init": [container("3"), container("2")]},
            {"cpu": 3000},
            id="largest init container",
        ),
        pytest.param(
            {"containers": [container("1", "1Gi")], "init": [container("2"), container(memory="2Gi")]},
            {"cpu": 2000, "memory": 2 << 30},
            id="largest init container of each resource",
        ),
        pytest.param(
            {"containers": [container("1")], "init": [container("1", sidecar=True)]},
            {"cpu": 2000},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            {"containers": [container("1")], "init": [container("1", sidecar=True), container("3")]},
            {"cpu": 4000},
            id="a sidecar runs beside later init containers",
        ),
        pytest.param(
            {"containers": [container("1")], "init": [container("3"), container("1", sidecar=True)]},
            {"cpu": 3000},
            id="a sidecar does not run beside earlier init containers",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "init": [container("1", sidecar=True), container("1", sidecar=True), container("500m")],
            },
            {"cpu": 3000},
            id="two sidecars",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 1250, "memory": 1 << 20},
            id="overhead comes on top",
        ),
        pytest.param(
            {"containers": [container("1")], "init": [container("2")], "overhead": {"cpu": "1"}},
            {"cpu": 3000},
            id="overhead on top of init containers",
        ),
        pytest.param(
            {"containers": [container("1", "1Gi")], "resources": {"requests": {"cpu": "3"}}},
            {"cpu": 3000, "memory": 1 << 30},
            id="a pod-level request replaces the sum",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "resources": {"requests": {"cpu": "3"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 4000},
            id="overhead on top of a pod-level request",
        ),
        pytest.param(
            {
                "containers": [container(requests={"hugepages-2Mi": "2Mi"}, limits={"hugepages-2Mi": "2Mi"})],
                "resources": {"requests": {"hugepages-2Mi": "6Mi"}},
            },
            {"hugepages-2Mi": 6 << 20},
            id="pod-level huge pages",
        ),
        pytest.param(
            {"containers": [container("0.0001"), container("0.0001")]},
            {"cpu": 2},
            id="every amount is rounded up to thousandths, as by the API server",
        ),
        pytest.param(
            {"containers": [container(memory="1500m"), container(memory="1500m")]},
            {"memory": 3},
            id="rounded up to whole units once, at the end",
        ),
        pytest.param({"containers": [container(memory="1500m")]}, {"memory": 2}, id="bytes are rounded up"),
        pytest.param(
            {"containers": [container("1", limits={"cpu": "4", "memory": "1Gi"})]},
            {"cpu": 1000, "memory": 1 << 30},
            id="a limit without a request is one",
        ),
        pytest.param(
            {"created": LONG_AGO, "containers": [container(limits={"memory": "1Gi"})]},
            {},
            id="but not when the API server has seen the pod",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"limits": {"cpu": "4"}}},
            {"cpu": 4000},
            id="a pod-level limit counts when no container requests anything",
        ),
    ],
)
def test_requests(words: Words, expected: dict[str, int]) -> None:
    """The effective request: containers, init containers, sidecars, pod level, overhead."""
    assert pod_requests(read(**words)) == expected


def test_pod_level_limits_do_not_hide_what_containers_request() -> None:
    """What went wrong: pod-level limits became requests although a container requests that resource.

    The API server's defaultPodRequests takes the containers' effective request in that case.
    """
    found = read(containers=[container("1")], resources={"limits": {"cpu": "4"}})
    assert pod_requests(found) == {"cpu": 1000}


def test_defaults_count_per_container_and_only_where_nothing_is_said() -> None:
    """For scores a container without a request counts 100m and 200Mi; an explicit 0 stays 0."""
    found = read(containers=[container("1"), container(), container("0", "0")], init=[container("2")])
    assert pod_requests(found, SCORING_DEFAULTS) == {"cpu": 2000, "memory": 400 << 20}
    assert pod_requests(found) == {"cpu": 2000, "memory": 0}


def test_pods_of_manifests_and_of_the_cluster_are_told_apart() -> None:
    """What went wrong: pods that differ only in having been created were one template, with one's requests.

    The manifest's pod gets its request from its limit, the one that the API server has seen does not.
    """
    created: dict[str, Words] = {"seen": {"created": LONG_AGO}, "new": {}}
    seen, new = (pod(name, limits={"cpu": "3"}, **more) for name, more in created.items())
    decisions = simulate(cluster(node("n1", cpu="1"), seen, new)).decisions
    assert [decision.node for decision in decisions] == ["n1", None]


def resizing(asked: str, in_use: str, allocated: str, **words: Any) -> Pod:
    """A running pod whose container asks for one thing and holds others, in cpu."""
    held = {
        "name": "c",
        "resources": {"requests": {"cpu": in_use}},
        "allocatedResources": {"cpu": allocated},
    }
    found = pod(
        "p", "n1", created=LONG_AGO, containers=[{"name": "c", "resources": {"requests": {"cpu": asked}}}]
    )
    found["spec"] |= words.pop("spec", {})
    found["status"] |= {"containerStatuses": [held], **words}
    return cluster(node("n1"), found).pods[0]


_NO_ROOM = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


@pytest.mark.parametrize(
    ("found", "resize", "expected"),
    [
        (resizing("1", "3", "2"), Resize(), 3000),
        (resizing("3", "1", "1"), Resize(), 3000),
        (resizing("1", "1", "3"), Resize(), 3000),
        (resizing("3", "1", "2", conditions=_NO_ROOM), Resize(), 2000),
        (resizing("3", "1", "2", conditions=_NO_ROOM), Resize(sums=True), 2000),
        (resizing("1", "3", "2"), Resize(sums=True), 3000),
    ],
)
def test_a_resize_counts_the_most_of_three(found: Pod, resize: Resize, expected: int) -> None:
    """Asked for, allocated, in use, as 1.36.2 counted them; what the node refuses does not count."""
    assert pod_requests(found, resize=resize) == {"cpu": expected}


def test_what_a_container_holds_none_of_in_a_resize_has_no_default() -> None:
    """What went wrong: for scores 200Mi counted of nothing, where the node refuses what is asked for."""
    found = pod(
        "p", "n1", created=LONG_AGO, containers=[{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    )
    held = {"cpu": "1", "memory": "0"}
    status = {"name": "c", "resources": {"requests": held}, "allocatedResources": held}
    found["status"] |= {"containerStatuses": [status], "conditions": _NO_ROOM}
    read_back = cluster(node("n1"), found).pods[0]
    assert pod_requests(read_back, SCORING_DEFAULTS) == {"cpu": 1000, "memory": 0}


def test_a_resize_of_the_whole_pod_counts_from_1_36_on() -> None:
    """Pod-level requests in use are more than what the spec says; before, the spec alone counts."""
    spec = {"resources": {"requests": {"cpu": "2"}}}
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}}
    found = resizing("1", "1", "1", spec=spec, **status)
    assert pod_requests(found, resize=Resize()) == {"cpu": 2000}
    assert pod_requests(found, resize=Resize(of_pods=True)) == {"cpu": 3000}


@pytest.mark.parametrize(("conditions", "expected"), [([], {"cpu": 2000}), (_NO_ROOM, {"cpu": 0})])
def test_a_resize_of_the_whole_pod_counts_what_the_pod_requests(
    conditions: list[Any], expected: dict[str, int]
) -> None:
    """What went wrong: a resource that only containers request was counted as the pod held it.

    1.36.2 counts none of it, and 0 of what the pod requests, the node refuses and the pod does not hold.
    """
    spec = {"resources": {"requests": {"cpu": "2"}}}
    held = {"resources": {"requests": {"memory": "3Gi"}}, "allocatedResources": {"memory": "3Gi"}}
    found = resizing("1", "1", "1", spec=spec, **held, conditions=conditions)
    assert pod_requests(found, resize=Resize(of_pods=True)) == expected


def test_sums_are_compared_as_wholes_where_a_release_does_so() -> None:
    """Two containers that trade a core: each at its most is 5, no sum is more than 4."""
    names = {"a": ("3", "1"), "b": ("1", "3")}
    containers = [{"name": n, "resources": {"requests": {"cpu": asked}}} for n, (asked, _) in names.items()]
    held = [
        {"name": n, "resources": {"requests": {"cpu": use}}, "allocatedResources": {"cpu": use}}
        for n, (_, use) in names.items()
    ]
    found = pod("p", "n1", created=LONG_AGO, containers=containers)
    found["status"]["containerStatuses"] = held
    read_back = cluster(node("n1"), found).pods[0]
    assert pod_requests(read_back, resize=Resize()) == {"cpu": 6000}
    assert pod_requests(read_back, resize=Resize(sums=True)) == {"cpu": 4000}


def test_a_resize_is_part_of_what_tells_pods_apart() -> None:
    """What went wrong in thought: two pods of one template, one of them in a resize, are not alike."""
    there = [
        pod(name, "n1", created=LONG_AGO, containers=[{"name": "c", "resources": {"requests": {"cpu": "1"}}}])
        for name in ("calm", "growing")
    ]
    there[1]["status"]["containerStatuses"] = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    decisions = simulate(
        cluster(node("n1", cpu="4"), *there, pod("new", cpu="1"), pod("more", cpu="1"))
    ).decisions
    assert [decision.node for decision in decisions] == ["n1", None]
