"""A very long List, read by several processes: each takes a share of its items.

A share begins where an item seems to. The one before ends there exactly, or all of it is read again by one
process: so what seemed to be the beginning of an item was one. Helpers send back strings and the patterns
that they belong to; whatever has no pattern they send as text.
"""

import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, cast

from pydantic import ValidationError

from models.reading.documents import ManifestDocument, finished, list_begin
from models.reading.json_split import first_item_after, read_items
from models.reading.parsing import parse
from models.reading.patterns import ObjectPattern, Patterns, object_pattern
from models.reading.problems import is_broken
from models.reading.progress import READING_PROGRESS, counted
from models.reading.strict import mistakes
from models.reading.window import Part, Window

#: Starting a helper takes as long as reading some 100 MB.
LARGE = 1 << 28
_MOST_PROCESSES = 4
#: Where shares meet is looked for in so many bytes.
_NEAR = 1 << 20
_TOGETHER = 2_000
_HEADER = 1 << 16
#: What stands in place of a pattern's number.
_TEXT, _PATTERN, _REST = -1, -2, -3

_HELPER = "import sys; sys.path[:] = {path!r}; from models.reading.shares import help_reading; help_reading()"


def processes() -> int:
    """How many processes may share the work here."""
    able = os.name == "posix" and bool(sys.executable) and hasattr(os, "sched_getaffinity")
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES) if able else 1


def read_in_shares(
    file: BinaryIO, footer: bytes, place: str, size: int, helpers: int
) -> ManifestDocument | None:
    """The document of a List in a file, with so many helpers; None where one process has to read it."""
    header = os.pread(file.fileno(), _HEADER, 0)
    found = list_begin(header, footer)
    if found is None:
        return None
    begin, kind = found
    edges = [begin, *_edges(file.fileno(), header, begin, size, helpers), size]
    if len(edges) < helpers + 2:
        return None
    shares = [_Share(file.fileno(), kind, *pair) for pair in pairwise(edges[1:])]
    document = ManifestDocument(place, kind, patterns=Patterns(kind))
    try:
        window = Window(b"", Part(file.fileno(), begin, edges[1]))
        window.more(0)
        end = read_items(window, 0, *counted(document.read, document.recognise, edges[1] - begin))
        rest = window.text[end:]
        for share in shares:
            if rest.strip():
                return None
            rest = share.given_to(document)
    finally:
        for share in shares:
            share.stop()
    return finished(document, header[:begin] + rest)


def _edges(number: int, header: bytes, begin: int, size: int, helpers: int) -> Iterator[int]:
    """Where the shares of the helpers begin, as far as it looks so."""
    for share in range(1, helpers + 1):
        near = begin + (size - begin) * share // (helpers + 1)
        found = first_item_after(os.pread(number, _NEAR, near), header, begin)
        if found is not None:
            yield near + found


class _Share:
    """A part of the file, and the helper that reads it."""

    def __init__(self, number: int, kind: str, begin: int, end: int) -> None:
        self._sent = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        code = _HELPER.format(path=sys.path)
        command = [sys.executable, "-c", code, str(number), kind, str(begin), str(end)]
        self._run = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._sent,
            stderr=subprocess.DEVNULL,
            pass_fds=[number],
        )

    def given_to(self, document: ManifestDocument) -> bytes:
        """Give the document what the helper has read; what comes behind it, which no item is."""
        tell = READING_PROGRESS.get() or (lambda words: None)
        self._run.wait()
        self._sent.seek(0)
        patterns: list[ObjectPattern | None] = []
        while True:
            try:
                entries = marshal.load(self._sent)
            except (EOFError, ValueError, TypeError):
                # The helper has ended early: what stays to be read is not known.
                return b"?"
            tell(f"{document.count:,} objects")
            for number, found in entries:
                if number >= 0 and _taken(document, patterns[number], found):
                    continue
                if number == _REST:
                    return cast(bytes, found)
                if number == _PATTERN:
                    patterns.append(object_pattern(*found))
                elif number != _TEXT or not document.read(found):
                    return b"?"

    def stop(self) -> None:
        """Let go of helper and file."""
        self._run.kill()
        self._run.wait()
        self._sent.close()


def _taken(document: ManifestDocument, pattern: ObjectPattern | None, values: Sequence[str]) -> bool:
    return pattern is not None and document.take(pattern, values)


def help_reading() -> None:
    """Read the share that the command line names, and send what was found to standard output."""
    number, kind, begin, end = sys.argv[1:]
    sender = _Sender(kind)
    window = Window(b"", Part(int(number), int(begin), int(end)))
    window.more(0)
    stop = read_items(window, 0, sender.read, sender.recognise)
    sender.send(_REST, window.text[stop:])
    sender.flush()


class _Sender:
    """What a helper makes of the items that it reads."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.entries: list[tuple[int, Any]] = []
        self._patterns = Patterns(kind)
        self._numbers: dict[tuple[bytes, ...], int] = {}

    def read(self, text: bytes) -> bool:
        """Send the text of an item; False where it is none."""
        try:
            found = parse(text, self.kind)
        except ValidationError as error:
            if is_broken(error):
                return False
        else:
            # As one process does it: what is wrong is told of every object.
            if next(mistakes(text, self.kind), None) is None:
                self._patterns.learn(text, found)
        self.send(_TEXT, text)
        return True

    def recognise(self, text: bytes, begin: int) -> int | None:
        """Send the strings of an item that is like one before."""
        match = self._patterns.match(text, begin)
        if match is None:
            return None
        texts = match.pattern.texts
        number = self._numbers.get(texts)
        if number is None:
            number = self._numbers[texts] = len(self._numbers)
            self.send(_PATTERN, (texts, [value.encode() for value in match.values], self.kind))
        self.send(number, match.values)
        return match.following

    def send(self, number: int, found: Any) -> None:
        """Send the strings of the pattern with this number, or something else."""
        self.entries.append((number, found))
        if len(self.entries) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Let go of what is to be sent."""
        marshal.dump(self.entries, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        self.entries.clear()
