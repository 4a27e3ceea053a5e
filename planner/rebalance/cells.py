"""Numbers for nodes, equal where nothing that a crowd looks at tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.problem.nodes import Codes, Ints
from planner.rebalance.excess_ledger import Demand
from planner.rebalance.figures import is_by_node
from planner.rebalance.trial_cluster import TrialCluster


def cells_of(
    board: TrialCluster, demands: Sequence[Demand], templates: Iterable[int], sources: Iterable[int]
) -> Codes:
    """A number for every node, equal where nothing tells nodes apart; nodes that pods leave are alone."""
    of = np.zeros(board.problem.nodes.size, np.int64)
    alone = sorted(set(sources))
    of[np.array(alone, np.intp)] = 1 + np.arange(len(alone))
    traits: list[Ints] = [board.plan(template).settled.astype(np.int64) for template in templates]
    for demand in demands:
        column = demand.rule.column
        traits.append((column.present if is_by_node(demand) else column.codes + 1).astype(np.int64))
        traits.append(demand.rule.counts.eligible.astype(np.int64))
    return numbered(len(of), [of, *traits])


def numbered(size: int, traits: Iterable[Ints]) -> Codes:
    """A number for every node, equal where all traits are."""
    of = np.zeros(size, np.int64)
    for trait in traits:
        _, of = np.unique(of * (int(trait.max(initial=0)) + 1) + trait, return_inverse=True)
    return of.astype(np.intp)
