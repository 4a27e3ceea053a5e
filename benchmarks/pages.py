"""Pieces of result pages: Markdown tables, and the machine that they were measured on."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version


def table_line(cells: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def table_head(heads: Sequence[str]) -> list[str]:
    """The first two lines of a table: the first column to the left, numbers to the right."""
    return [table_line(heads), table_line(["---", *["---:"] * (len(heads) - 1)])]


def machine(*libraries: str) -> str:
    """What the numbers of a page were measured on."""
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}."
    )
