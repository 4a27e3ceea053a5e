"""How much work is left; where the limit ends a search, the meter remembers what was being looked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from planner.documents.plan import Cut
from planner.proof.clock import Clock, looking_for
from planner.proof.effort import STANDARD, WORK_PER_SECOND, Effort

_T = TypeVar("_T")


class Meter:
    """Counts work against a budget; what a part spends, the whole has spent, too.

    Nothing that decides anything asks the clock: it only ends a search, as Ctrl-C does.
    """

    def __init__(
        self,
        work: float,
        clock: Clock,
        whole: Meter | None = None,
        *,
        draws: bool = True,
        effort: Effort | None = None,
    ) -> None:
        self._work = work
        self._clock = clock
        self._whole = whole
        self._draws = draws
        self._looking = "a plan"
        #: How far each engine goes that is given this meter.
        self.effort: Effort = effort or (STANDARD if whole is None else whole.effort)
        self._cut: Cut | None = None

    @classmethod
    def of(
        cls,
        seconds: float,
        stop_event: threading.Event | None = None,
        kept: float = 0.0,
        effort: Effort | None = None,
    ) -> Meter:
        """The work of so many seconds, and a clock that leaves some of them for what comes after."""
        return cls(seconds * WORK_PER_SECOND, Clock(seconds - kept, stop_event), effort=effort)

    def part(self, work: float) -> Meter:
        """A part of the work: so much at most, and never more than the whole has."""
        return Meter(work, self._clock, self)

    def step(self, work: float) -> Meter:
        """A step of fixed size, the same at every limit: only the clock can end it early."""
        return Meter(work, self._clock, self, draws=False)

    def spend(self, work: float) -> None:
        """Take note of work that was done."""
        self._work -= work
        if self._whole is not None and self._draws:
            self._whole.spend(work)

    def left(self) -> float:
        """The work that may still be done."""
        mine = max(0.0, self._work)
        return mine if self._whole is None or not self._draws else min(mine, self._whole.left())

    def over(self) -> bool:
        """Whether to stop here; a search that stops because of the limit has been cut short."""
        return self.cut_short() or self.left() <= 0

    def cut_short(self) -> bool:
        """Whether the limit ends the search here, rather than a step its own budget; that is remembered."""
        return self._noted(self._clock.over() or (self._is_of_the_limit() and self._top()._work <= 0))

    def limit_is_over(self) -> bool:
        """Whether the time is over; a request to stop does not end what asks this."""
        return self._noted(self._clock.limit_is_over())

    def _noted(self, ends: bool) -> bool:
        """The same, and where the search ends, what it was looking for is remembered."""
        top = self._top()
        if ends and top._cut is None:
            top._cut = Cut(top._looking, self._clock.stopped)
        return ends

    @property
    def cut(self) -> Cut | None:
        """What was being looked for when the search was ended; None when it was not ended."""
        return self._top()._cut

    @property
    def stopped(self) -> bool:
        """Whether the user wants the best answer so far now."""
        return self._clock.stopped

    def look_for(self, what: str) -> None:
        self._top()._looking = what
        looking_for(what)

    def seconds(self) -> float:
        """The seconds until the clock ends the search: for the solver, which has to know beforehand."""
        return self._clock.left()

    def watch(self, stop: Callable[[], None], work: Callable[[], _T]) -> _T:
        """What `work` returns; it is told to stop when the stop event is set."""
        return self._clock.watch(stop, work)

    def _top(self) -> Meter:
        return self if self._whole is None else self._whole._top()

    def _is_of_the_limit(self) -> bool:
        return self._whole is None or (self._draws and self._whole._is_of_the_limit())
