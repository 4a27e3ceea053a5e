"""Where a snapshot comes from, and where `planner snapshot` puts it."""

import gzip
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from cli.input.dry_run import admitted_templates
from cli.input.holding import HOLDING
from cli.input.live import ask_kubectl, kubectl
from cli.input.manifests import built, is_kustomized
from cli.output.outcome import say_notes, standard_output
from cli.output.progress import doing, reading
from models import Cluster, InputError
from models.cluster import read
from models.errors import system_reason
from models.reading.manifests import COMPACT_SUFFIX, STDIN, opened, read_objects
from models.sharing.raw import each_object


def load(
    filename: Sequence[str] | None,
    recursive: bool,
    context: str | None,
    kubeconfig: str | None,
    namespace: str | None = None,
    *,
    server_dry_run: bool = False,
) -> Cluster:
    """The cluster in these files, or the live one when there are none.

    Manifests that name no namespace are of the one given.  With `server_dry_run` the API server is asked
    about every template before pods are made from it.
    """
    request = (tuple(filename or ()), recursive, context, kubeconfig, namespace, server_dry_run)
    if (content := HOLDING.get()) is not None:
        from planner.fleet.tasks import held

        return held(0, (content, request), lambda: _load(*request))
    return _load(*request)


def _load(
    filename: Sequence[str],
    recursive: bool,
    context: str | None,
    kubeconfig: str | None,
    namespace: str | None,
    server_dry_run: bool,
) -> Cluster:
    _refuse_both(filename, context, kubeconfig)
    if filename and server_dry_run:
        raise InputError(["--server-dry-run asks the API server of a live cluster, and -f reads files"])
    if filename:
        with reading(f"reading {', '.join(filename)}"):
            plain = [name for name in filename if not is_kustomized(name)]
            cluster = read(plain, recursive=recursive, namespace=namespace, more=built(filename))
    else:
        with reading("asking kubectl for the cluster"):
            cluster = _live(context, kubeconfig, server_dry_run=server_dry_run)
    if not cluster.nodes and not cluster.pods:
        places = ["standard input" if name == STDIN else name for name in filename or ()]
        place = ", ".join(places) or "the live cluster"
        left_out = f" ({', '.join(cluster.notes)})" if cluster.notes else ""
        raise InputError([f"{place}: neither nodes nor pods, {_found(cluster)}{left_out}"])
    return cluster


def listing(
    filename: Sequence[str] | None, recursive: bool, context: str | None, kubeconfig: str | None
) -> Iterable[tuple[str, bytes | BinaryIO]]:
    """(name, content) of these files as they are, or what kubectl says when there are none."""
    _refuse_both(filename, context, kubeconfig)
    if filename:
        return opened(filename, recursive=recursive)
    with doing("asking kubectl for the cluster"):
        answer, notes = ask_kubectl(context, kubeconfig)
    say_notes(notes)
    return [("kubectl", answer)]


def with_policy(cluster: Cluster, filename: str | None) -> Cluster:
    """The cluster under the DeschedulerPolicy of a file."""
    if filename is None:
        return cluster
    given = Cluster.load(filename, partial=True)
    if given.descheduler_policy is None:
        raise InputError([f"{filename}: no DeschedulerPolicy of descheduler/v1alpha2"])
    return replace(cluster, descheduler_policy=given.descheduler_policy, notes=(*cluster.notes, *given.notes))


def check_target(target: str | None) -> None:
    """An InputError where no snapshot can be written: told before a large cluster is asked for."""
    if target in (None, STDIN):
        return
    if not target:
        raise InputError(["-o: the name of a file is missing"])
    if target in {"wide", "json", "yaml", "name", "markdown"}:
        raise InputError([f"-o {target}: a snapshot has one form, -o names its file (write ./{target})"])
    if not Path(target).parent.is_dir():
        raise InputError([f"{target}: no such file or directory"])


def write(text: bytes, target: str | None) -> None:
    """Put a snapshot into a file, or on standard output."""
    if target in (None, STDIN):
        with standard_output() as output:
            output.buffer.write(text)
        return
    content = _as_named(text, target)
    try:
        with open(target, "wb", opener=_for_me_alone) as file:
            file.write(content)
    except OSError as error:
        raise InputError([f"{target}: {system_reason(error)}"]) from None


def _as_named(text: bytes, target: str) -> bytes:
    """The List in the form that the name of its file asks for."""
    if target.endswith(".gz"):
        return gzip.compress(text, mtime=0)
    if not target.endswith(COMPACT_SUFFIX):
        return text
    from models.reading.compact import compact, packed

    with doing("writing the snapshot in columns"):
        return packed(compact(text))


def _for_me_alone(path: str, flags: int) -> int:
    """An open file that no other user may read, whatever it was before; a pipe or device stays as it is."""
    file = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(file).st_mode):
        os.fchmod(file, 0o600)
    return file


def _refuse_both(filename: Sequence[str] | None, context: str | None, kubeconfig: str | None) -> None:
    if filename and (context or kubeconfig):
        raise InputError(
            [
                "-f reads files, --context and --kubeconfig a live cluster; for both: "
                "planner snapshot --context NAME | planner simulate -f - -f more.yaml"
            ]
        )


def _live(context: str | None, kubeconfig: str | None, *, server_dry_run: bool) -> Cluster:
    listing, _ = ask_kubectl(context, kubeconfig)
    tried = read_objects(_tried(listing, context, kubeconfig)) if server_dry_run else ()
    return read([STDIN], stdin=listing, more=tried)


def _tried(listing: bytes, context: str | None, kubeconfig: str | None) -> list[dict[str, Any]]:
    """What the API server says to the templates in its own listing."""
    objects: list[dict[str, Any]] = []
    each_object(listing, "kubectl", lambda item: objects.append(item) if item.get("kind") != "Pod" else None)
    return list(admitted_templates(kubectl(context, kubeconfig), objects))


def _found(cluster: Cluster) -> str:
    """How many objects of which kinds there are instead."""
    groups = [getattr(cluster, field.name) for field in fields(cluster) if field.name != "notes"]
    counts = [
        f"{type(group[0]).__name__} ({len(group)})" for group in groups if isinstance(group, tuple) and group
    ]
    return f"only {', '.join(counts)}" if counts else "and nothing else that the planner reads"
