"""The content of a file -> its objects as they were printed, one by one."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from models.errors import InputError
from models.reading.documents import FOOTER_WITHIN, MAGIC, list_begin
from models.reading.json_split import each_item, find_items, json_values
from models.reading.texts import unpacked

Manifest = dict[str, Any]


def each_object(content: bytes, name: str, take: Callable[[Manifest], None]) -> None:
    """Hand over every object of a file, JSON or YAML, gzipped or not; the name is for messages."""
    plain = unpacked(content, name)
    if plain.startswith(MAGIC):
        # Its models take a moment to define, which others need not wait for.
        from models.reading.compact import compact_texts

        for text in compact_texts(io.BytesIO(plain), name):
            take(json.loads(text))
        return
    begin = find_items(plain)
    if begin is None:
        for value in _values(plain, name):
            for item in _items(value, name):
                take(item)
        return

    def read(text: bytes) -> bool:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return False
        take(typed(found, head, name))
        return True

    head = list_head(plain, begin, plain[-FOOTER_WITHIN:])
    end = each_item(plain, begin, read)
    what_follows(plain[:begin] + plain[end:], head, name, take)


def what_follows(around: bytes, head: Manifest, name: str, take: Callable[[Manifest], None]) -> None:
    """Hand over the objects of all documents behind a List, given what is around its items, and its head."""
    listing, *documents = json_values(around)
    try:
        found = json.loads(listing)
    except (ValueError, RecursionError) as error:
        raise InputError([f"{name}: broken JSON: {error}"]) from None
    # Objects of a plain List say themselves what they are.
    if found.get("kind") not in {"List", head.get("kind")}:
        raise InputError(
            [f"{name}: the kind of a List has to be before its items, or at the end of the file"]
        )
    for document in documents:
        each_object(document, name, take)


def list_head(plain: bytes, begin: int, footer: bytes) -> Manifest:
    """What the List says before its items, and its kind, which may stand behind them."""
    found: Manifest = json.loads(plain[:begin] + b"]}")
    known = list_begin(plain, footer)
    return found if known is None else {"kind": f"{known[1]}List", **found}


def _values(plain: bytes, name: str) -> Iterator[Any]:
    # As a document begins with `---`, all of them are YAML, some in flow style.
    if plain.lstrip()[:1] in (b"{", b"[") and b"\n---" not in plain:
        try:
            yield from [json.loads(text) for text in json_values(plain)]
        except (ValueError, RecursionError) as error:
            raise InputError([f"{name}: broken JSON: {error}"]) from None
        return
    import yaml

    from models.reading.yaml_documents import yaml_problem
    from models.reading.yaml_text import yaml_values

    try:
        text = plain.decode()
    except UnicodeDecodeError as error:
        raise InputError([f"{name}: broken YAML: {error}"]) from None
    try:
        yield from [value for value in yaml_values(text) if value is not None]
    except yaml.YAMLError as error:
        raise InputError([yaml_problem(error, name, text)]) from None


def _items(value: Any, name: str) -> Iterator[Manifest]:
    if isinstance(value, dict) and str(value.get("kind", "")).endswith("List"):
        items = value.get("items") or []
        if not isinstance(items, list):
            raise InputError([f"{name}, items: expected a list, found {type(items).__name__}"])
        yield from (typed(item, value, name) for item in items)
    else:
        yield typed(value, {}, name)


def typed(item: Any, listing: Manifest, name: str) -> Manifest:
    """The object with the kind that its list has for all of them."""
    if not isinstance(item, dict):
        raise InputError([f"{name}: expected Kubernetes objects, found {type(item).__name__}"])
    kind = str(listing.get("kind", "")).removesuffix("List")
    if kind and "kind" not in item:
        return {"kind": kind, "apiVersion": listing.get("apiVersion", ""), **item}
    return item
