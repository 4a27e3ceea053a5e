"""Replies kept in a folder by all that they depend on, so that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from models.errors import InputError, system_reason
from planner.fleet.summary import figures
from planner.fleet.tasks import Reply

_CHUNK = 1 << 20
#: The names of answers, and of those that are being written.
_KEPT = re.compile(r"[0-9a-f]{32}\.json|\..*")
#: The exit codes of answers; whatever else happened is asked again.
_ANSWERED = (0, 1)


def digest_of(files: Iterable[Path], but: Path) -> str:
    """The content of files, and of all in folders, as a short text, but for answers kept in a folder."""
    found, but = hashlib.blake2b(digest_size=16), but.resolve()
    for name, file in every_file(files):
        if file.resolve().parent == but and _KEPT.fullmatch(file.name):
            continue
        found.update(os.fsencode(f"\0{name}\0"))
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
    return found.hexdigest()


def every_file(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """All files, those in folders by their names there."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                yield str(file.relative_to(path)), file


def key_of(content: str, arguments: Sequence[str]) -> str:
    """The name of an answer: the cluster's content, the question, and the release that answers."""
    parts = [version("kubernetes-placement-planner"), content, *arguments]
    return hashlib.blake2b(os.fsencode("\0".join(parts)), digest_size=16).hexdigest()


@dataclass
class KeptAnswers:
    """A folder of replies; `full` says why nothing more is kept, once something could not be."""

    folder: Path
    full: str = ""

    @classmethod
    def at(cls, name: str) -> KeptAnswers:
        """The folder of this name, made if need be."""
        if not name:
            raise InputError(["--resume: the name of a folder is missing"])
        folder = Path(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError([f"--resume {name}: {system_reason(error)}"]) from None
        return cls(folder)

    def get(self, key: str) -> Reply | None:
        """What was kept, if it is whole."""
        try:
            found = json.loads((self.folder / f"{key}.json").read_bytes())
            return Reply(found["exitCode"], found["document"], "", figures(json.loads(found["document"])))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep an answer, whole or not at all."""
        if self.full or reply.exit_code not in _ANSWERED or reply.document is None:
            return
        text = json.dumps({"exitCode": reply.exit_code, "document": reply.document})
        try:
            self._write(self.folder / f"{key}.json", text)
        except OSError as error:
            self.full = system_reason(error)

    def _write(self, path: Path, text: str) -> None:
        handle, beside = tempfile.mkstemp(dir=self.folder, prefix=".")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, path)
        finally:
            # Gone where all went well.
            Path(beside).unlink(missing_ok=True)
