"""Random clusters of some six to sixty nodes, and whether one engine refutes what another has proved.

    python benchmarks/cross_check.py --cases 100 --seed 1

No search knows the truth about such clusters; what some plan or some order of binds reaches is possible.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.truth import merged
from tests.truth.cross_check import cross_checked


def main() -> None:
    """Every finding, and how many there are by command."""
    options = _options()
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    print(f"seed {seed}, {options.cases} cases", flush=True)
    cases: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(seed, seed + options.cases):
        if time.monotonic() - started > 60 * options.minutes:
            break
        case = merged.draw(number, options.command)
        cases[case.command] += 1
        for finding in cross_checked(case, options.time_limit):
            faults[finding.fault] += 1
            print(
                f"{number} {case.command} {case.options or ''}: {finding.fault}: {finding.text}", flush=True
            )
            print(f"    {'; '.join(finding.truth)}", flush=True)
    print(", ".join(f"{command} {count}" for command, count in sorted(cases.items())))
    found = ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items())) or "nothing refuted"
    print(f"{cases.total()} cases in {time.monotonic() - started:.0f} s: {found}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many minutes at the latest")
    parser.add_argument("--seed", type=int, help="the first seed; drawn and printed without it")
    parser.add_argument("--command", choices=sorted({*merged.COMMANDS}), help="one command only")
    parser.add_argument("--time-limit", type=float, default=10.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
