"""What the API server does not decode: fields that there are not, values of other types, keys given twice.

Looked at are manifests: what has been through the API server has an identity or a status, and only known
fields.  Of the workloads of Argo Rollouts and OpenKruise it is the pod template that is looked at.
`known_fields.json` is the table of release 1.36.2; `tests/control_plane/known_fields.py` makes it.
The configurations of kube-scheduler and Descheduler are looked at as these do.
"""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from models.admission.validation.descheduler import invalid_policy
from models.admission.validation.scheduler import invalid_configuration
from models.objects.custom_workload import is_of_others
from models.reading.configuration_fields import CONFIGURATIONS, DESCHEDULER, SCHEDULER, arguments

_FROM_API_SERVER = re.compile(rb'"(?:uid|creationTimestamp)"\s*:\s*"|"status"\s*:\s*\{\s*"')
_ANYTHING = -1
_SHOWN = 40
_TABLE = Path(__file__).with_name("known_fields.json")


#: The type of something: its number, its fields, the name of a scalar, a list or map of one; -1 is anything.
_Shape = int | str | list[Any] | dict[str, Any]
_SCALARS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
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
    if item.get("kind") == SCHEDULER:
        yield from _wrong(item, CONFIGURATIONS[SCHEDULER], known.types, "")
        yield from invalid_configuration(item)
    if item.get("kind") == DESCHEDULER:
        yield from invalid_policy(item)
    if item.get("kind") in CONFIGURATIONS:
        yield from _wrong_arguments(item, known)
    number = known.kinds.get(f"{item.get('apiVersion', '')} {item.get('kind', kind)}", _ANYTHING)
    yield from _wrong(item, number, known.types, "")
    if is_of_others(str(item.get("apiVersion", ""))):
        template = item["spec"].get("template") if isinstance(item.get("spec"), dict) else None
        yield from _wrong(
            template, _inside("apps/v1 Deployment", "spec", "template"), known.types, "spec.template"
        )


def passed_over(text: bytes, kind: str) -> Iterator[str]:
    """The fields of a DeschedulerPolicy that Descheduler passes over."""
    if kind == DESCHEDULER:
        yield from _wrong(json.loads(text), CONFIGURATIONS[DESCHEDULER], _known().types, "")


def _wrong_arguments(item: dict[str, Any], known: _KnownFields) -> Iterator[str]:
    """What is wrong with the keys of plugins' arguments."""
    shapes = _arguments()[item["kind"]]
    for number, profile in enumerate(item.get("profiles") or ()):
        for place, config in enumerate(profile.get("pluginConfig") or ()):
            path = f"profiles[{number}].pluginConfig[{place}].args"
            yield from _wrong(
                config.get("args"), shapes.get(config.get("name"), _ANYTHING), known.types, path
            )


@cache
def _arguments() -> dict[str, dict[str, dict[str, _Shape]]]:
    """The fields of the arguments of each configuration's plugins."""
    pod = ("v1 Pod", "spec")
    return arguments(
        _inside(*pod, "affinity", "nodeAffinity"),
        _inside(*pod, "topologySpreadConstraints", "*"),
        _inside("apps/v1 Deployment", "spec", "selector"),
    )


@cache
def _known() -> _KnownFields:
    return _KnownFields(**json.loads(_TABLE.read_bytes()))


def _inside(kind: str, *fields: str) -> _Shape:
    """The type of what is in a field of a kind; `*` is an item of a list."""
    known = _known()
    shape: Any = known.kinds[kind]
    for field in fields:
        shape = shape[0] if field == "*" else known.types[shape][field]
    found: _Shape = shape
    return found


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
        case dict():
            yield from _wrong_fields(value, shape, types, path)
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
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
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
