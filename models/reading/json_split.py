"""JSON text -> the text of the values in it, without holding them all as objects at once.

A printer begins every item of a List with the same keys and white space, and a quote inside a
string, being escaped, can never imitate that; so a fast search proposes where items end.
A proposal is believed only when the text up to there is valid JSON; else Python's own scanner
finds the end.
"""

import json
import re
from collections.abc import Callable

from models.reading.window import Window

_HEADER = re.compile(rb'"items"\s*:\s*\[\s*(?=\S)')
_HEADER_WITHIN = 10_000
_FIRST_KEYS = re.compile(rb'\{(\s*)"(\w+)"(\s*:\s*)(?:"[^"\\]*"(\s*,\s*)"(\w+)"|\{)')
_BETWEEN = re.compile(r"[\s,]*")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
_MOST_MISSES = 20


def find_items(text: bytes) -> int | None:
    """Where the items of a List begin; None when the text is anything but a List."""
    found = _HEADER.search(text, 0, _HEADER_WITHIN)
    # `items` is a field of the outermost object when two brackets close all that is open.
    return found.end() if found and _is_json(text[: found.end()] + b"]}") else None


def each_item(text: bytes, begin: int, read: Callable[[bytes], bool]) -> int:
    """Where the items end, after handing each to `read`, which says if it was valid JSON."""
    return read_items(Window(text), begin, read)


def read_items(
    window: Window,
    begin: int,
    read: Callable[[bytes], bool],
    recognise: Callable[[bytes, int], int | None] = lambda text, begin: None,
) -> int:
    """The same for the items in a window, which is moved along; the end is a place in its text.

    `recognise` may take an item without having it cut out first: it says where the next one begins.
    """
    first = _FIRST_KEYS.match(window.text, begin)
    searched, misses = begin, 0
    while first is not None and misses <= _MOST_MISSES:
        known = recognise(window.text, begin)
        if known is not None:
            begin = searched = known
            continue
        proposal = _proposal(window, first, begin, searched)
        if proposal is None:
            if not window.more(begin):
                break
            begin, searched = 0, searched - begin
            continue
        end, following = proposal
        searched = following
        if read(window.text[begin:end]):
            begin = following
            continue
        misses += 1
        begin += _read_exactly(window.text[begin:end], read)
        begin = following if begin == end else begin
    window.all()
    return begin + _read_exactly(window.text[begin:], read)


def first_item_after(text: bytes, header: bytes, begin: int) -> int | None:
    """Where in a text from the middle of a List an item seems to begin, given the List's own beginning."""
    first = _FIRST_KEYS.match(header, begin)
    proposal = None if first is None else _proposal(Window(text), first, 0, -1)
    return None if proposal is None else proposal[1]


def json_values(text: bytes) -> list[bytes]:
    """The values that follow each other in a text, as in JSON lines; the last may be broken."""
    values: list[bytes] = []

    def keep(value: bytes) -> bool:
        values.append(value)
        return True

    rest = text[_read_exactly(text, keep) :]
    return [*values, rest] if rest.strip() else values


def _proposal(window: Window, first: re.Match[bytes], begin: int, searched: int) -> tuple[int, int] | None:
    """(where the item that begins here may end, where the next one then begins), as far as has been read."""
    text = window.text
    opening = first[0][: first.end(3) - first.start()]
    following = text.find(opening, searched + 1)
    while 0 <= following <= window.certain:
        item = _FIRST_KEYS.match(text, following)
        if item and item.groups() == first.groups():
            end = text.rfind(b"}", begin, following) + 1
            if text[end:following].strip() == b",":
                return end, following
        following = text.find(opening, following + len(opening))
    return None


def _read_exactly(text: bytes, read: Callable[[bytes], bool]) -> int:
    """How far the text holds whole values, after handing each of them to `read`."""
    # In Latin-1 every byte is a character, so positions agree; JSON's own signs are all ASCII.
    characters = text.decode("latin-1")
    position = 0
    while True:
        between = _BETWEEN.match(characters, position)
        begin = between.end() if between else position
        try:
            _, end = _SCANNER.raw_decode(characters, begin)
        except (json.JSONDecodeError, RecursionError):
            return begin
        if not read(text[begin:end]):
            return begin
        position = end


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
