"""A document as JSON in parts: one of a million steps is never a single text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter

from planner.documents.plan import Document, DocumentPart

#: So many items of a list are written together.
_TOGETHER = 1_000
#: What says in the line of an object which list of the document it is of.
LIST = "list"


def json_pieces(document: Document) -> Iterator[str]:
    """What `to_json` gives, cut at some of its line breaks."""
    yield "{"
    held: list[str] = []
    for name in type(document).model_fields:
        for number, piece in enumerate(_pieces(document, name)):
            if held:
                yield held.pop() + ("" if number else ",")
            held.append(piece)
    yield from (*held, "}")


def json_lines(document: Document) -> Iterator[str]:
    """A line with the document without its lists of objects, then a line for each of these objects."""
    lists = [name for name in type(document).model_fields if _item_type(type(document), name) is not None]
    without = document.not_asked_for() or ()
    yield document.model_dump_json(by_alias=True, exclude={*lists, *without})
    for name in lists:
        if name in without and not isinstance(without, dict):
            continue
        adapter = _adapter(type(document), name)
        unsaid = _without(document, name)
        begin = f'{{"{LIST}":"{_alias(document, name)}"'
        for item in _objects(document, name):
            text = adapter.dump_json(item, by_alias=True, exclude=unsaid).decode()
            yield f"{begin},{text[1:]}" if text != "{}" else f"{begin}}}"


def _pieces(document: Document, name: str) -> Iterator[str]:
    """A field as it stands in the indented document; a long list in several pieces."""
    items = _objects(document, name)
    if len(items) <= _TOGETHER:
        found = _dump(document, name)
        if found != "{}":
            yield found.removeprefix("{\n").removesuffix("\n}")
        return
    begin = f'  "{_alias(document, name)}": ['
    yield begin
    for place in range(0, len(items), _TOGETHER):
        some = document.model_copy(update={name: items[place : place + _TOGETHER]})
        inside = _dump(some, name)
        comma = "," if place + _TOGETHER < len(items) else ""
        yield inside.removeprefix(f"{{\n{begin}\n").removesuffix("\n  ]\n}") + comma
    yield "  ]"


def _dump(document: Document, name: str) -> str:
    """The document with this field alone, as it stands in the whole one."""
    return document.model_dump_json(by_alias=True, include={name}, exclude=document.not_asked_for(), indent=2)


def _objects(document: Document, name: str) -> Sequence[DocumentPart]:
    """What is in a list of objects; of any other field nothing."""
    found: Sequence[DocumentPart] = getattr(document, name) if _item_type(type(document), name) else ()
    return found


def _without(document: Document, name: str) -> Any:
    """What was not asked for of the objects in a list."""
    without = document.not_asked_for()
    return without[name]["__all__"] if isinstance(without, dict) and name in without else None


def _alias(document: Document, name: str) -> str:
    return type(document).model_fields[name].alias or name


@cache
def _item_type(kind: type[Document], name: str) -> type[DocumentPart] | None:
    """The type of the objects that a list holds; None where the field is anything else."""
    annotation = kind.model_fields[name].annotation
    inner = get_args(annotation)[0] if get_origin(annotation) is tuple else None
    return inner if isinstance(inner, type) and issubclass(inner, DocumentPart) else None


@cache
def _adapter(kind: type[Document], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_item_type(kind, name) or DocumentPart)
