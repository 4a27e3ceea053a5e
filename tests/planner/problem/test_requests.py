"""What a pod asks of a node, container by container."""

from typing import Any

import pytest

from models.objects.pod import Pod
from planner import simulate
from planner.problem.requests import SCORING_DEFAULTS, pod_requests
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
            {"cpu": 1},
            id="rounded up once, at the end",
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
