"""Scalars without quotes, as kubectl reads them."""

import json
import re

import pytest

from models.reading.yaml_text import yaml_values
from tests.e2e.control_plane import ControlPlane

HEAD = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: x}\nspec:\n"
TO_JSON = ("kubectl", "annotate", "--local", "-f", "-", "k=v", "-o", "json")
WORDS = [
    "y",
    "Y",
    "n",
    "N",
    "yes",
    "no",
    "on",
    "off",
    "true",
    "yES",
    "1_000",
    "1__0",
    "_1",
    "1_",
    "0x_F",
    "0b1_0",
    "0o17",
    "017",
    "08",
    "0o8",
    "1e3",
    "1E3",
    "1.",
    "1.5",
    "-.5",
    "+.5",
    "+1",
    "1_0.5",
    "1:30",
    "0x1F",
    "-0x1F",
    "+0b1",
    "1e",
    "1e400",
    "0777",
    "-017",
    "5.",
    "0.0",
    "-0",
    "2024-01-01",
    "nULL",
    "0b",
    "0b2",
    "1e+3",
    "1.e3",
    ".5e1",
    "0O17",
    "0B1",
    "0X1",
    "9007199254740993",
    "1.5_0",
    ".5_",
    "1e1_0",
    "_",
    "-_1",
    "+_1",
    ".e1",
    "1._5",
    "0_7",
    "0_8",
    "00",
    "1e20",
    "1e21",
    "1e308",
    "Inf",
    "nan",
    ".iNF",
    "-.nan",
]


@pytest.mark.parametrize("line", ["  w{}: {}\n", "  {1}: {0}\n"], ids=["values", "keys"])
def test_scalars_are_what_kubectl_reads(live: ControlPlane, line: str) -> None:
    """Values and keys. Of these none is read twice, and none has an exponent, which kubectl rounds."""
    keys = {str(next(yaml_values(word))): word for word in WORDS if not re.search(r"\d\.?e", word, re.I)}
    words = [*keys.values()] if "{1}" in line else WORDS
    text = HEAD + "".join(line.format(number, word) for number, word in enumerate(words))
    ended = live.run(*TO_JSON, given=text)
    assert ended.returncode == 0, ended.stderr
    (found,) = yaml_values(text)
    assert json.loads(json.dumps(found["spec"])) == json.loads(ended.stdout)["spec"]


@pytest.mark.parametrize("word", [".inf", "-.Inf", "+.INF", ".NaN"])
def test_what_kubectl_refuses(live: ControlPlane, word: str) -> None:
    """And so does the reader: tests/models/reading/test_yaml_text.py."""
    ended = live.run(*TO_JSON, given=f"{HEAD}  a: {word}\n")
    assert "unsupported value" in ended.stderr
