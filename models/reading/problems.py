"""What pydantic found wrong, as lines in the words of a manifest's author."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from models.objects.base import NULL_LABEL, VALUE_LABEL

Location = tuple[int | str, ...]

_WHOLE = {
    "missing": "is required",
    "string_too_short": "must not be empty",
    "union_tag_invalid": "is required, as in every Kubernetes object",
    "union_tag_not_found": "is required, as in every Kubernetes object",
}
_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a map",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than_equal": "at least {ge}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "string_type": "a string",
    "tuple_type": "a list",
    "datetime_type": "a time such as 2025-01-31T08:00:00Z",
    "datetime_parsing": "a time such as 2025-01-31T08:00:00Z",
    "datetime_from_date_parsing": "a time such as 2025-01-31T08:00:00Z",
    "timezone_naive": "a time with its zone",
}
_NO_KIND = {"union_tag_invalid", "union_tag_not_found"}
_LONGEST_FOUND = 60
_TABLE = re.compile(r"(NAMESPACE|NAME)\s")


def problems_in(error: ValidationError) -> Iterator[tuple[Location, str]]:
    """(where, what was expected and found) for each thing wrong, without repetitions."""
    for detail in error.errors(include_url=False):
        if NULL_LABEL not in detail["loc"]:
            location = tuple(part for part in detail["loc"] if part != VALUE_LABEL)
            no_kind = detail["type"] in _NO_KIND
            yield (*location, "kind") if no_kind else location, _sentence(detail)


def is_broken(error: ValidationError) -> bool:
    """Whether the text was no JSON at all."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return details[0]["type"] == "json_invalid"


def field_path(location: Sequence[int | str]) -> str:
    """A location as Kubernetes writes it: `spec.containers[0].name`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def shown(value: Any) -> str:
    """A value as it stood in the manifest, shortened."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_FOUND else text[:_LONGEST_FOUND] + "..."


def _sentence(detail: Any) -> str:
    kind, found, context = detail["type"], shown(detail["input"]), detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in _WHOLE:
        return _WHOLE[kind]
    if isinstance(detail["input"], str) and _TABLE.match(detail["input"]):
        return "a table that kubectl printed: it prints manifests with -o json or -o yaml"
    expected = _EXPECTED.get(kind, "")
    return f"expected {expected.format(**context)}, found {found}" if expected else str(detail["msg"])
