"""One table of budgets: numbers that decide how far a search goes stand nowhere else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import planner
from planner.proof.effort import STANDARD

ROOT = Path(planner.__file__).parent
TABLE = ROOT / "proof" / "effort.py"
#: The rooms that search, and numbers in them that are no budgets: tolerances, sentinels, how often
#: progress is reported, how much a reader is shown, and what Kubernetes says.
ROOMS = ("batch", "cpsat", "explain", "rebalance", "simulation/scaledown")
NO_BUDGETS = {
    "_ALIKE",
    "_BITS_OF_SOLVER",
    "_FLOOR",
    "_SHORTEST_SECONDS",
    "_GONE",
    "_LANDED",
    "_LOWEST",
    "_MOST_COUNTED",
    "_MOST_NAMED",
    "_MOST_PERCENT",
    "_NEVER",
    "_NOTHING",
    "_SOFT_PER_HARD",
    "_NOW_AND_THEN",
    "_OF_SPREAD",
    "_PLENTY",
    "_RANK",
    "_INTERVAL",
    "_OPEN",
    "_PARTS",
    "_ROUNDING",
    "_SEEDS",
    "_SOON",
    # How many states are kept for the next question.
    "_NODES_KEPT",
    "_LEAST_KEPT",
}


def _numbers(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to numbers, by themselves or in tuples."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(part, ast.Constant) and isinstance(part.value, int | float)
            for part in ast.walk(statement.value)
        ):
            yield from (n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name))


def _fields() -> list[tuple[str, str]]:
    """The engine and the name of every number that an Effort has."""
    return [
        (engine.name, number.name)
        for engine in fields(STANDARD)
        for number in fields(getattr(STANDARD, engine.name))
    ]


def test_numbers_that_decide_stand_in_the_table() -> None:
    """A constant of a searching room is in planner/proof/effort.py, unless it decides nothing."""
    assert all((ROOT / room).is_dir() for room in ROOMS)
    found = {
        (path.name, name)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in _numbers(ast.parse(path.read_text()))
        if name.isupper()
    }
    assert {name for _, name in found} <= NO_BUDGETS | {"_NANO", "_UNITS", "_REASONS"}, found


def test_every_number_of_the_table_has_its_reason() -> None:
    """A comment above each, and no two constants of one name."""
    lines, names = TABLE.read_text().splitlines(), []
    for number, line in enumerate(lines):
        is_field = re.match(r"    [a-z_]+: (?!\w+Effort)", line)
        if is_field or (line[:1].isupper() and " = " in line):
            above = next(text for text in reversed(lines[:number]) if not re.match(r"[A-Z]|    [a-z]", text))
            assert above.strip().startswith("#"), line
            if not is_field:
                names += [name.strip() for name in line.partition(" = ")[0].split(",")]
    assert len(names) == len(set(names))
    assert len(_fields()) > 70


def test_every_number_of_the_table_is_used() -> None:
    """A budget that nothing reads would be a promise that nothing keeps."""
    text = "\n".join(path.read_text() for path in ROOT.rglob("*.py") if path != TABLE)
    tree = ast.parse(TABLE.read_text())
    unused = [name for name in _numbers(tree) if not re.search(rf"effort\.{name}\b", text)]
    unused = [
        name for name in unused if not re.search(rf"from planner\.proof\.effort import .*\b{name}\b", text)
    ]
    assert unused == []
    assert [name for name in _fields() if not re.search(rf"effort\.(\w+\.)?{name[1]}\b", text)] == []
