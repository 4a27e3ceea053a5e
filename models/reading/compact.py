"""A snapshot in columns: what objects have in common once, and what is their own beside it.

Lines of JSON, packed with gzip. The first says what it is and in which format. Each of the others but the
last has new patterns, each the texts between its holes; which objects follow, as runs of a pattern's
number and a count; and by pattern a column for each hole. The last one counts the objects. An object's text
is what is between the holes with its strings in them, so it is the same JSON that kubectl would print.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models.errors import InputError
from models.reading.documents import MAGIC, ManifestDocument
from models.reading.json_split import find_items, read_items
from models.reading.parsing import parse
from models.reading.pattern_text import filled
from models.reading.patterns import ObjectPattern, Patterns, object_pattern
from models.reading.strict import mistakes
from models.reading.window import Window

FORMAT = 1
#: How many objects a line has at most.
_OBJECTS = 20_000


#: An object that is written: the texts of its pattern, and what is in the holes.
_Written = tuple[tuple[bytes, ...], Sequence[str]]
_Natural = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Head(BaseModel):
    """The first line; a later format may have more in it."""

    kind: Literal["CompactSnapshot"]
    format: int


class _Block(_Strict):
    """A line in the middle."""

    patterns: list[list[str]]
    order: list[tuple[_Natural, _Natural]]
    columns: dict[int, list[list[str]]]


class _End(_Strict):
    """The last line."""

    objects: int


class _CompactRow(NamedTuple):
    """An object: the texts of its pattern, the number of the pattern, and what is in the holes."""

    texts: Sequence[bytes]
    number: int
    values: tuple[str, ...]

    @property
    def text(self) -> bytes:
        return filled(self.texts, [json.dumps(value)[1:-1].encode() for value in self.values])


def read_compact(lines: Iterable[bytes], name: str) -> ManifestDocument:
    """The document in such a snapshot; an InputError when it is no whole one."""
    document = ManifestDocument(name, "")
    patterns: dict[int, ObjectPattern | None] = {}
    for row in _rows(lines, name):
        if row.values and row.number not in patterns:
            patterns[row.number] = _pattern(row)
        pattern = patterns.get(row.number)
        if not (pattern and pattern.takes(row.values) and document.take(pattern, row.values)):
            _read(document, row.text, name)
    return document


def compact_texts(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The objects in such a snapshot, each as JSON."""
    return (row.text for row in _rows(lines, name))


def compact(listing: bytes) -> Iterator[bytes]:
    """A List of objects, one a line, in this form, a line at a time; before it is packed."""
    begin = find_items(listing)
    assert begin is not None
    writer = _Writer()
    for learning in (True, False):
        writer.begin(learning=learning)
        read_items(Window(listing), begin, writer.read, writer.recognise)
    yield MAGIC + b',"apiVersion":"planner/v1alpha1","format":%d}\n' % FORMAT
    for place in range(0, len(writer.rows), _OBJECTS):
        yield _block(writer.rows[place : place + _OBJECTS], writer.patterns)
    yield _End(objects=len(writer.rows)).model_dump_json().encode() + b"\n"


def packed(lines: Iterable[bytes]) -> bytes:
    """The lines as they are in a file: the same for the same ones."""
    return gzip.compress(b"".join(lines), mtime=0)


class _Writer:
    """Goes through a List twice: what is learned to its end is used from its beginning on."""

    def __init__(self) -> None:
        self.rows: list[_Written] = []
        self.patterns: dict[tuple[bytes, ...], int] = {}
        self._known = Patterns()
        self._learning = True

    def begin(self, *, learning: bool) -> None:
        self._learning = learning
        self.rows.clear()

    def read(self, text: bytes) -> bool:
        if self._learning:
            try:
                self._known.learn(text, parse(text))
            except ValidationError:
                # It is written as it is, and refused when it is read.
                return _is_json(text)
        self.rows.append(((text,), ()))
        return True

    def recognise(self, text: bytes, begin: int) -> int | None:
        match = self._known.match(text, begin)
        if match is None:
            return None
        self.rows.append((match.pattern.texts, match.values))
        return match.following


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _block(rows: Sequence[_Written], known: dict[tuple[bytes, ...], int]) -> bytes:
    """The line of these objects; the patterns that are new in it become known."""
    new: list[list[str]] = []
    order: list[tuple[int, int]] = []
    columns: dict[int, list[Sequence[str]]] = defaultdict(list)
    for texts, values in rows:
        number = known.get(texts)
        if number is None:
            number = known[texts] = len(known)
            new.append([text.decode() for text in texts])
        if order and order[-1][0] == number:
            order[-1] = (number, order[-1][1] + 1)
        else:
            order.append((number, 1))
        if values:
            columns[number].append(values)
    turned = {number: list(zip(*found, strict=True)) for number, found in columns.items()}
    block = {"patterns": new, "order": order, "columns": turned}
    return json.dumps(block, separators=(",", ":")).encode() + b"\n"


def _rows(lines: Iterable[bytes], name: str) -> Iterator[_CompactRow]:
    """The objects; an InputError where the lines are not those of a whole snapshot."""
    rest = iter(lines)
    try:
        head = _Head.model_validate_json(next(rest, b""))
        if head.format != FORMAT:
            found = f"is a snapshot of format {head.format}"
            raise InputError([f"{name}: {found}, and only format {FORMAT} is understood"])
        known: list[list[bytes]] = []
        count = 0
        for line in rest:
            if line.startswith(b'{"objects"'):
                if _End.model_validate_json(line).objects != count or next(rest, None) is not None:
                    break
                return
            block = _Block.model_validate_json(line)
            known += [[text.encode() for text in texts] for texts in block.patterns]
            for row in _rows_of(block, known):
                count += 1
                yield row
    except (ValidationError, LookupError, ValueError):
        pass
    raise InputError([f"{name}: is not a whole snapshot"])


def _rows_of(block: _Block, known: Sequence[Sequence[bytes]]) -> Iterator[_CompactRow]:
    columns = {number: zip(*found, strict=True) for number, found in block.columns.items()}
    for number, count in block.order:
        texts = known[number]
        holes = len(texts) - 1
        for _ in range(count):
            values = next(columns[number], None) if holes else ()
            if values is None or len(values) != holes:
                raise ValueError
            yield _CompactRow(texts, number, values)
    if any(next(rows, None) is not None for rows in columns.values()):
        raise ValueError


def _pattern(row: _CompactRow) -> ObjectPattern | None:
    """What makes objects like this one; None where they have to be parsed one by one."""
    text = row.text
    values = [json.dumps(value)[1:-1].encode() for value in row.values]
    if next(mistakes(text, ""), None) is not None:
        return None
    return object_pattern(row.texts, values)


def _read(document: ManifestDocument, text: bytes, name: str) -> None:
    if not document.read(text):
        raise InputError([f"{name}: is not a whole snapshot"])
