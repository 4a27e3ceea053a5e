"""All that decides how a document is put on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cli.input.options import Output
from cli.output.screen import Screen

#: From here on rows are summed up, unless everything is wanted.
_MANY_ROWS = 50
#: Of a list that may be very long so many rows are shown, and the rest is counted.
MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Page:
    """The form that was asked for, and the screen."""

    screen: Screen
    output: Output | None = None
    verbose: bool = False
    #: Long lists are wanted row by row, by a form that can be searched.
    searchable: bool = False

    @classmethod
    def of(cls, output: Output | None, verbose: bool) -> Page:
        """The page for standard output."""
        screen = Screen.of_stdout()
        whole = screen.whole or output == Output.WIDE
        return cls(replace(screen, whole=whole), output, verbose)

    def sums_up(self, rows: Sequence[object]) -> bool:
        """Whether some rows are too many to be shown one by one."""
        return len(rows) > _MANY_ROWS and not self.all_rows

    def most(self, rows: Sequence[object]) -> int | None:
        """How many of some rows are shown: a few of very many; None for all."""
        return MOST_ROWS if self.sums_up(rows) else None

    @property
    def many(self) -> int | None:
        """How many rows are shown of a list that is seldom long; None for all."""
        return None if self.all_rows else _MANY_ROWS

    @property
    def for_a_person(self) -> bool:
        """Whether to show how the answer was worked out: at a terminal, or with -v."""
        tables = self.output in {None, Output.WIDE}
        return tables and (self.screen.terminal or self.everything)

    @property
    def all_rows(self) -> bool:
        """Whether long lists are wanted row by row."""
        return self.searchable or self.everything

    @property
    def everything(self) -> bool:
        """Whether long lists are wanted in full."""
        return self.verbose or self.output == Output.WIDE


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`, `no pods`."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def some(names: Sequence[str], most: int = 4) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
