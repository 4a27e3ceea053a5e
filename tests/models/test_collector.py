"""Garbage of a program that asks again and again is collected, although collection is paused so often."""

import subprocess
import sys
from pathlib import Path

import pytest

from models import collector

#: Makes circles of references: prints how many there are at most, and how often all was looked through.
#: A tenth of the objects and of the memory is many here.
PROGRAM = """
import gc, sys
from weakref import WeakSet
from models import collector
from models.collector import collector_paused

collector._BLOCKS //= 10
collector._NEW_OBJECTS //= 10

class Circle:
    def __init__(self):
        self.itself, self.room = self, [[number] for number in range(60)]

alive, most, passes = WeakSet(), 0, []
gc.callbacks.append(lambda phase, info: info["generation"] == 2 and passes.append(phase))
for _ in range(60):
    with collector_paused():
        for _ in range(100):
            alive.add(Circle())
    most = max(most, len(alive))
    if most == len(alive) == 1_000:
        print(most, len(passes))
print(most, len(passes))
"""


def test_garbage_does_not_pile_up() -> None:
    """What went wrong: a sweep of a thousand questions held what all of them had made.

    What is made for a single question stays to its end: looking through it would find nothing.
    """
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=600,
    )
    first, last = ([int(word) for word in line.split()] for line in ended.stdout.splitlines())
    assert first == [1_000, 0]
    assert last[0] < 4_000


def test_memory_is_seldom_gone_through_to_see_how_much_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: a program with a full memory spent a seventh of its time on counting blocks."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 1

    growth = collector._Growth()
    monkeypatch.setattr(collector, "_GROWTH", growth)
    monkeypatch.setattr(sys, "getallocatedblocks", count)
    made = []
    for _ in range(1_000):
        with collector.collector_paused():
            made.append([[number] for number in range(500)])
    assert 2 <= len(counted) <= 7
