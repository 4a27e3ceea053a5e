"""Objects like one that was read before are not parsed: only what is their own is taken from their text.

Most pods of a workload are printed alike, but for their name, uid, node, addresses and times. Where two
texts differ in nothing but such strings, they have a pattern: further texts are compared with it, and the
object is put together from the example's parts and the strings. A text that does not match is parsed as
ever, and so is every string that may be wrong.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import ValidationError

from models.objects.base import KubeObject
from models.reading.parsing import parse
from models.reading.pattern_object import (
    KINDS,
    TOKEN_VOLUME,
    Maker,
    NoPatternError,
    Values,
    is_token_volume,
    maker,
    mark,
)
from models.reading.pattern_text import TextPattern, between, differences, filled, pieces

_OWNERS, _LABELS = b'"ownerReferences"', b'"labels"'
_IS_NODE = re.compile(rb'\{\s*(?:"apiVersion"\s*:\s*"v1"\s*,\s*)?"kind"\s*:\s*"Node"')
#: Metadata come first, and their owners or labels soon.
_WITHIN = 4_000
_NEXT = re.compile(rb"\s*,\s*(?=\{)")
_MOST_FAMILIES = 4_096
_MOST_EXAMPLES = 8
#: A family whose texts keep differing in more than strings is left alone.
_PATIENCE = 16


class PatternMatch(NamedTuple):
    """An object that was recognised, and where the next one begins."""

    pattern: "ObjectPattern"
    values: Values
    following: int


@dataclass(frozen=True, slots=True)
class ObjectPattern:
    """A text with holes, and what makes the object from what is in them."""

    texts: tuple[bytes, ...]
    """What is between the holes."""
    text: TextPattern
    make: Maker
    tokens: tuple[int, ...]
    """Holes with the pod's name for its token volume, for which all pods are read with the same."""

    def takes(self, values: Values) -> bool:
        """Whether these may be in the holes, as far as times are times."""
        if not all(values) or "\n".join(values).count(TOKEN_VOLUME) != len(self.tokens):
            return False
        if not self.tokens:
            return True
        first, *others = self.tokens
        name = values[first]
        return is_token_volume(name) and not any([values[n] != name for n in others])


@dataclass(slots=True)
class _Example:
    """A text that was parsed, the holes that were found in it since, and their pattern."""

    text: bytes
    holes: Set[int] = frozenset()
    pattern: ObjectPattern | None = None


@dataclass(slots=True)
class _Family:
    """Texts of objects with the same owners or, where they have none, with the same labels."""

    examples: list[_Example] = field(default_factory=list)
    tries: int = 0


class Patterns:
    """What was learned from the objects of a document so far."""

    def __init__(self, kind: str = "") -> None:
        self._kind = kind
        self._families: dict[bytes, _Family] = {}
        self._last: _Example | None = None

    def match(self, text: bytes, begin: int) -> PatternMatch | None:
        """The object that begins here, if it is like one before and another follows."""
        if self._last is not None and (found := _matched(self._last, text, begin)):
            return found
        family = self._families.get(self._name(text, begin))
        if family is None:
            return None
        for example in family.examples:
            if example is not self._last and (found := _matched(example, text, begin)):
                self._last = example
                family.tries = 0
                return found
        return None

    def learn(self, text: bytes, found: KubeObject) -> None:
        """Remember an object that was parsed, and what it has in common with others."""
        if found.kind not in KINDS:
            return
        family = self._family(self._name(text, 0))
        if family.tries > _PATIENCE:
            return
        family.tries += 1
        parts = pieces(text)
        for example in family.examples:
            if self._widened(example, parts):
                return
        family.examples.insert(0, _Example(text))
        del family.examples[_MOST_EXAMPLES:]

    def _family(self, name: bytes) -> _Family:
        family = self._families.get(name)
        if family is None:
            if len(self._families) >= _MOST_FAMILIES:
                del self._families[next(iter(self._families))]
            family = self._families[name] = _Family()
        return family

    def _name(self, text: bytes, begin: int) -> bytes:
        """What all objects of a family have in common."""
        if self._kind == "Node" or _IS_NODE.match(text, begin):
            return b"Node"
        for key, closing in ((_OWNERS, b"]"), (_LABELS, b"}")):
            opening = text.find(key, begin, begin + _WITHIN)
            if opening >= 0:
                return text[opening : text.find(closing, opening)]
        return b""

    def _widened(self, example: _Example, parts: list[bytes]) -> bool:
        """Whether the example has a pattern that this text matches, too."""
        own = pieces(example.text)
        found = differences(own, parts)
        if not found:
            return False
        holes = example.holes | set(found)
        pattern = object_pattern(between(own, holes), [own[place] for place in sorted(holes)], self._kind)
        if pattern is None:
            return False
        example.holes, example.pattern = holes, pattern
        return True


def object_pattern(texts: Sequence[bytes], values: Sequence[bytes], kind: str = "") -> ObjectPattern | None:
    """The pattern with these texts between its holes and values that may be in them; None if not free."""
    plain = filled(texts, values)
    marks = [mark(value, number) for number, value in enumerate(values)]
    if any(found in plain for found in marks):
        # What is the same in both could not be told from a hole.
        return None
    try:
        make = maker(
            parse(plain, kind),
            parse(filled(texts, marks), kind),
            {text.decode(): number for number, text in enumerate(marks)},
        )
    except (ValidationError, NoPatternError):
        return None
    tokens = [n for n, value in enumerate(values) if is_token_volume(value.decode(errors="replace"))]
    # A pod is read with one name for its token volume: all that look like one have to be in the holes.
    names = filled(texts, marks).count(TOKEN_VOLUME.encode()) if tokens else 0
    if names != len(tokens) or len({values[number] for number in tokens}) > 1:
        return None
    return ObjectPattern(tuple(texts), TextPattern.of(texts), make, tuple(tokens))


def _matched(example: _Example, text: bytes, begin: int) -> PatternMatch | None:
    pattern = example.pattern
    if pattern is None:
        return None
    found = pattern.text.match(text, begin)
    if found is None:
        return None
    values, end = found
    following = _NEXT.match(text, end)
    if following is None or not pattern.takes(values):
        return None
    return PatternMatch(pattern, values, following.end())
