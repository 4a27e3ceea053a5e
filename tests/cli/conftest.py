"""The command line in this process: arguments in, exit code and both streams out."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.main import run
from planner.fleet.tasks import Task
from planner.fleet.worker import work
from planner.fleet.workers import Answering, ProcessWorkers
from tests.cli.manifests import deployment, lopsided, node, pod, write


@dataclass(frozen=True, slots=True)
class Ended:
    """What one run of the planner left behind; `said` is standard error as it is."""

    code: int
    out: str
    said: str

    @property
    def err(self) -> str:
        """Standard error without its folds."""
        return re.sub(r"\n  (?=\S)", " ", self.said)

    @property
    def verdict(self) -> str:
        """The answer in a sentence, which comes first, without its folds."""
        return self.out.partition("\n\n")[0].replace("\n", " ").strip()


Planner = Callable[..., Ended]

#: A job in the background of a shell ignores interrupts, one of nohup hang-ups, and their children with them.
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from cli.start import main; main()"
)
#: What a person is told when nothing says which release the cluster runs.
AS_NEWEST = "as kube-scheduler 1.36 decides, the newest one checked against the real one\n"


@pytest.fixture
def planner(capsys: pytest.CaptureFixture[str]) -> Planner:
    """Runs a command line, without a terminal."""

    def runs(*arguments: str) -> Ended:
        code = run(arguments)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return runs


@pytest.fixture
def _workers_are_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process for every worker would import and build anew what this one has: seconds for each test."""
    with ThreadPoolExecutor(1) as thread:

        class Threads(ProcessWorkers):
            def submit(self, tasks: Sequence[Task]) -> Answering:
                return thread.submit(work, tuple(tasks))

        monkeypatch.setattr("cli.commands.fleet_run.ProcessWorkers", Threads)
        yield


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """One that is well, one with a broken constraint, and a file that is no snapshot."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    write(folder / "well.json", node("a1", "a"), node("b1", "b"), deployment("web", 2))
    write(folder / "lopsided.json", *lopsided())
    (folder / "broken.yaml").write_text("kind: [")
    return folder


@pytest.fixture
def zones(tmp_path: Path) -> str:
    """Three zones of one small node, and a Deployment."""
    objects = [*(node(f"{zone}1", zone, cpu="1") for zone in "abc"), deployment("web", 3)]
    return write(tmp_path / "zones.json", *objects)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A cluster whose only constraint is broken."""
    return write(tmp_path / "broken.json", *lopsided())


@pytest.fixture
def stuck(tmp_path: Path) -> str:
    """One pod that fits and one that does not."""
    return write(tmp_path / "stuck.json", node("a1"), pod("small"), pod("huge", cpu="64"))


@pytest.fixture
def fragmented(tmp_path: Path) -> str:
    """Two small pods that kube-scheduler puts on two nodes, and a large one that needs a whole node."""
    small = [pod(f"small-{number}", cpu="500m") for number in range(2)]
    return write(tmp_path / "fragmented.json", node("a1"), node("b1"), *small, pod("large", cpu="4"))
