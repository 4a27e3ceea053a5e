"""A sweep or a fleet from its clusters to its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import typer

from cli.commands.asking import CommandLine, TakeSnapshot, ValuesIn
from cli.commands.steps import searching
from cli.input.clusters import ClusterSource
from cli.input.fleet_options import FleetOutput, Shared
from cli.input.manifests import is_kustomized
from cli.input.options import Output
from cli.input.what_if import Changes
from cli.output.outcome import Exit, say, write_lines
from cli.output.page import Page
from cli.output.render import show
from models import InputError
from models.objects.kubernetes_version import KubernetesVersion
from models.reading.manifests import STDIN, as_utf8
from planner.documents.fleet import Fleet, FleetRow, FleetTotals, Sweep
from planner.fleet.engine import STOPPED, Progress, Row, answers
from planner.fleet.kept import KeptAnswers, digest_of, every_file, key_of
from planner.fleet.summary import badness
from planner.fleet.tasks import WELL, Ask, Reply, Task
from planner.fleet.variations import Scenario, Variation, scenarios, variations
from planner.fleet.workers import ProcessWorkers, Workers
from planner.proof.clock import is_stop_requested, report_best

_MIB = 1 << 20
_ENDED = (Exit.WELL, Exit.FINDINGS)


@dataclass(frozen=True, slots=True)
class Run:
    """One question, with all that says how it is asked and shown."""

    kind: Literal["Sweep", "Fleet"]
    run_command: Callable[[Sequence[str]], int]
    own: Shared
    words: tuple[str, ...]
    vary: Sequence[str]
    changes: Changes = ()
    """The what-if flags among the words."""

    def give(self, clusters: Sequence[ClusterSource]) -> None:
        """Ask, tell, and end with the worst exit code."""
        asked = variations(self.vary)
        kept = None if self.own.resume is None else KeptAnswers.at(self.own.resume)
        with (
            _own_pipes(),
            tempfile.TemporaryDirectory(prefix="planner-") as folder,
            self._workers() as workers,
            searching("answers") as (_, stop_requested),
        ):
            asking = _Asking(self, workers, kept, stop_requested, Path(folder))
            rows, peak = self._collect(asking.rows(clusters, asked))
            stopped = is_stop_requested(stop_requested)
        if kept is not None and kept.full:
            say(f"note: --resume {self.own.resume}: not all answers are kept: {kept.full}")
        if stopped:
            hint = "the same command goes on" if kept is not None else "with --resume DIR it could go on"
            done = sum(row.error != STOPPED for row in rows)
            say(f"stopped with {done} of {len(rows)} answers; {hint}")
        self._show(rows, workers, peak)
        raise typer.Exit(max((_outcome(row) for row in rows), default=Exit.WELL))

    def _collect(self, found: Iterator[Row]) -> tuple[list[FleetRow], int]:
        """The rows, without documents where they were not asked for; JSON lines are written as rows come."""
        whole = self.own.report is not None or self.own.output in {FleetOutput.JSON, FleetOutput.YAML}
        rows, peak = [], 0
        for row in found:
            peak = max(peak, row.reply.peak)
            if self.own.output == FleetOutput.JSONL:
                write_lines([_row(row, whole=True).model_dump_json(by_alias=True)])
            rows.append(_row(row, whole=whole))
        return rows, peak

    def _show(self, rows: list[FleetRow], workers: Workers, peak: int) -> None:
        rows.sort(key=_worst_first)
        document = (Sweep if self.kind == "Sweep" else Fleet)(
            command=as_utf8(" ".join(("planner", *self.words))),
            rows=tuple(rows),
            totals=_totals(rows),
            notes=(*_notes_on_releases(variations(self.vary)), *self._note_on_ties()),
        )
        if self.own.report is not None:
            from cli.output.report.matrix import write_matrix

            write_matrix(self.own.report, document)
        if self.own.metrics is not None:
            from cli.output.fleet_metrics import write_fleet_metrics

            write_fleet_metrics(self.own.metrics, document, time.time())
        if self.own.output == FleetOutput.JSONL:
            return
        form = None if self.own.output is None else Output(self.own.output.value)
        page = Page.of(form, self.own.verbose)
        show(document, page)
        if page.for_a_person and peak and isinstance(workers, ProcessWorkers):
            least = f"{workers.at_once} processes, the largest with {peak // _MIB:,} MiB"
            say(f"{least} of at most {workers.memory // _MIB:,}" if workers.memory else least)

    def _note_on_ties(self) -> Iterator[str]:
        """That no ties are drawn where nodes are lost or drained and pods are placed in one way alone."""
        kinds = {one.what.partition("=")[0] for one in variations(self.vary)}
        if self.words[0] in {"simulate", "explain"} and kinds & {"lose", "drain"}:
            yield (
                "every scenario is simulated with one order of ties, and with others a pod may find no node: "
                "`planner check --survive KEY` and `planner drain` draw some"
            )

    @contextmanager
    def _workers(self) -> Iterator[Workers]:
        if self.own.dask is not None:
            from cli.input.dask_cluster import dask_workers

            if self.own.jobs is not None or self.own.memory is not None:
                raise InputError(["--dask has workers of its own: no --jobs, no --memory"])
            with dask_workers(self.own.dask) as found:
                yield found
            return
        jobs = self.own.jobs or _processors()
        memory = self.own.memory * _MIB if self.own.memory else _memory() // jobs
        with closing(ProcessWorkers(jobs, memory, ("cli.commands.prepared",))) as processes:
            yield processes


@dataclass(frozen=True, slots=True)
class _Asking:
    """The stages of a run: live clusters to files, the scenarios of each cluster, and the answers."""

    run: Run
    workers: Workers
    kept: KeptAnswers | None
    stop_event: threading.Event
    folder: Path

    def rows(self, clusters: Sequence[ClusterSource], asked: Sequence[Variation]) -> Iterator[Row]:
        """One for each cluster and scenario; a cluster that cannot be asked has one with its error."""
        failed: list[Row] = []
        clusters = self._read(clusters, failed)
        contents = {cluster.name: self._content(cluster) for cluster in clusters}
        found = self._scenarios(clusters, asked, contents, failed)
        if self.run.kind == "Sweep" and failed and failed[0].reply.exit_code == Exit.BAD_INPUT:
            raise InputError(failed[0].reply.error.split("; "))
        tasks = [
            self._task(cluster, scenario, contents[cluster.name])
            for cluster in clusters
            for scenario in found.get(cluster.name, ())
        ]
        yield from failed
        yield from self._answers(tasks, self.kept)

    def _answers(self, tasks: Sequence[Task], kept: KeptAnswers | None = None) -> Iterator[Row]:
        return answers(
            tasks, self.workers, kept=kept, stop_event=self.stop_event, progress=_StatusLine(time.monotonic())
        )

    def _read(self, clusters: Sequence[ClusterSource], failed: list[Row]) -> list[ClusterSource]:
        """The same with live clusters and standard input in files, which all questions read alike."""
        live = [
            (cluster, self.folder / f"{number}.json")
            for number, cluster in enumerate(clusters)
            if not cluster.files
        ]
        tasks = [self._first(cluster.name, TakeSnapshot(cluster, path)) for cluster, path in live]
        missing = set()
        for row, (cluster, _) in zip(self._answers(tasks), live, strict=True):
            if row.reply.exit_code != WELL:
                failed.append(row)
                missing.add(cluster.name)
        written = {cluster.name: (str(path),) for cluster, path in live}
        return [
            self._piped(replace(cluster, files=written.get(cluster.name, cluster.files)))
            for cluster in clusters
            if cluster.name not in missing
        ]

    def _piped(self, cluster: ClusterSource) -> ClusterSource:
        """The same with standard input, and pipes that a sweep names, in files."""
        if self.run.kind == "Fleet":
            return cluster
        files = list(cluster.files)
        for number, name in enumerate(files):
            if name == STDIN or Path(name).is_fifo():
                target = self.folder / f"pipe-{number}"
                target.write_bytes(sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes())
                files[number] = str(target)
        return replace(cluster, files=tuple(files))

    def _content(self, cluster: ClusterSource) -> str:
        """What the answers depend on beside the question; empty where that is not known.

        A pipe is read once, and what kustomize builds is in other folders, too.  Where nothing is kept it
        only tells a worker that has been here before whether files have changed.
        """
        files = self._files(cluster)
        if any(file.is_fifo() or is_kustomized(file) for file in files):
            return ""
        try:
            if self.kept is None:
                found = ((name, file.stat()) for name, file in every_file(files))
                return " ".join(f"{name}/{now.st_mtime_ns}/{now.st_size}" for name, now in found)
            return digest_of(files, self.kept.folder)
        except OSError:
            return ""

    def _files(self, cluster: ClusterSource) -> list[Path]:
        return [*map(Path, cluster.files), *_files_in((*self.run.words, *self.run.vary))]

    def _scenarios(
        self,
        clusters: Sequence[ClusterSource],
        asked: Sequence[Variation],
        contents: dict[str, str],
        failed: list[Row],
    ) -> dict[str, list[Scenario]]:
        """By cluster; those that depend on what is in it are asked for by a worker."""
        if not any(one.needs_cluster for one in asked):
            return dict.fromkeys((cluster.name for cluster in clusters), scenarios(asked))
        specs = tuple(self.run.vary)
        held = {name: self._held_as(content) for name, content in contents.items()}
        tasks = [self._first(c.name, ValuesIn(c, specs, held[c.name], self._of_nodes)) for c in clusters]
        found = {}
        for row in self._answers(tasks):
            if row.reply.document is None:
                failed.append(row)
                continue
            own = zip(asked, json.loads(row.reply.document), strict=True)
            found[row.cluster] = scenarios(
                [replace(one, values=tuple(values), lost=lost) for one, (values, lost) in own]
            )
        return found

    def _held_as(self, content: str) -> str:
        """By what name workers hold a cluster: where its content is not known, for this run alone."""
        return content or str(self.folder)

    @property
    def _of_nodes(self) -> Changes:
        """Which of the question's own flags change what nodes there are."""
        return tuple(change for change in self.run.changes if change[0] in {"add_nodes", "remove_node"})

    def _first(self, name: str, ask: Ask) -> Task:
        return Task(name, "", ask, "", self.run.own.timeout)

    def _task(self, cluster: ClusterSource, scenario: Scenario, content: str) -> Task:
        command, *flags = self.run.words
        recursive = ["-R"] if cluster.recursive else []
        question = (command, *recursive, *flags, *scenario.flags)
        named = "--snapshot" if command == "rollout" else "-f"
        where = [word for name in cluster.files for word in (named, self._path(name))]
        words = (command, *where, *recursive, *flags, *scenario.flags, "-o", "json")
        key = key_of(content, question) if content else ""
        ask = CommandLine(self.run.run_command, words, self._held_as(content))
        return Task(cluster.name, scenario.name, ask, key, self.run.own.timeout)

    def _path(self, name: str) -> str:
        """As it was typed, unless workers may stand in another folder."""
        return str(Path(name).absolute()) if self.run.own.dask is not None else name


def _files_in(words: Sequence[str]) -> Iterator[Path]:
    """Files that words name: whole, or as a value like those of `--prices=FILE` and `add-nodes=2=FILE`."""
    for word in words:
        pieces = [piece for piece in {word, *re.split("[=,]", word), word.partition("=")[2]} if piece]
        yield from (Path(piece) for piece in sorted(pieces) if Path(piece).exists())


@dataclass
class _StatusLine:
    """The line about progress."""

    start: float

    def __call__(self, progress: Progress) -> None:
        """How many are done, the slowest of them, and when the rest may be."""
        text = f"{progress.done:,} of {progress.total:,}, {progress.running} running"
        seconds, name = progress.slowest
        if name:
            text += f", slowest {name} {seconds:.1f} s"
        if progress.done:
            each = (time.monotonic() - self.start) / progress.done
            text += f", about {each * (progress.total - progress.done):.0f} s left"
        report_best(text)


@contextmanager
def _own_pipes() -> Iterator[None]:
    """A pipe to a worker that has ended is an error to be handled; standard output still ends as usual."""
    usual = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, usual)
        signal.raise_signal(signal.SIGPIPE)
        raise
    finally:
        signal.signal(signal.SIGPIPE, usual)


def _notes_on_releases(asked: Sequence[Variation]) -> Iterator[str]:
    """As which releases others are decided that are varied: a table has no room for it."""
    from planner.problem.kubernetes_version import Copied, behaviour_of

    found = (value for one in asked if one.what == "kubernetes" for value in one.values)
    for version in filter(None, map(KubernetesVersion.parse, found)):
        yield from Copied(behaviour_of(version), version, "asked").notes()


def _row(row: Row, *, whole: bool) -> FleetRow:
    reply: Reply = row.reply
    return FleetRow(
        cluster=row.cluster,
        scenario=row.scenario,
        exit_code=reply.exit_code,
        summary=dict(reply.figures),
        error=as_utf8(reply.error),
        document=json.loads(reply.document) if whole and reply.document is not None else None,
    )


def _worst_first(row: FleetRow) -> tuple[bool, int, tuple[float, ...]]:
    """Without an answer first, then findings by their figures; rows alike stay in their order."""
    answered = row.exit_code in _ENDED
    return answered, -row.exit_code, tuple(-figure for figure in badness(row.summary))


def _totals(rows: Sequence[FleetRow]) -> FleetTotals:
    codes = [row.exit_code for row in rows]
    well, findings = codes.count(Exit.WELL), codes.count(Exit.FINDINGS)
    return FleetTotals(rows=len(rows), well=well, findings=findings, unanswered=len(rows) - well - findings)


def _outcome(row: FleetRow) -> int:
    return row.exit_code if row.exit_code in _ENDED else Exit.NO_ANSWER


def _processors() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    """The memory of this machine, or the limit of this container."""
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else "max"
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, int(text)) if text.isdigit() else machine
