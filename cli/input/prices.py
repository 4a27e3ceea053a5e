"""Prices of machine types and machines to add from CSV files, and shares in per cent."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from models.errors import InputError, system_reason
from planner.consolidate.prices import price_of

_HEAD = ("name", "price")
_MACHINE = (*_HEAD, "cpu", "memory")


def read_prices(file: str) -> dict[str, Decimal]:
    """The price of every name in a CSV file."""
    found: dict[str, Decimal] = {}
    for line, row in _rows(file):
        name, price = (str(row[column]).strip() for column in _HEAD)
        if name in found:
            raise InputError([f"{file}, line {line}: {name} has a price already"])
        found[name] = price_of(name, price, f"{file}, line {line}")
    return found


def read_catalogue(file: str) -> list[dict[str, str]]:
    """The machine types of a CSV file, a text for every column."""
    rows = _rows(file, _MACHINE)
    found = [{key: (text or "").strip() for key, text in row.items() if key} for _, row in rows]
    if not found:
        raise InputError([f"{file}: expected a line for every machine type, and found none"])
    return found


def _rows(file: str, head: Sequence[str] = _HEAD) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError([f"{file}: {system_reason(error)}"]) from None
    except UnicodeDecodeError:
        raise InputError([f"{file}: not a text in UTF-8"]) from None
    reader = csv.DictReader(text.splitlines())
    if missing := [column for column in head if column not in (reader.fieldnames or ())]:
        wanted = f"expected a first line with {','.join(head)}"
        raise InputError([f"{file}: {wanted}, and found no column {missing[0]}"])
    for row in reader:
        if any(row[column] is None for column in _HEAD):
            raise InputError([f"{file}, line {reader.line_num}: expected a name and a price"])
        yield reader.line_num, row


def share(text: str) -> float:
    """A share of 1 from `10%`."""
    try:
        found = round(float(text.removesuffix("%")) / 100, 6) if text.endswith("%") else -1.0
    except ValueError:
        found = -1.0
    if not 0 <= found < 1:
        raise InputError([f"--reserve {text}: expected a percentage from 0% to below 100%"])
    return found
