"""The pages on a wide screen, the picture, and the lines that a shell is to be given."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.main import app
from tools.picture import PICTURE, SESSION, picture
from tools.renew import ROOT, pages, printed, renewed

WIDE = 120
GROUP: Any = get_command(app)
#: A call of the planner, up to where the shell takes over again.
TYPED = re.compile(r"(?:^|[ (])planner ([a-z][^|>;&#)\n]*)", re.MULTILINE)
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: Path, language: str) -> list[str]:
    """The lines to type in the blocks of one language."""
    text = "\n".join(block for found, block in BLOCK.findall(page.read_text()) if found == language)
    lines = text.splitlines()
    return [line[2:] for line in lines if line.startswith("$ ")] if language == "console" else lines


def planner_commands() -> Iterator[object]:
    """Every `planner ...` of every dialogue, and the exit codes that it may have: one, where one is shown.

    A quick run has every fifth.
    """
    number = 0
    for page in pages():
        for language, block in BLOCK.findall(page.read_text()):
            parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if language == "console" else []
            for part, after in pairwise([*parts, ""]):
                command, codes = part.partition("\n")[0], {0, 1}
                if after.startswith("echo $?\n"):
                    codes = {int(after.split()[-1])}
                if command.startswith("planner "):
                    marks = [pytest.mark.long] * (number % 5 > 0)
                    number += 1
                    yield pytest.param(command, codes, id=f"{page.relative_to(ROOT)}: {command}", marks=marks)


@pytest.mark.parametrize(("command", "codes"), [*planner_commands()])
def test_a_wide_screen_is_used_and_not_left(
    command: str, codes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 120 columns no line is longer, and the command ends as at 80, which its page shows."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(WIDE))
    code, text = printed(command)
    assert code in codes
    assert text
    if re.search(r" -o (?!wide)", command):
        # What a program reads, or a person pastes elsewhere, has lines as long as they are.
        return
    # Notes are beside the document, each a line of its own.
    document = [line for line in text.splitlines() if not line.startswith("note: ")]
    assert [line for line in document if len(line) > WIDE and " " in line.strip()[:WIDE]] == []


@pytest.mark.long
def test_the_picture_is_current() -> None:
    """What is drawn is what the commands print on a terminal now; `make pages` draws it anew."""
    assert PICTURE.read_text() == picture()
    assert all(command in PICTURE.read_text().replace("\N{NO-BREAK SPACE}", " ") for command in SESSION)


def test_pages_are_renewed_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood below a command gives way to what it prints, and the rest of the page stays."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    page = "Before.\n\n```console\n$ planner version\nold\n$ echo $?\n7\n```\n\nAfter.\n"
    _, told = printed("planner version")
    assert renewed(page) == page.replace("old\n", told).replace("7\n", "0\n")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_lines_for_a_shell_are_possible(page: Path) -> None:
    """Targets of make are there, options of the planner too, and the shell understands every line."""
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = "\n".join(commands(page, "sh"))
    subprocess.run(["bash", "-n", "-c", text], check=True)
    for target in re.findall(r"^make ([a-z0-9-]+)", text, re.MULTILINE):
        assert target in targets
    for typed in TYPED.findall(text):
        name, *words = shlex.split(typed)
        context = GROUP.commands[name].make_context(name, words)
        assert context.command.name == name


def test_the_readme_is_a_page_and_a_half() -> None:
    """A link leads to more; the picture and the commands' outputs are not counted."""
    text = BLOCK.sub("", (ROOT / "README.md").read_text())
    assert len(text.split()) < 900


def test_every_row_of_the_comparison_has_its_source() -> None:
    """What is said of another tool links to where that tool says it."""
    table = (ROOT / "README.md").read_text().partition("## What others do")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| [")]
    assert len(rows) == 6
    assert all("](https://" in tool and "](https://" in claim for tool, claim, _ in rows)


def test_the_readmes_two_commands() -> None:
    """`make demo` and `make test` are what their lines in the Makefile say."""
    told = subprocess.run(
        ["make", "-n", "demo", "PYTHON=python3"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "planner simulate -f examples/" in told.stdout
