"""Every kind of bad input ends in one clear line for each thing to repair."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from models import Cluster, InputError
from tests.models.manifests import Object, node, pod, workload

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
TERM = {"topologyKey": "zone", "labelSelector": {}}


def problems(*objects: Any) -> list[str]:
    """What is wrong with these objects, without the name of the source."""
    with pytest.raises(InputError) as caught:
        Cluster.from_objects(objects)
    return [line.removeprefix("objects, ").removeprefix("objects: ") for line in caught.value.problems]


def affinity(side: str, when: str, *terms: Object) -> Object:
    """The affinity part of a pod's spec."""
    return {"affinity": {side: {f"{when}DuringSchedulingIgnoredDuringExecution": list(terms)}}}


def container(**fields: Any) -> Object:
    """A pod's spec with one container."""
    return {"containers": [{"name": "main", **fields}]}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            container(resources={"requests": {"cpu": "0.5x"}}),
            "spec.containers[0].resources.requests.cpu: '0.5x' is not a quantity (for example 500m or 2Gi)",
        ),
        (
            container(resources={"requests": {"cpu": "-1"}}),
            "spec.containers[0].resources.requests.cpu: '-1' is negative",
        ),
        (
            container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            "spec.containers[0].resources: the request for cpu is larger than its limit",
        ),
        (
            container(resources={"requests": {"cpu": []}}),
            "spec.containers[0].resources.requests.cpu: [] is not a quantity (for example 500m or 2Gi)",
        ),
        (
            container(resources={"requests": {"cpu": True}}),
            "spec.containers[0].resources.requests.cpu: true is not a quantity (for example 500m or 2Gi)",
        ),
        (
            container(ports=[{"containerPort": 80, "protocol": "ICMP"}]),
            "spec.containers[0].ports[0].protocol: expected 'TCP', 'UDP' or 'SCTP', found 'ICMP'",
        ),
        (
            container(ports=[{"containerPort": 0}]),
            "spec.containers[0].ports[0].containerPort: expected at least 1, found 0",
        ),
        ({"priority": 10**30}, f"spec.priority: expected at most 2147483647, found {10**30}"),
        ({"priority": -(2**31) - 1}, "spec.priority: expected at least -2147483648, found -2147483649"),
        (
            {"topologySpreadConstraints": [{**SPREAD, "maxSkew": 2**31}]},
            "spec.topologySpreadConstraints[0].maxSkew: expected at most 2147483647, found 2147483648",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}]},
            "spec.topologySpreadConstraints[0].maxSkew: expected at least 1, found 0",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "minDomains": 0}]},
            "spec.topologySpreadConstraints[0].minDomains: expected at least 1, found 0",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {**SPREAD, "minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            },
            "spec.topologySpreadConstraints[0]: "
            "minDomains needs whenUnsatisfiable DoNotSchedule, found ScheduleAnyway",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "Never"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable: "
            "expected 'DoNotSchedule' or 'ScheduleAnyway', found 'Never'",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "nodeTaintsPolicy": "honor"}]},
            "spec.topologySpreadConstraints[0].nodeTaintsPolicy: expected 'Honor' or 'Ignore', found 'honor'",
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "topologyKey": ""}]},
            "spec.topologySpreadConstraints[0].topologyKey: must not be empty",
        ),
        (
            {"topologySpreadConstraints": [SPREAD, SPREAD]},
            "spec: topologySpreadConstraints has zone with DoNotSchedule more than once",
        ),
        (
            {"tolerations": [{"operator": "Foo"}]},
            "spec.tolerations[0].operator: expected 'Equal' or 'Exists', found 'Foo'",
        ),
        (
            {"tolerations": [{"operator": "Equal", "value": "x"}]},
            "spec.tolerations[0]: a toleration without key needs operator Exists",
        ),
        (
            {"tolerations": [{"key": "a", "effect": "Sometimes"}]},
            "spec.tolerations[0].effect: "
            "expected '', 'NoSchedule', 'PreferNoSchedule' or 'NoExecute', found 'Sometimes'",
        ),
        (
            affinity("podAffinity", "preferred", {"weight": 0, "podAffinityTerm": TERM}),
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "expected at least 1, found 0",
        ),
        (
            affinity("nodeAffinity", "preferred", {"weight": 101, "preference": {}}),
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "expected at most 100, found 101",
        ),
        (
            affinity("podAntiAffinity", "required", {**TERM, "topologyKey": ""}),
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
            ".topologyKey: must not be empty",
        ),
        (
            affinity(
                "podAffinity",
                "required",
                {**TERM, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            ),
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
            ".labelSelector.matchExpressions[0]: operator In needs at least one value",
        ),
        ({"containers": 3}, "spec.containers: expected a list, found 3"),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector.a: expected a string, found 1"),
        ({"priority": "high"}, "spec.priority: expected a whole number, found 'high'"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork: expected true or false, found 'yes'"),
        (
            {"priorityClassName": "x", "nodeName": "n"},
            "spec.priorityClassName: there is no PriorityClass 'x'",
        ),
    ],
)
def test_bad_pods(spec: Object, problem: str) -> None:
    """A pod that the API server would refuse is refused, with the field's path."""
    assert problems(pod("a", **spec)) == [f"Pod default/a, {problem}"]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (
            node("n", taints=[{"key": "a", "effect": "Maybe"}]),
            "Node n, spec.taints[0].effect: "
            "expected 'NoSchedule', 'PreferNoSchedule' or 'NoExecute', found 'Maybe'",
        ),
        (
            workload("Deployment", "web", replicas=-1),
            "Deployment default/web, spec.replicas: expected at least 0, found -1",
        ),
        (
            workload("Deployment", "web", selector={"matchLabels": {"app": "db"}}),
            "Deployment default/web, spec: the selector does not match the template's labels {'app': 'web'}",
        ),
        (
            workload("ReplicationController", "web", selector={"app": "db"}),
            "ReplicationController default/web, spec: "
            "the selector does not match the template's labels {'app': 'web'}",
        ),
        (
            workload("ReplicaSet", "web", replicas=2_000_000_000),
            "ReplicaSet default/web, spec.replicas: expected at most 200,000, found 2000000000",
        ),
        (
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b", "namespace": "x"},
                "spec": {"minAvailable": "half"},
            },
            "PodDisruptionBudget x/b, spec.minAvailable: "
            "expected a number or a percentage such as '50%', found 'half'",
        ),
        (
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [
                    {
                        "pluginConfig": [
                            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "X"}}}
                        ]
                    }
                ],
            },
            "items[0], KubeSchedulerConfiguration, profiles[0].pluginConfig[0].args.scoringStrategy.type: "
            "expected 'LeastAllocated', 'MostAllocated' or 'RequestedToCapacityRatio', found 'X'",
        ),
        (
            {"apiVersion": "v1", "kind": "Node", "metadata": {}},
            "items[0], Node, metadata.name: is required",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
            "Pod a, spec: is required",
        ),
        ({"metadata": {"name": "a"}}, "object a, kind: is required, as in every Kubernetes object"),
        (3, "items[0]: expected a map, found 3"),
        ({"kind": "List", "items": []}, "items[0], List: a List inside a List is not understood"),
    ],
)
def test_bad_objects(item: Any, problem: str) -> None:
    """Other objects are refused in the same words."""
    assert problems(item) == [problem]


def test_duplicates() -> None:
    """Two nodes or two pods of one name contradict each other."""
    assert problems(node("n"), node("n"), pod("a"), pod("a")) == [
        "Node n is there twice",
        "Pod default/a is there twice",
    ]


def test_duplicates_in_two_files(tmp_path: Path) -> None:
    """A duplicate names both files."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps(node("n")))
    second.write_text(json.dumps(node("n")))
    with pytest.raises(InputError) as caught:
        Cluster.load(first, second)
    assert caught.value.problems == (f"{first} and {second}: Node n is there twice",)


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    """All problems of all files come in one error, in the order of the files."""
    deploy = workload("Deployment", "web", replicas="3")
    deploy["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "x"}}
    (tmp_path / "a.yaml").write_text(f"---\n---\n{json.dumps(deploy)}\n---\nkind: Node\n")
    (tmp_path / "b.yaml").write_text("a: [\n")
    (tmp_path / "c.json").write_text("")
    with pytest.raises(InputError) as caught:
        Cluster.load(tmp_path, tmp_path / "gone.yaml")
    place = f"{tmp_path}/a.yaml, document 2, Deployment default/web, spec"
    assert caught.value.problems == (
        f"{place}.template.spec.containers[0].resources.limits.cpu: "
        "'x' is not a quantity (for example 500m or 2Gi)",
        f"{place}.replicas: expected a whole number, found '3'",
        f"{tmp_path}/a.yaml, document 3, Node, metadata: is required",
        f"{tmp_path}/b.yaml, line 2: broken YAML: did not find expected node content",
        f"{tmp_path}/c.json: is empty",
        f"{tmp_path}/gone.yaml: no such file or directory",
    )


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.yaml", b"", "is empty"),
        ("a.yaml", b"---\n# nothing\n", "is empty"),
        ("a.json", b" \n", "is empty"),
        ("a.yaml", b"kind: Node\n  name: x", "line 2: broken YAML: "),
        ("a.json", b'{"kind":\n"Node",}', "line 2: broken JSON: trailing comma"),
        ("a.json", b'{"kind": "List", "items": [{"kind": "Pod"}, ', "line 1: broken JSON: EOF"),
        ("a.json", b"[" * 100_000, "line 1: broken JSON: recursion limit exceeded"),
        ("a.json", b'{"a":' * 100_000, "line 1: broken JSON: recursion limit exceeded"),
        (
            "a.json",
            b'{"kind":"List","items":[' + b'{"kind":' * 5_000,
            "line 1: broken JSON: recursion limit exceeded",
        ),
        ("a.yaml", b"[" * 100_000, "line 1: broken YAML: nested more than 100 levels deep"),
        ("a.yaml", b"a: &a [*a]", "line 1: broken YAML: the alias *a has no complete anchor"),
        ("a.yaml", b"a: 1\na: 2", "line 2: broken YAML: the key 'a' appears twice"),
        ("a.yaml", b"just words", "expected a map, found 'just words'"),
        (
            "a.yaml",
            b"NAME  STATUS  AGE\nn1    Ready   3d\n",
            "a table that kubectl printed: it prints manifests with -o json or -o yaml",
        ),
        ("a.yaml", b"42", "expected a map, found 42"),
        ("a.yaml", b"- a\n- b", "expected a map, found a list"),
        ("a.yaml", b"replicaCount: 1\n", "kind: is required, as in every Kubernetes object"),
        ("a.json", b"[]", "expected a map, found an empty list"),
        ("a.yaml", b"\x89PNG\r\n\x1a\n\x00\x00", "is not a text file (UTF-8)"),
        ("a.yaml", b"kind: \xff", "is not a text file (UTF-8)"),
        ("a.json", b"\x1f\x8bnothing", "is not a whole gzip file"),
        ("a.json", gzip.compress(b'{"kind": "Node"}', mtime=0)[:-5], "is not a whole gzip file"),
        ("a.json", b'{"kind": "List", "items": 3}', "items: expected a list, found 3"),
        (
            "a.json",
            b'{"kind": "Pod", "metadata": {"name": "\xff"}}',
            "line 1: broken JSON: invalid unicode code point",
        ),
        (
            "a.json",
            json.dumps(node("n")).encode() + b"\n" + b'{"kind": ',
            "document 2, line 1: broken JSON: EOF while parsing a value",
        ),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    """A file that cannot be read is one line with its name, whatever is wrong with it."""
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Cluster.load(file)
    assert len(caught.value.problems) == 1
    line = caught.value.problems[0].removeprefix(f"{file}")
    assert line[:2] in {": ", ", "}
    assert line[2:].startswith(problem)


def test_missing_and_empty_places(tmp_path: Path) -> None:
    """A file that is not there, and a folder without manifests."""
    with pytest.raises(InputError) as caught:
        Cluster.load(tmp_path / "gone.json", tmp_path)
    assert caught.value.problems == (
        f"{tmp_path}/gone.json: no such file or directory",
        f"{tmp_path}: has no .json, .yaml or .yml files",
    )


def test_a_folder_inside_that_may_not_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: with -R it was passed over without a word, and the cluster looked well without it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "nodes.json").write_text(json.dumps(node("n")))
    read = os.scandir

    def scandir(path: str) -> Any:
        if Path(path) == inside:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=f"^{inside}: permission denied$"):
        Cluster.load(tmp_path, recursive=True)


@pytest.mark.parametrize("blank", [b"# nothing yet\n", b"---\n\n  # nothing\n---\n", b"\r\n# x\r\n"])
def test_a_blank_yaml_file_of_a_folder_is_passed_over(tmp_path: Path, blank: bytes) -> None:
    """What went wrong: `is empty`, exit code 2, where `kubectl apply -f FOLDER` goes on with the others."""
    (tmp_path / "a.json").write_text(json.dumps(node("n")))
    (tmp_path / "b.yaml").write_bytes(blank)
    assert [item.name for item in Cluster.load(tmp_path).nodes] == ["n"]
    with pytest.raises(InputError, match="is empty"):
        Cluster.load(tmp_path / "a.json", tmp_path / "b.yaml")


@pytest.mark.parametrize("name", ["pods.json", "pods.yaml"])
def test_a_file_of_a_folder_without_a_byte_is_an_error(tmp_path: Path, name: str) -> None:
    """A `kubectl get` that failed leaves it, and without its pods a cluster looks well."""
    (tmp_path / "nodes.json").write_text(json.dumps(node("n")))
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"{name}: is empty"):
        Cluster.load(tmp_path)


def test_objects_that_are_no_json() -> None:
    """Python values that JSON cannot hold, or that never end, are refused as well."""
    endless: dict[str, Any] = {"kind": "Node"}
    endless["metadata"] = endless
    assert problems(endless) == ["cannot be written as JSON: Circular reference detected"]
    assert problems({"kind": {1, 2}})[0].startswith("cannot be written as JSON")
