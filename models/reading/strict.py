"""Fields that the API does not have, as `kubectl --validate=strict` refuses them, and keys given twice.

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
_TABLE = Path(__file__).with_name("known_fields.json")


class _KnownFields(NamedTuple):
    """Types as maps from field to the type of what is inside, -1 for anything; the type of every kind."""

    kinds: dict[str, int]
    types: list[dict[str, int]]


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
    number = known.kinds.get(f"{item.get('apiVersion', '')} {item.get('kind', kind)}", -1)
    yield from _unknown(item, number, known.types, "")
    if is_of_others(str(item.get("apiVersion", ""))):
        spec = known.types[known.types[known.kinds["apps/v1 Deployment"]]["spec"]]
        template = item["spec"].get("template") if isinstance(item.get("spec"), dict) else None
        yield from _unknown(template, spec["template"], known.types, "spec.template")


@cache
def _known() -> _KnownFields:
    return _KnownFields(**json.loads(_TABLE.read_bytes()))


def _unknown(value: Any, number: int, types: list[dict[str, int]], path: str) -> Iterator[str]:
    if number < 0:
        return
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from _unknown(part, number, types, f"{path}[{place}]")
    elif isinstance(value, dict):
        fields = types[number]
        for name, part in value.items():
            where = f"{path}.{name}" if path else name
            if name in fields:
                yield from _unknown(part, fields[name], types, where)
            else:
                near = get_close_matches(name, fields, 1)
                yield f'unknown field "{where}"' + (f', did you mean "{near[0]}"?' if near else "")
