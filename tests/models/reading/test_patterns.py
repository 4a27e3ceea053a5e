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
from models.reading import texts, window
from models.reading.assemble import assemble
from models.reading.documents import ManifestDocument, read_list
from models.reading.texts import read_file
from models.reading.window import Window
from tests.models.manifests import node, pod, workload
from tests.strategies import relaxed

STYLES: list[dict[str, Any]] = [
    {"separators": (",", ":"), "ensure_ascii": False},
    {},
    {"indent": 4, "sort_keys": True},
]


def parsed(text: bytes, size: int) -> ManifestDocument:
    """The document as a List of this many bytes is read: patterns are for large ones."""
    found = read_list(Window(text), text, "list", size)
    assert found is not None
    return found


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """The usual value, and now and then one of the others: most pods of a workload are alike."""
    return st.integers(0, 9).flatmap(lambda dice: st.just(usual) if dice else st.sampled_from(others))


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods of three controllers with names of their own; each now and then has something unusual."""
    number = draw(st.integers(0, 99))
    kind = draw(st.sampled_from(["ReplicaSet", "StatefulSet", "DaemonSet"]))
    name = draw(mostly(f"p{number}", "", 'q"', "b\\c", "tab\there", "é", "\u00a0"))
    token = draw(mostly(f"kube-api-access-ab{number:03}", "kube-api-access-x", "data"))
    time = f"2025-01-31T08:00:{number % 60:02}Z"
    item = pod(name, workload(kind, "web"), nodeName=draw(mostly(f"n{number}", "", "n\\")))
    item["metadata"] |= {
        "uid": draw(mostly(f"uid-{number}", "")),
        "creationTimestamp": draw(mostly(time, "2025-01-31T08:00:01.5Z", "2024-02-30T00:00:00Z", "soon")),
        "labels": {"app": "web", "pod": name},
        "annotations": {draw(mostly(f"x/{number}", "planner/exclude")): "true"},
    }
    item["spec"] |= {
        "volumes": [
            {"name": token, "projected": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}},
        ],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
            for key in ("zone", draw(mostly("rack", "row", "zone")))
        ],
    }
    mounted = draw(mostly(token, "kube-api-access-other"))
    item["spec"]["containers"][0]["volumeMounts"] = [{"name": mounted, "mountPath": "/run"}]
    if kind == "DaemonSet":
        field = {"key": "metadata.name", "operator": draw(mostly("In", "NotIn")), "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        item["spec"]["affinity"] = {"nodeAffinity": affinity}
    condition = draw(mostly("Initialized", "ContainersReady", "Ready"))
    item["status"] = {
        "phase": draw(mostly("Running", "Failed")),
        "startTime": draw(mostly(time, "2025-01-31")),
        "podIP": f"10.0.0.{number}",
        "conditions": [
            {"type": condition, "status": "True", "reason": draw(mostly("", "Infeasible"))},
            {"type": "PodScheduled", "lastTransitionTime": time, "message": name},
        ],
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
    st.integers(0, 99),
    mostly("a", "b", ""),
    mostly("2025-01-31T08:00:00Z", "2025-01-31T08:00:09Z", "soon"),
    mostly("4", "8", "0.5x"),
)


@relaxed
@given(st.lists(pods() | NODES, min_size=12, max_size=40), st.sampled_from(STYLES))
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


def remark(number: int) -> str:
    """A long text that is read: a byte that is lost shows."""
    return f"{number:05}" * 240


def replicas(count: int, *, long: bool = False) -> list[dict[str, Any]]:
    """Pods of a ReplicaSet, each on a node of its own; `long` ones have an annotation of 1,200 bytes."""
    items = []
    for number in range(count):
        item = pod(f"web-{number:05}", workload("ReplicaSet", "web"), nodeName=f"n{number}")
        item["metadata"] |= {"uid": f"uid-{number}", "creationTimestamp": "2025-01-31T08:00:00Z"}
        if long:
            item["metadata"]["annotations"] = {"planner/exclude": remark(number)}
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


#: Files of so many bytes are long in some tests, a fourth of what makes them so.
LONG = 1 << 21


@pytest.fixture
def long_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files a fourth as long are read in parts, and those are a fourth as long."""
    monkeypatch.setattr(texts, "_LONG", LONG)
    monkeypatch.setattr(window, "_CHUNK", 1 << 18)


class Pipe(io.BytesIO):
    """What cannot go back."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("style", [STYLES[0], *(pytest.param(s, marks=pytest.mark.long) for s in STYLES[1:])])
@pytest.mark.usefixtures("long_already")
def test_long_files_are_read_in_parts(style: dict[str, Any]) -> None:
    """As they are, packed, through a pipe, from some place on, the kind behind the items: all pods come."""
    count = 1_500
    items = [node(f"n{number}") for number in range(40)] + replicas(count, long=True)
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style).encode()
    assert len(text) > LONG
    rest = io.BytesIO(b"read before\n" + text)
    rest.readline()
    for file in (io.BytesIO(text), io.BytesIO(gzip.compress(text, 1)), Pipe(text), rest):
        (document,) = read_file(file, "list")
        assert not document.problems
        found = [
            (item.name, item.metadata.annotations["planner/exclude"])
            for item in document.objects
            if isinstance(item, Pod)
        ]
        assert found == [(f"web-{number:05}", remark(number)) for number in range(count)]


@pytest.mark.usefixtures("long_already")
def test_a_long_file_tells_its_problems(tmp_path: Path) -> None:
    """The same lines as a short one with the same mistake has; and a truncated one is refused."""
    items = [*replicas(1_500, long=True), pod("late", tolerations=[{"operator": "Foo"}]), *replicas(1)]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    assert len(text) > LONG
    (document,) = read_file(io.BytesIO(text), "list")
    short = json.dumps({"apiVersion": "v1", "items": items[1_500:], "kind": "List"}).encode()
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


@pytest.mark.parametrize("broken", [b"\x01", b"\n", b"\xff", b"\\q", b'" "', b"\\"])
def test_a_string_that_is_none(broken: bytes) -> None:
    """A pattern takes no more for a string than JSON does: what is broken ends the List where it did."""
    text = json.dumps({"apiVersion": "v1", "items": replicas(8), "kind": "List"}).encode()
    text = text.replace(b"uid-5", broken)
    found, plain = (read_list(Window(text), text, "list", size) for size in (1 << 30, 0))
    assert found is None
    assert plain is None


def alternating(path: tuple[str | int, ...], *values: Any) -> list[dict[str, Any]]:
    """Pods alike but for what stands at a path: the first values in turn, late in the list the last one."""
    items = replicas(12)
    for number, item in enumerate(items):
        *way, last = path
        inside: Any = item
        for step in way:
            inside = inside[step]
        inside[last] = values[-1] if number == 10 else values[number % (len(values) - 1)]
    return items


def spreads(key: str) -> list[dict[str, Any]]:
    """Two constraints, which must not be over the same key."""
    rest = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    return [{"topologyKey": "zone", **rest}, {"topologyKey": key, **rest}]


def volumes(name: str) -> dict[str, Any]:
    """A pod whose token volume is called so, in its container, too."""
    container = {"name": "main", "volumeMounts": [{"name": name, "mountPath": "/run"}]}
    return {"containers": [container], "volumes": [{"name": name, "projected": {}}]}


def condition(time: str) -> dict[str, Any]:
    """One that nothing reads, since this time of a day."""
    return {"type": "Initialized", "lastTransitionTime": f"2025-01-31{time}"}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (("status", "conditions"), [[{"type": kind}] for kind in ("Initialized", "x", "Ready")]),
        (("spec", "topologySpreadConstraints"), [spreads(key) for key in ("rack", "row", "zone")]),
        (("spec",), [volumes(f"kube-api-access-{end}") for end in ("abcde", "vwxyz", "ABCDE")]),
        (("spec",), [volumes(name) for name in ("kube-api-access-abcde", "kube-api-access-vwxyz", "data")]),
        (("metadata", "name"), ["a", "b", ""]),
        (("metadata", "creationTimestamp"), ["2025-01-31T08:00:00Z", "2025-01-31T08:00:01Z", "soon"]),
        (
            ("status", "conditions"),
            [[condition(time)] for time in ("T08:00:00Z", "T08:00:01Z", "T25:00:00Z")],
        ),
        (("metadata", "annotations"), [{key: "true"} for key in ("x/a", "x/b", "planner/exclude")]),
        (("status", "phase"), ["Running", "Pending", "Lost"]),
        (("kind",), ["Pod", "Pod", "Secret"]),
    ],
)
def test_what_a_pattern_must_not_take(path: tuple[str | int, ...], values: list[Any]) -> None:
    """What was learned from other values says nothing about this one."""
    items = alternating(path, *values)
    for number, item in enumerate(items):
        if path != ("metadata", "name"):
            item["metadata"]["name"] = f"p{number}"
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    learned, plain = parsed(text, 1 << 30), parsed(text, 0)
    assert (learned.problems, learned.skipped) == (plain.problems, plain.skipped)
    assert list(map(repr, learned.objects)) == list(map(repr, plain.objects))


@pytest.mark.parametrize("first", range(4))
def test_a_string_that_is_like_a_mark(first: int) -> None:
    """What stands in a hole while a pattern is made may be a pod's own name, or the time that it began."""
    items = replicas(8)
    for number, item in enumerate(items):
        minute = (first + number) % 4
        item["metadata"]["name"] = item["spec"]["nodeName"] = f"mark-{minute}" if number < 4 else f"n{number}"
        item["metadata"]["creationTimestamp"] = f"2001-01-01T00:{minute:02}:00Z"
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}).encode()
    learned, plain = parsed(text, 1 << 30), parsed(text, 0)
    assert list(map(repr, learned.objects)) == list(map(repr, plain.objects))
