"""What is recognised by a pattern is what would have been parsed."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from models.objects.pod import Pod
from models.reading.assemble import assemble
from models.reading.documents import ManifestDocument, read_list
from models.reading.texts import read_file
from models.reading.window import Window
from tests.models.manifests import node, pod, workload

STYLES: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 4, "sort_keys": True}]
TIMES = st.sampled_from(["2025-01-31T08:00:00Z", "2025-01-31T08:00:01.5Z", "2024-02-30T00:00:00Z", "soon"])
NAMES = st.sampled_from(["a", "b-1", "", 'q"', "b\\c", "tab\there", "é", "\u00a0", "Ready", "n1"])
#: Which names a pod's token volume has: one of its own, as a rule.
TOKENS = st.sampled_from(["kube-api-access-ab2de", "kube-api-access-xyz98", "kube-api-access-x", "data"])


def parsed(text: bytes, size: int) -> ManifestDocument:
    """The document as a List of this many bytes is read: patterns are for large ones."""
    found = read_list(Window(text), text, "list", size)
    assert found is not None
    return found


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods of three controllers; most fields are as those of the next one, and each may differ."""
    kind = draw(st.sampled_from(["ReplicaSet", "StatefulSet", "DaemonSet"]))
    name, token = draw(NAMES), draw(TOKENS)
    item = pod(f"p{name}", workload(kind, "web"), nodeName=draw(NAMES))
    item["metadata"] |= {
        "uid": draw(NAMES),
        "creationTimestamp": draw(TIMES),
        "labels": {"app": "web", "pod": name},
        "annotations": {"example.com/note": draw(NAMES), "planner/exclude": draw(NAMES)},
    }
    item["spec"]["volumes"] = [
        {"name": token, "projected": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}},
    ]
    item["spec"]["containers"][0]["volumeMounts"] = [{"name": token, "mountPath": "/run"}]
    if kind == "DaemonSet":
        field = {"key": "metadata.name", "operator": draw(st.sampled_from(["In", "NotIn"])), "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        item["spec"]["affinity"] = {"nodeAffinity": affinity}
    conditions = [
        {
            "type": draw(st.sampled_from(["Ready", "Initialized", "x"])),
            "status": "True",
            "reason": draw(NAMES),
        },
        {"type": "PodScheduled", "lastTransitionTime": draw(TIMES), "message": draw(NAMES)},
    ]
    item["status"] = {
        "phase": draw(st.sampled_from(["Running", "Running", "Failed"])),
        "startTime": draw(TIMES),
        "podIP": draw(NAMES),
        "conditions": conditions,
    }
    return item


NODES = st.builds(
    lambda name, zone, time, cpu: {
        **(found := node(f"n{name}", zone=zone)),
        "status": {
            **found["status"],
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": time}],
        },
    },
    NAMES,
    st.sampled_from(["a", "b", ""]),
    TIMES,
    st.sampled_from(["4", "4", "8", "0.5x"]),
)


@given(st.lists(pods() | NODES, min_size=3, max_size=25), st.sampled_from(STYLES))
def test_objects_and_problems_are_the_same(items: list[dict[str, Any]], style: dict[str, Any]) -> None:
    """Whatever differs between objects: names, times, words that decide what else is read, broken values."""
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style).encode()
    learned, plain = parsed(text, 1 << 30), parsed(text, 0)
    assert learned.patterns is not None
    assert plain.patterns is None
    assert (learned.problems, learned.count, learned.skipped) == (plain.problems, plain.count, plain.skipped)
    assert [item.model_dump() for item in learned.objects] == [item.model_dump() for item in plain.objects]
    assert list(map(repr, learned.objects)) == list(map(repr, plain.objects))
    assert [item.model_dump(exclude_unset=True) for item in learned.objects] == [
        item.model_dump(exclude_unset=True) for item in plain.objects
    ]


def replicas(count: int) -> list[dict[str, Any]]:
    """Pods of a ReplicaSet, each on a node of its own."""
    items = []
    for number in range(count):
        item = pod(f"web-{number:05}", workload("ReplicaSet", "web"), nodeName=f"n{number}")
        item["metadata"] |= {"uid": f"uid-{number}", "creationTimestamp": "2025-01-31T08:00:00Z"}
        items.append(item)
    return items


def test_pods_that_are_recognised_share_what_is_alike() -> None:
    """From the third pod on nothing is parsed: containers, labels and owners are one object in memory."""
    text = json.dumps({"apiVersion": "v1", "items": replicas(6), "kind": "List"}, indent=4).encode()
    *_, fourth, fifth, last = parsed(text, 1 << 30).objects
    assert isinstance(fourth, Pod)
    assert isinstance(fifth, Pod)
    assert isinstance(last, Pod)
    assert (fourth.name, fourth.node_name, fifth.name, last.node_name) == (
        "web-00003",
        "n3",
        "web-00004",
        "n5",
    )
    assert fourth.spec.containers is fifth.spec.containers
    assert fourth.metadata.labels is fifth.metadata.labels
    assert fourth.metadata.owner_references is fifth.metadata.owner_references


class Pipe(io.BytesIO):
    """What cannot go back."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("style", STYLES)
def test_long_files_are_read_in_parts(style: dict[str, Any]) -> None:
    """As they are, packed, and through a pipe, the kind behind the items: all pods come in their order."""
    count = 30_000 if "indent" not in style else 12_000
    items = [node(f"n{number}") for number in range(40)] + replicas(count)
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style).encode()
    assert len(text) > 1 << 23
    for file in (io.BytesIO(text), io.BytesIO(gzip.compress(text, 1)), Pipe(text)):
        (document,) = read_file(file, "list")
        assert not document.problems
        names = [item.metadata.name for item in document.objects if isinstance(item, Pod)]
        assert names == [f"web-{number:05}" for number in range(count)]


def test_a_long_file_tells_its_problems(tmp_path: Path) -> None:
    """The same lines as a short one with the same mistake has; and a truncated one is refused."""
    items = [*replicas(30_000), pod("late", tolerations=[{"operator": "Foo"}]), *replicas(1)]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    (document,) = read_file(io.BytesIO(text), "list")
    short = json.dumps({"apiVersion": "v1", "items": items[30_000:], "kind": "List"}).encode()
    assert document.problems == read_file(io.BytesIO(short), "list")[0].problems != []
    for name, content, what in (
        ("cut.json", text[:-30], "broken JSON"),
        ("cut.json.gz", gzip.compress(text, 1)[:-30], "is not a whole gzip file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=what):
            Cluster.load(tmp_path / name)


def test_a_pod_that_is_there_twice(tmp_path: Path) -> None:
    """Two that differ in nothing that is read are still two."""
    items = replicas(4)
    for number, item in enumerate(items):
        item["metadata"]["resourceVersion"] = f"{number}"
        item["metadata"] |= {"name": "web", "uid": "uid"}
        item["spec"]["nodeName"] = "n1"
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    with pytest.raises(InputError) as caught:
        assemble([parsed(text, 1 << 30)])
    assert caught.value.problems == ("list: Pod default/web is there twice",) * 3
