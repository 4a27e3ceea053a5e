"""`planner check --watch`: the same question again and again, and an answer whenever it is another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import typer

from cli.output.outcome import Exit, say
from models import Cluster, InputError
from planner.documents.plan import Document

#: Between two answers of the API server; all of a large cluster is read every time.
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WatchResult:
    """What was found, in which cluster, and whether that is a finding."""

    document: Document
    cluster: Cluster
    findings: bool


def every_change(look: Callable[[], WatchResult], give: Callable[[WatchResult], None]) -> int:
    """Give what was found whenever it has changed, until Ctrl-C; the exit code is that of the last answer.

    A cluster that does not answer once there was an answer is told, and asked again.
    """
    last, code = "", int(Exit.WELL)
    try:
        while True:
            try:
                found = look()
            except InputError as error:
                if not last:
                    raise
                say(*error.problems)
            else:
                text = found.document.to_json()
                if text != last:
                    say(f"at {datetime.now():%H:%M:%S}")
                    last, code = text, _code(give, found)
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        return code


def _code(give: Callable[[WatchResult], None], found: WatchResult) -> int:
    try:
        give(found)
    except typer.Exit as ended:
        return ended.exit_code
    return Exit.WELL
