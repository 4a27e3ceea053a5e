"""Writes what commands print into the console blocks of pages, as a terminal of 80 columns shows it.

    .venv/bin/python -m docs.make_dialogues README.md examples/*/README.md

The tests hold the pages to it; this only saves the typing after a change that is meant.
"""

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from cli.main import run

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def renewed(text: str) -> str:
    """The page with every console block as it would be typed now."""
    return _BLOCK.sub(lambda found: f"```console\n{''.join(_dialogue(found[1]))}```", text)


def _dialogue(block: str) -> Iterator[str]:
    """The commands of a block, each with what it prints, notes first."""
    code = 0
    for command in re.findall(r"^\$ (.*)\n", block, re.MULTILINE):
        yield f"$ {command}\n"
        if command == "echo $?":
            yield f"{code}\n"
            continue
        program, *arguments = shlex.split(command)
        if program != "planner":
            raise SystemExit(f"{command}: not a command of the planner")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
        yield err.getvalue() + out.getvalue()


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(renewed(page.read_text()))
