"""How to make an object of a pattern from the strings that are its own, without parsing it."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from pydantic import BaseModel, TypeAdapter

from models.objects.base import KubeObject, Time

Values = Sequence[str]
Maker = Callable[[Values], Any]
Path = tuple[str, ...]

TOKEN_VOLUME = "kube-api-access-"
_TOKEN_VOLUME_NAME = re.compile(TOKEN_VOLUME + "[a-z0-9]{5}")
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_OF_METADATA = ("metadata",)
#: Where plain strings stand that no validator looks at, by kind.
_FREE: Mapping[str, tuple[Path, ...]] = {
    "Pod": (
        _OF_METADATA,
        ("status",),
        ("spec", "node_name"),
        ("spec", "volumes"),
        ("spec", "affinity", "node_affinity", "required", "node_selector_terms", "match_fields", "values"),
    ),
    "Node": (_OF_METADATA, ("spec", "provider_id"), ("status", "conditions")),
}
KINDS = frozenset(_FREE)


class NoPatternError(Exception):
    """The objects differ in more than free strings."""


def mark(value: bytes, number: int) -> bytes:
    """A string to put into a hole, by which it is found again in the object; of the hole's own kind."""
    if _TIME.fullmatch(value):
        return b"2001-%02d-01T00:%02d:00Z" % (number // 60 + 1, number % 60)
    if is_token_volume(value.decode(errors="replace")):
        return TOKEN_VOLUME.encode() + b"marks"
    return b"mark-%d" % number


def is_token_volume(text: str) -> bool:
    """Whether this is a pod's own name for the volume with the token of its service account."""
    return _TOKEN_VOLUME_NAME.fullmatch(text) is not None


def maker(plain: KubeObject, marked: KubeObject, marks: Mapping[str, int]) -> Maker:
    """What makes such an object, given an example, the same with marks in its holes, and the marks.

    Whatever is not a hole is shared by all objects that it makes.
    """
    if type(plain) is not type(marked):
        raise NoPatternError
    holes = _Holes(plain.kind, marks)
    make = _maker(plain, marked, (), holes) or (lambda values: plain)
    unread = holes.unread_times()
    return _checking(unread, make) if unread else make


def _checking(times: Sequence[int], make: Maker) -> Maker:
    """The same, where the strings in some holes have to be times although the object does not keep them."""

    def checked(values: Values) -> Any:
        for number in times:
            _time(values[number])
        return make(values)

    return checked


class _Holes:
    """The holes by their marks."""

    def __init__(self, kind: str, marks: Mapping[str, int]) -> None:
        self._free = _FREE[kind]
        self._strings = marks
        times = (text for text in marks if _TIME.fullmatch(text.encode()))
        self._times = {_time(text): marks[text] for text in times}
        self._read = set[datetime]()

    def unread_times(self) -> list[int]:
        """The holes with times that no maker was asked for."""
        return [number for time, number in self._times.items() if time not in self._read]

    def maker(self, found: object, path: Path) -> Maker:
        if not any(path[: len(free)] == free for free in self._free):
            raise NoPatternError
        if isinstance(found, str) and found in self._strings:
            return itemgetter(self._strings[found])
        if isinstance(found, datetime) and found in self._times:
            number = self._times[found]
            self._read.add(found)
            return lambda values: _time(values[number])
        raise NoPatternError


def _maker(plain: Any, marked: Any, path: Path, holes: _Holes) -> Maker | None:
    """What makes this part; None where it is the same in all objects."""
    if plain is marked:
        return None
    if type(plain) is not type(marked):
        raise NoPatternError
    if isinstance(plain, BaseModel):
        if plain.model_fields_set != marked.model_fields_set:
            raise NoPatternError
        changes = _changes(plain.__dict__, marked.__dict__, path, holes)
        return _model_maker(plain, changes) if changes else None
    if isinstance(plain, dict):
        within = _changes(plain, marked, path, holes, keys=True)
        return _dict_maker(plain, within) if within else None
    if isinstance(plain, tuple | list):
        if len(plain) != len(marked):
            raise NoPatternError
        parts = [_maker(a, b, path, holes) for a, b in zip(plain, marked, strict=True)]
        return _tuple_maker(plain, parts) if any(parts) else None
    return None if plain == marked else holes.maker(marked, path)


def _changes(
    plain: Mapping[str, Any], marked: Mapping[str, Any], path: Path, holes: _Holes, *, keys: bool = False
) -> list[tuple[str, Maker]]:
    """What makes the entries that differ; keys of maps are no part of a path."""
    if list(plain) != list(marked):
        raise NoPatternError
    found = (
        (name, _maker(value, marked[name], path if keys else (*path, name), holes))
        for name, value in plain.items()
    )
    return [(name, make) for name, make in found if make is not None]


def _model_maker(plain: BaseModel, changes: Sequence[tuple[str, Maker]]) -> Maker:
    # What pydantic's own model_copy does, without asking anything of the model again.
    kind, fields, fields_set = type(plain), dict(plain.__dict__), plain.model_fields_set
    new, put = kind.__new__, object.__setattr__

    def make(values: Values) -> BaseModel:
        made = new(kind)
        own = fields.copy()
        for name, inner in changes:
            own[name] = inner(values)
        put(made, "__dict__", own)
        put(made, "__pydantic_fields_set__", fields_set)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    return make


def _dict_maker(plain: dict[str, Any], changes: Sequence[tuple[str, Maker]]) -> Maker:
    fields = dict(plain)

    def make(values: Values) -> dict[str, Any]:
        own = fields.copy()
        for name, inner in changes:
            own[name] = inner(values)
        return own

    return make


def _tuple_maker(plain: Sequence[Any], parts: Sequence[Maker | None]) -> Maker:
    if not isinstance(plain, tuple):
        raise NoPatternError
    pairs = list(zip(plain, parts, strict=True))
    return lambda values: tuple([value if make is None else make(values) for value, make in pairs])


@lru_cache(maxsize=65_536)
def _time(text: str) -> datetime:
    """The time as models read it; a pydantic ValidationError where it is none."""
    return _times().validate_json(f'"{text}"', strict=True)


@cache
def _times() -> TypeAdapter[datetime]:
    return TypeAdapter(Time)
