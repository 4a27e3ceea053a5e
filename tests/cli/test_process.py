"""The planner as a process of its own: pipes, terminals and signals."""

import errno
import gzip
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import INTERRUPTIBLE, Planner
from tests.cli.manifests import lopsided, node, pod, write
from tests.seeds import at_first

PLANNER = [sys.executable, "-c", "from cli.start import main; main()"]
ROOT = Path(__file__).parents[2]
SECONDS = 60
PACKINGS = ROOT / "tests" / "data" / "batch" / "packing.jsonl.gz"
HARD = "packing-32x8-p1-u1.0-s1"
LONG = ("--time-limit", "600")


def _in_terminal(*arguments: str, **environment: str) -> bytes:
    """What the planner prints when standard output and error are a terminal."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", **environment}
    variables.pop("COLUMNS", None)
    process = subprocess.Popen([*PLANNER, *arguments], stdout=theirs, stderr=theirs, cwd=ROOT, env=variables)
    os.close(theirs)
    printed = b""
    try:
        while found := os.read(ours, 65536):
            printed += found
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(ours)
        process.wait(SECONDS)
    return printed


def test_a_terminal_has_colours(broken: str) -> None:
    """Red is what is wrong."""
    assert b"\x1b[31m" in _in_terminal("check", "-f", broken, NO_COLOR="")


def test_closed_standard_output(broken: str) -> None:
    """What went wrong: with `>&-` the width of the screen was asked of nothing, an internal error."""
    command = shlex.join([*PLANNER, "check", "-f", broken])
    ended = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, cwd=ROOT, check=False)
    assert (ended.returncode, ended.stderr.count(b"error")) == (1, 0)


@pytest.mark.parametrize(
    ("stream", "path"), at_first(1, [("0<&- 1>&- 2>&-", "-"), ("2>&-", "nowhere"), ("0<&-", "-")])
)
def test_other_closed_streams(stream: str, path: str) -> None:
    """What went wrong: a standard input or error that is closed was an internal error, exit code 4."""
    command = shlex.join([*PLANNER, "check", "-f", path])
    ended = subprocess.run(["sh", "-c", f"{command} {stream}"], capture_output=True, cwd=ROOT, check=False)
    assert (ended.returncode, ended.stdout) == (2, b"")


def _read_the_first_byte(*arguments: str) -> None:
    """Run a command, and read no more of what it prints: it ends by the signal and says nothing."""
    process = subprocess.Popen(
        [*PLANNER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(1) == b"{"
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == b""
    assert process.wait(SECONDS) == -signal.SIGPIPE


def test_head_may_stop_reading(tmp_path: Path) -> None:
    """A reader that has seen enough is no error: nothing is said about it."""
    pods = [pod(f"web-{number}") for number in range(1000)]
    path = write(tmp_path / "large.json", node("a1"), *pods)
    _read_the_first_byte("simulate", "-f", path, "-o", "json")


@pytest.mark.long
def test_head_of_a_sweep_says_nothing_else(tmp_path: Path) -> None:
    """What went wrong: the semaphores of the workers were left to a warning of multiprocessing."""
    path = write(tmp_path / "few.json", *(node(f"n{number}") for number in range(30)))
    _read_the_first_byte("sweep", "check", "-f", path, "--vary", "drain=each", "-o", "jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    "words",
    at_first(
        2,
        [
            (("check", "-f", "cluster.json", "-o", "json"),),
            (("__complete", "simulate", "-"),),
            (("--help",),),
            (("check", "-f", "cluster.json"),),
            (("snapshot", "-f", "cluster.json"),),
            (("version",),),
            (("sweep", "check", "-f", "cluster.json", "--vary", "drain=each", "-o", "jsonl"),),
        ],
    ),
)
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What went wrong: a full disk was told as an internal error, to be reported, or as a traceback."""
    path = write(tmp_path / "cluster.json", *lopsided())
    arguments = [path if word == "cluster.json" else word for word in words]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*PLANNER, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False
        )
    assert ended.stderr.decode().splitlines()[-1] == "error: standard output: no space left on device"
    assert (ended.returncode, ended.stderr.count(b"error")) == (2, 1)


@pytest.mark.long
def test_an_object_a_line_through_a_pipe(tmp_path: Path, planner: Planner) -> None:
    """`-o jsonl | head` gets the head and whole steps at once; all lines together are the document."""
    objects = [node(f"n{number}") for number in range(60)]
    objects += [pod(f"p{number:04}") for number in range(1_200)]
    file = write(tmp_path / "many.json", *objects)
    whole = json.loads(planner("solve", "-f", file, "-o", "json").out)
    head, *items = map(json.loads, planner("solve", "-f", file, "-o", "jsonl").out.splitlines())
    assert len(whole["steps"]) > 1_000
    assert {name: whole[name] for name in head} == head
    for name in whole.keys() - head.keys():
        assert [{"list": name, **item} for item in whole[name]] == [i for i in items if i["list"] == name]
    process = subprocess.Popen(
        [*PLANNER, "solve", "-f", file, "-o", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == head
    process.stdout.close()
    assert process.wait(SECONDS) == -signal.SIGPIPE


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    """An interrupt while a file is being read: 130 and one short line."""
    pipe = tmp_path / "slow.json"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "simulate", "-f", str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    writer = _open_when_read(pipe, process)
    # Between opening and reading Python would notice the signal only after the read.
    time.sleep(0.5)
    _wait_until_it_sleeps(process)
    process.send_signal(signal.SIGINT)
    try:
        printed = process.communicate(timeout=SECONDS)
    finally:
        os.close(writer)
        process.kill()
    assert (process.returncode, printed) == (130, (b"", b"interrupted\n"))


#: Ctrl-C when these modules are asked for.
_INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(name, *others):
        os.kill(os.getpid(), signal.SIGINT) if name in {modules} else None
sys.meta_path.insert(0, Finder)
"""


def _interrupted_at(modules: tuple[str, ...], *words: str) -> "subprocess.CompletedProcess[bytes]":
    program = _INTERRUPTED.format(modules=modules) + INTERRUPTIBLE
    return subprocess.run(
        [sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, timeout=SECONDS, check=False
    )


def test_ctrl_c_while_the_program_is_being_read_leaves_no_traceback() -> None:
    """Half a second on a busy machine, in which each import could end with one."""
    ended = _interrupted_at(("typer",), "--help")
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def test_ctrl_c_once_more_while_the_first_is_told_leaves_no_traceback() -> None:
    """What went wrong: it came while what folds the one line about the first was being imported."""
    ended = _interrupted_at(("cli.commands.steps", "cli.output.table"), "check", "-f", "nowhere")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("number", "name"), at_first(1, [(signal.SIGINT, b"Ctrl-C"), (signal.SIGTERM, b"SIGTERM")])
)
def test_a_signal_prints_the_best_plan_so_far(number: int, name: bytes) -> None:
    """While the solver searches, as when a container ends: a plan, with the exit code of any other."""
    with gzip.open(PACKINGS, "rt") as lines:
        hard = next(case for line in lines if (case := json.loads(line))["name"] == HARD)
    process = subprocess.Popen(
        # Not interrupted, it would take minutes.
        [sys.executable, "-c", INTERRUPTIBLE, "solve", "-f", "-", "--allow-moves", "-o", "json", *LONG],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin
    process.stdin.write(json.dumps(hard["cluster"]).encode())
    process.stdin.close()
    process.stdin = None
    _wait_for_library(process, "ortools")
    process.send_signal(number)
    printed, errors = process.communicate(timeout=SECONDS)
    assert errors.splitlines()[0] == b"stopping with the best so far; " + name + b" again gives up"
    plan = json.loads(printed)
    assert plan["verdicts"]["sequence"] is True
    assert (process.returncode, plan["status"]) == (1 if plan["unplaced"] else 0, "Feasible")
    assert plan["objective"][0]["value"] >= hard["kubeSchedulerPlaced"]


def _wait_for_library(process: "subprocess.Popen[bytes]", name: str) -> None:
    """Return when the process has loaded a library."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if name in Path(f"/proc/{process.pid}/maps").read_text():
            return
        time.sleep(0.02)
    pytest.fail(f"the planner never loaded {name}")


def _wait_until_it_sleeps(process: "subprocess.Popen[bytes]") -> None:
    """Return when the process waits for something, and not for a processor."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "S":
            return
        time.sleep(0.02)
    pytest.fail("the planner never waited for its file")


def _open_when_read(pipe: Path, process: "subprocess.Popen[bytes]") -> int:
    """The writing end, as soon as the process has opened the other."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(0.02)
    pytest.fail("the planner never opened its file")


def test_a_function_is_loaded_when_it_is_asked_for() -> None:
    """`check` waits for no search, `simulate` for no rollout, and all public names are functions, whatever
    was imported before."""
    script = """
import sys
from planner import check
loaded = {"ortools", "planner.batch", "planner.rebalance.plan", "planner.simulation"} & set(sys.modules)
from planner import simulate
loaded |= {"planner.explain.search", "planner.simulation.rollout"} & set(sys.modules)
import planner, planner.capacity.capacity, planner.rebalance.document
strange = [name for name in planner.__all__ if not callable(getattr(planner, name))]
print(*loaded, *strange)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, capture_output=True)
    assert ended.stdout == b"\n"
