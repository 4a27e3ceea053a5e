"""What all tests share: no deadlines, a Ctrl-C that is heeded, and a collector that seldom looks around."""

import gc
import importlib
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

from models import collector
from tests.seeds import EFFORT

# How long a random case takes says nothing on a machine with other work.  Where CI is set, hypothesis would
# draw the same examples on every run.
settings.register_profile(
    "planner", max_examples=50 * EFFORT, deadline=None, derandomize=False, print_blob=True
)
settings.load_profile("planner")

# A shell starts jobs in the background with interrupts ignored, and the planner goes on ignoring them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Clusters, plans and some thousand tests stay until the end, and reading a cluster thaws whatever was frozen:
# as often as usual, looking through all of it takes a seventh of the time.  In a quick run it is never done,
# each time would take two seconds: half of the tests leave 1.4 GiB at most.
gc.set_threshold(50_000, 20, 20 if EFFORT > 1 else 100_000)
if EFFORT == 1:
    collector._BLOCKS = 1 << 40


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than there are processors: some tests wait for a limit, or for a process to end."""
    return (yield) + 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """A planner that imports the solver within a search pays seconds of its limit on a busy machine.

    What hands the tests to workers asks nothing of it.
    """
    if not session.config.getoption("numprocesses", None):
        importlib.import_module("ortools.sat.python.cp_model")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked as long stay out of a quick run of all; who names files or marks gets those."""
    if EFFORT > 1 or config.option.markexpr or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_sessionfinish() -> None:
    """No clean-up looks through what the tests have left, which takes ten seconds and frees nothing."""
    gc.freeze()
