"""Which processes run: one that has ended does not, even where nothing has waited for it yet."""

from collections.abc import Iterator
from pathlib import Path


def runs(number: int) -> bool:
    """Whether the process with this number runs."""
    return any(state not in "ZX" for state, _ in _stats(f"{number}/stat"))


def group_runs(group: int) -> bool:
    """Whether a process of this group runs."""
    return any(state not in "ZX" and of == group for state, of in _stats("[0-9]*/stat"))


def _stats(pattern: str) -> Iterator[tuple[str, int]]:
    """States and groups of processes."""
    for path in Path("/proc").glob(pattern):
        try:
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield state, int(group)
