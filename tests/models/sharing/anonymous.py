"""Two answers that ought to be the same up to names."""

import json
import re
from collections.abc import Iterable
from typing import Any

from models import Cluster
from models.sharing.kept import kept
from models.sharing.names import NewNames, OldNames
from models.sharing.raw import each_object
from models.sharing.renamed import renamed

_PART = re.compile(r"[A-Za-z0-9_]+")


class Disguise:
    """Objects and the same under other names, and whether texts about the two agree."""

    def __init__(self, contents: Iterable[tuple[str, bytes]]) -> None:
        self.objects: list[dict[str, Any]] = []
        for name, content in contents:
            each_object(content, name, lambda item: self.objects.append(kept(item)))
        old = OldNames()
        for item in self.objects:
            renamed(item, old)
        self._names = NewNames(old.parts)
        #: What the planner made up for itself, such as the hash of a template, has other letters there.
        self._made: dict[str, str] = {}

    def clusters(self) -> tuple[Cluster, Cluster]:
        """The cluster as it is, and in disguise."""
        return Cluster.from_objects(self.objects), Cluster.from_objects(self.disguised())

    def disguised(self) -> list[dict[str, Any]]:
        """The objects under other names, in the same order."""
        return [renamed(json.loads(json.dumps(item)), self._names) for item in self.objects]

    def difference(self, one: Any, other: Any, place: str = "") -> str:
        """Where two documents differ in more than names; empty when nowhere."""
        if isinstance(one, dict) and isinstance(other, dict):
            if len(one) != len(other):
                return f"{place}: {one} / {other}"
            pairs = zip(one.items(), other.items(), strict=True)
            found = (
                self.difference(key, key2, f"{place} keys")
                or self.difference(value, value2, f"{place}.{key}")
                for (key, value), (key2, value2) in pairs
            )
            return next(filter(None, found), "")
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return f"{place}: {one} / {other}"
            numbered = enumerate(zip(one, other, strict=True))
            parts = (self.difference(a, b, f"{place}[{number}]") for number, (a, b) in numbered)
            return next(filter(None, parts), "")
        if isinstance(one, str) and isinstance(other, str):
            return "" if self._same_text(one, other) else f"{place}: {one!r} / {other!r}"
        return "" if one == other else f"{place}: {one!r} / {other!r}"

    def _same_text(self, one: str, other: str) -> bool:
        mine, theirs = _PART.findall(one), _PART.findall(other)
        same_signs = _PART.sub("", one) == _PART.sub("", other) and len(mine) == len(theirs)
        return same_signs and all(map(self._same_part, mine, theirs))

    def _same_part(self, one: str, other: str) -> bool:
        if other in (one, self._names.name(one)):
            return True
        return len(one) == 10 and self._made.setdefault(one, other) == other
