"""One table of budgets: numbers that decide how far a search goes stand nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import planner

ROOT = Path(planner.__file__).parent
#: The rooms that search, and numbers in them that are no budgets: tolerances, sentinels, how often
#: somebody is told, how much a reader is shown, and what Kubernetes says.
ROOMS = ("batch", "cpsat", "explain", "rebalance", "scaledown")
NO_BUDGETS = {
    "_BITS_OF_SOLVER",
    "_FLOOR",
    "_GLANCE",
    "_GONE",
    "_LANDED",
    "_LOWEST",
    "_MOST_COUNTED",
    "_MOST_NAMED",
    "_MOST_PERCENT",
    "_MOST_PODS",
    "_NEVER",
    "_NOTHING",
    "_NOW_AND_THEN",
    "_OF_SPREAD",
    "_PLENTY",
    "_RANK",
    "_ROUNDING",
    "_SEEDS",
}


def _numbers(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to numbers, by themselves or in tuples."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(part, ast.Constant) and isinstance(part.value, int | float)
            for part in ast.walk(statement.value)
        ):
            yield from (n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name))


def test_numbers_that_decide_stand_in_the_table() -> None:
    """A constant of a searching room is in planner/proof/effort.py, unless it decides nothing."""
    found = {
        (path.name, name)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in _numbers(ast.parse(path.read_text()))
        if name.isupper()
    }
    assert {name for _, name in found} <= NO_BUDGETS | {"_NANO", "_UNITS", "_REASONS"}, found


def test_every_number_of_the_table_has_its_reason() -> None:
    """A comment above each, and no two budgets of one name."""
    lines = (ROOT / "proof" / "effort.py").read_text().splitlines()
    names = []
    for number, line in enumerate(lines):
        if line[:1].isupper() and " = " in line:
            above = next(text for text in reversed(lines[:number]) if not text[:1].isupper() and text != ")")
            assert above.startswith("#: ") or above.startswith("#"), line
            names += [name.strip() for name in line.partition(" = ")[0].split(",")]
    assert len(names) == len(set(names))


def test_every_number_of_the_table_is_used() -> None:
    """A budget that nothing reads would be a promise that nobody keeps."""
    text = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    tree = ast.parse((ROOT / "proof" / "effort.py").read_text())
    unused = [name for name in _numbers(tree) if text.count(f"effort.{name}") == 0]
    assert unused == []
