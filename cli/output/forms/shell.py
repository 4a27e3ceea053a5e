"""A long command on several lines that a shell takes for one."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS = re.compile(r"(?:'[^']*'|[^\s'])+")
#: Between any two of these JSON may have a line break.
_JSON = re.compile(r"""'?[{}\[\],:]+'?|"(?:\\.|[^"\\])*"[:,]?|[^"{}\[\],:]+""")
_GO_ON = " \\"
#: Ends a quote and a line; the next line begins a quote that belongs to the same word.
_CUT = "'\\"


def command_lines(command: str, width: int, indent: str) -> Iterator[str]:
    """The command from an indent on, none of its lines wider than the width.

    It is broken between words behind a backslash, and in quoted JSON where JSON may have a space.
    What is still too long is cut, and goes on at the very left, where nothing comes between.
    """
    quoted = False
    for line in _broken(command, width - len(indent) - len(_GO_ON)):
        yield from _fitted(indent + line, width, quoted=quoted)
        quoted ^= line.count("'") % 2 == 1


def _broken(command: str, room: int) -> Iterator[str]:
    """Lines that end between words, or at a seam of JSON; some may be too long."""
    line = ""
    for word in _WORDS.findall(command):
        pieces = _JSON.findall(word) if len(word) > room and word.startswith("'{") else [word]
        for number, piece in enumerate(pieces):
            gap = " " if line and not number else ""
            if line and len(line) + len(gap) + len(piece) > room:
                yield line if number else line + _GO_ON
                line, gap = "", ""
            line += gap + piece
    yield line


def _fitted(line: str, width: int, *, quoted: bool) -> Iterator[str]:
    """The line in pieces that a shell puts together again; `quoted`: it begins inside quotes."""
    while len(line) > width:
        cut = width - len(_CUT)
        inside = quoted ^ (line[:cut].count("'") % 2 == 1)
        end, start = (_CUT, "'") if inside else (_CUT[1:], "")
        yield line[:cut] + end
        line, quoted = start + line[cut:], False
    yield line
