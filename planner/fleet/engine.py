"""Tasks to rows: sent to workers, asked again where a worker ended, and never without a row."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, wait
from dataclasses import dataclass, field
from itertools import groupby

from planner.fleet.kept import KeptAnswers
from planner.fleet.tasks import Reply, Task
from planner.fleet.worker import late
from planner.fleet.workers import Answering, Given, Workers
from planner.proof.clock import is_stop_requested

#: So long after its limit a worker that has not answered is given up, and how often that is looked at.
_GRACE_SECONDS, _POLL_SECONDS = 10.0, 0.2
#: Tasks of one cluster are split into so many pieces for each worker, as they do not all take the same time;
#: what is in no piece of more than so many is soon kept, and soon seen.
_PIECES, _MOST_IN_PIECE = 8, 20
STOPPED = "stopped before it was answered"


@dataclass(frozen=True, slots=True)
class Row:
    """A task with its reply."""

    cluster: str
    scenario: str
    reply: Reply


@dataclass
class Progress:
    """How far it is: shown, never decided by."""

    total: int = 0
    done: int = 0
    slowest: tuple[float, str] = (0.0, "")
    running: int = 0


def answers(
    tasks: Sequence[Task],
    executor: Executor | Workers,
    *,
    kept: KeptAnswers | None = None,
    stop_event: threading.Event | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Row]:
    """A row for every task, in their order, each as soon as it and all before it are there.

    A plain executor has as many workers as there are cores here; `Given(executor, 40)` says otherwise.
    Replies that are `kept` are not asked for again.
    """
    workers = Given(executor, os.cpu_count() or 1) if isinstance(executor, Executor) else executor
    return _Run(tasks, workers, stop_event, progress, kept).rows()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Numbers of tasks that one worker answers; `alone`: with no other piece under way."""

    numbers: tuple[int, ...]
    alone: bool = False


@dataclass(slots=True)
class _Sent:
    """A piece under way."""

    piece: _Piece
    since: float
    until: float


@dataclass
class _Run:
    """The tasks, what is known of them, and what is under way."""

    tasks: Sequence[Task]
    workers: Workers
    stop_event: threading.Event | None
    told: Callable[[Progress], None] | None
    kept: KeptAnswers | None
    waiting: deque[_Piece] = field(default_factory=deque)
    again: deque[_Piece] = field(default_factory=deque)
    #: Whether a worker has ended, and with it maybe all: others may still answer what they have.
    broken: bool = False
    sent: dict[Answering, _Sent] = field(default_factory=dict)
    replies: dict[int, Reply] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)

    def rows(self) -> Iterator[Row]:
        """One for each task."""
        self.progress.total = len(self.tasks)
        self._look_up()
        missing = [number for number in range(len(self.tasks)) if number not in self.replies]
        self.waiting.extend(_pieces(self.tasks, missing, self.workers.at_once))
        given = 0
        while given < len(self.tasks):
            if given not in self.replies:
                self._step()
                continue
            task = self.tasks[given]
            yield Row(task.cluster, task.scenario, self.replies.pop(given))
            given += 1

    def _look_up(self) -> None:
        """Take the replies that are kept."""
        for number, task in enumerate(self.tasks):
            if self.kept is not None and task.key and (reply := self.kept.get(task.key)) is not None:
                self.replies[number] = reply
                self.progress.done += 1

    def _step(self) -> None:
        """Send what can be sent, and take what has come."""
        if is_stop_requested(self.stop_event):
            self._stop()
            return
        self._fill()
        done, _ = wait(self.sent, _POLL_SECONDS, FIRST_COMPLETED)
        for future in [future for future in self.sent if future in done]:
            self._take(future)
        overdue = [future for future, sent in self.sent.items() if time.monotonic() > sent.until]
        if overdue:
            self._give_up(overdue)
        if self.told is not None:
            self.progress.running = len(self.sent)
            self.told(self.progress)

    def _fill(self) -> None:
        """As many pieces as there are workers; what may have ended a worker goes alone."""
        if self.broken and not self.sent:
            self.workers.renew()
            self.broken = False
        if self.again:
            if not self.sent:
                self._send(self.again.popleft())
            return
        if any(sent.piece.alone for sent in self.sent.values()):
            return
        while self.waiting and len(self.sent) < self.workers.at_once:
            self._send(self.waiting.popleft())

    def _send(self, piece: _Piece) -> None:
        now = time.monotonic()
        tasks = [self.tasks[number] for number in piece.numbers]
        until = now + sum(task.seconds for task in tasks) + _GRACE_SECONDS
        self.sent[self.workers.submit(tasks)] = _Sent(piece, now, until)

    def _take(self, future: Answering) -> None:
        """The replies of a piece, or another try where its worker ended."""
        sent = self.sent.pop(future)
        failure = CancelledError("cancelled") if future.cancelled() else future.exception()
        if failure is None:
            replies = future.result()
            for number, reply in zip(sent.piece.numbers, replies, strict=True):
                self._know(number, reply)
            took = (time.monotonic() - sent.since) / len(replies)
            task = self.tasks[sent.piece.numbers[0]]
            name = f"{task.cluster} {task.scenario}".rstrip()
            self.progress.slowest = max(self.progress.slowest, (took, name))
            return
        if not isinstance(failure, Exception):
            raise failure
        self._failed(sent.piece, failure)

    def _failed(self, piece: _Piece, failure: BaseException) -> None:
        """A worker ended: each of its tasks is asked once more and alone, to know which one it is."""
        if piece.alone:
            (number,) = piece.numbers
            words = " ".join(f"{type(failure).__name__}: {failure}".split())
            self._know(number, Reply.none(f"no answer in two tries, the worker ended with {words}"))
        else:
            self.again.extend(_Piece((number,), alone=True) for number in piece.numbers)
        self.broken = True

    def _give_up(self, overdue: Sequence[Answering]) -> None:
        """Workers that do not even keep the limit are left or ended; the others' work is sent anew."""
        for future in overdue:
            for number in self.sent.pop(future).piece.numbers:
                self._know(number, Reply.none(late(self.tasks[number])))
            future.cancel()
        self.workers.renew()

    def _know(self, number: int, reply: Reply) -> None:
        self.replies[number] = reply
        self.progress.done += 1
        if self.kept is not None and self.tasks[number].key:
            self.kept.put(self.tasks[number].key, reply)

    def _stop(self) -> None:
        """Nothing more is asked; what is under way is left."""
        pieces = [*self.waiting, *self.again, *(sent.piece for sent in self.sent.values())]
        for number in (number for piece in pieces for number in piece.numbers):
            self._know(number, Reply.none(STOPPED))
        for left in (self.waiting, self.again, self.sent):
            left.clear()


def _pieces(tasks: Sequence[Task], missing: Sequence[int], workers: int) -> Iterator[_Piece]:
    """Tasks of one cluster together, unless a worker would have nothing to do meanwhile."""
    most = min(max(1, len(missing) // (workers * _PIECES)), _MOST_IN_PIECE)
    for _, group in groupby(missing, lambda number: tasks[number].cluster):
        numbers = tuple(group)
        for start in range(0, len(numbers), most):
            yield _Piece(numbers[start : start + most])
