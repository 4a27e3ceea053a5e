"""What the reader looks at: how wide it is, and whether it has colours."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import Literal

Colour = Literal["red", "green", "yellow", "bold", "dim"]
_CODES: dict[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal, or a pipe: then no line is folded, unless COLUMNS asks for it."""

    width: int | None = None
    coloured: bool = False
    terminal: bool = False

    @classmethod
    def of_stdout(cls) -> Screen:
        """Where standard output goes."""
        terminal = sys.stdout.isatty()
        folded = terminal or os.environ.get("COLUMNS", "").isdigit()
        return cls(
            shutil.get_terminal_size().columns if folded else None,
            terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            terminal,
        )

    def paint(self, text: str, colour: Colour) -> str:
        """The text in a colour, where there are colours."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.coloured and text else text


def visible(text: str) -> int:
    """How many columns a text takes."""
    return len(_ESCAPE.sub("", text))
