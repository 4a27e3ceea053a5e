"""The same stories many times over: `make e2e-long`.

RUNS, KILLS, LONGEST and SEED in the environment say how often, and with which random moments.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.batches import CASES, create_held, placed_as_planned
from tests.e2e.control_plane import PATIENCE_SECONDS, ControlPlane
from tests.e2e.stories import (
    carried_out,
    evictions,
    left_behind,
    planned,
    script_environment,
    too_many,
    zone_that_came_back,
)

RUNS = int(os.environ.get("RUNS", "20"))
KILLS = int(os.environ.get("KILLS", "40"))
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
#: The latest moment of a strike, in seconds: on a slow machine a script looks for several before it acts.
LONGEST = float(os.environ.get("LONGEST", "25"))
#: Strikes in one run; its script has to come to an end, too.
_IN_ONE_RUN = 10
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@pytest.mark.parametrize("run", range(RUNS))
def test_a_zone_that_came_back(live: ControlPlane, tmp_path: Path, run: int) -> None:
    """Every run ends with nothing too much, in as many evictions as planned."""
    zone_that_came_back(live)
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    plan = script.read_text()
    moves, pins = plan.count("\n    move "), plan.count('"op":"test"')
    ended = carried_out(live, script)
    print(f"run {run}: {moves} moves, {pins} pinned, exit code {ended.returncode}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (too_many(live), evictions(live, before), left_behind(live)) == (0, moves, [])


@pytest.mark.parametrize("run", range(-(-KILLS // _IN_ONE_RUN)))
def test_struck_at_random_moments(live: ControlPlane, tmp_path: Path, run: int) -> None:
    """Killed by HUP, INT, TERM and KILL and started again: nothing too much, nothing left changed."""
    chance = random.Random(SEED + run)
    zone_that_came_back(live)
    script = planned(live, tmp_path, "rebalance")
    for strike in range(_IN_ONE_RUN):
        name = _SIGNALS[(run + strike) % len(_SIGNALS)]
        code, moment = struck(live, script, name, chance.uniform(1, LONGEST))
        print(f"seed {SEED} run {run}: {name.name} after {moment:.2f} s: {code}")
        # By the signal itself it ends only before it has begun to put anything back.
        if code != -name:
            assert left_behind(live) == [], (SEED, run, name)
    ended = carried_out(live, script)
    again = 0
    while ended.returncode == 1 and again < 3:
        # Put back in the middle of a move, its replacement was free to land where it liked.
        again += 1
        ended = carried_out(live, planned(live, tmp_path, "rebalance"))
    print(f"seed {SEED} run {run}: planned again {again} times")
    assert (ended.returncode, too_many(live), left_behind(live)) == (0, 0, []), (SEED, run, ended.stderr)


def struck(live: ControlPlane, script: Path, name: signal.Signals, after: float) -> tuple[int, float]:
    """Start a script and send it a signal after so many seconds; its exit code."""
    running = subprocess.Popen(
        ["sh", str(script)],
        env=script_environment(live),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    began = time.monotonic()
    try:
        return running.wait(after), time.monotonic() - began
    except subprocess.TimeoutExpired:
        running.send_signal(name)
    return running.wait(PATIENCE_SECONDS), after


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_batches(live: ControlPlane, tmp_path: Path, case: dict[str, object]) -> None:
    """As many of the batches as the API server takes: every pod on its planned node."""
    if not create_held(live, case):
        pytest.skip("the API server takes not all of its objects")
    script = planned(live, tmp_path, "solve", "--gated", "--time-limit", "5")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    print(f"{case['name']}: {placed_as_planned(live, script)} of {case['pending']}")
