"""JSON text -> documents: the Kubernetes objects in it, and what is wrong with them."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from models.errors import InputError
from models.objects.base import KubeObject, NamespacedObject
from models.objects.kinds import is_known, meant, skipped_kind
from models.reading.json_split import find_items, read_items
from models.reading.object_heads import ObjectHead, read_head
from models.reading.parsing import parse
from models.reading.pattern_object import Values
from models.reading.patterns import ObjectPattern, Patterns
from models.reading.problems import field_path, is_broken, problems_in, shown
from models.reading.progress import counted
from models.reading.strict import mistakes, passed_over
from models.reading.window import Window

_LIST_KIND = re.compile(rb'"kind"\s*:\s*"(\w*List)"')
#: The kind of a List may stand behind its items.
FOOTER_WITHIN = 3_000
#: What a snapshot in columns begins with.
MAGIC = b'{"kind":"CompactSnapshot"'
#: Of fewer bytes nothing is learned: they are parsed sooner.
_MANY_BYTES = 1 << 20


class BrokenJson(InputError):
    """The text is no JSON; `goes_on` when a whole document is there and more follows it."""

    def __init__(self, place: str, error: ValidationError) -> None:
        found = error.errors(include_url=False, include_input=False)[0]["ctx"]["error"]
        self.goes_on = found.startswith("trailing characters")
        what, _, where = found.partition(" at line ")
        super().__init__([f"{place}, line {where.split()[0]}: broken JSON: {what}"])


@dataclass(slots=True)
class ManifestDocument:
    """The objects of one JSON or YAML document, what was left out, and what is wrong with it."""

    place: str
    item_kind: str | None = None
    objects: list[KubeObject] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What is passed over by the program that an object is for, a sentence each."""
    count: int = 0
    patterns: Patterns | None = None
    """What is known of the objects so far, where there are so many that it pays to learn."""

    def read(self, text: bytes) -> bool:
        """Take in an object; False when the text is no JSON."""
        try:
            found = parse(text, self.item_kind or "")
        except ValidationError as error:
            if is_broken(error):
                return False
            self._refuse(text, error)
        else:
            self._accept(text, found)
        self.count += 1
        return True

    def _accept(self, text: bytes, found: KubeObject) -> None:
        if not is_known(found.api_version, found.kind):
            self._skip(text, found.api_version, found.kind)
        elif not found.is_named:
            self._complain(self._head(text), "metadata.name: is required")
        else:
            self.objects.append(found)
            complaints = list(mistakes(text, self.item_kind or ""))
            for what in complaints:
                self._complain(self._head(text), what)
            self.remarks += (
                f"{self.place}, {found.kind}: {what}: Descheduler passes it over"
                for what in passed_over(text, found.kind)
            )
            if self.patterns is not None and not complaints:
                self.patterns.learn(text, found)

    def _skip(self, text: bytes, api_version: str, kind: str) -> None:
        if known := meant(api_version, kind):
            where = f" in {api_version}" if api_version else ""
            self._complain(self._head(text), f"kind: there is no {kind}{where} (did you mean {known}?)")
        else:
            self.skipped[skipped_kind(api_version, kind)] += 1

    def recognise(self, text: bytes, begin: int) -> int | None:
        """Take in the object that begins here, if it is like one before; where the next one begins."""
        match = None if self.patterns is None else self.patterns.match(text, begin)
        if match is None or not self.take(match.pattern, match.values):
            return None
        return match.following

    def take(self, pattern: ObjectPattern, values: Values) -> bool:
        """Take in an object of this pattern; False where a string should be a time and is none."""
        try:
            found: KubeObject = pattern.make(values)
        except ValidationError:
            return False
        self.objects.append(found)
        self.count += 1
        return True

    def _refuse(self, text: bytes, error: ValidationError) -> None:
        head = self._head(text)
        if head.is_list:
            self._complain(head, "a List inside a List is not understood")
        elif head.kind and not head.known:
            self._skip(text, head.api_version, head.kind)
        else:
            for location, what in problems_in(error):
                inside = location[1:] if location[:1] == (head.kind,) else location
                self._complain(head, f"{field_path(inside)}: {what}" if inside else what)
            # What is missing may be there in another spelling.
            for what in mistakes(text, self.item_kind or "") if head.kind else ():
                if what.startswith("unknown field"):
                    self._complain(head, what)

    def _head(self, text: bytes) -> ObjectHead:
        try:
            return read_head(text, self.item_kind or "")
        except ValidationError:
            return ObjectHead("", "", "", "")

    def _complain(self, head: ObjectHead, what: str) -> None:
        parts = [self.place]
        if self.item_kind is not None and not head.name:
            parts.append(f"items[{self.count}]")
        if head.kind or head.name:
            parts.append(str(head))
        separator = ", " if re.match(r"[\w.\[\]/-]+: ", what) else ": "
        self.problems.append(", ".join(parts) + separator + what)


def read_document(text: bytes, place: str) -> ManifestDocument:
    """The objects in one JSON document, which is a single object or any kind of List."""
    listed = _read_list(text, place)
    if listed is not None:
        return listed
    document = ManifestDocument(place)
    try:
        head = read_head(text)
    except ValidationError as error:
        if is_broken(error):
            raise BrokenJson(place, error) from None
        document.problems += [f"{place}: {what}" for _, what in problems_in(error)]
        return document
    if head.is_list:
        return read_value(json.loads(text), place)
    document.read(text)
    return document


def read_value(value: Any, place: str) -> ManifestDocument:
    """The objects in a document that is no text any more, such as a YAML document."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List")):
        return read_document(json.dumps(value).encode(), place)
    document = ManifestDocument(place, kind.removesuffix("List"))
    items = value.get("items") or []
    if not isinstance(items, list):
        document.problems.append(f"{place}, items: expected a list, found {shown(items)}")
        return document
    for item in items:
        document.read(json.dumps(item).encode())
    return document


def _read_list(text: bytes, place: str) -> ManifestDocument | None:
    """The items of a List, read one by one; None when it is none, or not as printers write it."""
    return read_list(Window(text), text[-FOOTER_WITHIN:], place, len(text))


def read_list(window: Window, footer: bytes, place: str, size: int) -> ManifestDocument | None:
    """The same of a text of this size that need not be in memory, given what it ends with."""
    found = list_begin(window.text, footer)
    if found is None:
        return None
    begin, kind = found
    header = window.text[:begin]
    document = ManifestDocument(place, kind, patterns=Patterns(kind) if size >= _MANY_BYTES else None)
    end = read_items(window, begin, *counted(document.read, document.recognise, size))
    return finished(document, header + window.text[end:])


def list_begin(text: bytes, footer: bytes) -> tuple[int, str] | None:
    """Where the items of a List begin, and the kind of all, if it has one; None when it is no List."""
    begin = find_items(text)
    if begin is None:
        return None
    kinds = _LIST_KIND.findall(text[:begin]) or _LIST_KIND.findall(footer)
    return (begin, kinds[-1].decode().removesuffix("List")) if kinds else None


def finished(document: ManifestDocument, around: bytes) -> ManifestDocument | None:
    """The document, if what is around its items is a List of their kind."""
    try:
        head = read_head(around)
    except ValidationError:
        return None
    return document if head.kind == f"{document.item_kind}List" else None


def place_in(namespace: str, documents: Iterable[ManifestDocument]) -> None:
    """Give the namespace to everything in the documents that lives in one and names none."""
    for document in documents:
        document.objects = [_placed(item, namespace) for item in document.objects]


def _placed(item: KubeObject, namespace: str) -> KubeObject:
    if not isinstance(item, NamespacedObject) or "namespace" in item.metadata.model_fields_set:
        return item
    return item.model_copy(update={"metadata": item.metadata.model_copy(update={"namespace": namespace})})
