"""Some commands, however they are run, print the same bytes; `benchmarks/same_bytes.py` runs them all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from same_bytes import COMMANDS, WAYS, Printed, Runner, Way, examples, recorded

from tests import seeds


def run(arguments: list[str], way: Way) -> Printed:
    """A command, run in some way."""
    with Runner(way) as runner:
        return runner.run(arguments)


@pytest.mark.long
def test_the_same_bytes_in_every_way(tmp_path: Path) -> None:
    """A command about a snapshot, drawn anew every time; in a quick run in one other way, drawn as well."""
    draw = random.Random(seeds.fresh())
    snapshots = [*examples(), *recorded(tmp_path)]
    for _ in range(seeds.tries(1)):
        name, files = draw.choice(snapshots)
        arguments = [*draw.choice(COMMANDS), *files, "-o", "json"]
        plain = run(arguments, WAYS[0])
        for way in draw.sample((draw.choice(WAYS[1:6]), *WAYS[6:]), min(3, seeds.tries(1))):
            printed = run(arguments, way)
            if not (plain.cut or printed.cut):
                assert printed == plain, (way.name, name, arguments)


@pytest.mark.parametrize("text", [b'{"cut": true}', b"the search was cut short"])
def test_what_was_cut_is_seen(text: bytes) -> None:
    """In a document and in a table."""
    assert Printed(text, 1).cut
    assert not Printed(b'{"cut": false}', 1).cut
