"""The texts of a List's objects -> the same with nothing in them but what the planner reads.

Objects that are printed alike are alike in what is kept of them: that is found out once for each pattern.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import BinaryIO

from pydantic import ValidationError

from models.reading.documents import FOOTER_WITHIN
from models.reading.json_split import find_items, read_items
from models.reading.parsing import parse
from models.reading.pattern_object import mark
from models.reading.pattern_text import filled
from models.reading.patterns import PatternMatch, Patterns
from models.reading.window import Window
from models.sharing.kept import kept
from models.sharing.raw import Manifest, each_object, list_head, typed, what_follows

#: Of fewer bytes nothing is learned.
_MANY_BYTES = 1 << 20


def each_kept(file: BinaryIO, name: str, take: Callable[[bytes], None]) -> None:
    """Hand over what is kept of every object of a file, as a line of JSON; the name is for messages.

    A long List is never in memory as a whole.
    """
    plain = file.read(_MANY_BYTES)
    begin = find_items(plain)
    if begin is None or len(plain) < _MANY_BYTES:
        each_object(plain + file.read(), name, lambda item: take(text_of(kept(item))))
        return
    head = list_head(plain, begin, _footer(file))
    window, texts = Window(plain, file), _KeptTexts(head, name, take)
    end = read_items(window, begin, texts.read, texts.recognise)
    around = plain[:begin] + window.text[end:]
    what_follows(around, head, name, lambda item: take(text_of(kept(item))))


def _footer(file: BinaryIO) -> bytes:
    """What a file ends with, where that can be seen without reading all of it."""
    if not file.seekable():
        return b""
    place, size = file.tell(), file.seek(0, os.SEEK_END)
    file.seek(max(size - FOOTER_WITHIN, 0))
    found = file.read()
    file.seek(place)
    return found


def text_of(item: Manifest) -> bytes:
    """An object as a line of JSON."""
    return json.dumps(item, separators=(",", ":")).encode()


class _KeptTexts:
    """Takes in the items of a List, and hands over what is kept of them."""

    def __init__(self, head: Manifest, name: str, take: Callable[[bytes], None]) -> None:
        self._head, self._name, self._take = head, name, take
        self._kind = str(head.get("kind", "")).removesuffix("List")
        self._patterns = Patterns(self._kind)
        self._kept: dict[Sequence[bytes], _KeptPattern | None] = {}

    def read(self, text: bytes) -> bool:
        """Take in the text of an item; False where it is none."""
        try:
            found = self._kept_of(text)
        except (ValueError, RecursionError):
            return False
        # What is wrong with an object is told when the snapshot is read.
        with suppress(ValidationError):
            self._patterns.learn(text, parse(text, self._kind))
        self._take(found)
        return True

    def recognise(self, text: bytes, begin: int) -> int | None:
        """Take in the item that begins here, if it is like one before; where the next one begins."""
        match = self._patterns.match(text, begin)
        if match is None:
            return None
        texts = match.pattern.texts
        if texts not in self._kept:
            self._kept[texts] = self._pattern(match)
        pattern = self._kept[texts]
        if pattern is None:
            return None
        self._take(pattern.filled(match.values))
        return match.following

    def _kept_of(self, text: bytes) -> bytes:
        return text_of(kept(typed(json.loads(text), self._head, self._name)))

    def _pattern(self, match: PatternMatch) -> "_KeptPattern | None":
        """What is kept of objects like this one; None where that is not the same for all."""
        values = [value.encode() for value in match.values]
        marks = [mark(value, number) for number, value in enumerate(values)]
        found = _KeptPattern(self._kept_of(filled(match.pattern.texts, marks)), marks)
        same = found.filled(match.values) == self._kept_of(filled(match.pattern.texts, values))
        return found if same else None


class _KeptPattern:
    """What is kept of objects that are alike, with holes for what is their own."""

    def __init__(self, marked: bytes, marks: Sequence[bytes]) -> None:
        holes = {text: number for number, text in reversed([*enumerate(marks)])}
        parts = re.split(b'(?<=")(' + b"|".join(map(re.escape, holes)) + b')(?=")', marked)
        self._texts = [part.decode() for part in parts[::2]]
        self._holes = [holes[part] for part in parts[1::2]]

    def filled(self, values: Sequence[str]) -> bytes:
        """The text with these strings of the whole object in it."""
        pieces = [self._texts[0]]
        for hole, text in zip(self._holes, self._texts[1:], strict=True):
            value = values[hole]
            pieces += (value if value.isascii() else json.dumps(value)[1:-1], text)
        return "".join(pieces).encode()
