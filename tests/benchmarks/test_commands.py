"""The commands that the benchmarks' page names."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"\| `python (.+?)` \|", (ROOT / "benchmarks" / "README.md").read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_are_understood(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command is there and takes these arguments; asked for help it goes no further."""
    script, *arguments = shlex.split(command)
    monkeypatch.setattr(sys, "argv", [script, *arguments, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / script), run_name="__main__")
    assert ended.value.code == 0
    assert script.rpartition("/")[2] in capsys.readouterr().out


def test_every_command_is_on_the_page() -> None:
    """Whatever can be run as a script is named, but what other scripts start."""
    files = (ROOT / "benchmarks").glob("*.py")
    scripts = {path.name for path in files if '__name__ == "__main__"' in path.read_text()}
    named = {command.split()[0].rpartition("/")[2] for command in COMMANDS}
    assert scripts - named == {"measure.py"}
