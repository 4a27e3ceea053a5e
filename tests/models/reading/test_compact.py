"""A snapshot in columns is the List that it was made of: as it is read, and where it is broken."""

import gzip
import io
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import InputError
from models.cluster import read
from models.objects.pod import Pod
from models.reading.compact import compact, compact_texts, packed
from models.reading.documents import ManifestDocument, read_document
from models.reading.manifests import contents
from models.reading.texts import read_content, read_file
from models.sharing.listing import shared
from tests.models.reading.test_patterns import NODES, pods, replicas
from tests.seeds import every
from tests.strategies import clusters, relaxed

TESTS = Path(__file__).parents[2]
RECORDED = sorted(TESTS.glob("data/[!v]*/*.jsonl.gz"))
EXAMPLES = sorted((TESTS.parent / "examples").glob("*/*.yaml"))


def listing(items: list[dict[str, Any]]) -> bytes:
    """A List as `planner snapshot` writes it, an object a line."""
    lines = b",\n".join(json.dumps(item, separators=(",", ":")).encode() for item in items)
    return b'{"kind":"List","apiVersion":"v1","items":[\n' + lines + b"\n]}\n"


def both(text: bytes) -> tuple[ManifestDocument, ManifestDocument]:
    """What is in a List, and in the same in columns."""
    return read_document(text, "list"), read_content(packed(compact(text)), "list")[0]


def assert_same(text: bytes) -> None:
    """The same objects in the same order, what was not said included; the same left out and complained of."""
    plain, found = both(text)
    assert (found.problems, found.skipped) == (plain.problems, plain.skipped)
    assert list(map(repr, found.objects)) == list(map(repr, plain.objects))
    assert found.objects == plain.objects
    for one, other in zip(found.objects, plain.objects, strict=True):
        assert one.model_dump(exclude_unset=True) == other.model_dump(exclude_unset=True)
    assert list(map(json.loads, compact_texts(compact(text), "list"))) == json.loads(text)["items"]


@relaxed
@given(st.lists(pods() | NODES, min_size=1, max_size=25))
def test_any_objects(items: list[dict[str, Any]]) -> None:
    """Broken ones too, which are told of in the same words."""
    assert_same(listing(items))


@relaxed
@given(clusters())
def test_drawn_clusters(items: list[dict[str, Any]]) -> None:
    """Every kind of object that decides on placement."""
    assert_same(listing(items))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recorded_clusters(file: Path) -> None:
    """What the real control plane had, as it is shared."""
    with gzip.open(file, "rt") as lines:
        for line in islice(lines, 0, None, every(80)):
            assert_same(shared([("list", listing(json.loads(line)["cluster"]["items"]))]))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_examples(file: Path) -> None:
    """Manifests, of which nothing has been through an API server."""
    assert_same(shared(contents([file])))


def test_it_is_shared_again(tmp_path: Path) -> None:
    """`planner snapshot` reads it, and makes the same List of it that it was made of."""
    text = shared([("list", listing(replicas(50)))])
    (tmp_path / "a.snapshot").write_bytes(packed(compact(text)))
    assert shared(contents([tmp_path])) == text
    assert len((tmp_path / "a.snapshot").read_bytes()) < len(text) / 10
    assert read([tmp_path]).pods == read(["-"], stdin=text).pods


def test_large_ones_are_read_in_parts() -> None:
    """More than is held at once, with many lines; and a truncated one is refused."""
    items = replicas(3_000)
    for number, item in enumerate(items):
        item["metadata"]["annotations"] = {"planner/exclude": f"{number:030}" * 100}
    content = b"".join(compact(listing(items)))
    assert len(content) > 1 << 23
    for file in (io.BytesIO(content), io.BytesIO(gzip.compress(content, 1))):
        (document,) = read_file(file, "list")
        names = [item.name for item in document.objects if isinstance(item, Pod)]
        assert names == [item["metadata"]["name"] for item in items]
    with pytest.raises(InputError, match="is not a whole snapshot"):
        read_file(io.BytesIO(content[:-20]), "list")


def edited(change: Callable[[list[Any]], object]) -> bytes:
    """A snapshot of three pods with its lines changed."""
    lines = [json.loads(line) for line in compact(listing(replicas(4)))]
    change(lines)
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            lambda lines: lines[0].update(format=2),
            "is a snapshot of format 2, and only format 1 is understood",
        ),
        (lambda lines: lines.pop(), "is not a whole snapshot"),
        (lambda lines: lines[-1].update(objects=3), "is not a whole snapshot"),
        (lambda lines: lines.append({}), "is not a whole snapshot"),
        (lambda lines: lines[1].update(order=[[7, 4]]), "is not a whole snapshot"),
        (lambda lines: lines[1].update(order=[[-1, 4]]), "is not a whole snapshot"),
        (lambda lines: lines[1].update(order=[[0, 5]]), "is not a whole snapshot"),
        (lambda lines: lines[1]["order"].clear(), "is not a whole snapshot"),
        (lambda lines: lines[1].update(more=1), "is not a whole snapshot"),
        (lambda lines: lines[1]["columns"]["0"].pop(), "is not a whole snapshot"),
        (lambda lines: lines[1]["columns"]["0"][0].pop(), "is not a whole snapshot"),
        (lambda lines: lines[1]["columns"]["0"].append([1, 2, 3]), "is not a whole snapshot"),
        (lambda lines: lines[1]["patterns"][0].__setitem__(0, "{"), "is not a whole snapshot"),
        (lambda lines: lines.insert(1, "x"), "is not a whole snapshot"),
    ],
)
def test_what_is_no_whole_snapshot(change: Callable[[list[Any]], object], what: str) -> None:
    """One line, whatever is wrong with it."""
    with pytest.raises(InputError) as caught:
        read_content(edited(change), "a.snapshot")
    assert caught.value.problems == (f"a.snapshot: {what}",)


def test_a_broken_object_in_columns_is_told_as_in_a_list() -> None:
    """A time that is none, in a column of times."""
    items = replicas(4)
    items[2]["metadata"]["creationTimestamp"] = "soon"
    _, document = both(listing(items))
    assert document.problems == [
        "list, Pod default/web-00002, metadata.creationTimestamp: "
        "expected a time such as 2025-01-31T08:00:00Z, found 'soon'"
    ]
