"""The part of a long text that is in memory."""

import os
from typing import BinaryIO

_CHUNK = 1 << 20
#: So much has to be read for the first keys of an item to be.
_AHEAD = 4_096


class Part:
    """The bytes of an open file from one place to another, whatever else reads it."""

    def __init__(self, number: int, begin: int, end: int) -> None:
        self._number, self._at, self._end = number, begin, end

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all that are left."""
        left = self._end - self._at
        found: list[bytes] = []
        wanted = left if size < 0 else min(size, left)
        while wanted > 0 and (some := os.pread(self._number, wanted, self._at)):
            found.append(some)
            self._at += len(some)
            wanted -= len(some)
        return b"".join(found)


class Window:
    """A text that may go on in a file; `text` is what of it is in memory."""

    def __init__(self, text: bytes = b"", file: BinaryIO | Part | None = None) -> None:
        self.text = text
        self._file = file

    @property
    def certain(self) -> int:
        """Up to where it is certain what stands there."""
        return len(self.text) if self._file is None else len(self.text) - _AHEAD

    def more(self, begin: int) -> bool:
        """Let go of what is before, so that `begin` is 0, and read on; False where nothing more can come."""
        if self._file is None:
            return False
        kept = len(self.text) - begin
        chunk = self._file.read(max(_CHUNK, kept))
        if not chunk:
            self._file = None
        self.text = self.text[begin:] + chunk
        return True

    def all(self) -> None:
        """Read on to the end."""
        if self._file is not None:
            self.text += self._file.read()
            self._file = None
