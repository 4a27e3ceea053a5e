"""Fresh plans of moves for tiny clusters, each played by an adversary in every order, tie and lingering.

    python benchmarks/adversary.py --plans 3000 --seed 1

counts what goes otherwise than the documents promise, by command and kind; `--save` writes the clusters.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models import Cluster, InputError
from models.errors import PlannerError
from planner import consolidate, rebalance, solve
from tests.truth import generator, merged, plain, preempting, wide
from tests.truth.adversary.failures import KINDS, Failure
from tests.truth.adversary.placements import against_placement
from tests.truth.adversary.plans import Verdict, against_moves
from tests.truth.generator import Case
from tests.truth.large_paths import lowered
from tests.truth.shrinking import smaller

#: The options of `rebalance`, and of `solve`, that are played.
VARIANTS: dict[str, dict[str, Any]] = {
    "rebalance": {},
    "rebalance --evict-only": {"evict_only": True},
    "rebalance --soft": {"soft": True},
    "rebalance --max-unavailable 2": {"max_unavailable": 2},
    "rebalance --may-cordon": {"cordon": True},
    "solve --allow-moves": {"allow_moves": True},
    "consolidate": {},
    "consolidate --max-unavailable 3": {"max_unavailable": 3},
    "consolidate --pin --max-unavailable 2": {"pins": True, "max_unavailable": 2},
    "consolidate to any node": {},
    "consolidate to any node --max-unavailable 3": {"max_unavailable": 3},
}
#: The paths of large clusters that some take.
PATHS = dict.fromkeys(
    ("consolidate to any node", "consolidate to any node --max-unavailable 3"), "landings anywhere"
)
DRAWS = {
    "merged": merged.draw,
    "mixed": generator.draw,
    "plain": plain.draw,
    "preempting": preempting.draw,
    "wide": wide.draw,
}
_MOST_TRIALS = 300


@dataclass(frozen=True)
class Question:
    """A cluster and a variant."""

    case: Case
    variant: str


def main() -> None:
    """Plans until there are enough that move something, and the counts."""
    options = _options()
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    print(f"seed {seed}, {options.plans} plans", flush=True)
    started, played, number = time.monotonic(), 0, seed
    tally: dict[str, Counter[str]] = {name: Counter() for name in VARIANTS}
    while played < options.plans and time.monotonic() - started < 60 * options.minutes:
        question = _question(number, options)
        number += 1
        moves, verdict = answer(question, options.time_limit)
        counts = tally[question.variant]
        counts["clusters"] += 1
        if not moves and not verdict.failures:
            continue
        played += 1
        counts.update(plans=1, moves=moves, states=verdict.states, sampled=int(not verdict.whole))
        counts.update({failure.kind: 1 for failure in verdict.failures})
        for failure in verdict.failures:
            if failure.kind in options.ignore:
                continue
            _report(question, failure, options)
    for name, counts in tally.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in counts.items()))
    seconds = time.monotonic() - started
    print(
        f"{played} plans of {number - seed} clusters in {seconds:.0f} s, {60 * played / seconds:.0f} a minute"
    )


def _question(number: int, options: argparse.Namespace) -> Question:
    chance = random.Random(f"adversary {number}")
    draw = DRAWS[options.draw or chance.choice(("mixed", "plain", "wide", "wide"))]
    variant = options.variant or chance.choice(sorted(VARIANTS))
    command = variant.partition(" ")[0] if variant.startswith("consolidate") else "rebalance"
    return Question(draw(number, variant if variant.startswith("solve") else command), variant)


def answer(question: Question, time_limit: float) -> tuple[int, Verdict]:
    """The moves of the plan, and what the adversary makes of it."""
    options, objects = VARIANTS[question.variant], question.case.objects
    try:
        if question.variant.startswith("solve"):
            placed = solve(Cluster.from_objects(objects), time_limit=time_limit, **options)
            evictions = sum(step.action == "evict" for step in placed.steps)
            return evictions, Verdict(against_placement(objects, placed) if evictions else [])
        command = consolidate if question.variant.startswith("consolidate") else rebalance
        with lowered(PATHS.get(question.variant)):
            plan = command(Cluster.from_objects(objects), time_limit=time_limit, **options)
    except InputError:
        return 0, Verdict([])
    except (PlannerError, LookupError, ValueError, ArithmeticError, AssertionError) as error:
        return 0, Verdict([Failure("crash", 0, f"{type(error).__name__}: {error}")])
    verdict = against_moves(
        objects,
        plan,
        max_unavailable=options.get("max_unavailable", 1),
        soft=options.get("soft", False),
        seed=question.case.seed,
    )
    return len(plan.steps), verdict


def _report(question: Question, failure: Failure, options: argparse.Namespace) -> None:
    small = _shrunk(question, failure, options.time_limit) if options.shrink else question
    again = next((f for f in _failures(small, options.time_limit) if f.kind == failure.kind), failure)
    print(f"{question.case.seed} {question.variant}: {again}", flush=True)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        name = f"{failure.kind.replace(' ', '-')}-{question.case.seed}.json"
        found = {"variant": question.variant, "failure": str(again)}
        listed = {"apiVersion": "v1", "kind": "List", "items": small.case.objects}
        (options.save / name).write_text(json.dumps({**found, "cluster": listed}, indent=1) + "\n")


def _shrunk(question: Question, failure: Failure, time_limit: float) -> Question:
    """A smaller cluster whose plan fails alike."""
    trials, found = 0, True
    while found and trials < _MOST_TRIALS:
        found = False
        for candidate in smaller(question.case):
            trials += 1
            tried = replace(question, case=candidate)
            if any(other.kind == failure.kind for other in _failures(tried, min(5.0, time_limit))):
                question, found = tried, True
                break
            if trials >= _MOST_TRIALS:
                break
    return question


def _failures(question: Question, time_limit: float) -> list[Failure]:
    try:
        return answer(question, time_limit)[1].failures
    except (LookupError, ValueError):
        return []


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many minutes at the latest")
    parser.add_argument("--seed", type=int, help="the first seed; drawn and printed without it")
    parser.add_argument("--variant", choices=VARIANTS)
    parser.add_argument("--draw", choices=DRAWS)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--save", type=Path, help="a folder for the clusters that show a failure")
    parser.add_argument("--ignore", nargs="+", default=[], choices=KINDS, help="count these, and print none")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
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
