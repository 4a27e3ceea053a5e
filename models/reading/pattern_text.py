"""Texts of objects that differ only in a few strings: what is between these, and where they stand."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise

#: A string with escapes in it, and what is inside its quotes.
_STRING = re.compile(rb'"((?:[^"\\]+|\\.)*)"', re.DOTALL)
_IS_KEY = re.compile(rb"\s*:")
#: The values of these decide what else is read.
_NEVER = frozenset({b"apiVersion", b"kind", b"operator", b"type"})
_MOST_HOLES = 48
_QUOTE, _ESCAPE = b'"', b"\\"


def pieces(text: bytes) -> list[bytes]:
    """What is outside and what is inside of quotes, in turn."""
    return _STRING.split(text) if _ESCAPE in text else text.split(_QUOTE)


def differences(one: Sequence[bytes], other: Sequence[bytes]) -> list[int] | None:
    """Which pieces differ, all of them values; None where the texts differ in anything else."""
    if len(one) != len(other):
        return None
    found = [number for number, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return found if len(found) <= _MOST_HOLES and all(_may_differ(one, number) for number in found) else None


def _may_differ(parts: Sequence[bytes], number: int) -> bool:
    """Whether a piece is the value of a string, and no other field depends on it."""
    if number % 2 == 0 or _IS_KEY.match(parts[number + 1]):
        return False
    return not (_IS_KEY.match(parts[number - 1]) and parts[number - 2] in _NEVER)


def between(parts: Sequence[bytes], holes: Set[int]) -> list[bytes]:
    """The text in pieces, cut out of it what is in these: always one more than there are holes."""
    edges = [-1, *sorted(holes), len(parts)]
    first, *others = [_QUOTE.join(parts[a + 1 : b]) for a, b in pairwise(edges)]
    if not others:
        return [first]
    return [first + _QUOTE, *(_QUOTE + text + _QUOTE for text in others[:-1]), _QUOTE + others[-1]]


def filled(texts: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """What is between holes, with these values in the holes."""
    return b"".join(chain(*zip(texts, values, strict=False), texts[len(values) :]))


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A text with holes, each inside the quotes of a string."""

    opening: bytes
    rest: tuple[tuple[bytes, int], ...]
    """What follows each hole, from its closing quote on, and how long that is."""

    @staticmethod
    def of(texts: Sequence[bytes]) -> "TextPattern":
        """The pattern with these texts between its holes."""
        return TextPattern(texts[0], tuple((text, len(text)) for text in texts[1:]))

    def match(self, text: bytes, begin: int) -> tuple[list[str], int] | None:
        """What is in the holes of the text that begins here, and where it ends.

        Only plain strings are taken: without escapes, and all of them printable.
        """
        opening = self.opening
        if not text.startswith(opening, begin):
            return None
        at = begin + len(opening)
        found: list[bytes] = []
        take: Callable[[bytes], None] = found.append
        for following, size in self.rest:
            end = text.find(_QUOTE, at)
            if end < 0 or not text.startswith(following, end):
                return None
            take(text[at:end])
            at = end + size
        values = _QUOTE.join(found)
        if _ESCAPE in values:
            return None
        try:
            plain = values.decode()
        except UnicodeDecodeError:
            return None
        return (plain.split('"') if found else [], at) if plain.isprintable() else None
