"""Every command in the examples' stories prints what the story shows.

A console block is what a terminal of 80 columns shows: commands after `$ `, and below each what it
prints, notes first. `$ echo $?` shows the exit code of the command before; where there is none it is 0.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import run

ROOT = Path(__file__).parents[1]
README = sorted(ROOT.glob("examples/*/README.md"))
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)


def _dialogues() -> Iterator[object]:
    for readme in README:
        for number, block in enumerate(_BLOCK.findall(readme.read_text()), start=1):
            yield pytest.param(block, id=f"{readme.parent.name}-{number}")


@pytest.mark.parametrize("block", [*_dialogues()])
def test_a_console_block_is_what_really_happens(
    block: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands, output and exit codes, character for character."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    _, *parts = _COMMAND.split(block)
    code, unsaid = 0, 0
    for command, expected in zip(parts[::2], parts[1::2], strict=True):
        if command == "echo $?":
            assert expected == f"{code}\n"
            unsaid = 0
            continue
        assert unsaid == 0
        program, *arguments = shlex.split(command)
        assert program == "planner"
        code = unsaid = run(arguments)
        printed = capfd.readouterr()
        assert printed.err + printed.out == expected
    assert unsaid == 0


@pytest.mark.parametrize("readme", README, ids=lambda readme: readme.parent.name)
def test_every_story_has_a_console_block(readme: Path) -> None:
    """An example without a command explains nothing."""
    assert _BLOCK.search(readme.read_text())
