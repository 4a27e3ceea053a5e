"""What every node costs, in whole units of price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from models.errors import InputError
from models.words import listed
from planner.problem.nodes import Ints
from planner.problem.problem import Problem

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
#: Sums of prices are exact up to so many decimals, and up to so large a price.
_DECIMALS, _LARGEST = 6, Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class NodePrices:
    """The type of every node, and its price as a multiple of `unit`."""

    types: tuple[str, ...]
    prices: Ints
    unit: Decimal = Decimal(1)

    @classmethod
    def of(
        cls,
        problem: Problem,
        by_type: Mapping[str, float | str | Decimal] | None,
        label: str,
        by_node: Mapping[str, Decimal] | None = None,
    ) -> NodePrices:
        """Prices by the value of a label, or of a node by its name; without any every node costs 1."""
        types = tuple(node.metadata.labels.get(label, "") for node in problem.nodes.nodes)
        if by_type is None:
            if label != INSTANCE_TYPE:
                problem.cluster.domains(label, f"--price-label {label}")
            return cls(types, np.ones(problem.nodes.size, np.int64))
        known, own = {name: price_of(name, price) for name, price in by_type.items()}, by_node or {}
        for node, found in zip(problem.nodes.names, types, strict=True):
            if found not in known and node not in own:
                known_prices = f"there are prices of {listed(known)}" if known else "there are no prices"
                what = f"type {found!r} has no price" if found else f"expected the label {label}, found none"
                raise InputError([f"node {node}: {what} ({known_prices})"])
        decimals = max((-_exponent(price) for price in (*known.values(), *own.values())), default=0)
        unit = Decimal(1).scaleb(-max(0, decimals))
        names = zip(problem.nodes.names, types, strict=True)
        prices = [int((own[node] if node in own else known[found]) / unit) for node, found in names]
        return cls(types, np.array(prices, np.int64), unit)

    def cost(self, units: int) -> float:
        """So many units as a price."""
        return float(units * self.unit)


def price_of(name: str, price: float | str | Decimal, source: str = "prices") -> Decimal:
    """A price as an exact number; `source` is where it was read."""
    try:
        found = Decimal(str(price))
    except InvalidOperation:
        raise InputError([f"{source}: {name}: {str(price)!r} is not a number"]) from None
    if not found.is_finite() or not 0 <= found <= _LARGEST:
        raise InputError([f"{source}: {name}: expected a price from 0 to {_LARGEST:,}, found {price}"])
    if -_exponent(found) > _DECIMALS:
        raise InputError([f"{source}: {name}: expected up to {_DECIMALS} decimals, found {price}"])
    return found


def _exponent(price: Decimal) -> int:
    exponent = price.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent
