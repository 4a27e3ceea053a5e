"""Stories on a real control plane; skipped, and saying so, where it is not there."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane, location, running
from tests.e2e.shared import SharedControlPlane


@pytest.fixture(autouse=True)
def _skipped_without_control_plane() -> None:
    if location() is None:
        pytest.skip("no control plane to test on: ../shared/control-plane is not there")


@pytest.fixture(autouse=True, scope="session")
def _heeded_signals() -> Iterator[None]:
    """What `nohup` has children ignore scripts would ignore, too; what is caught is not passed on."""
    ends = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    ignored = [number for number in ends if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Starts control planes, as many as a story needs; `SCHEDULER_CONFIG="..."` and the like as keywords."""
    with ExitStack() as stack:
        started: list[ControlPlane] = []

        def begin(**settings: str) -> ControlPlane:
            home = tmp_path / f"cluster-{len(started)}"
            home.mkdir()
            started.append(stack.enter_context(running(home, settings)))
            return started[-1]

        yield begin


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedControlPlane]:
    with SharedControlPlane(tmp_path_factory.mktemp("shared")) as shared:
        yield shared


@pytest.fixture
def live(_shared: SharedControlPlane, tmp_path: Path) -> ControlPlane:
    """A cluster without nodes, on which nothing is of the stories before."""
    home = tmp_path / "home"
    home.mkdir()
    return _shared.given(home)
