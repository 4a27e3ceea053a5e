"""The API server's words were recorded on a control plane 1.36.2."""

from typing import Any

import pytest

from models import Cluster, InputError
from models.objects.pod import Pod

Object = dict[str, Any]


def limit_range(*items: Object) -> Object:
    """A LimitRange of the namespace default."""
    return {"kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [*items]}}


def new_pod(**spec: Any) -> Object:
    """A pod as a manifest has it."""
    containers = spec.pop("containers", [{"name": "c", "resources": spec.pop("resources", {})}])
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def admitted(pod: Object, *objects: Object) -> Pod:
    """The pod as the API server of a cluster with these objects leaves it."""
    (found,) = Cluster.from_objects([{"kind": "Node", "metadata": {"name": "n1"}}, *objects, pod]).pods
    return found


_BOUNDS = limit_range(
    {
        "type": "Container",
        "default": {"cpu": "500m", "memory": "1Gi"},
        "defaultRequest": {"cpu": "200m"},
        "min": {"cpu": "100m"},
        "max": {"cpu": "2", "memory": "2Gi"},
        "maxLimitRequestRatio": {"cpu": "4"},
    },
    {
        "type": "Pod",
        "max": {"cpu": "3", "memory": "3Gi"},
        "min": {"memory": "10Mi"},
        "maxLimitRequestRatio": {"memory": "2"},
    },
)
_ONLY_MAX = limit_range({"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "64Mi"}})
_OF_PODS = limit_range(
    {
        "type": "Pod",
        "max": {"cpu": "1"},
        "min": {"memory": "64Mi"},
        "maxLimitRequestRatio": {"ephemeral-storage": "2"},
    }
)


def test_a_container_gets_the_defaults_of_its_namespace() -> None:
    """A default for the limit is one for the request, too, where none is given for that."""
    resources = admitted(new_pod(), _BOUNDS).spec.containers[0].resources
    assert resources.limits == {"cpu": 500 * 10**6, "memory": 2**30 * 10**9}
    assert resources.requests == {"cpu": 200 * 10**6, "memory": 2**30 * 10**9}


def test_a_maximum_and_a_minimum_are_defaults() -> None:
    """The API server writes them into the LimitRange as such."""
    resources = admitted(new_pod(), _ONLY_MAX).spec.containers[0].resources
    assert resources.limits == {"cpu": 10**9}
    assert resources.requests == {"cpu": 10**9, "memory": 64 * 2**20 * 10**9}


@pytest.mark.parametrize(
    ("pod", "bounds", "line"),
    [
        (
            new_pod(resources={"requests": {"cpu": "1"}}),
            _BOUNDS,
            'invalid: spec.containers[0].resources.requests: Invalid value: "1": must be less than or '
            "equal to cpu limit of 500m",
        ),
        (
            new_pod(resources={"limits": {"cpu": "4", "memory": "4Gi"}, "requests": {"cpu": "50m"}}),
            _BOUNDS,
            "forbidden: [minimum cpu usage per Container is 100m, but request is 50m, "
            "maximum cpu usage per Container is 2, but limit is 4, "
            "maximum memory usage per Container is 2Gi, but limit is 4Gi, "
            "cpu max limit to request ratio per Container is 4, but provided ratio is 80.000000, "
            "maximum cpu usage per Pod is 3, but limit is 4, "
            "maximum memory usage per Pod is 3Gi, but limit is 4Gi]",
        ),
        (
            new_pod(
                containers=[
                    {"name": "c", "resources": {"limits": {"cpu": "2"}}},
                    {"name": "d", "resources": {"limits": {"cpu": "2"}}},
                ],
                initContainers=[{"name": "i"}],
            ),
            _BOUNDS,
            "forbidden: maximum cpu usage per Pod is 3, but limit is 4",
        ),
        (
            new_pod(
                resources={
                    "limits": {"cpu": "1", "memory": "1Gi"},
                    "requests": {"cpu": "150m", "memory": "100Mi"},
                }
            ),
            _BOUNDS,
            "forbidden: [cpu max limit to request ratio per Container is 4, but provided ratio is 6.666667, "
            "memory max limit to request ratio per Pod is 2, but provided ratio is 10.240000]",
        ),
        (
            new_pod(),
            _OF_PODS,
            "forbidden: [minimum memory usage per Pod is 64Mi.  No request is specified, "
            "maximum cpu usage per Pod is 1.  No limit is specified, "
            "ephemeral-storage max limit to request ratio per Pod is 2, "
            "but no request is specified or request is 0]",
        ),
        (
            new_pod(
                containers=[{"name": "c", "resources": {"limits": {"cpu": "800m"}}}],
                initContainers=[
                    {"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "500m"}}}
                ],
            ),
            limit_range({"type": "Pod", "max": {"cpu": "1"}}),
            "forbidden: maximum cpu usage per Pod is 1, but limit is 1300m",
        ),
        (
            new_pod(resources={"limits": {"cpu": "1"}}, runtimeClassName="kata"),
            limit_range({"type": "Pod", "max": {"cpu": "1"}}),
            "",
        ),
    ],
)
def test_bounds_refuse_a_pod_in_the_words_of_the_api_server(pod: Object, bounds: Object, line: str) -> None:
    """What the pod's containers ask for is judged with all defaults; overhead is no part of it."""
    assert admitted(pod, bounds, _KATA).refusal == line


def together(container: Object, init: Object, **resources: Object) -> Object:
    """A pod with resources of its own, of a container and an init container."""
    containers = [{"name": "c", "resources": container}]
    made = new_pod(containers=containers, initContainers=[{"name": "i", "resources": init}])
    return {**made, "spec": {**made["spec"], "resources": resources}}


@pytest.mark.parametrize(
    ("pod", "line"),
    [
        (
            together(
                {"limits": {"cpu": "100m"}},
                {"limits": {"cpu": "1"}, "requests": {"cpu": "1m"}},
                limits={"cpu": "500m"},
            ),
            "",
        ),
        (
            together(
                {"limits": {"cpu": "1"}},
                {"limits": {"cpu": "1"}},
                limits={"cpu": "500m"},
                requests={"memory": "1"},
            ),
            'invalid: [spec.resources.requests: Invalid value: "1": must be less than or equal to cpu limit '
            'of 500m, spec.resources.requests[memory]: Invalid value: "1": must be greater than or equal to '
            "aggregate container requests of 1Mi, spec.resources.containers[0][cpu].limits: Invalid value: "
            '"1": must be less than or equal to pod limits of 500m]',
        ),
    ],
)
def test_a_pod_allows_its_containers_what_the_api_server_says(pod: Object, line: str) -> None:
    """Limits of init containers may be beyond the pod's; as recorded from a control plane 1.36.2."""
    defaults = limit_range({"type": "Container", "defaultRequest": {"memory": "1Mi"}})
    assert admitted(pod, defaults).refusal == line


def test_containers_are_told_before_init_containers() -> None:
    """The API server has them in this order."""
    over = {"requests": {"cpu": "1"}}
    pod = new_pod(resources=over, initContainers=[{"name": "i", "resources": over}])
    line = admitted(pod, _BOUNDS).refusal
    assert 0 < line.index("spec.containers[0]") < line.index("spec.initContainers[0]")


_KATA: Object = {
    "kind": "RuntimeClass",
    "apiVersion": "node.k8s.io/v1",
    "metadata": {"name": "kata"},
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"kata": "true"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
}
_ORIGIN: Object = {"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "kinds": ["runtimeclasses"]}


def test_a_runtime_class_adds_its_overhead_and_its_nodes() -> None:
    """All three are seen by the scheduler."""
    spec = admitted(new_pod(runtimeClassName="kata"), _KATA).spec
    assert spec.overhead == {"cpu": 250 * 10**6}
    assert spec.node_selector == {"kata": "true"}
    assert "kata" in [item.key for item in spec.tolerations]


@pytest.mark.parametrize(
    ("pod", "line"),
    [
        (new_pod(runtimeClassName="nope"), 'forbidden: pod rejected: RuntimeClass "nope" not found'),
        (
            new_pod(runtimeClassName="kata", nodeSelector={"kata": "false"}),
            "forbidden: conflict: runtimeClass.scheduling.nodeSelector[kata] = true; "
            "pod.spec.nodeSelector[kata] = false",
        ),
        (
            new_pod(runtimeClassName="kata", overhead={"cpu": "1"}),
            "forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            new_pod(overhead={"cpu": "1"}),
            "forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ],
)
def test_a_runtime_class_refuses_a_pod(pod: Object, line: str) -> None:
    """In the API server's words."""
    assert admitted(pod, _KATA, _ORIGIN).refusal == line


def test_a_runtime_class_that_nobody_could_see_is_unknown_not_missing() -> None:
    """Only a snapshot that has all RuntimeClasses says that there is none of a name."""
    assert not admitted(new_pod(runtimeClassName="nope"), _KATA).refusal


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_an_account_that_is_missing_refuses_a_pod(field: str) -> None:
    """In the API server's words, where all accounts are known; every namespace gets an account `default`."""
    all_known = {**_ORIGIN, "kinds": ["serviceaccounts"]}
    robot = {"kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}
    given = robot, all_known, _created("default")
    line = 'forbidden: error looking up service account default/nope: serviceaccount "nope" not found'
    assert refusal(new_pod(**{field: "nope"}), *given) == line
    assert not refusal(new_pod(**{field: "robot"}), *given)
    assert not refusal(new_pod(**{field: "default"}), *given)
    assert not refusal(new_pod(**{field: "nope"}), robot, _created("default"))


def test_an_account_is_needed_where_pods_show_that_the_plugin_is_on() -> None:
    """It gives every pod an account but static ones."""
    all_known = {**_ORIGIN, "kinds": ["serviceaccounts"]}
    wanted = new_pod(serviceAccountName="nope")
    assert not refusal(wanted, all_known)
    assert not refusal(wanted, all_known, _created("default"), _created(""))
    static = _created("")
    static["metadata"] |= {"name": "static", "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert refusal(wanted, all_known, _created("default"), static)


def _created(account: str) -> Object:
    running = new_pod(nodeName="n1", serviceAccountName=account)
    running["metadata"] |= {"name": f"old-{account}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return running


def refusal(pod: Object, *objects: Object) -> str:
    """The API server's words on the last of a cluster's pods."""
    nodes = [{"kind": "Node", "metadata": {"name": "n1"}}]
    return Cluster.from_objects([*nodes, *objects, pod]).pods[-1].refusal


def test_a_namespaces_node_selector_counts_where_running_pods_have_it() -> None:
    """The plugin is off by default; pods that run in the namespace show that it is on."""
    told = {"scheduler.alpha.kubernetes.io/node-selector": "pool=a"}
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "annotations": told}}
    running = new_pod(nodeSelector={"pool": "a"}, nodeName="n1")
    running["metadata"] |= {"name": "old", "creationTimestamp": "2026-01-01T00:00:00Z"}
    nodes = [{"kind": "Node", "metadata": {"name": "n1"}}, namespace]
    shown = Cluster.from_objects([*nodes, running, new_pod()])
    assert shown.pods[1].spec.node_selector == {"pool": "a"}
    unseen = Cluster.from_objects([*nodes, new_pod()])
    assert unseen.pods[0].spec.node_selector == {}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('[{"key": "pool", "operator": "Exists"}]', ["pool"]),
        ("pool", []),
        ('["pool"]', []),
        ('[{"key": 7}]', []),
    ],
)
def test_a_namespaces_tolerations_count_where_running_pods_have_them(text: str, keys: list[str]) -> None:
    """As with its node selector; what is no list of tolerations says nothing."""
    told = {"scheduler.alpha.kubernetes.io/defaultTolerations": text}
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "annotations": told}}
    running = new_pod(tolerations=[{"key": "pool", "operator": "Exists"}], nodeName="n1")
    running["metadata"] |= {"name": "old", "creationTimestamp": "2026-01-01T00:00:00Z"}
    nodes = [{"kind": "Node", "metadata": {"name": "n1"}}, namespace]
    shown = Cluster.from_objects([*nodes, running, new_pod()])
    assert [item.key for item in shown.pods[1].spec.tolerations] == keys
    assert [item.key for item in Cluster.from_objects([*nodes, new_pod()]).pods[0].spec.tolerations] == []


def test_a_priority_class_that_may_not_be_listed_is_unknown_not_missing() -> None:
    """A note names it; of who may list them, or has files, a pod of a missing one is refused."""
    limited = {"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "kinds": ["nodes", "pods"]}
    node = {"kind": "Node", "metadata": {"name": "n1"}}
    found = Cluster.from_objects([limited, node, new_pod(priorityClassName="gold")])
    assert found.pods[0].priority == 0
    assert found.notes == (
        "priorityclasses may not be listed: the priority of new pods of gold is unknown, here 0",
    )
    for origin in ([], [limited | {"kinds": ["nodes", "priorityclasses"]}]):
        found = Cluster.from_objects([*origin, node, new_pod(priorityClassName="gold")])
        assert found.pods[0].refusal == "forbidden: no PriorityClass with name gold was found"


def test_pods_that_run_keep_their_priority_when_its_class_is_gone() -> None:
    """Only the next ones are refused; one without a priority is a contradiction, as no cluster has it."""
    every = {**_ORIGIN, "kinds": ["priorityclasses"]}
    node = {"kind": "Node", "metadata": {"name": "n1"}}
    running = _created("")
    running["spec"] |= {"priorityClassName": "gold", "priority": 7}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": _template("gold")}
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": {"name": "web"}, "spec": spec}
    found = Cluster.from_objects([every, node, owner, running])
    assert found.pods[0].priority == 7
    line = "forbidden: no PriorityClass with name gold was found"
    assert [pod.refusal for pod in found.pods] == ["", line, line]
    del running["spec"]["priority"]
    with pytest.raises(InputError, match="there is no PriorityClass 'gold'"):
        Cluster.from_objects([every, node, running])


def test_a_pod_with_a_priority_is_refused_where_all_classes_are_known() -> None:
    """Nodes and pods alone say nothing of classes: what has a priority had a class."""
    every = {**_ORIGIN, "kinds": ["priorityclasses"]}
    wanted = new_pod(priorityClassName="gold", priority=7)
    assert refusal(wanted, every) == "forbidden: no PriorityClass with name gold was found"
    assert not refusal(wanted)


def _template(priority_class: str) -> Object:
    made = new_pod(priorityClassName=priority_class)
    return {"metadata": {"labels": {"a": "b"}}, "spec": made["spec"]}


def test_a_priority_class_without_a_value_has_none() -> None:
    """As the API server stores it: 0."""
    plain = {"kind": "PriorityClass", "metadata": {"name": "plain"}}
    assert admitted(new_pod(priorityClassName="plain"), plain).spec.priority == 0
