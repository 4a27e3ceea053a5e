"""What all scripts begin and end with: words, the cluster that they are about, the plan, and machinery."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files

from cli.output.table import harmless
from models.errors import InputError
from models.snapshot import Snapshot

_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9._:/-]*[a-zA-Z0-9])?", re.ASCII)
_HELP = """\
#
#   sh SCRIPT --dry-run   looks at everything, asks the API server about every change, and makes none
#   sh SCRIPT             makes the changes; interrupted, it puts back what has to be put back
#   sh SCRIPT             once more: goes on where the cluster is
#   sh SCRIPT --take-over also puts back what a script on another host, or in another container, has left,
#                         which is not at work any more
#
# Before it changes anything it looks whether this is the cluster of the plan, whether its objects are as
# they were, and whether this user may do all that is to be done.
# It ends with 0: done; 1: the cluster is not as planned, plan again; 2: refused, nothing was changed;
# 128 and more: stopped by a signal.
# KUBECTL, KUBECONFIG, CONTEXT, TIMEOUT (seconds without any progress, 600) and GRACE_MARGIN (seconds that an
# evicted pod may take to end beyond its grace period, 60) may be set from outside."""

_SUPPOSED = """\
#
# It is planned for the cluster after the what-if flags in AGAIN below, and does not do what they say: do that
# first. It ends unless all nodes of the plan are there, cordoned or open as after them, and those gone that
# should be; pods that should be gone by then are not looked for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One kind of script: its opening words, its own lines, and the command that plans again."""

    title: str
    parts: tuple[str, ...]
    again: str


def script(
    frame: Frame, snapshot: Snapshot, plan: Iterable[str], settings: Iterable[str] = ()
) -> Iterator[str]:
    """The whole script: words, settings, the plan, the machinery."""
    rows = [*plan, ":"]  # all of them, before the first line is out
    yield "#!/bin/sh"
    yield f"# {one_line(frame.title)}"
    if snapshot.supposed:
        yield _SUPPOSED
    yield from _HELP.splitlines()
    yield "set -u"
    yield ""
    yield from _whereabouts(snapshot)
    yield f"AGAIN=$ELSEWHERE{shlex.quote(frame.again)}"
    yield from settings
    yield ""
    yield "plan() {"
    yield from (f"    {line}" if line else "" for line in rows)
    yield "}"
    for part in ("frame", "holders", "ending", *frame.parts):
        yield ""
        yield from files(__package__).joinpath(f"{part}.sh").read_text().splitlines()
    yield ""
    yield 'main "$@"'


def _whereabouts(snapshot: Snapshot) -> Iterator[str]:
    """Where the cluster is, and what tells it from others."""
    origin = snapshot.origin
    context = "" if origin is None else origin.context
    kubeconfig = "" if origin is None else origin.kubeconfig
    yield f"CONTEXT=${{CONTEXT-{shlex.quote(context)}}}" if context else "CONTEXT=${CONTEXT-}"
    yield "ELSEWHERE='' # what commands to type begin with"
    if kubeconfig:
        setting = f"KUBECONFIG={shlex.quote(kubeconfig)} "
        yield f'[ -n "${{KUBECONFIG+set}}" ] || ELSEWHERE={shlex.quote(setting)}'
        yield f"KUBECONFIG=${{KUBECONFIG-{shlex.quote(kubeconfig)}}}"
        yield "export KUBECONFIG"
    known = "the uid of kube-system" if snapshot.uid else "not read: uids of objects have to do"
    yield f"CLUSTER={shlex.quote(snapshot.uid)} # {known}"


def command(*words: str) -> str:
    """One command, every word quoted as a shell needs it."""
    return " ".join(map(shlex.quote, words))


def checked(*names: str) -> None:
    """An InputError for names that no API server would take: what is in a script gets run."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError([f"{name!r} is no name of an object in a cluster: no script is made with it"])


def one_line(text: str) -> str:
    """Text that cannot get out of a comment, nor control the terminal on which it is read."""
    return harmless(" ".join(text.split()))
