"""Stories in volume: `python -m tests.control_plane --clusters 30`; every seed is printed."""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.control_plane.api import Api
from tests.control_plane.devices import with_claims
from tests.control_plane.generator import story
from tests.control_plane.replay import Replay, wake
from tests.e2e.control_plane import running


def main() -> int:
    """A line for each story; the exit code says whether anything differed."""
    parser = argparse.ArgumentParser(description="Stories on a real control plane, one after the other.")
    parser.add_argument("--clusters", type=int, default=30)
    parser.add_argument("--nodes", type=int, default=60, help="at most so many in a cluster")
    parser.add_argument("--pods", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--claims", action="store_true", help="with devices that are allocated")
    asked = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as plane, Api(plane.kubeconfig) as api:
        wake(api)
        for seed in range(asked.seed, asked.seed + asked.clusters):
            began = time.monotonic()
            draw = random.Random(seed)
            told = story(draw, asked.nodes, asked.pods)
            replay = Replay(api, with_claims(draw, told) if asked.claims else told)
            lines = list(replay.differences())
            wrong += len(lines)
            seconds = f"{time.monotonic() - began:.0f} s"
            print(f"seed {seed}: {replay.told()}, {len(lines)} differences, {seconds}", flush=True)
            for line in lines:
                print(f"    {line}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
