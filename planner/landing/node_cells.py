"""Cell numbers for nodes, equal for nodes that no coupled constraint distinguishes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.landing.constraint_status import is_by_node
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints


def cells_of(
    trial: TrialCluster,
    constraints: Sequence[TrackedConstraint],
    templates: Iterable[int],
    sources: Iterable[int],
) -> Codes:
    """A cell number for every node; a node that pods leave is a cell of its own."""
    of = np.zeros(trial.problem.nodes.size, np.int64)
    alone = sorted(set(sources))
    of[np.array(alone, np.intp)] = 1 + np.arange(len(alone))
    traits: list[Ints] = [trial.plan(template).static.astype(np.int64) for template in templates]
    for constraint in constraints:
        column = constraint.rule.column
        traits.append((column.present if is_by_node(constraint) else column.codes + 1).astype(np.int64))
        traits.append(constraint.rule.counts.eligible.astype(np.int64))
    return numbered(len(of), [of, *traits])


def numbered(size: int, traits: Iterable[Ints]) -> Codes:
    """A number for every node, equal for nodes with equal traits."""
    of = np.zeros(size, np.int64)
    for trait in traits:
        _, of = np.unique(of * (int(trait.max(initial=0)) + 1) + trait, return_inverse=True)
    return of.astype(np.intp)
