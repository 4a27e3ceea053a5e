"""What several processes read of a List is what one reads of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.reading.documents import FOOTER_WITHIN, ManifestDocument
from models.reading.shares import read_in_shares
from models.reading.texts import read_content
from tests import seeds
from tests.models.manifests import node, pod
from tests.models.reading.test_patterns import STYLES, replicas

#: Where shares meet is looked for in the first of so many pods.
COUNT = 900


def shared(path: Path, text: bytes, helpers: int) -> ManifestDocument | None:
    """The document as these processes read it."""
    path.write_bytes(text)
    with path.open("rb") as file:
        return read_in_shares(file, text[-FOOTER_WITHIN:], "list", len(text), helpers)


def listing(items: list[dict[str, Any]], style: dict[str, Any]) -> bytes:
    """A List, its kind behind the items."""
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style).encode()


@pytest.mark.parametrize(
    ("style", "helpers"), seeds.at_first(1, [(STYLES[2], 2), (STYLES[0], 1), (STYLES[1], 1)])
)
def test_shares_make_the_whole(tmp_path: Path, style: dict[str, Any], helpers: int) -> None:
    """The same objects in the same order; what is skipped and what is wrong, with its number in the List."""
    items = [*(node(f"n{number}") for number in range(20)), *replicas(COUNT)]
    items[300] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    items[-10] = pod("late", tolerations=[{"operator": "Foo"}])
    items[-5] = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": []}}
    text = listing(items, style)
    found, (expected,) = shared(tmp_path / "list", text, helpers), read_content(text, "list")
    assert found is not None
    assert found.objects == expected.objects
    assert list(map(repr, found.objects)) == list(map(repr, expected.objects))
    assert (found.problems, found.skipped, found.count) == (
        expected.problems,
        expected.skipped,
        expected.count,
    )
    assert f"items[{len(items) - 5}]" in found.problems[-1]


def test_what_only_looks_like_an_item(tmp_path: Path) -> None:
    """A share that begins inside of an object is not believed: one process has to read the List."""
    inner = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"in-{n}"}} for n in range(COUNT)]
    items = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "outer"}, "of": inner}, *replicas(5)]
    assert shared(tmp_path / "list", listing(items, STYLES[0]), 1) is None


@pytest.mark.parametrize("cut", seeds.at_first(1, [3, 1, 40]))
def test_a_truncated_list(tmp_path: Path, cut: int) -> None:
    """Nothing is half read."""
    text = listing(replicas(COUNT), STYLES[0])
    assert shared(tmp_path / "list", text[:-cut], 1) is None


@pytest.mark.long
def test_what_is_wrong_with_every_manifest_is_told(tmp_path: Path) -> None:
    """A field that the API does not have, in manifests that are alike: a helper learns nothing of them."""
    spec = {"containers": [{"name": "main", "image": "web"}], "nodename": "n1"}
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec}
        for number in range(COUNT)
    ]
    text = listing(items, STYLES[0])
    found = shared(tmp_path / "list", text, 1)
    assert found is not None
    assert len(found.problems) == COUNT
    assert found.problems == read_content(text, "list")[0].problems
