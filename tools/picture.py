"""A session in a real terminal as a picture: the commands are run, and what they print is drawn."""

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "session.svg"
#: What somebody types who has just scaled down.
SESSION = (
    "planner check -f examples/40-scale-down-repaired",
    "planner rebalance -f examples/40-scale-down-repaired",
    "planner explain -f examples/31-not-enough-cpu",
)
COLUMNS = 80
_PLANNER = (sys.executable, "-c", "from cli.main import main; main()")
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
_WIDTH, _HEIGHT, _SIZE, _EDGE, _BAR = 8.4, 19, 14, 18, 30
_STYLES = {
    "1": "font-weight:bold",
    "2": "fill:#8b949e",
    "31": "fill:#ff7b72",
    "32": "fill:#7ee787",
    "33": "fill:#e3b341",
}
_PROMPT = "fill:#79c0ff;font-weight:bold"


def picture() -> str:
    """The session as SVG."""
    lines = [line for command in SESSION for line in (*_typed(command), *terminal(command), [])][:-1]
    height = _BAR + 2 * _EDGE + len(lines) * _HEIGHT
    width = round(2 * _EDGE + COLUMNS * _WIDTH)
    rows = "\n".join(_row(line, _BAR + _EDGE + (number + 1) * _HEIGHT) for number, line in enumerate(lines))
    dots = "".join(
        f'<circle cx="{_EDGE + 20 * place}" cy="18" r="6" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="A terminal: planner check finds a lopsided Deployment, rebalance the move that '
        'repairs it, explain why a pod is pending and what helps.">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>{dots}\n'
        f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="{_SIZE}" '
        f'fill="#e6edf3">\n{rows}\n</g>\n</svg>\n'
    )


#: (style, text), one after the other.
Line = list[tuple[str, str]]


def _typed(command: str) -> list[Line]:
    return [[(_PROMPT, "$ "), ("font-weight:bold", command)]]


def terminal(command: str) -> Iterator[Line]:
    """The lines that a command prints on a terminal of 80 columns, with its colours."""
    style = ""
    for text in _output(command).splitlines():
        line: Line = []
        for number, part in enumerate(_ESCAPE.split(text)):
            if number % 2:
                style = ";".join(_STYLES[code] for code in part.split(";") if code in _STYLES)
            elif part:
                line.append((style, part))
        yield line


def _output(command: str) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    with subprocess.Popen(
        [*_PLANNER, *command.split()[1:]],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
    ):
        os.close(theirs)
        text = b"".join(_pieces(ours))
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def _pieces(terminal_end: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal_end, 65536)
        except OSError as error:
            # That is how Linux tells that the other end is closed.
            if error.errno != errno.EIO:
                raise
            return
        if not piece:
            return
        yield piece


def _row(line: Line, height: int) -> str:
    spans, column = [], 0
    for style, text in line:
        place = f'x="{_EDGE + column * _WIDTH:.1f}"'
        styled = f' style="{style}"' if style else ""
        # Spaces that stay, whatever a viewer makes of white space.
        spans.append(f"<tspan {place}{styled}>{escape(text).replace(' ', chr(160))}</tspan>")
        column += len(text)
    return f'<text y="{height}">{"".join(spans)}</text>'
