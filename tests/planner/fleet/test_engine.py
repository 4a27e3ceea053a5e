"""Every task gets its row, whatever happens to the worker that has it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from planner.fleet import Given, Task, answers
from planner.fleet.engine import STOPPED, Progress, Row
from planner.fleet.kept import KeptAnswers, key_of
from planner.fleet.tasks import Ask
from planner.fleet.worker import work
from planner.fleet.workers import Answering, ProcessWorkers
from tests.planner.fleet.asks import Begins, Computes, Fails, Grows, Kills, Refuses, Says, Sleeps


@pytest.fixture
def processes() -> Iterator[ProcessWorkers]:
    """Two of them."""
    with closing(ProcessWorkers(2, 8 << 30)) as found:
        yield found


def tasks(*asks: Ask, seconds: float = 60.0) -> list[Task]:
    """Each about a cluster of its own."""
    return [Task(f"c{number}", "", ask, "", seconds) for number, ask in enumerate(asks)]


def told(rows: Sequence[Row]) -> list[str | None]:
    """Documents, or how errors begin."""
    return [row.reply.document or row.reply.error.partition(",")[0] for row in rows]


def test_rows_are_in_the_order_of_tasks(processes: ProcessWorkers) -> None:
    """However long each takes."""
    asked = tasks(Sleeps(0.4), *(Says(str(number)) for number in range(20)))
    assert told([*answers(asked, processes)]) == ["awake", *map(str, range(20))]


def test_rows_come_as_soon_as_those_before_are_there(processes: ProcessWorkers) -> None:
    """Not only when all are there."""
    rows = answers(tasks(Says("first"), Sleeps(30)), processes)
    assert next(rows).reply.document == "first"


def test_a_worker_that_ends_costs_a_second_try(processes: ProcessWorkers, tmp_path: Path) -> None:
    """The answers around it are all right."""
    asked = tasks(Says("a"), Kills(tmp_path / "once"), *(Says(str(n)) for n in range(8)))
    assert told([*answers(asked, processes)]) == ["a", "survived", *map(str, range(8))]


def test_a_task_that_always_ends_its_worker_is_an_error_and_no_other_is(processes: ProcessWorkers) -> None:
    """Those that were under way at the same time are answered."""
    asked = tasks(*(Says(str(n)) for n in range(4)), Kills(), Sleeps(0.3), Kills(), Says("last"))
    rows = [*answers(asked, processes)]
    end = "no answer in two tries"
    assert told(rows) == ["0", "1", "2", "3", end, "awake", end, "last"]
    assert {row.reply.exit_code for row in rows if row.reply.error} == {3}


def test_a_worker_that_ends_leaves_the_others(processes: ProcessWorkers) -> None:
    """What went wrong: they were of one pool, which ended with each; a process that began then raised."""
    sleeps, kills = (processes.submit(tasks(ask)) for ask in (Sleeps(1.0), Kills()))
    assert isinstance(kills.exception(120), BrokenExecutor)
    assert [reply.document for reply in sleeps.result(120)] == ["awake"]


def test_a_worker_that_ends_while_it_replies_is_broken(processes: ProcessWorkers) -> None:
    """What went wrong: the rest of the reply was waited for, until the limit of the task was over."""
    assert isinstance(processes.submit(tasks(Begins())).exception(120), BrokenExecutor)


def test_no_thread_waits_for_the_reply_of_a_worker_that_was_ended(tmp_path: Path) -> None:
    """What went wrong: the program did not end, where Ctrl-C came while a worker wrote a long reply."""
    processes, begun = ProcessWorkers(1), tmp_path / "begun"
    sent = processes.submit(tasks(Begins(begun)))
    while not (begun.exists() or sent.done()):
        time.sleep(0.01)
    processes.close()
    assert isinstance(sent.exception(120), BrokenExecutor)


class Fragile:
    """Two workers; the first piece ends its own, the second is answered all the same, and then nothing is."""

    at_once = 2

    def __init__(self) -> None:
        self._pieces, self.renewed = 0, 0

    def submit(self, pieces: Sequence[Task]) -> Answering:
        """An error for the first piece, and for all after the second until there are new workers."""
        self._pieces += 1
        found: Answering = Future()
        if self._pieces == 2:
            Timer(0.2, lambda: found.set_result(work(tuple(pieces)))).start()
        elif self.renewed:
            found.set_result(work(tuple(pieces)))
        else:
            found.set_exception(BrokenExecutor("ended"))
        return found

    def renew(self) -> None:
        """New workers."""
        self.renewed += 1

    def close(self) -> None:
        """There is nothing to end."""


def test_a_late_answer_does_not_keep_broken_workers() -> None:
    """What went wrong: the task that was asked once more got the workers that had ended."""
    workers = Fragile()
    assert told([*answers(tasks(Says("first"), Says("second")), workers)]) == ["first", "second"]
    assert workers.renewed == 1


class Shared:
    """Two workers of one pool: a task that ends its own ends what is under way beside it, too."""

    at_once = 2

    def __init__(self) -> None:
        self._sent: list[Answering] = []

    def submit(self, pieces: Sequence[Task]) -> Answering:
        """Answers take longer than it takes to end a worker."""
        found: Answering = Future()
        self._sent.append(found)
        ends = any(isinstance(task.ask, Kills) for task in pieces)
        timer = Timer(0.05, self._end) if ends else Timer(0.5, self._answer, (found, pieces))
        timer.start()
        return found

    def _answer(self, found: Answering, pieces: Sequence[Task]) -> None:
        if not found.done():
            found.set_result(work(tuple(pieces)))

    def _end(self) -> None:
        for found in self._sent:
            if not found.done():
                found.set_exception(BrokenExecutor("ended"))

    def renew(self) -> None:
        """New workers."""
        self._sent.clear()

    def close(self) -> None:
        """There is nothing to end."""


def test_the_last_task_of_a_second_try_is_alone() -> None:
    """What went wrong: the next one was sent beside it, ended its worker, and the first was blamed."""
    asked = tasks(Kills(), Says("first"), Kills(), Says("last"))
    end = "no answer in two tries"
    assert told([*answers(asked, Shared())]) == [end, "first", end, "last"]


@pytest.mark.parametrize("ask", [Sleeps(30), Computes()])
def test_the_limit_of_a_task(processes: ProcessWorkers, ask: Ask) -> None:
    """It has no answer; the worker goes on with the next."""
    asked = [*tasks(ask, seconds=0.3), *tasks(Says("next"), Says("last"))]
    assert told([*answers(asked, processes)]) == ["no answer within 0.3 s (--timeout)", "next", "last"]


@pytest.mark.parametrize("ask", [Sleeps(0.4), Computes()])
def test_the_limit_in_a_thread(ask: Ask) -> None:
    """Workers of other engines are threads, which get no signals."""
    with ThreadPoolExecutor(2) as pool:
        rows = [*answers([*tasks(ask, seconds=0.1), *tasks(Says("next"))], Given(pool, 2))]
    assert told(rows) == ["no answer within 0.1 s (--timeout)", "next"]


class Hurried(Timer):
    """It rings at the moment in which it is no longer wanted."""

    def cancel(self) -> None:
        """Ring."""
        self.function(*self.args)
        super().cancel()


def test_an_answer_at_the_limit_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: the limit was raised after the task, and the answer, or the thread, was lost."""
    monkeypatch.setattr(threading, "Timer", Hurried)
    with ThreadPoolExecutor(1) as pool:
        assert told([*answers(tasks(Says("first"), Says("last")), Given(pool, 1))]) == ["first", "last"]


def test_what_cannot_be_used_is_said(processes: ProcessWorkers) -> None:
    """Input, mistakes of the planner, and memory; each is the row of its own task alone."""
    rows = [*answers(tasks(Refuses(), Fails(), Grows(), Says("well")), processes)]
    assert told(rows)[0] == "this is wrong; and that"
    assert "a mistake" in rows[1].reply.error
    assert told(rows)[2:] == ["the memory of the worker is not enough", "well"]
    assert [row.reply.exit_code for row in rows] == [2, 3, 3, 0]


def test_an_executor_that_breaks_leaves_no_task_without_a_row() -> None:
    """An executor of somebody else is not made anew."""
    with ProcessPoolExecutor(1) as pool:
        rows = [*answers(tasks(Says("first"), Kills(), Says("never")), Given(pool, 1))]
    assert told(rows) == ["first", "no answer in two tries", "no answer in two tries"]


def test_stopped_tasks_have_rows_too(processes: ProcessWorkers) -> None:
    """What is there is there, the rest says why not."""
    stop = threading.Event()

    def at_the_first(progress: Progress) -> None:
        if progress.done:
            stop.set()

    asked = tasks(Says("first"), *(Sleeps(30) for _ in range(6)))
    rows = [*answers(asked, processes, stop_event=stop, progress=at_the_first)]
    assert told(rows) == ["first", *[STOPPED] * 6]


def test_what_is_kept_is_not_asked_again(tmp_path: Path) -> None:
    """Only what is missing, or was no answer."""
    log, kept = tmp_path / "log", KeptAnswers.at(str(tmp_path / "kept"))
    document = '{"kind": "CheckReport", "violations": 0, "hardExcess": 0, "pending": 0}'
    asked = [Task(f"c{n}", "", Says(document, log), key_of(f"c{n}", ())) for n in range(4)]
    for through, count in ((asked[:3], 3), (asked, 4), (asked, 4)):
        with ThreadPoolExecutor(1) as pool:
            rows = [*answers(through, Given(pool, 1), kept=kept)]
        assert [row.reply.document for row in rows] == [document] * len(through)
        assert len(log.read_text().splitlines()) == count
    first = next((tmp_path / "kept").iterdir())
    first.write_text(first.read_text()[:-5])
    with ThreadPoolExecutor(1) as pool:
        assert len([*answers(asked, Given(pool, 1), kept=kept)]) == 4
    assert len(log.read_text().splitlines()) == 5


def test_errors_are_not_kept(tmp_path: Path) -> None:
    """What was no answer is asked again."""
    kept = KeptAnswers.at(str(tmp_path / "kept"))
    with ThreadPoolExecutor(1) as pool:
        rows = [*answers([Task("c", "", Refuses(), "key")], Given(pool, 1), kept=kept)]
    assert (rows[0].reply.exit_code, kept.get("key")) == (2, None)
