"""Lists are cut into their items exactly, however they are printed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.reading.json_split import each_item, find_items, json_values

KEYS = st.sampled_from(["a", "kind", "apiVersion", "items"])
SCALARS = st.sampled_from([None, 1, "v1", "Pod", '},{"kind":"', "]}", '\\"', "é", "{", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.builds(
    lambda version, rest: {"apiVersion": version, "kind": "Pod", **rest},
    st.sampled_from(["v1", "apps/v1"]),
    st.dictionaries(st.sampled_from(["metadata", "spec", "items"]), VALUES, max_size=2),
)
ITEMS = st.lists(OBJECTS | VALUES, min_size=1, max_size=4)
STYLES = [
    {"separators": (",", ":")},
    {},
    {"indent": 4},
    {"indent": 2, "separators": (" , ", " : ")},
    {"sort_keys": True, "indent": 4},
]


def split(text: bytes) -> tuple[list[Any], bytes]:
    """The items as values, and what follows them."""
    items: list[Any] = []

    def read(item: bytes) -> bool:
        try:
            items.append(json.loads(item))
        except json.JSONDecodeError:
            return False
        return True

    begin = find_items(text)
    assert begin is not None
    return items, text[each_item(text, begin, read) :]


@given(ITEMS, st.sampled_from(STYLES))
def test_the_items_are_those_of_the_list(items: list[Any], style: dict[str, Any]) -> None:
    """Whatever stands in strings or nested lists, the items are what the whole would parse to."""
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, **style).encode()
    found, rest = split(text)
    assert found == items
    assert rest.startswith(b"]")


def test_many_false_proposals_cost_little() -> None:
    """Items that look alike on the inside are cut by the slower, exact way."""
    inner = [{"apiVersion": "v1", "kind": "Pod"} for _ in range(100)]
    items = [{"apiVersion": "v1", "kind": "Pod", "of": inner} for _ in range(10)]
    text = json.dumps({"items": items, "kind": "List"}, separators=(",", ":")).encode()
    assert split(text)[0] == items


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Pod", "spec": {"items": [{"key": "a"}]}}',
        '{"items": 3}',
        "[1]",
        "",
        '"items": [1',
    ],
)
def test_what_is_no_list(text: str) -> None:
    """Only a list of items in the outermost object counts."""
    assert find_items(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b'{"a": 1}\n{"b": "\xc3\xa9"}', [b'{"a": 1}', b'{"b": "\xc3\xa9"}']),
        (b'{"a": 1}{"b": 2} {"c"', [b'{"a": 1}', b'{"b": 2}', b'{"c"']),
        (b"  ", []),
    ],
)
def test_values_that_follow_each_other(text: bytes, values: list[bytes]) -> None:
    """JSON lines and documents without anything between them; a broken end is kept."""
    assert json_values(text) == values
