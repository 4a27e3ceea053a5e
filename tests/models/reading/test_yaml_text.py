"""YAML reads as kubectl reads it, and hostile documents fail early."""

from typing import Any

import pytest
import yaml

from models.reading.yaml_text import yaml_values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2025-01-31T08:00:00Z", "2025-01-31T08:00:00Z"),
        ("2025-01-31", "2025-01-31"),
        ("12:30:45", "12:30:45"),
        ("1_000", 1000),
        ("-_1_0.5_", -10.5),
        ("_1", "_1"),
        (".5_", ".5_"),
        ("0X1F", 31),
        ("1e21", 1e21),
        ("1e400", "1e400"),
        ("y", True),
        ("N", False),
        ("yES", "yES"),
        ("{.inf: 1, 1.0: 2, n: 3}", {".inf": 1, "1": 2, "false": 3}),
        ("0x1F", 31),
        ("017", 15),
        ("09", 9),
        ("1e3", 1000),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 1", "1"),
        ("yes", True),
        ("off", False),
        ("~", None),
        ('".inf"', ".inf"),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ("a: &x {p: 1}\nb: {<<: *x, q: 2}", {"a": {"p": 1}, "b": {"p": 1, "q": 2}}),
        ("a: &x {p: 1}\nb: {p: 3, <<: [*x, {p: 2, r: 4}]}", {"a": {"p": 1}, "b": {"p": 3, "r": 4}}),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Times and base-60 numbers stay strings; words, numbers and merges are YAML 1.1's."""
    assert list(yaml_values(text)) == [value]


@pytest.mark.parametrize("text", [".inf", "-.Inf", "[.NaN]"])
def test_what_json_has_no_value_for(text: str) -> None:
    """Infinity, and what is not a number; kubectl refuses them as well."""
    with pytest.raises(yaml.MarkedYAMLError, match="no value in JSON"):
        list(yaml_values(text))


def test_documents_are_counted_even_when_empty() -> None:
    """An empty document keeps its number, as a reader of the file would count."""
    assert list(yaml_values("a: 1\n---\n---\nb: 2\n")) == [{"a": 1}, None, {"b": 2}]


def test_an_anchor_ends_with_its_document() -> None:
    """An alias cannot reach into the document before."""
    with pytest.raises(yaml.MarkedYAMLError, match="no complete anchor"):
        list(yaml_values("a: &x 1\n---\nb: *x\n"))


def _bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(levels):
        aliases = ", ".join([f"*a{level}"] * 10)
        lines.append(f"a{level + 1}: &a{level + 1} [{aliases}]")
    return "\n".join(lines)


def _merge_bomb(levels: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    for level in range(levels):
        aliases = ", ".join([f"*a{level}"] * 10)
        lines.append(f"a{level + 1}: &a{level + 1} {{<<: [{aliases}]}}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_bomb(30), "aliases stand for more than"),
        (_merge_bomb(30), "aliases stand for more than"),
        ("a: &x [*x]", "no complete anchor"),
        ("[" * 100_000, "nested more than"),
        ("{a: " * 100_000, "nested more than"),
        ("- " * 5_000, "nested more than"),
        ("a: 1\nb: 2\na: 3", "the key 'a' appears twice"),
        ("{1: a, '1': b}", "the key '1' appears twice"),
        ("? [a]\n: b", "a key must be a string"),
        ("a: !Ref b", "tag !Ref is not understood"),
        ("{<<: 3}", "'<<' needs a map"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    """Bombs, cycles, depth, duplicate keys and foreign tags end in an error, not in a crash."""
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(yaml_values(text))
    assert problem in str(caught.value.problem)


def test_a_duplicate_key_is_reported_where_it_stands() -> None:
    """The line is that of the second key, not that of the map."""
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(yaml_values("a: 1\nb: 2\na: 3"))
    assert caught.value.problem_mark is not None
    assert caught.value.problem_mark.line == 2
