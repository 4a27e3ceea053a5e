"""The command line that is running, as a user would type it about the live cluster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.snapshot import Snapshot

_TYPED: ContextVar[Sequence[str]] = ContextVar("arguments")
#: Where the answer came from and went to: files are yesterday's news, and the rest is said anew.
_WITH_VALUE = ("--filename", "-f", "--output", "-o", "--context", "--kubeconfig")
_WITHOUT_VALUE = ("--recursive", "-R", "--verbose", "-v")


def remember(arguments: Sequence[str]) -> None:
    """What was typed after `planner`."""
    _TYPED.set(tuple(arguments))


def again(snapshot: Snapshot) -> str:
    """The present command with its options, asking the cluster that the snapshot is of for a script."""
    words = ["planner", *_kept(_TYPED.get()), "-o", "script"]
    if snapshot.origin is not None and snapshot.origin.context:
        words += ["--context", snapshot.origin.context]
    return shlex.join(words)


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    skip = False
    for word in arguments:
        if skip or word in _WITHOUT_VALUE:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif not _has_value(word):
            yield word


def _has_value(word: str) -> bool:
    """Whether the word has its value in it: `--output=script`, `-oscript`."""
    return any(word.startswith(f"{option}=" if option.startswith("--") else option) for option in _WITH_VALUE)
