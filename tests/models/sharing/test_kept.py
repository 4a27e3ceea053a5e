"""A snapshot keeps what is read, all of it, and nothing else."""

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from models.objects.annotations import READ
from models.objects.base import KubeObject
from models.objects.kinds import MODELS
from models.reading.parsing import parse
from models.sharing.kept import kept
from models.sharing.listing import shared
from tests import seeds
from tests.models.reading.test_patterns import NODES, STYLES, pods
from tests.models.sharing.full import SECRET, full, with_secrets
from tests.strategies import relaxed

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*/"))
RECORDED = sorted((ROOT / "tests/data/conformance").glob("*.jsonl.gz"))
REAL = ROOT.parent / "shared/clusters/kurl-3-nodes.json.gz"


def contents(folder: Path) -> list[tuple[str, bytes]]:
    """The manifests of an example as they are."""
    return [(path.name, path.read_bytes()) for path in sorted(folder.glob("*.yaml"))]


def recorded(path: Path, step: int) -> Iterator[bytes]:
    """Of so many recorded clusters of a file one, as a List."""
    with gzip.open(path, "rt") as lines:
        for line in seeds.some([*lines], step):
            yield json.dumps(json.loads(line)["cluster"]).encode()


def read(content: bytes, tmp_path: Path) -> Cluster:
    """The cluster in a file with this content."""
    (tmp_path / "cluster.json").write_bytes(content)
    return Cluster.load(tmp_path / "cluster.json")


def differences(one: Cluster, other: Cluster) -> list[str]:
    """In which fields two clusters differ, or in which of their objects another field was said."""
    return [
        field.name
        for field in fields(one)
        if getattr(one, field.name) != getattr(other, field.name)
        or _said(getattr(one, field.name)) != _said(getattr(other, field.name))
    ]


def _said(objects: Any) -> list[tuple[bool, ...]]:
    """What is asked of an object besides its values: whether they were said."""
    items = [item for item in objects if isinstance(item, KubeObject)] if isinstance(objects, tuple) else []
    found = []
    for item in items:
        spec, metadata = getattr(item, "spec", None), getattr(item, "metadata", None)
        status = getattr(item, "status", None)
        found.append(
            tuple(
                name in part.model_fields_set
                for part, name in (
                    (item, "status"),
                    (status, "phase"),
                    (spec, "parallelism"),
                    (spec, "preemption_policy"),
                    (metadata, "namespace"),
                )
                if part is not None
            )
        )
    return found


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_every_field_that_a_model_reads_is_kept(kind: str) -> None:
    """The object reads the same before and after, with every field of its model away from its default."""
    item = full(kind)
    before = parse(json.dumps(item).encode())
    assert before.model_dump(exclude_defaults=True).keys() == type(before).model_fields.keys() - {
        "api_version"
    }
    assert parse(json.dumps(kept(item)).encode()) == before


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_nothing_that_is_not_read_is_kept(kind: str) -> None:
    """Environment, arguments, commands, probes and unread annotations are gone, wherever they stood."""
    item = with_secrets(full(kind))
    assert SECRET in json.dumps(item)
    assert SECRET not in json.dumps(kept(item))


def test_of_other_kinds_only_their_number_is_kept() -> None:
    """Secrets and ConfigMaps in a file are counted, as they are in a note, and not named."""
    item = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": {"a": SECRET}}
    assert kept(item) == {"kind": "Secret", "apiVersion": "v1", "metadata": {}}
    other = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": SECRET}}
    assert kept(other)["metadata"] == {}


def test_no_other_annotation_is_read() -> None:
    """What is not on the list is not even in the object, so nothing can come to depend on it."""
    metadata = {"name": "a", "annotations": {**dict.fromkeys(READ, "1"), "example.com/x": "2"}}
    pod = parse(json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": metadata}).encode())
    assert pod.model_dump()["metadata"]["annotations"] == dict.fromkeys(READ, "1")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_reads_the_same(example: Path, tmp_path: Path) -> None:
    """So every command gives the same answer."""
    found = read(shared(contents(example)), tmp_path)
    assert differences(found, Cluster.load(example)) == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.partition(".")[0])
def test_recorded_clusters_read_the_same(path: Path, tmp_path: Path) -> None:
    """One in twelve in a quick run, all of them in a long one."""
    for content in recorded(path, 24):
        assert differences(read(shared([("a", content)]), tmp_path), read(content, tmp_path)) == []


@pytest.mark.skipif(not REAL.exists(), reason="there is no ../shared/clusters")
def test_a_real_cluster_reads_the_same(tmp_path: Path) -> None:
    """What kubectl printed of three real nodes."""
    found = read(shared([(REAL.name, REAL.read_bytes())]), tmp_path)
    assert differences(found, Cluster.load(REAL)) == []


@pytest.mark.long
def test_a_large_cluster_is_a_fifth_of_what_kubectl_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 pods of 40 Deployments as the API server returns them; the share is the same with 50,000."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from dump_writer import Dump

    text = io.StringIO()
    Dump(200, 2_000, 40, 1, False).write(text)
    content = text.getvalue().encode()
    found = shared([("dump", content)])
    assert len(found) * 5 <= len(content)
    assert differences(read(found, tmp_path), read(content, tmp_path)) == []


@relaxed
@given(st.lists(pods() | NODES, min_size=3, max_size=20), st.sampled_from(STYLES))
def test_what_is_kept_of_objects_that_are_alike(items: list[dict[str, Any]], style: dict[str, Any]) -> None:
    """In a large file it is found out once: the same texts as of each by itself."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    filler = secret | {"data": {"a": "x" * (1 << 20)}}
    large = json.dumps({"apiVersion": "v1", "items": [*items, filler], "kind": "List"}, **style)
    small = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style)
    found = shared([("a", large.encode())]).splitlines()[1:-2]
    assert [line.rstrip(b",") for line in found] == [
        line.rstrip(b",") for line in shared([("a", small.encode())]).splitlines()[1:-1]
    ]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"kind": "Node", "deep": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "broken JSON: "),
        (b'{"kind": "List", "items": 5}', "items: expected a list, found int"),
        (b'{"kind": "List", "items": [5]}', "expected Kubernetes objects, found int"),
        (b'{"kind": "Node"', "broken JSON: "),
    ],
)
def test_what_is_no_list_of_objects(content: bytes, what: str) -> None:
    """One line with the name of the file."""
    with pytest.raises(InputError, match=f"^list(:|,) {what}") as caught:
        shared([("list", content)])
    assert len(caught.value.problems) == 1


def test_a_condition_whose_type_is_a_map() -> None:
    """It is left out, as those that nothing reads are."""
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {}}
    conditions = [{"type": {}}, {"type": "Ready", "status": "True"}]
    assert kept({**pod, "status": {"conditions": conditions}})["status"]["conditions"] == conditions[1:]


def named(kind: str, number: int) -> dict[str, Any]:
    """An object as a list of its kind has it: without saying what it is."""
    return {"metadata": {"name": f"{kind.lower()}-{number}"}, "spec": {}}


def listed(kind: str, count: int, *, first: bool = False) -> dict[str, Any]:
    """A list of objects of a kind, which stands before them or, as sorted by name, behind."""
    items = [named(kind, number) for number in range(count)]
    head = {"kind": f"{kind}List", "apiVersion": "v1", "items": items}
    return head if first else dict(sorted(head.items()))


@pytest.mark.parametrize("count", [2, pytest.param(22_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("between", ["", "\n", "\n---\n"])
def test_no_document_of_a_file_is_lost(count: int, between: str) -> None:
    """Whatever the first one is, of any size: a list of a kind, or an object."""
    node = {"kind": "Node", "apiVersion": "v1", **named("Node", 7)}
    documents = [listed("Node", 1, first=True), listed("Pod", 1), node]
    plain = {"items": [node] * count, "kind": "List"}
    for several in (
        documents,
        [*reversed(documents)],
        [listed("Pod", count, first=True), node],
        [plain, listed("Pod", 1)],
    ):
        content = between.join(map(json.dumps, several)).encode()
        found = json.loads(shared([("list", content)]))["items"]
        numbers = (range(len(one.get("items", [one]))) for one in several)
        assert len(found) == sum(map(len, numbers))
        assert {item["kind"] for item in found} == {"Node", "Pod"}


@pytest.mark.parametrize("count", [2, 22_000])
def test_the_kind_of_a_list_may_be_behind_its_items(count: int) -> None:
    """Of two such lists in a file only the last one's is found; a line says so."""
    content = json.dumps(listed("Pod", count)).encode()
    assert {item["kind"] for item in json.loads(shared([("list", content)]))["items"]} == {"Pod"}
    with pytest.raises(InputError, match="the kind of a List has to be before its items"):
        shared([("list", content + json.dumps(listed("Node", 1)).encode())])
