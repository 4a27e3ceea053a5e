"""The content of one file -> its documents, whatever its format."""

import codecs
import gzip
import zlib
from collections.abc import Iterator

from models.errors import InputError
from models.reading.documents import BrokenJson, ManifestDocument, read_document
from models.reading.json_split import json_values

_GZIP_MAGIC = b"\x1f\x8b"
_JSON_NAMES = (".json", ".json.gz")


def read_content(content: bytes, name: str) -> list[ManifestDocument]:
    """The documents of a file, each with its own problems; the name is for messages."""
    plain = unpacked(content, name).removeprefix(codecs.BOM_UTF8)
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
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError([f"{name}: is not a whole gzip file"]) from None


def _text(content: bytes, name: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError([f"{name}: is not a text file (UTF-8)"])
    return text
