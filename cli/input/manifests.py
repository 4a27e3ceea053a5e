"""Manifests as they are applied: files, folders, standard input, and folders that kustomize builds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cli.input.dry_run import admitted_templates, after_apply
from cli.input.ended_together import run_to_its_end
from models import Cluster, InputError
from models.admission.validation import invalid_fields
from models.cluster import read
from models.objects.base import NamespacedObject
from models.reading.documents import ManifestDocument
from models.reading.manifests import STDIN, contents, read_objects
from models.reading.texts import read_content
from models.sharing.raw import each_object

Manifest = dict[str, Any]
_LEFT_OUT = re.compile(r"\.(image|limits|restartPolicy): Required value")
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def manifests(
    filename: Sequence[str] | None,
    recursive: bool,
    namespace: str | None,
    *,
    server_dry_run: Sequence[str] | None = None,
) -> tuple[Cluster, list[tuple[str, Manifest]]]:
    """What is to be applied, read and as it is written in which file; it gets no pods by itself.

    With `server_dry_run`, which is kubectl's command, the API server is asked about every template.
    """
    if not filename:
        raise InputError(["-f: the manifests that are to be applied are missing"])
    plain = [name for name in filename if not is_kustomized(name)]
    texts = contents(plain, recursive=recursive)
    texts += [(name, _built(name)) for name in filename if is_kustomized(name)]
    found = _parsed(texts)
    written: list[tuple[str, Manifest]] = []
    for name, text in texts:
        items: list[Manifest] = []
        each_object(text, name, items.append)
        written += [(name, item) for item in items]
    if server_dry_run is not None:
        objects = after_apply(server_dry_run, [item for _, item in written], namespace)
        found = read_objects([*objects, *admitted_templates(server_dry_run, objects, namespace)])
    return read([], namespace=namespace, partial=True, more=found), written


def refuse_invalid(
    written: Iterable[tuple[str, Manifest]], namespace: str | None, snapshot: Cluster | None
) -> None:
    """An error for what the API server would not store.

    A snapshot that was made by hand leaves out what nobody looks at, as its manifests may then.
    """
    by_hand = snapshot is not None and not any(
        container.image for pod in snapshot.pods for container in pod.spec.containers
    )
    problems: list[str] = []
    for file, item in written:
        metadata = item.get("metadata") or {}
        where = metadata.get("namespace") or namespace or "default"
        lines = [line for line in invalid_fields(item) if not (by_hand and _LEFT_OUT.search(line))]
        head = f"{file}, {item.get('kind')} {where}/{metadata.get('name')}"
        problems += [f"{head}: {line}" for line in lines]
    if problems:
        raise InputError(problems)


def places(
    filename: Sequence[str] | None, recursive: bool, namespace: str | None
) -> dict[tuple[str, str], str]:
    """The file of every workload, or the folder that kustomize builds; nothing for standard input."""

    def where(item: NamespacedObject) -> str:
        named = "namespace" in item.metadata.model_fields_set
        return item.namespace if named or namespace is None else namespace

    return {
        (where(item), f"{item.kind}/{item.name}"): file
        for name in filename or ()
        for file, document in _documents(name, recursive)
        for item in document.objects
        if isinstance(item, NamespacedObject)
    }


def _documents(name: str, recursive: bool) -> Iterator[tuple[str, ManifestDocument]]:
    if name == STDIN:
        return
    if is_kustomized(name):
        yield from ((name, document) for document in _parsed([(name, _built(name))]))
        return
    for file, content in contents([name], recursive=recursive):
        yield from ((file, document) for document in read_content(content, file))


def is_kustomized(name: str | Path) -> bool:
    """Whether kubectl builds a folder, from what it names in others."""
    # Whatever cannot be the name of a file is told where files are read.
    return bool(str(name)) and any(os.path.isfile(Path(name, file)) for file in _KUSTOMIZATIONS)


def built(names: Iterable[str]) -> list[ManifestDocument]:
    """What kustomize builds of those of these folders that it is meant for."""
    return _parsed((name, _built(name)) for name in names if is_kustomized(name))


def _built(folder: str) -> bytes:
    """What `kubectl apply -k` would apply."""
    try:
        ended = run_to_its_end(["kubectl", "kustomize", folder])
    except FileNotFoundError:
        raise InputError([f"{folder}: kubectl builds such folders, and cannot be found"]) from None
    if ended.returncode:
        told = ended.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
        raise InputError([f"{folder}: kubectl kustomize: {told[0].removeprefix('error: ')}"])
    return ended.stdout


def _parsed(texts: Iterable[tuple[str, bytes]]) -> list[ManifestDocument]:
    found = [document for name, text in texts for document in read_content(text, name)]
    if problems := [line for document in found for line in document.problems]:
        raise InputError(problems)
    return found
