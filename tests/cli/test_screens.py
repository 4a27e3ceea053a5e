"""What is on the screen, character for character, at three widths.

`PLANNER_SCREENS=write pytest tests/cli/test_screens.py` writes the files anew after a change that is meant.
"""

import io
import os
import random
import sys
from pathlib import Path

import pytest

from tests import seeds
from tests.cli.conftest import Planner
from tests.cli.manifests import Object, deployment, node, pod, write

ROOT = Path(__file__).parents[2]
SCREENS = Path(__file__).parent / "screens"
WIDTHS = (80, 100, 160)
ZONE = "topology.kubernetes.io/zone"

#: On a screen of a hundred columns these have names that are cut.
CUT_AT_100 = {"simulate-many", "compare-many"}
#: What is typed, by the name of the file that shows it.
COMMANDS = {
    "check": ("check", "-f", "examples/10-after-scale-down"),
    "check-many": ("check", "-f", "{many}"),
    "check-many-v": ("check", "-f", "{many}", "-v"),
    "simulate": ("simulate", "-f", "examples/12-uneven-zones"),
    "simulate-many": ("simulate", "-f", "{many}"),
    "solve": ("solve", "-f", "examples/09-batch-stuck", "-v"),
    "solve-left-over": ("solve", "-f", "examples/12-uneven-zones"),
    "compare": ("compare", "-f", "examples/13-rack-grid"),
    "compare-many": ("compare", "-f", "{many}", "--replays", "1"),
    "rebalance": ("rebalance", "-f", "examples/43-budget-and-waves"),
    "rebalance-pinned": ("rebalance", "-f", "examples/42-full-zone"),
    "explain": ("explain", "-f", "examples/30-stuck-by-an-empty-zone"),
    "survive": ("check", "-f", "examples/32-zone-loss", "--survive", ZONE),
    "scale-down": ("scale-down", "-f", "examples/21-scale-down", "deployment/search=4"),
    "rollout": ("rollout", "--snapshot", "examples/50-rollout-half-way", "-f", "{next}"),
    "drain": ("drain", "pool=old", "-f", "examples/51-drain-a-pool"),
    "drain-empty": ("drain", "b1", "b2", "c2", "-f", "examples/10-after-scale-down"),
    "solve-moves": ("solve", "--allow-moves", "-f", "examples/11-make-room"),
    "explain-batch": ("explain", "--batch", "-f", "examples/03-conflicting-constraints"),
    "rebalance-curve": ("rebalance", "--curve", "-f", "examples/43-budget-and-waves"),
    "trajectory": ("rollout", "--snapshot", "examples/21-scale-down", "--scale", "deployment/search=4,8,3"),
    "diff": ("diff", "examples/10-after-scale-down", "examples/43-budget-and-waves"),
}


@pytest.fixture
def many(tmp_path: Path) -> str:
    """A dozen workloads over three zones and forty nodes, some of them lopsided, one with a long name."""
    nodes = [node(f"worker-{number:02}", f"eu-1{'abc'[number % 3]}", cpu="2") for number in range(40)]
    workloads, pods = [], []
    for place in range(12):
        name = f"service-with-quite-a-long-name-{place}" if place == 3 else f"web-{place}"
        workloads.append(deployment(name, 6 + place, cpu="250m"))
        for number in range(3 + place % 3):
            on = f"worker-{(place * 7 + number * (3 if place % 4 == 0 else 1)) % 40:02}"
            pods.append(_of_deployment(name, number, on))
    return write(tmp_path / "many.json", *nodes, *workloads, *pods)


def _of_deployment(name: str, number: int, on: str) -> Object:
    made = pod(f"{name}-7c9-{number}", on=on, app=name, spread="DoNotSchedule", cpu="250m")
    hosts = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    made["spec"]["topologySpreadConstraints"].append(hosts)
    return made


def typed(name: str, many: str) -> list[str]:
    """The command's words."""
    return [word.format(many=many, next="examples/50-rollout-half-way/next") for word in COMMANDS[name]]


@pytest.mark.parametrize("width", seeds.at_first(1, WIDTHS))
@pytest.mark.parametrize("name", COMMANDS)
def test_the_screen(
    name: str, width: int, planner: Planner, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was when it was reviewed last; no line is too wide, and a pipe has no colours."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(width))
    ended = planner(*typed(name, many))
    assert max(map(len, ended.out.splitlines())) <= width
    assert "\x1b" not in ended.out
    file = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PLANNER_SCREENS") == "write":
        file.write_text(ended.out)
    assert ended.out == file.read_text()


@pytest.mark.parametrize("name", seeds.at_first(5, COMMANDS))
def test_a_pipe_is_a_hundred_wide(
    name: str, planner: Planner, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever terminal the pipe is typed at; where names would have to be cut, lines are longer instead."""
    monkeypatch.chdir(ROOT)
    screen = SCREENS / f"{name}-{'pipe' if name in CUT_AT_100 else 100}.txt"
    found = planner(*typed(name, many)).out
    if os.environ.get("PLANNER_SCREENS") == "write" and name in CUT_AT_100:
        screen.write_text(found)
    assert found == screen.read_text()


@pytest.mark.parametrize("command", seeds.at_first(2, ["solve", "explain", "check", "simulate", "rebalance"]))
def test_no_line_is_wider_than_the_screen(
    command: str, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any width that a terminal may have; a quick run draws one in four of the examples."""
    width = random.Random(seeds.fresh()).randrange(60, 200)
    print("width", width)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(width))
    for path in seeds.some(sorted((ROOT / "examples").glob("[0-9]*")), 4):
        for more in ((), ("-v",)):
            ended = planner(command, "-f", f"examples/{path.name}", *more)
            assert max(map(len, ended.out.splitlines()), default=0) <= width, (path, more)


#: Each has something to say beside its answer, or no answer.
SAID = (
    ("solve", "-f", "examples/12-uneven-zones"),
    ("check", "-f", "examples/no-such-folder-however-long-one-looks-for-it-among-all-the-others"),
    ("rollout", "--snapshot", "examples/50-rollout-half-way", "-f", "{next}"),
    ("check", "-f", "{broken}"),
    ("check", "-f", "{many}", "--scale", "deployment/there-is-no-such-workload=3", "--drain", "nobody"),
    ("explain", "no-such-pod", "-f", "examples/12-uneven-zones"),
    ("drain", "pool=old", "-f", "examples/51-drain-a-pool", "-o", "script"),
    ("simulate", "-f", "{many}", "--context", "here"),
    ("solve", "-f", "{many}", "--allow-moves", "--final-state"),
    ("check", "--no-such-option"),
)


@pytest.mark.parametrize("words", seeds.at_first(2, [(words,) for words in SAID]), ids=" ".join)
def test_what_is_said_beside_it_is_folded(
    words: tuple[str, ...], planner: Planner, many: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes and errors keep to the width as well, but for a path, which can be pasted back; no colours."""
    monkeypatch.chdir(ROOT)
    broken = write(tmp_path / "broken.json", node("\x1b[31mred\x1b[0m", "a", cpu="0.5x"))
    folders = {"many": many, "broken": broken, "next": "examples/50-rollout-half-way/next"}
    typed, said = [word.format(**folders) for word in words], dict[int, str]()
    for width in (*WIDTHS, random.Random(seeds.fresh()).randrange(40, 200)):
        monkeypatch.setenv("COLUMNS", str(width))
        said[width] = planner(*typed).said
        assert said[width]
        assert "\x1b" not in said[width]
        wide = [line for line in said[width].splitlines() if len(line) > width]
        assert all(" " not in line.strip() for line in wide), (width, wide)
    monkeypatch.delenv("COLUMNS")
    assert planner(*typed).said == said[100]


@pytest.mark.parametrize("width", WIDTHS)
def test_help_keeps_to_the_width(width: int, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every command."""
    monkeypatch.setenv("COLUMNS", str(width))
    for command in (*dict.fromkeys(words[0] for words in COMMANDS.values()), "snapshot", "completion", ""):
        found = planner(*filter(None, (command, "--help"))).out
        assert max(map(len, found.splitlines())) <= width, command
        assert "\x1b" not in found


def test_an_ascii_pipe_has_bars_of_ascii(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a locale without signs for bars nothing fails."""
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, "ascii", write_through=True))
    done = planner("check", "-f", str(ROOT / "examples" / "10-after-scale-down"))
    assert (done.code, done.err) == (1, "")
    assert b"eu-1a   #### 4   2 too many" in pipe.getvalue()


@pytest.mark.parametrize("colours", [True, False])
def test_no_color_is_honoured(
    colours: bool, broken: str, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR means none, on a terminal too."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "" if colours else "1")
    monkeypatch.setenv("TERM", "xterm")
    assert ("\x1b" in planner("check", "-f", broken).out) == colours
