"""A cluster has everything that its files have, once, and says what it left out."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from models import Cluster, InputError
from models.cluster import read
from tests import seeds
from tests.builders import priority_class
from tests.models.manifests import node, pod, workload

DATA = Path(__file__).parent.parent / "data"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


@pytest.mark.parametrize("file", sorted(DATA.glob("[!v]*/*.jsonl.gz")), ids=lambda file: file.stem)
def test_real_snapshots_load(file: Path) -> None:
    """Clusters that the real scheduler was asked about load with all nodes and pods; in a long run all."""
    with gzip.open(file, "rt") as lines:
        for line in seeds.some([*lines], 16):
            items = json.loads(line)["cluster"]["items"]
            cluster = Cluster.from_objects(items)
            assert [item.name for item in cluster.pods] == [
                item["metadata"]["name"] for item in items if item["kind"] == "Pod"
            ]
            assert len(cluster.nodes) == sum(item["kind"] == "Node" for item in items)
            # No controller has numbered the pods of some StatefulSets to be consolidated.
            assert [note for note in cluster.notes if "has no status" not in note] == []


def test_all_formats_give_the_same(tmp_path: Path) -> None:
    """List, PodList, JSON lines, YAML documents, packed or not: the same objects."""
    objects = [node("n1", zone="a"), pod("p1", nodeName="n1")]
    listing = {"apiVersion": "v1", "kind": "List", "items": objects}
    lines = "\n".join(json.dumps(item) for item in objects)
    contents = {
        "list.json": json.dumps(listing).encode(),
        "indented.json": json.dumps(listing, indent=4, sort_keys=True).encode(),
        "lines.json": lines.encode(),
        "bom.json": b"\xef\xbb\xbf" + json.dumps(listing).encode(),
        "flow.yaml": b"{kind: List, items: " + json.dumps(objects).encode() + b"}",
        "many.yaml": lines.replace("\n", "\n---\n").encode(),
        "list.json.gz": gzip.compress(json.dumps(listing).encode()),
        "named-wrong.yaml": json.dumps(listing).encode(),
        "items-first.json": json.dumps({"items": objects, "kind": "List"}).encode(),
    }
    expected = Cluster.from_objects(objects)
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert Cluster.load(tmp_path / name) == expected, name


def test_lists_of_one_kind(tmp_path: Path) -> None:
    """The items of a NodeList or PodList do not say what they are; a ConfigMapList is skipped."""
    for kind, item in (("Node", node("n1")), ("Pod", pod("p1")), ("ConfigMap", dict(SECRET))):
        del item["apiVersion"], item["kind"]
        listing = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {}, "items": [item]}
        (tmp_path / f"{kind}.json").write_text(json.dumps(listing))
    cluster = Cluster.load(tmp_path)
    assert ([item.key for item in cluster.nodes], [item.key for item in cluster.pods]) == (
        ["n1"],
        ["default/p1"],
    )
    assert cluster.notes == ("skipped 1 object of kind ConfigMap",)


@pytest.mark.parametrize("items", ["[]", "null"])
def test_an_empty_list_is_no_error(tmp_path: Path, items: str) -> None:
    """kubectl prints an empty List when there is nothing."""
    (tmp_path / "a.json").write_text(f'{{"apiVersion": "v1", "items": {items}, "kind": "List"}}')
    assert Cluster.load(tmp_path) == Cluster()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input, or what is given in its place."""
    content = json.dumps(node("n1")).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert Cluster.load("-") == read(["-"], stdin=content) == Cluster.from_objects([node("n1")])


def test_folders(tmp_path: Path) -> None:
    """A folder's manifests are read in the order of their names; deeper ones only if asked."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.yml").write_text(json.dumps(node("n3")))
    (tmp_path / "b.json").write_text(json.dumps(node("n2")))
    (tmp_path / "a.yaml").write_text(json.dumps(node("n1")))
    (tmp_path / "README.md").write_text("not a manifest")
    assert [item.name for item in Cluster.load(tmp_path).nodes] == ["n1", "n2"]
    assert [item.name for item in Cluster.load(tmp_path, recursive=True).nodes] == [
        "n1", "n2", "n3",
    ]  # fmt: skip


def test_unknown_kinds_are_counted_in_one_note() -> None:
    """Also a Service of another API group is an unknown kind, whatever it looks like.

    What went wrong: it was called Service, as a Deployment of extensions/v1beta1 was called Deployment, which
    are kinds that are read; it is the group that is not.
    """
    other = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "a"}}
    strange = other | {"spec": {"selector": 4}}
    cluster = Cluster.from_objects([SECRET, SECRET, other, strange, node("n1")])
    assert cluster.notes == ("skipped 4 objects of kinds Secret, Service (serving.knative.dev/v1)",)
    assert cluster.services == ()


def test_pods_on_unknown_nodes_are_noted() -> None:
    """They are kept, with one note for all of them."""
    pods = [pod(f"p{number}", nodeName="gone") for number in range(5)]
    cluster = Cluster.from_objects([node("n1"), *pods])
    assert len(cluster.pods) == len(pods)
    assert cluster.notes == (
        "left out 5 pods bound to nodes that were not read: "
        "default/p0 on gone, default/p1 on gone, default/p2 on gone, ...",
    )


def test_volumes_of_running_pods_that_the_files_lack_are_noted() -> None:
    """`kubectl get all` prints no claims: of pods in their place it was said that they find no node."""
    running = pod(
        "db", nodeName="n1", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    )
    bound = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    bound["spec"] = {"volumeName": "pv-1"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"}}
    for objects, missing in (([], "PersistentVolumeClaim default/data"), ([bound], "PersistentVolume pv-1")):
        (note,) = Cluster.from_objects([node("n1"), running, *objects]).notes
        assert (
            f"1 volume was not read, so that pods made in their place find no node here: {missing};" in note
        )
    assert not Cluster.from_objects([node("n1"), running, bound, volume]).notes


def test_a_later_manifest_replaces_an_earlier_object() -> None:
    """As after `kubectl apply`: the new spec with the old identity, so that pods stay owned."""
    before = workload("ReplicaSet", "web", replicas=1)
    after = workload("ReplicaSet", "web", replicas=2)
    del after["metadata"]["uid"]
    cluster = Cluster.from_objects([before, pod("web-a", before), after])
    assert [item.metadata.uid for item in cluster.replica_sets] == ["web"]
    assert [item.name for item in cluster.pods] == ["web-a", "web-1"]
    assert cluster.notes == ("ReplicaSet default/web of objects replaces that of objects",)


def test_null_is_absence() -> None:
    """kubectl prints null here and there; it means the default, never None."""
    item = pod("a", tolerations=None, hostNetwork=None, nodeSelector=None, schedulerName=None)
    item["metadata"] |= {"labels": None, "creationTimestamp": None}
    item["status"] = None
    (loaded,) = Cluster.from_objects([item]).pods
    assert (loaded.spec.tolerations, loaded.spec.node_selector) == ((), {})
    assert (loaded.spec.host_network, loaded.spec.scheduler_name) == (False, "default-scheduler")
    assert (loaded.metadata.labels, loaded.metadata.creation_timestamp) == ({}, None)
    assert loaded.status.phase == "Pending"


def test_null_in_a_map_is_what_the_api_server_makes_of_it() -> None:
    """No amount, which no limit stands in for, and an empty string."""
    item = pod("a", nodeSelector={"disk": None})
    item["metadata"]["labels"] = {"app": None}
    item["spec"]["containers"][0]["resources"] = {"requests": {"cpu": None}, "limits": {"cpu": "2"}}
    (loaded,) = Cluster.from_objects([item]).pods
    assert loaded.spec.containers[0].resources.defaulted == {"cpu": 0}
    assert (loaded.metadata.labels, loaded.spec.node_selector) == ({"app": ""}, {"disk": ""})


def test_defaults_of_the_api_server() -> None:
    """Limits complete requests, capacity becomes allocatable, a namespace carries its name."""
    item = pod("a")
    item["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "1"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }
    bare = node("n1")
    bare["status"] = {"capacity": {"cpu": "4"}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    cluster = Cluster.from_objects([item, bare, space])
    assert cluster.pods[0].spec.containers[0].resources.defaulted == {
        "cpu": 10**9,
        "memory": 2**30 * 10**9,
    }
    assert cluster.nodes[0].status.allocatable == {"cpu": 4 * 10**9}
    assert cluster.namespaces[0].metadata.labels == {"kubernetes.io/metadata.name": "shop"}


def test_host_ports() -> None:
    """With the host's network every port is the host's."""
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081, "hostIP": "1.2.3.4"}]
    spec: dict[str, Any] = {"containers": [{"name": "main", "ports": ports}]}
    plain, host = Cluster.from_objects([pod("a", **spec), pod("b", **spec, hostNetwork=True)]).pods
    assert list(plain.spec.host_ports()) == [("1.2.3.4", "TCP", 8081)]
    assert list(host.spec.host_ports()) == [("0.0.0.0", "TCP", 80), ("1.2.3.4", "TCP", 8081)]


def test_priorities_come_from_classes() -> None:
    """Named, built-in and default classes set the priority where a pod has none yet."""
    pods = [
        pod("named", priorityClassName="high"),
        pod("critical", priorityClassName="system-node-critical"),
        pod("plain"),
        pod("set", priority=7, priorityClassName="gone"),
    ]
    classes = [
        priority_class("high", 1000, preemptionPolicy="Never"),
        priority_class("usual", 5, globalDefault=True),
    ]
    loaded = Cluster.from_objects([*pods, *classes]).pods
    assert [item.priority for item in loaded] == [1000, 2_000_001_000, 5, 7]
    assert loaded[0].spec.preemption_policy == "Never"
    assert Cluster.from_objects([pod("plain")]).pods[0].priority == 0


def test_a_pod_with_half_a_name_gets_a_whole_one() -> None:
    """generateName is completed, differently for each pod."""
    first, second = pod("x"), pod("y")
    first["metadata"] = second["metadata"] = {"generateName": "run-"}
    assert [item.name for item in Cluster.from_objects([first, second]).pods] == ["run-1", "run-2"]


@pytest.mark.parametrize(
    ("key", "labels", "instead"),
    [
        (
            "zone",
            {"topology.kubernetes.io/zone": "a", "pool": "x"},
            " (did you mean topology.kubernetes.io/zone?)",
        ),
        ("zone", {"a/zone": "a", "b/zone": "a"}, " (did you mean a/zone or b/zone?)"),
        (
            "topology.kubernetes.io/zon",
            {"topology.kubernetes.io/zone": "a"},
            " (did you mean topology.kubernetes.io/zone?)",
        ),
        ("rack", {"pool": "x", "arch": "y"}, " (there are arch, pool)"),
        (
            "rack",
            {f"pool-{n}": "x" for n in range(7)},
            " (there are pool-0, pool-1, pool-2, pool-3, pool-4, ...)",
        ),
        ("rack", {}, ""),
    ],
)
def test_a_label_that_no_node_has_is_told_with_those_that_there_are(
    key: str, labels: dict[str, str], instead: str
) -> None:
    """What went wrong: `no node has the label zone`, without the option, or the label that was meant."""
    unlabelled = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}
    loaded = Cluster.from_objects([{**unlabelled, "metadata": {"name": "n1", "labels": labels}}, unlabelled])
    with pytest.raises(InputError) as caught:
        loaded.domains(key, f"--survive {key}")
    assert caught.value.problems == (f"--survive {key}: no node has the label {key}{instead}",)
    for known, value in labels.items():
        assert loaded.domains(known, "") == [value]
