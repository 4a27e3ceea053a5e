"""An exchange as the solver sees it: which pods may leave from where, and where others may find room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many pods may leave, or come to, a domain; and how many of them have to."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Which pods may leave from where, and where others may find room.

    Templates of one kind ask for the same and may go to the same nodes; they share what room there is.
    """

    kind_of: Mapping[int, int]
    wants: Sequence[Sequence[int]]
    """For every kind the amount of each resource."""
    domain_of: Sequence[Sequence[int]]
    """For every kind the domain of each node."""
    leaving: Mapping[tuple[int, int], int]
    """By template and node, how many may leave."""
    coming: Mapping[tuple[int, int], int]
    """By kind and node, how many may come."""
    out: Mapping[tuple[int, int], Traffic]
    into: Mapping[tuple[int, int], Traffic]
    """By template and domain."""
    moves: Mapping[int, int]
    """For every template, how many moves repair its constraint."""
    free: Mapping[int, Sequence[int]]
    """For every node, what is free of each resource."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Leaving pods by template and node, room for coming ones by kind and node, and where they are wanted."""

    leaving: Counter[tuple[int, int]]
    slots: Counter[tuple[int, int]]
    coming: Counter[tuple[int, int]]
