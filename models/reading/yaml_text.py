"""YAML text -> plain values as kubectl understands it, safe against hostile documents.

Built on parser events, without recursion: depth and the growth through aliases are limited,
duplicate keys are refused, and times stay strings.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DEEPEST = 100
#: What every object of Kubernetes has once, at its beginning.
_FIRST_KEYS = frozenset(("apiVersion", "kind"))
_MOST_ALIASED_VALUES = 1_000_000
#: Below this, what is whole has no decimal point in JSON.
_WHOLE = 1e21
_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = {None, "!", *(_TAG + name for name in ("str", "int", "float", "bool", "null"))}
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|[1-9][0-9]{0,99}|0)")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def yaml_values(text: str) -> Iterator[Any]:
    """The value of each document; a yaml.MarkedYAMLError at the first thing that is wrong."""
    document = _YamlDocument()
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            document = _YamlDocument()
        elif isinstance(event, yaml.DocumentEndEvent):
            yield document.value
        elif isinstance(event, yaml.NodeEvent):
            document.open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            document.close(event)


class _Collection:
    """A list or a map that is still being read."""

    def __init__(self, event: Any, size_before: int) -> None:
        self.event = event
        self.size_before = size_before
        self.items: list[Any] = []
        self.keys: set[str] = set()

    def add(self, value: Any, event: Any) -> None:
        """Take in an item, a key or a value, and refuse a key that was there before."""
        if self.expects_key and value is not _MERGE:
            value = _key(value, event)
            if value in self.keys:
                hint = " (is a line with --- missing before it?)" if value in _FIRST_KEYS else ""
                raise _error(f"the key {value!r} appears twice{hint}", event)
            self.keys.add(value)
        self.items.append(value)

    @property
    def expects_key(self) -> bool:
        """Whether the next thing is the key of a map."""
        return isinstance(self.event, yaml.MappingStartEvent) and len(self.items) % 2 == 0

    def value(self) -> Any:
        """The finished list or dictionary."""
        if isinstance(self.event, yaml.SequenceStartEvent):
            return self.items
        return self._map()

    def _map(self) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in zip(self.items[::2], self.items[1::2], strict=True):
            if key is _MERGE:
                merged = self._merged(value) | merged
            else:
                own[key] = value
        return merged | own if merged else own

    def _merged(self, value: Any) -> dict[str, Any]:
        maps = value if isinstance(value, list) else [value]
        merged: dict[str, Any] = {}
        for each in maps:
            if not isinstance(each, dict):
                raise _error("'<<' needs a map, or a list of maps", self.event)
            merged = each | merged
        return merged


class _YamlDocument:
    """The document that is being read, as a stack of open collections."""

    def __init__(self) -> None:
        self.value: Any = None
        self.size = 0
        self.aliased = 0
        self.stack: list[_Collection] = []
        self.anchors: dict[str, tuple[Any, int]] = {}

    def open(self, event: Any) -> None:
        """Take in a scalar or an alias, or begin a collection."""
        if isinstance(event, yaml.AliasEvent):
            self._add(self._aliased(event), event)
        elif isinstance(event, yaml.ScalarEvent):
            is_key = bool(self.stack) and self.stack[-1].expects_key
            self._finish(event, _scalar(event, is_key), self.size)
        elif len(self.stack) >= _DEEPEST:
            raise _error(f"nested more than {_DEEPEST} levels deep", event)
        else:
            self.stack.append(_Collection(event, self.size))

    def close(self, event: Any) -> None:
        """Take in the innermost collection, which is complete."""
        collection = self.stack.pop()
        self._finish(collection.event, collection.value(), collection.size_before)

    def _finish(self, event: Any, value: Any, size_before: int) -> None:
        self.size += 1
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.size - size_before)
        self._add(value, event)

    def _add(self, value: Any, event: Any) -> None:
        if self.stack:
            self.stack[-1].add(value, event)
        else:
            self.value = value

    def _aliased(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise _error(f"the alias *{event.anchor} has no complete anchor before it", event)
        value, size = self.anchors[event.anchor]
        self.size += size
        self.aliased += size
        if self.aliased > _MOST_ALIASED_VALUES:
            raise _error(f"aliases stand for more than {_MOST_ALIASED_VALUES:,} values", event)
        return value


class _Merge:
    """The key `<<`."""


_MERGE = _Merge()


def _scalar(event: Any, is_key: bool) -> Any:
    if event.tag not in _KNOWN_TAGS:
        raise _error(f"the tag {event.tag} is not understood", event)
    text: str = event.value
    if event.tag == f"{_TAG}str" or not (event.implicit[0] or event.tag):
        return text
    if is_key and text == "<<":
        return _MERGE
    if _NO_NUMBER.fullmatch(text) and not is_key:
        raise _error(f"{text} is no value in JSON", event)
    return _plain(text)


def is_text(scalar: str) -> bool:
    """Whether these letters without quotes are a text, not a number or another value."""
    return not _NO_NUMBER.fullmatch(scalar) and isinstance(_plain(scalar), str)


def _plain(text: str) -> Any:
    """An unquoted scalar as YAML 1.1 reads it, without its base-60 numbers and times."""
    if text in _WORDS:
        return _WORDS[text]
    number = text if text.startswith(("_", ".")) else text.replace("_", "")
    if _INTEGER.fullmatch(number):
        return _integer(number)
    if _FLOAT.fullmatch(number) and math.isfinite(value := float(number)):
        return int(value) if value.is_integer() and abs(value) < _WHOLE else value
    return text


def _integer(text: str) -> int:
    digits = text.lstrip("+-").lower()
    base = 0 if digits[:2] in {"0b", "0o", "0x"} else 8 if digits[0] == "0" else 10
    return int(text, base)


def _key(key: Any, event: Any) -> str:
    """A key as JSON has it; kubectl, too, turns numbers and booleans into strings."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return str(key)
    # The double braces of a Helm chart are a mapping for a key.
    hint = (
        " (where this is a template, `helm template` makes manifests of it)" if isinstance(key, dict) else ""
    )
    raise _error(f"a key must be a string{hint}", event)


def _error(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
