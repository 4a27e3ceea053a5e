"""What the reader looks at: how wide it is, and whether it has colours."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Literal, TextIO

Colour = Literal["red", "green", "yellow", "bold", "dim"]
_CODES: dict[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
#: So wide is what goes into a pipe, wherever it runs.
PIPE_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal, or a pipe: that is 100 columns wide, unless COLUMNS says otherwise.

    `bars`: whether it has signs to draw bars with. `whole`: whether names stay whole, to be searched for and
    pasted, and lines that have no room for them are longer.
    """

    width: int | None = None
    coloured: bool = False
    terminal: bool = False
    bars: bool = True
    whole: bool = False

    @classmethod
    def of_stdout(cls) -> Screen:
        """Where standard output goes."""
        terminal = sys.stdout.isatty()
        return cls(
            width_of(sys.stdout),
            terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            terminal,
            _can_print("█"),
            whole=not terminal and asked_width() is None,
        )

    def paint(self, text: str, colour: Colour) -> str:
        """The text in a colour, where there are colours."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.coloured and text else text


def width_of(stream: TextIO) -> int:
    """How wide a stream is: what COLUMNS says, else its terminal, else what a pipe is."""
    asked = asked_width()
    if asked is not None:
        return asked
    try:
        return (stream.isatty() and os.get_terminal_size(stream.fileno()).columns) or PIPE_COLUMNS
    except OSError:
        return PIPE_COLUMNS


def asked_width() -> int | None:
    """What COLUMNS says, if anything."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) or None if asked.isdigit() else None


def _can_print(sign: str) -> bool:
    """Whether standard output knows a sign: in some locales it has ASCII alone."""
    try:
        sign.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
