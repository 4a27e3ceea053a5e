"""The clusters of a sweep or a fleet, and whether the question makes sense."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from cli.input.live import kubectl, run_kubectl
from cli.input.what_if import Changes, given
from models.errors import InputError, system_reason
from models.reading.manifests import STDIN, as_utf8

#: The commands that answer with a document about one cluster.
QUESTIONS = (
    "check",
    "simulate",
    "solve",
    "compare",
    "explain",
    "scale-down",
    "rebalance",
    "rollout",
    "drain",
    "consolidate",
    "capacity",
)
#: What has no meaning for a question asked many times.
_REFUSED = ("--watch", "-w", "--junit", "--server-dry-run")
_PART = re.compile(r"(\d+)/(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """Where a cluster is read: files, or a live cluster when there are none."""

    name: str
    files: tuple[str, ...] = ()
    recursive: bool = False
    context: str | None = None
    kubeconfig: str | None = None


def one_cluster(
    files: Sequence[str] | None, recursive: bool, context: str | None, kubeconfig: str | None
) -> ClusterSource:
    """The cluster of a sweep."""
    if files and (context or kubeconfig):
        raise InputError(["-f reads files, --context and --kubeconfig a live cluster: one of them"])
    if not files:
        return ClusterSource(context or "cluster", (), False, context, kubeconfig)
    name = "stdin" if STDIN in files else as_utf8(_name(Path(files[0])))
    return ClusterSource(name, tuple(files), recursive)


def many_clusters(
    contexts: str | None,
    snapshots: str | None,
    kubeconfig: str | None,
    part: str | None,
    *,
    every: bool,
    but: Iterable[str | None] = (),
) -> list[ClusterSource]:
    """The clusters of a fleet; what lies at a path of `but`, where answers are written, is none."""
    if sum((contexts is not None, every, snapshots is not None)) != 1:
        raise InputError(["which clusters? one of --contexts A,B, --all-contexts and --snapshots DIR"])
    if snapshots == "":
        raise InputError(["--snapshots: the name of a folder is missing"])
    if snapshots is not None:
        found = _in_folder(Path(snapshots), {Path(name).resolve() for name in but if name})
    else:
        named = _known(kubeconfig) if contexts is None else [name for name in contexts.split(",") if name]
        found = [ClusterSource(name, (), False, name, kubeconfig) for name in dict.fromkeys(named)]
    if not found:
        raise InputError(["kubectl knows no contexts" if every else "--contexts names none"])
    return found if part is None else found[_slice(part)]


def check_question(invocation: typer.Context, command: str, words: Sequence[str]) -> Changes:
    """The what-if flags of the command; what it would refuse is, and what has no meaning here."""
    if command not in QUESTIONS:
        raise InputError([f"{command}: no question about a cluster; there are {', '.join(QUESTIONS)}"])
    for word in words:
        if word.partition("=")[0] in _REFUSED:
            raise InputError(
                [f"{word.partition('=')[0]} is of no use for a question that is asked many times"]
            )
    group = invocation.parent
    assert group is not None
    found = getattr(group.command, "commands")[command]  # noqa: B009  (typer's own click has no public types)
    return given(found.make_context(command, list(words), parent=group))


def _in_folder(folder: Path, but: Collection[Path]) -> list[ClusterSource]:
    if folder.resolve() in but:
        raise InputError([f"--snapshots {folder}: answers are kept in the same folder"])
    try:
        visible = [path for path in folder.iterdir() if not path.name.startswith(".")]
        entries = sorted(path for path in visible if path.resolve() not in but)
    except OSError as error:
        raise InputError([f"--snapshots {folder}: {system_reason(error)}"]) from None
    if not entries:
        raise InputError([f"--snapshots {folder}: nothing is in it"])
    names = map(as_utf8, _names(entries))
    return [ClusterSource(name, (str(path),)) for name, path in zip(names, entries, strict=True)]


def _names(entries: Sequence[Path]) -> list[str]:
    """A name for each entry of a folder; those that would share one have their endings."""
    names = [_name(path) for path in entries]
    while len({*names}) < len(names):
        times = Counter(names)
        names = [name if times[name] == 1 else path.name for name, path in zip(names, entries, strict=True)]
    return names


def _name(path: Path) -> str:
    """The name of a file, be it a link, without its endings that say what it holds."""
    own = Path(os.path.abspath(path)).name
    return re.sub(r"\.(json|ya?ml|snapshot)?(\.gz)?$", "", own) or path.name


def _known(kubeconfig: str | None) -> list[str]:
    answer = run_kubectl([*kubectl(None, kubeconfig), "config", "get-contexts", "--output", "name"])
    if answer.returncode:
        raise InputError([f"kubectl: {answer.stderr.decode(errors='replace').strip()}"])
    return answer.stdout.decode().split()


def _slice(part: str) -> slice:
    found = _PART.fullmatch(part)
    if found is None or not int(found[1]) < int(found[2]):
        raise InputError([f"--part {part}: expected K/N with K from 0 to N-1, such as 0/4"])
    return slice(int(found[1]), None, int(found[2]))
