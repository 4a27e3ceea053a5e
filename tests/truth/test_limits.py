"""Wherever the clock ends a search, its document says `cut` or is the same as that of the whole search.

Fresh tiny clusters on every run; the clock is over at a drawn reading, so that no machine is too slow for it.
"""

import math
import random
from collections.abc import Callable

import pytest

from models import Cluster
from planner import compare, explain, rebalance, scale_down, solve
from planner.documents.plan import SearchDocument
from planner.proof.clock import Clock
from tests import seeds
from tests.truth.generator import Case, draw

#: Seconds for each command.
_SHARE = 0.1

Asked = Callable[[Cluster, Case], SearchDocument]
ASKED: dict[str, tuple[str, Asked]] = {
    "solve": ("solve", lambda cluster, _: solve(cluster)),
    "moves": ("solve --allow-moves", lambda cluster, _: solve(cluster, allow_moves=True)),
    "compare": ("solve", lambda cluster, _: compare(cluster, replays=1)),
    "explain": ("solve", lambda cluster, _: explain(cluster, batch=20.0)),
    "rebalance": ("rebalance", lambda cluster, _: rebalance(cluster)),
    "evict-only": ("rebalance", lambda cluster, _: rebalance(cluster, evict_only=True)),
    "scale-down": ("scale-down", lambda cluster, case: scale_down(cluster, case.replicas)),
}


class Readings:
    """Stands in for what is left on every clock: a minute for so many readings, nothing after them."""

    def __init__(self) -> None:
        self.allowed = math.inf
        self.made = 0

    def left(self) -> float:
        """The seconds that are left."""
        self.made += 1
        return 60.0 if self.made <= self.allowed else 0.0

    def start(self, allowed: float) -> None:
        """Begin anew."""
        self.allowed, self.made = allowed, 0


@pytest.mark.parametrize("name", ASKED)
def test_what_the_clock_ends_is_said_to_be_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No decision asks the clock: it ends a search, and then the document says so."""
    command, ask = ASKED[name]
    readings = Readings()
    monkeypatch.setattr(Clock, "left", lambda _: readings.left())
    for number in seeds.seeds_for(_SHARE):
        case = draw(number, command)
        cluster = Cluster.from_objects(case.objects)
        if command == "scale-down" and not case.replicas:
            continue
        readings.start(math.inf)
        whole = ask(cluster, case)
        for allowed in random.Random(number).sample(range(readings.made + 1), min(4, readings.made + 1)):
            readings.start(allowed)
            found = ask(cluster, case)
            assert found.cut or found == whole, f"seed {number}, ended at reading {allowed}"
