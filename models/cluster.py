"""The snapshot and the ways to read one: from files, folders, standard input, plain objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from models.collector import collector_paused
from models.errors import InputError
from models.objects.kubernetes_version import KubernetesVersion
from models.reading.assemble import assemble
from models.reading.documents import ManifestDocument, place_in
from models.reading.manifests import read_files, read_objects
from models.snapshot import Snapshot
from models.words import listed

_MOST_LABELS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(Snapshot):
    """A snapshot that can be read."""

    @staticmethod
    def load(
        *sources: str | Path,
        recursive: bool = False,
        namespace: str | None = None,
        partial: bool = False,
        kubernetes: str | None = None,
    ) -> "Cluster":
        """The cluster in these files and folders; `-` is standard input.

        What lives in a namespace and names none gets the one given, as `kubectl apply -n` has it.
        Manifests that are to be applied to another cluster are `partial`: they get no pods by themselves.
        With `kubernetes`, such as "1.36", it is decided as that release of kube-scheduler does.
        """
        return read(sources, recursive=recursive, namespace=namespace, partial=partial).as_of(kubernetes)

    @staticmethod
    def from_objects(
        objects: Iterable[Mapping[str, Any]], *, partial: bool = False, kubernetes: str | None = None
    ) -> "Cluster":
        """The cluster made of these objects, each a dictionary as Kubernetes would print it."""
        return _cluster(read_objects(objects), partial=partial).as_of(kubernetes)

    def as_of(self, kubernetes: str | None) -> "Cluster":
        """The same cluster, decided as this release of kube-scheduler does, such as "1.36"."""
        if kubernetes is None:
            return self
        return replace(self, kubernetes=release(kubernetes))

    def domains(self, key: str, place: str) -> list[str]:
        """The values of a node label, sorted; an InputError where no node has it.

        `place` is what names the label, such as `--survive KEY`.
        """
        labels = [node.metadata.labels for node in self.nodes]
        found = sorted({of_node[key] for of_node in labels if key in of_node})
        if not found:
            known = sorted({label for of_node in labels for label in of_node})
            raise InputError([f"{place}: no node has the label {key}{_labels_instead(key, known)}"])
        return found


def _labels_instead(key: str, known: Sequence[str]) -> str:
    """The label that was probably meant; where none is alike, those that there are."""
    alike = [label for label in known if label.endswith(f"/{key}")] or get_close_matches(key, known, n=1)
    if alike:
        return f" (did you mean {' or '.join(alike)}?)"
    return f" (there are {listed(known, _MOST_LABELS)})" if known else ""


def release(text: str) -> KubernetesVersion:
    """The release of Kubernetes that the user asks for; an InputError when it is none."""
    version = KubernetesVersion.parse(text)
    if version is None:
        raise InputError([f"{text!r} is not a version of Kubernetes (for example 1.36 or 1.34.9)"])
    return version


def read(  # noqa: PLR0913 - options, each by its name
    sources: Sequence[str | Path],
    *,
    recursive: bool = False,
    namespace: str | None = None,
    stdin: bytes | None = None,
    partial: bool = False,
    more: Sequence[ManifestDocument] = (),
) -> Cluster:
    """The cluster in these files and folders, and in documents read elsewhere.

    `stdin` stands in for standard input.
    """
    with collector_paused():
        documents = [*read_files(sources, recursive=recursive, stdin=stdin), *more]
        if namespace is not None:
            place_in(namespace, documents)
        return _cluster(documents, partial=partial)


def _cluster(documents: Sequence[ManifestDocument], *, partial: bool = False) -> Cluster:
    snapshot = assemble(documents, partial=partial)
    return Cluster(**{field.name: getattr(snapshot, field.name) for field in fields(snapshot)})
