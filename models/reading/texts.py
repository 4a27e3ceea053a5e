"""The content of one file -> its documents, whatever its format."""

import codecs
import gzip
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from models.errors import InputError
from models.reading.documents import (
    FOOTER_WITHIN,
    MAGIC,
    BrokenJson,
    ManifestDocument,
    read_document,
    read_list,
)
from models.reading.json_split import json_values
from models.reading.shares import LARGE, processes, read_in_shares
from models.reading.window import Window

_GZIP_MAGIC = b"\x1f\x8b"
_FOOTER_OF_ANY = b'"kind":"List"'
_JSON_NAMES = (".json", ".json.gz")
#: A longer file is read in parts, if it is a List as printers write it.
_LONG = 1 << 23
_GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)


def read_file(file: BinaryIO, name: str) -> list[ManifestDocument]:
    """The documents of a file, which is never all in memory if it is a long List; the name is said."""
    begin = file.read(_LONG)
    if len(begin) < _LONG:
        return read_content(begin, name)
    if file.seekable() and file.tell() == len(begin):
        return _read_long(file, name)
    # What comes through a pipe, or is the rest of a file, is kept on disk: it may have to be read again.
    with tempfile.TemporaryFile() as spool:
        spool.write(begin)
        shutil.copyfileobj(file, spool, _LONG)
        return _read_long(cast(BinaryIO, spool), name)


def _read_long(file: BinaryIO, name: str) -> list[ManifestDocument]:
    file.seek(0)
    listed = _long_list(file, name, packed=file.read(2) == _GZIP_MAGIC)
    if listed is not None:
        return [listed]
    file.seek(0)
    return read_content(file.read(), name)


def _long_list(file: BinaryIO, name: str, *, packed: bool) -> ManifestDocument | None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - FOOTER_WITHIN, 0))
    footer = file.read()
    if packed:
        # The size before packing ends the file; its kind is only known at the end of its text.
        size, footer = int.from_bytes(footer[-4:], "little"), _FOOTER_OF_ANY
    elif size >= LARGE and (able := processes()) > 1:
        shared = read_in_shares(file, footer, name, size, able - 1)
        if shared is not None:
            return shared
    file.seek(0)
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
    try:
        begin = plain.read(_LONG).removeprefix(codecs.BOM_UTF8)
        if begin.startswith(MAGIC):
            plain.seek(0)
            return _read_compact(plain, name)
        return read_list(Window(begin, plain), footer, name, max(size, len(begin)))
    except _GZIP_ERRORS:
        raise InputError([f"{name}: is not a whole gzip file"]) from None


def read_content(content: bytes, name: str) -> list[ManifestDocument]:
    """The documents of a file, each with its own problems; the name is for messages."""
    plain = unpacked(content, name).removeprefix(codecs.BOM_UTF8)
    if plain.startswith(MAGIC):
        return [_read_compact(io.BytesIO(plain), name)]
    first = plain.lstrip()[:1] if plain[:1].isspace() else plain[:1]
    if not first:
        raise InputError([f"{name}: is empty"])
    if not (first in {b"{", b"["} or name.endswith(_JSON_NAMES)):
        return list(_read_yaml(_text(plain, name), name))
    try:
        return [read_document(plain, name)]
    except BrokenJson as error:
        # Between JSON documents there is nothing but space; `---` makes it YAML in flow style.
        if error.goes_on and b"\n---" not in plain:
            return list(_read_many(plain, name))
        if name.endswith(_JSON_NAMES) and not error.goes_on:
            raise
        return list(_read_yaml(_text(plain, name), name))


def _read_compact(lines: Iterable[bytes], name: str) -> ManifestDocument:
    # Its models take a moment to define, which others need not wait for.
    from models.reading.compact import read_compact

    return read_compact(lines, name)


def _read_many(content: bytes, name: str) -> Iterator[ManifestDocument]:
    """The documents of a file with one JSON value after the other."""
    for number, text in enumerate(json_values(content), start=1):
        place = f"{name}, document {number}"
        try:
            yield read_document(text, place)
        except BrokenJson as error:
            yield ManifestDocument(place, problems=list(error.problems))


def _read_yaml(text: str, name: str) -> Iterator[ManifestDocument]:
    # PyYAML takes a tenth of a second to import, which a snapshot in JSON need not wait for.
    from models.reading.yaml_documents import read_yaml

    return read_yaml(text, name)


def unpacked(content: bytes, name: str) -> bytes:
    """The content without gzip."""
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except _GZIP_ERRORS:
        raise InputError([f"{name}: is not a whole gzip file"]) from None


def _text(content: bytes, name: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError([f"{name}: is not a text file (UTF-8)"])
    return text
