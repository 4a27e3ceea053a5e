"""A long command that is printed on several lines is still the same command."""

import json
import os
import random
import shlex
import string
import subprocess
from importlib.resources import files

import pytest

from cli.output.forms.shell import command_lines
from tests import seeds


def as_a_shell_reads(lines: list[str]) -> list[str]:
    """The words that a real shell makes of these lines."""
    text = "\n".join(lines).replace("$ ", "", 1)
    script = f"show() {{ printf '%s\\0' \"$@\"; }}\nshow {text.lstrip()}\n"
    done = subprocess.run(["/bin/sh"], input=script, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def same(words: list[str], command: str) -> bool:
    """Whether the words are those of the command, JSON as data."""
    wanted = shlex.split(command)
    return [_data(word) for word in words] == [_data(word) for word in wanted]


def _data(word: str) -> object:
    return json.loads(word) if word.startswith("{") else word


def random_command(draw: random.Random) -> str:
    """A kubectl line with names and JSON of any length."""

    def name() -> str:
        return "".join(draw.choices(string.ascii_lowercase + "-./", k=draw.choice((3, 12, 60, 250))))

    patch = {name(): [{name(): name()} for _ in range(draw.randrange(3))] for _ in range(draw.randrange(4))}
    quoted = f" -p '{json.dumps(patch, separators=(',', ':'))}'" if draw.random() < 0.6 else ""
    return f"kubectl patch pod {name()} -n {name()}{quoted} --type=strategic"


@pytest.mark.parametrize("width", [20, 80, 100])
def test_a_shell_puts_it_together_again(width: int) -> None:
    """Word by word what it was, and no line is too wide."""
    draw = random.Random(seeds.fresh())
    for _ in range(40):
        command = random_command(draw)
        lines = list(command_lines(f"$ {command}", width, "      "))
        assert max(map(len, lines)) <= width
        assert same(as_a_shell_reads(lines), command), command


@pytest.mark.parametrize("context", ["", "prod", "arn:aws:eks:eu-1:1:cluster/x", "my own", "o'dd $(date)"])
def test_a_script_names_its_context_as_it_is_typed(context: str) -> None:
    """What went wrong: `kubectl --context=my own uncordon a1` is about another cluster, or runs more."""
    frame = str(files("cli.output.views.scripts").joinpath("frame.sh"))
    shell = ["sh", "-c", '. "$0"; in_context kubectl', frame]
    told = subprocess.run(
        shell,
        env={"PATH": os.environ["PATH"], "CONTEXT": context},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shlex.split(told.stdout) == ["kubectl", *([f"--context={context}"] if context else [])]
