"""Files, folders and standard input -> documents of Kubernetes objects.

Every problem of every file is collected and told at once.
"""

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from models.errors import InputError, system_reason
from models.reading.documents import ManifestDocument, read_document
from models.reading.texts import read_file

STDIN = "-"
#: What the name of a snapshot in columns ends with.
COMPACT_SUFFIX = ".snapshot"
_SUFFIXES = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz", COMPACT_SUFFIX)
_CHART = "Chart.yaml"
#: A line that is longer counts as content.
_LONGEST_COMMENT = 1 << 16


def read_files(
    sources: Sequence[str | Path], *, recursive: bool = False, stdin: bytes | None = None
) -> list[ManifestDocument]:
    """The documents in these files and folders, in the order given; `-` is standard input."""
    problems: list[str] = []
    documents: list[ManifestDocument] = []
    for name, file in _all_files(sources, recursive, stdin, problems):
        try:
            found = read_file(file, name)
        except InputError as error:
            problems += error.problems
        else:
            documents += found
            problems += [line for document in found for line in document.problems]
    if problems:
        raise InputError(problems)
    return documents


def opened(sources: Sequence[str | Path], *, recursive: bool = False) -> Iterator[tuple[str, BinaryIO]]:
    """(name, file) of each of these files, and of those in these folders, each open while it is its turn."""
    problems: list[str] = []
    yield from _all_files(sources, recursive, None, problems)
    if problems:
        raise InputError(problems)


def contents(sources: Sequence[str | Path], *, recursive: bool = False) -> list[tuple[str, bytes]]:
    """(name, content) of each of these files, and of those in these folders, as they are."""
    return [(name, file.read()) for name, file in opened(sources, recursive=recursive)]


def read_objects(objects: Iterable[Mapping[str, Any]]) -> list[ManifestDocument]:
    """Objects that are Python dictionaries already, read in the same way as files."""
    listing = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    try:
        text = json.dumps(listing, default=_json_of, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError([f"objects: cannot be written as JSON: {error}"]) from None
    document = read_document(text.encode(), "objects")
    if document.problems:
        raise InputError(document.problems)
    return [document]


def _json_of(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not a value of JSON")


def _all_files(
    sources: Iterable[str | Path], recursive: bool, stdin: bytes | None, problems: list[str]
) -> Iterator[tuple[str, BinaryIO]]:
    """(name, what is in it) of each file behind the sources; what is unreadable becomes a problem."""
    for source in sources:
        if str(source) == STDIN:
            yield "standard input", sys.stdin.buffer if stdin is None else io.BytesIO(stdin)
            continue
        if not str(source):
            problems.append("-f: the name of a file or folder is missing")
            continue
        path = Path(source)
        if os.path.isfile(Path(source, _CHART)):
            chart = as_utf8(str(path))
            problems.append(f"{chart}: is a Helm chart: `helm template {chart}` makes manifests of it")
            continue
        try:
            for path in _paths(Path(source), recursive):
                with path.open("rb") as file:
                    if path == Path(source) or not _is_blank(path, file):
                        yield as_utf8(str(path)), file
        except OSError as error:
            problems.append(f"{as_utf8(str(error.filename or path))}: {system_reason(error)}")


def _is_blank(path: Path, file: BinaryIO) -> bool:
    """Whether a YAML file has comments at most: `kubectl apply -f FOLDER` passes over it, too.

    One without a byte is not: a command that failed leaves such a dump.
    """
    if path.suffix not in {".yaml", ".yml"} or not file.read(1):
        return False
    file.seek(0)
    lines = iter(lambda: file.readline(_LONGEST_COMMENT), b"")
    is_blank = all(line.partition(b"#")[0].strip() in {b"", b"---"} for line in lines)
    file.seek(0)
    return is_blank


def as_utf8(text: str) -> str:
    """The text with bytes of file names that are not UTF-8 spelled out: no document could hold them."""
    return text.encode(errors="backslashreplace").decode()


def _paths(source: Path, recursive: bool) -> list[Path]:
    """The file itself, or the manifests of a folder in the order of their names."""
    if not source.is_dir():
        return [source]
    found = _inside(source) if recursive else source.iterdir()
    paths = sorted(path for path in found if path.name.endswith(_SUFFIXES) and path.is_file())
    if not paths:
        raise FileNotFoundError(0, "has no .json, .yaml or .yml files")
    return paths


def _inside(folder: Path) -> Iterator[Path]:
    """The files in a folder and in those inside; `rglob` passes over one that may not be read."""
    for where, _, names in os.walk(folder, onerror=_raised):
        yield from (Path(where, name) for name in names)


def _raised(error: OSError) -> None:
    raise error
