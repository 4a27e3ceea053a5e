"""How much time is left, and the stop event."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait

import pytest

from planner.proof import clock as module
from planner.proof.clock import Clock, leave, taken_until_stop


def test_a_bell_ends_the_time_at_once() -> None:
    """Nothing is left once a stop is requested."""
    stop_event = threading.Event()
    clock = Clock(100.0, stop_event)
    assert 0 < clock.left() <= 100.0
    assert not clock.stopped
    stop_event.set()
    assert (clock.left(), clock.over(), clock.stopped) == (0.0, True, True)


def test_time_that_is_up_is_no_bell() -> None:
    """A caller that asks whether a stop was requested is not told about the limit."""
    clock = Clock(0.0)
    assert clock.over()
    assert not clock.stopped


def test_work_is_told_to_stop_when_the_bell_rings() -> None:
    """What it found until then is the answer."""
    stop_event, told = threading.Event(), threading.Event()
    threading.Timer(0.1, stop_event.set).start()
    started = time.monotonic()
    assert Clock(60.0, stop_event).watch(told.set, lambda: told.wait(30.0))
    assert time.monotonic() - started < 10.0


def test_work_that_has_not_begun_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: at the limit of a task, or a second Ctrl-C, the solver used up its time."""
    begun, told = threading.Event(), threading.Event()
    interrupts = [KeyboardInterrupt]

    def work() -> None:
        time.sleep(0.2)
        begun.set()
        assert told.wait(30.0)

    def stop() -> None:
        if begun.is_set():
            told.set()

    def waiting(futures: list[Future[None]], timeout: float) -> None:
        if interrupts:
            raise interrupts.pop()
        wait(futures, timeout)

    monkeypatch.setattr(module, "wait", waiting)
    with pytest.raises(KeyboardInterrupt):
        Clock(60.0).watch(stop, work)
    assert told.is_set()


def test_what_goes_wrong_in_the_work_comes_out() -> None:
    """An error in the other thread is an error here."""

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Clock(1.0).watch(lambda: None, fail)


def test_work_that_may_be_left_ends_where_it_is() -> None:
    """Only inside of it, and what it has found by then is there."""

    def work() -> Iterator[str]:
        yield "first"
        leave()
        yield "second"

    assert taken_until_stop(work(), None) == ["first"]
    leave()
    with pytest.raises(ZeroDivisionError):
        taken_until_stop((1 // number for number in [0]), None)
    leave()
