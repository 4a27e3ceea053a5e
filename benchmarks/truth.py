"""Random tiny clusters, and whether what `planner` claims about them is true.

Every cluster has one to six nodes and up to ten pods, so that exhaustive search finds the truth.  A fault is
shrunk to the smallest cluster that still shows it, and written where `--save` says.

    python benchmarks/truth.py --cases 2000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.truth import generator, plain, wide
from tests.truth.claims import TIME_LIMIT, judge
from tests.truth.findings import Finding, Judgement
from tests.truth.generator import Case
from tests.truth.large_paths import effort_of, lowered, path_of
from tests.truth.shrinking import shrunk

_SLOW = 2.0
COMMANDS = tuple(dict.fromkeys((*generator.COMMANDS, *wide.COMMANDS, *wide.MORE_COMMANDS)))
DRAWS = {"mixed": generator.draw, "plain": plain.draw, "wide": wide.draw}


def main() -> None:
    """Run so many cases and print what was found."""
    options = _options()
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    print(f"seed {seed}, {options.cases} cases", flush=True)
    tally = Tally()
    started = time.monotonic()
    for number in range(seed, seed + options.cases):
        if options.minutes and time.monotonic() - started > 60 * options.minutes:
            break
        case = DRAWS[options.draw](number, options.command)
        path = _path(case, options)
        case = replace(case, effort=effort_of(path))
        with lowered(path):
            found = _judged(case, options.time_limit)
        tally.add(case, found)
        for finding in found.findings:
            if finding.fault in options.show:
                _report(case, finding, options)
    tally.print(time.monotonic() - started)


def _path(case: Case, options: argparse.Namespace) -> str | None:
    """The path of large clusters that a case takes, if so many are asked for."""
    chance = random.Random(f"large {case.seed}").random()
    return path_of(case.seed, case.command) if chance < options.large else None


def _judged(case: Case, time_limit: float) -> Judgement:
    """The same as `judge`; an error that was not raised on purpose is a crash, with its place."""
    try:
        return judge(case, time_limit)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ):
        return Judgement([Finding("crash", traceback.format_exc(limit=-3))])


class Tally:
    """Counts per command."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()
        self._faults: dict[str, Counter[str]] = {name: Counter() for name in COMMANDS}
        self._seconds: dict[str, list[tuple[float, int]]] = {name: [] for name in COMMANDS}

    def add(self, case: Case, found: Judgement) -> None:
        """Take down one case."""
        self._cases[case.command] += 1
        counts = self._faults[case.command]
        counts.update({f: 1 for f in found.faults})
        counts["proved"] += found.proved
        counts["not searched to the end"] += not found.complete
        self._seconds[case.command].append((found.seconds, case.seed))

    def print(self, seconds: float) -> None:
        """A line for each command."""
        for name, cases in sorted(self._cases.items()):
            times = sorted(self._seconds[name])
            counts = ", ".join(f"{fault} {count}" for fault, count in sorted(self._faults[name].items()))
            (middle, _), (most, seed) = times[len(times) // 2], times[-1]
            slow = sum(time > _SLOW for time, _ in times)
            print(f"{name}: {cases} cases, {counts}; median {middle:.3f} s, {slow} above {_SLOW} s, ", end="")
            print(f"longest {most:.2f} s (seed {seed})")
        print(f"{sum(self._cases.values())} cases in {seconds:.0f} s")


def _report(case: Case, finding: Finding, options: argparse.Namespace) -> None:
    path = _path(case, options)
    with lowered(path):
        small = shrunk(case, finding.fault, options.time_limit) if options.shrink else case
        again = next(
            (f for f in _judged(small, options.time_limit).findings if f.fault == finding.fault), finding
        )
    how = f"{case.options or ''}{f', path of {path}' if path else ''}"
    print(f"{case.seed} {case.command} {how}: {finding.fault}: {again.text}", flush=True)
    for line in again.truth:
        print(f"    {line}")
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        slug = case.command.replace(" --", "-")
        path = options.save / f"{slug}-{finding.fault}-{case.seed}.json"
        path.write_text(json.dumps(document(small, again), indent=1) + "\n")


def document(case: Case, finding: Finding) -> dict[str, object]:
    """A regression file."""
    return {
        "seed": case.seed,
        "command": case.command,
        "replicas": case.replicas,
        "options": case.options,
        "fault": finding.fault,
        "claim": finding.text,
        "truth": list(finding.truth),
        "cluster": {"apiVersion": "v1", "kind": "List", "items": case.objects},
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--minutes", type=float, help="end after so many minutes at the latest")
    parser.add_argument("--seed", type=int, help="the first seed; drawn and printed without it")
    parser.add_argument("--command", choices=COMMANDS, help="one command only")
    parser.add_argument("--draw", choices=DRAWS, default="mixed", help="how clusters are drawn")
    parser.add_argument("--large", type=float, default=0.0, help="the share on paths of large clusters")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT)
    parser.add_argument("--save", type=Path, help="a folder for the clusters that show a fault")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument(
        "--show",
        nargs="+",
        default=["false", "bound", "missed", "softer", "invalid", "beyond", "worse", "crash"],
        help="which faults to print",
    )
    parser.add_argument("--without", nargs="+", default=[], choices=wide.FEATURES, help="features left out")
    parser.add_argument(
        "--with",
        dest="forced",
        nargs="+",
        default=[],
        choices=wide.FEATURES,
        help="features of all wide cases",
    )
    found = parser.parse_args()
    wide.FORCED |= {*found.forced}
    wide.SKIPPED |= {*found.without}
    return found


if __name__ == "__main__":
    main()
