"""What the API server does not decode: fields that there are not, values of other types, keys given twice.

Looked at are manifests: what has been through the API server has an identity or a status, and only known
fields.  Of the workloads of Argo Rollouts and OpenKruise it is the pod template that is looked at.
`known_fields.json` is the table of release 1.36.2; `tests/control_plane/known_fields.py` makes it.
"""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from models.objects.custom_workload import is_of_others

_FROM_API_SERVER = re.compile(rb'"(?:uid|creationTimestamp)"\s*:\s*"|"status"\s*:\s*\{\s*"')
_ANYTHING = -1
_SHOWN = 40
_TABLE = Path(__file__).with_name("known_fields.json")


#: The type of something by its number, a scalar by its name, a list or a map of them; -1 for anything.
_Shape = int | str | list[Any] | dict[str, Any]
_SCALARS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "string": "a string",
}


class _KnownFields(NamedTuple):
    """What is in the fields of every type; the type of every kind."""

    kinds: dict[str, int]
    types: list[dict[str, _Shape]]


def mistakes(text: bytes, kind: str) -> Iterator[str]:
    """What is wrong with the keys of a manifest, in the API server's words."""
    if _FROM_API_SERVER.search(text):
        return
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) < len(found):
            keys = [key for key, _ in found]
            twice.extend(sorted({key for key in keys if keys.count(key) > 1}))
        return value

    item = json.loads(text, object_pairs_hook=pairs)
    yield from (f'duplicate field "{key}"' for key in twice)
    known = _known()
    number = known.kinds.get(f"{item.get('apiVersion', '')} {item.get('kind', kind)}", _ANYTHING)
    yield from _wrong(item, number, known.types, "")
    if is_of_others(str(item.get("apiVersion", ""))):
        template = item["spec"].get("template") if isinstance(item.get("spec"), dict) else None
        yield from _wrong(template, _template(known), known.types, "spec.template")


@cache
def _known() -> _KnownFields:
    return _KnownFields(**json.loads(_TABLE.read_bytes()))


def _template(known: _KnownFields) -> _Shape:
    spec = known.types[known.kinds["apps/v1 Deployment"]]["spec"]
    return known.types[spec]["template"] if isinstance(spec, int) else _ANYTHING


def _wrong(value: Any, shape: _Shape, types: list[dict[str, _Shape]], path: str) -> Iterator[str]:
    if value is None or shape == _ANYTHING:
        return
    if not _is_of(value, shape):
        yield f"{path}: expected {_words(shape)}, found {json.dumps(value)[:_SHOWN]}"
        return
    match shape:
        case [inside]:
            for place, part in enumerate(value):
                yield from _wrong(part, inside, types, f"{path}[{place}]")
        case {"*": inside}:
            for name, part in value.items():
                yield from _wrong(part, inside, types, f"{path}[{name}]")
        case int():
            yield from _wrong_fields(value, types[shape], types, path)


def _wrong_fields(
    value: dict[str, Any], fields: dict[str, _Shape], types: list[dict[str, _Shape]], path: str
) -> Iterator[str]:
    for name, part in value.items():
        where = f"{path}.{name}" if path else name
        if name in fields:
            yield from _wrong(part, fields[name], types, where)
        else:
            near = get_close_matches(name, fields, 1)
            yield f'unknown field "{where}"' + (f', did you mean "{near[0]}"?' if near else "")


def _is_of(value: Any, shape: _Shape) -> bool:
    match shape:
        case "integer":
            return type(value) is int or (isinstance(value, float) and value.is_integer())
        case str():
            return isinstance(value, bool if shape == "boolean" else str)
        case [_]:
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _words(shape: _Shape) -> str:
    match shape:
        case str():
            return _SCALARS[shape]
        case [_]:
            return "a list"
        case _:
            return "a map"
