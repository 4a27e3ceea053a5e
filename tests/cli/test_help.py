"""Help and completion: what a person sees before the first answer."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.commands.completion import Shell
from cli.input.complete import Then, answer
from cli.main import app
from cli.output.help_examples import EXAMPLES
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write

ROOT = Path(__file__).parents[2]
GROUP: Any = get_command(app)
COMMANDS = sorted(GROUP.commands)
JARGON = re.compile(r"TEXT|INTEGER|FLOAT|BOOLEAN|PATH|<\w|x>=|\.\.\.\]\.")
#: What is loaded for help or completion keeps a person waiting.
HEAVY = {"ortools", "numpy", "pydantic", "models", "planner", "rich", "yaml"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_words_of_programmers(planner: Planner, command: str) -> None:
    """Values are called what they are, and `planner help X` is `planner X --help`."""
    ended = planner(command, "--help")
    assert JARGON.findall(ended.out) == []
    assert "Input:" in ended.out or command in {"completion", "diff", "help", "version"}
    assert planner("help", command).out.strip() == ended.out.strip()


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_line_of_help_is_wider_than_the_screen(
    planner: Planner, command: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: on 40 columns lines had up to 96, and on 80 examples of sweep and fleet."""
    monkeypatch.setenv("COLUMNS", str(width))
    for words in ((command, "--help"), ("help", command)) if command else (("--help",), ("help",), ()):
        assert max(map(len, planner(*words).out.splitlines())) <= width


def test_the_list_of_commands_is_whole(planner: Planner) -> None:
    """Each with its whole first sentence, and no option that was not asked for."""
    out = planner().out
    words = " ".join(out.split())
    assert "..." not in out.partition("Commands:")[2]
    for name, command in GROUP.commands.items():
        sentence = " ".join(command.help.partition("\n\n")[0].split())
        assert f" {name} {sentence}" in words
    assert "--install-completion" not in out


def test_help_of_what_is_not_there(planner: Planner) -> None:
    """A slip is told as one."""
    assert planner("help", "chekc").code == 2


def test_version(planner: Planner) -> None:
    """As a command and as an option."""
    assert planner("version") == planner("--version")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "version"])
def test_each_command_has_three_examples(planner: Planner, command: str) -> None:
    """They stand at the end of its help, and are command lines that it understands."""
    assert len(EXAMPLES[command]) == 3
    out = planner(command, "--help").out.replace("\\\n  ", "").replace("\n  # ", " ")
    for line, purpose in EXAMPLES[command]:
        assert f" {purpose}\n  {line}" in out
        words = shlex.split(re.sub(r" *[|>].*|source <\(|\)$", "", line))
        program = words.pop(0)
        words = words[1:] if program == "kubectl" else words
        assert words[0] == command
        context = GROUP.commands[command].make_context(command, words[1:])
        assert context.params is not None


def test_no_example_of_a_command_that_is_not_there() -> None:
    """Each is of one that the group has."""
    assert set(EXAMPLES) <= set(COMMANDS)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Ten nodes, three pods, a Deployment."""
    nodes = [node(f"n{number}", "a") for number in range(10)]
    pods = [pod("cart-1", on="n1"), pod("cart-2"), pod("api-1")]
    return write(tmp_path / "snapshot.json", *nodes, *pods, deployment("web", 2))


@pytest.mark.parametrize(
    ("words", "found", "then"),
    [
        (["sol"], ["solve\tWhere should the whole batch go?"], Then.NOTHING),
        (["explain", "-f", "FILE", "ca"], ["cart-1", "cart-2"], Then.NOTHING),
        (["explain", "-f", "FILE", "shop/a"], ["shop/api-1"], Then.NOTHING),
        (["simulate", "--filename=FILE", "--drain", "n1"], ["n1"], Then.NOTHING),
        (["simulate", "-f", "FILE", "--drain=n1"], ["--drain=n1"], Then.NOTHING),
        (["drain", "-f", "FILE", "n7"], ["n7"], Then.NOTHING),
        (["check", "-f", "FILE", "--scale", ""], ["deployment/web.shop="], Then.NO_SPACE),
        (["scale-down", "-f", "FILE", "dep"], ["deployment/web.shop="], Then.NO_SPACE),
        (["scale-down", "-n", "shop", "-f", "FILE", "dep"], ["deployment/web="], Then.NO_SPACE),
        (["explain", "-f", "FILE", "-n", "shop", "dep"], ["deployment/web"], Then.NOTHING),
        (["explain", "-f", "FILE", "-n", "shop", "deploy/"], ["deploy/web"], Then.NOTHING),
        (["scale-down", "-f", "FILE", "deploy/w"], ["deploy/web.shop="], Then.NO_SPACE),
        (["check", "-f", "FILE", "--exclude", "deploy/"], ["deploy/web.shop"], Then.NOTHING),
        (["check", "-f", "FILE", "-n", ""], ["shop"], Then.NOTHING),
        (["solve", "--prefer", "p"], ["pack"], Then.NOTHING),
        (["solve", "-o", "s"], ["script"], Then.NOTHING),
        (["check", "-o", "s"], [], Then.NOTHING),
        (["check", "-f", ""], [], Then.FILES),
        (["snapshot", "-o", ""], [], Then.FILES),
        (["completion", "z"], ["zsh"], Then.NOTHING),
        (["check", "--kubernetes", ""], ["1.34", "1.34.9", "1.35", "1.36", "1.37"], Then.NOTHING),
        (["capacity", "-f", "FILE", "deploy/"], ["deploy/web.shop"], Then.NOTHING),
        (["diff", ""], [], Then.FILES),
        (["fleet", "check", "--snapshots", ""], [], Then.FILES),
        (["sweep", "co"], ["compare", "consolidate"], Then.NOTHING),
        (["sweep", "check", "co"], [], Then.NOTHING),
    ],
)
def test_completion(snapshot: str, words: list[str], found: list[str], then: Then) -> None:
    """Commands, options, and the names in the snapshot that was typed."""
    assert answer(GROUP, [word.replace("FILE", snapshot) for word in words]) == (found, then)


def test_options_are_completed_with_what_they_do() -> None:
    """By their long names."""
    found, _ = answer(GROUP, ["check", "--sur"])
    assert [line.partition("\t")[0] for line in found] == ["--survive"]


def test_bash_completes(snapshot: str) -> None:
    """The script that `planner completion bash` prints, in a real bash."""
    planner = f"{shlex.quote(sys.executable)} -c 'from cli.main import main; main()'"
    script = f"""
        planner() {{ {planner} "$@"; }}
        source <(planner completion bash)
        COMP_LINE="planner explain -f {snapshot} car"; COMP_POINT=${{#COMP_LINE}}
        _planner; echo "${{COMPREPLY[@]}}"
        COMP_LINE="planner check -f {snapshot} --drain=n1"; COMP_POINT=${{#COMP_LINE}}
        _planner; echo "${{COMPREPLY[@]}}"
    """
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ended.stdout == "cart-1 cart-2\nn1\n"


@pytest.mark.parametrize("shell", list(Shell))
def test_every_shell_has_its_script(planner: Planner, shell: Shell) -> None:
    """It asks `planner __complete`."""
    assert "planner __complete" in planner("completion", shell.value).out


def test_help_and_completion_load_little(snapshot: str) -> None:
    """Neither the solver nor arrays nor models: what is not loaded costs no time."""
    script = f"""
import sys
from cli.main import main
for words in (["--help"], ["check", "--help"], ["__complete", "explain", "-f", {snapshot!r}, "c"]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit:
        pass
print("loaded", *sorted(name.partition(".")[0] for name in sys.modules), file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(ended.stderr.split("loaded", 1)[1].split())
    assert ended.stdout
    assert loaded & HEAVY == set()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_describes_only_what_has_a_description(snapshot: str) -> None:
    """What went wrong: names of nodes stood there twice, as what they are and as what they do."""
    planner = f"{shlex.quote(sys.executable)} -c 'from cli.main import main; main()'"
    script = f"""
        planner() {{ {planner} "$@" }}
        compdef() {{ }}
        _describe() {{ print -l -- "${{candidates[@]}}" }}
        source <(planner completion zsh)
        words=(planner drain -f {snapshot} n1); CURRENT=5; _planner
        words=(planner drain --at); CURRENT=3; _planner
    """
    ended = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ended.stdout == "n1\n--at-once:Drain N nodes together.\n"
