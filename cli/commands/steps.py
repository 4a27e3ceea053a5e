"""What every command does: the cluster is loaded and changed, something is looked for, the answer is given.

Imported when a command runs: `--help` is there without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import typer

from cli.input import options
from cli.input.again import again
from cli.input.changes import changed
from cli.input.source import load
from cli.input.what_if import SERVER_DRY_RUN, Changes
from cli.output.interrupt import stop_event
from cli.output.outcome import Exit
from cli.output.progress import search
from cli.output.render import Page, show, show_lines, write_junit
from models import Cluster
from planner.documents.plan import Document
from planner.proof.clock import Progress

if TYPE_CHECKING:
    from cli.output.forms.pipelines import Places

_Document = TypeVar("_Document", bound=Document)
#: The lines of a document's script, of the document, the cluster and the command that plans again.
ScriptLines = Callable[[_Document, Cluster, str], Iterable[str]]


def cluster_asked(
    filename: Sequence[str] | None,
    recursive: bool,
    context: str | None,
    kubeconfig: str | None,
    changes: Changes = (),
    namespace: str | None = None,
) -> Cluster:
    """The cluster of the files, or the live one, after the what-if flags."""
    dry_run = SERVER_DRY_RUN in changes
    cluster = load(filename, recursive, context, kubeconfig, namespace, server_dry_run=dry_run)
    return changed(cluster, changes, namespace)


@contextmanager
def searching(what: str, best: str = "") -> Iterator[tuple[Progress | None, threading.Event]]:
    """A line on the terminal for a search, and the event that Ctrl-C sets."""
    with search(what, stoppable=True, best=best) as progress, stop_event() as stop_requested:
        yield progress, stop_requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where a document goes: the screen in some form, and the files that were asked for."""

    output: options.Output | options.ScriptOutput | None
    verbose: bool
    report: str | None = None
    junit: str | None = None

    def give(
        self,
        command: str,
        document: _Document,
        cluster: Cluster,
        *,
        findings: bool,
        script: ScriptLines[_Document] | None = None,
        places: Places | None = None,
    ) -> None:
        """Write and print a document; with findings the command ends with exit code 1."""
        if self.report is not None:
            from cli.output.report.publish import publish

            publish(self.report, command, document, cluster)
        write_junit(document, self.junit)
        if script is not None and self.output == options.ScriptOutput.SCRIPT:
            show_lines(document, script(document, cluster, again(cluster)))
        else:
            show(document, Page.of(options.plain(self.output), self.verbose), places)
        if findings:
            raise typer.Exit(Exit.FINDINGS)
