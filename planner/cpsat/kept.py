"""What the model of a consolidation is asked, and what it answers: plain values, without the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.problem.nodes import Ints

COST, MOVES, LOAD = "cost", "moves", "load"
#: A template and a cell.
Site = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Keepable:
    """A cell of nodes that may go: how many there are, the price of each, and what is free on each."""

    nodes: int
    price: int
    free: Ints


@dataclass(frozen=True, slots=True)
class KeptRequirements:
    """What must hold of the nodes that are kept, beside every pod having a place.

    `reserve`: for every resource, what all nodes together have less what pods and reserve take, if all were
    kept; and what each keepable node brings of it.
    """

    reserve: Sequence[tuple[int, Mapping[int, int]]] = ()
    most_moves: int | None = None
    least_cost: int = 0
    #: A cell that is to be emptied as far as possible, and what a pod of each template counts there.
    emptied: int | None = None
    sizes: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptSolution:
    """Pods by template and cell, the number of nodes kept of every keepable cell, values and bounds."""

    coming: Mapping[Site, int]
    staying: Mapping[Site, int]
    nodes: Mapping[int, int]
    values: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
