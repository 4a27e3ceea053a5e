"""All objects of all documents, one for each kind and name."""

from collections.abc import Iterable
from typing import Any

from models.controllers.apply import as_applied
from models.objects.base import ClusterObject, KubeObject, NamespacedObject
from models.reading.documents import ManifestDocument

_UNIQUE = {"Node", "Pod"}


class ObjectIndex:
    """The objects found so far, each with the place that it came from."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], str] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.replaced: list[KubeObject] = []
        self._found: dict[str, dict[str, KubeObject]] = {}

    def put_all(self, documents: Iterable[ManifestDocument]) -> None:
        """Take in the objects of all documents, in their order."""
        for document in documents:
            self.notes += document.remarks
            for item in document.objects:
                self._put(item, document.place)

    def all_of(self, kind: str) -> tuple[Any, ...]:
        """The objects of a kind."""
        return tuple(self._found.get(kind, {}).values())

    def _put(self, item: KubeObject, place: str) -> None:
        """Take in an object; a later one replaces an earlier one, except for nodes and pods."""
        kind = item.kind
        same_kind = self._found.get(kind)
        if same_kind is None:
            same_kind = self._found[kind] = {}
        if isinstance(item, NamespacedObject) and not item.metadata.name:
            item = _named(item, same_kind)
        key = _key(item)
        if key not in same_kind:
            same_kind[key] = item
            self.places[kind, key] = place
        else:
            self._put_again(item, kind, key, place)

    def _put_again(self, item: KubeObject, kind: str, key: str, place: str) -> None:
        if kind in _UNIQUE:
            first = self.places[kind, key]
            where = place if first == place else f"{first} and {place}"
            self.problems.append(f"{where}: {kind} {key} is there twice")
            return
        label = f"{kind} {key}".rstrip()
        self.notes.append(f"{label} of {place} replaces that of {self.places[kind, key]}")
        self.replaced.append(self._found[kind][key])
        self._found[kind][key] = as_applied(item, self._found[kind][key])
        self.places[kind, key] = place


def _key(item: KubeObject) -> str:
    return item.key if isinstance(item, ClusterObject | NamespacedObject) else ""


def _named(item: NamespacedObject, others: dict[str, KubeObject]) -> KubeObject:
    """The object under a name of its own: it has only the beginning of one."""
    number = 1
    while f"{item.namespace}/{item.metadata.generate_name}{number}" in others:
        number += 1
    name = f"{item.metadata.generate_name}{number}"
    return item.model_copy(update={"metadata": item.metadata.model_copy(update={"name": name})})
