"""What is printed as YAML is what kubectl would read."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.output.yaml_text import yaml_text
from models.reading.yaml_text import yaml_values
from tests.seeds import tries

TEXTS = st.text(max_size=8) | st.from_regex(r"\A[-+]?[0-9_.]*([eE][-+]?[0-9_]+|[yYnN]|\.inf)?\Z")
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(PLAIN)
@settings(max_examples=tries(20))
def test_what_is_written_reads_back(value: Any) -> None:
    """Every text, also one that looks like a number or a boolean."""
    assert list(yaml_values(yaml_text(value))) == [value]


@pytest.mark.parametrize("text", ["n", "Y", "1e3", "1_000", ".inf", "0O17"])
def test_quotes_where_kubectl_needs_them(text: str) -> None:
    """PyYAML itself writes these without."""
    assert yaml_text({"zone": text}) == f"zone: '{text}'"
    assert yaml_text({text: "zone"}) == f"'{text}': zone"
