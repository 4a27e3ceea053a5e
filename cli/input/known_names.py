"""The names of nodes, pods and workloads for completion, read in no time: without the models."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Completion does not wait longer for a cluster.
_SECONDS = 2
_SUFFIXES = (".json", ".json.gz", ".yaml", ".yml", ".yaml.gz", ".yml.gz")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """An object by its kind and name, with its labels."""

    kind: str
    namespace: str
    name: str
    labels: tuple[str, ...] = ()


def in_files(sources: Sequence[str]) -> Iterator[KnownNames]:
    """What is in these files and folders, as far as they can be read; standard input is left alone."""
    for source in sources:
        for path in _paths(Path(source)):
            content = path.read_bytes()
            for value in _values(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content):
                yield from _known(value)


def in_cluster(kinds: str, command: Sequence[str]) -> Iterator[KnownNames]:
    """What kubectl tells at once; nothing where there is no cluster."""
    fields = "custom-columns=:kind,:metadata.namespace,:metadata.name"
    asked = [*command, "get", kinds, "--all-namespaces", "--no-headers", "--output", fields]
    for line in _lines([*asked, f"--request-timeout={_SECONDS}s"]):
        columns = line.split()
        if len(columns) == 3:  # noqa: PLR2004
            yield KnownNames(columns[0], columns[1].replace("<none>", ""), columns[2])


def contexts(command: Sequence[str]) -> list[str]:
    """The contexts of kubectl's configuration."""
    return _lines([*command, "config", "get-contexts", "--output", "name"])


def _paths(source: Path) -> list[Path]:
    found = [source]
    if source.is_dir():
        found = sorted(path for path in source.iterdir() if path.name.endswith(_SUFFIXES))
    return [path for path in found if path.is_file()]


def _lines(command: Sequence[str]) -> list[str]:
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return told.stdout.splitlines()


def _values(content: bytes) -> list[Any]:
    if content.lstrip()[:1] in (b"{", b"["):
        try:
            return [json.loads(content)]
        except ValueError:
            return []
    import yaml

    try:
        return list(yaml.load_all(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, ValueError):
        return []


def _known(value: Any, kind: str = "") -> Iterator[KnownNames]:
    if not isinstance(value, dict):
        return
    kind = str(value.get("kind", kind))
    if kind.endswith("List"):
        for item in value.get("items") or ():
            yield from _known(item, kind.removesuffix("List"))
        return
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        labels = metadata.get("labels") or {}
        namespace = str(metadata.get("namespace", "" if kind == "Node" else "default"))
        yield KnownNames(
            kind, namespace, metadata["name"], tuple(f"{key}={text}" for key, text in labels.items())
        )
