"""Data in a page: as JSON, or where it is large packed and compressed.

Packed means that a map of many counts, such as pods by hostname, is `{"@keys": K, "@runs": [N, COUNT, ...]}`:
its keys are the list with number K of `keys`, its values runs of so many equal counts. Any other key that
begins with `@` has one more before it.
`report.js` has the counterpart of `unpacked`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

#: Larger texts are compressed.
_LARGE = 100_000
#: Larger maps of counts are packed.
_MANY = 32
_KEYS, _RUNS = "@keys", "@runs"
#: Within a script element these could end it, or a line of it.
_UNSAFE: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def embedded(data: object) -> tuple[str, str]:
    """(type, text) of a script element that holds the data."""
    text = _compact(data)
    if len(text) <= _LARGE:
        return "application/json", text.translate(str.maketrans(_UNSAFE))
    keys: dict[tuple[str, ...], int] = {}
    packed = _packed(data, keys)
    whole = _compact({"keys": [list(key) for key in keys], "data": packed}).encode()
    return "application/gzip+base64", base64.b64encode(gzip.compress(whole, 9, mtime=0)).decode()


def extracted(kind: str, text: str) -> Any:
    """What was embedded."""
    if kind == "application/json":
        return json.loads(text)
    whole = json.loads(gzip.decompress(base64.b64decode(text)))
    return _unpacked(whole["data"], whole["keys"])


def _compact(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _packed(data: Any, keys: dict[tuple[str, ...], int]) -> Any:
    if isinstance(data, list | tuple):
        return [_packed(item, keys) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) > _MANY and all(type(value) is int for value in data.values()):
        number = keys.setdefault(tuple(data), len(keys))
        return {_KEYS: number, _RUNS: [*_runs(list(data.values()))]}
    return {f"@{key}" if key.startswith("@") else key: _packed(value, keys) for key, value in data.items()}


def _runs(counts: Sequence[int]) -> Iterator[int]:
    for count, run in groupby(counts):
        yield sum(1 for _ in run)
        yield count


def _unpacked(data: Any, keys: Sequence[Sequence[str]]) -> Any:
    if isinstance(data, list):
        return [_unpacked(item, keys) for item in data]
    if not isinstance(data, dict):
        return data
    if _KEYS in data:
        runs = data[_RUNS]
        values = [count for number, count in zip(runs[::2], runs[1::2], strict=True) for _ in range(number)]
        return dict(zip(keys[data[_KEYS]], values, strict=True))
    return {key.removeprefix("@"): _unpacked(value, keys) for key, value in data.items()}
