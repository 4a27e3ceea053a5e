"""Whether a replacement finds a node wherever others have landed: the nodes that they can close at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.open_templates import OpenTemplates
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Ints, Mask

#: Sums of what nodes lack are not exact: a little more counts as enough to fill them.
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class _OpenNodes:
    """How many nodes are open to a template, which templates may come there, and what closes the nodes.

    `lacking` has for each resource the sums of what has to be taken until the first nodes are too full.
    """

    number: int
    may_come: Mask
    lacking: Mapping[int, NDArray[np.float64]]


class OpenRoom:
    """The room on the nodes that are open to templates, as it is now."""

    def __init__(self, trial: TrialCluster, templates: OpenTemplates) -> None:
        self._trial = trial
        self._templates = templates
        self._free = trial.free()
        self._nodes = cache(self._nodes_of)

    def is_enough(self, template: int, domain: int | None, landed: Ints, evicted: Ints) -> bool:
        """Whether a node of a domain, or of all, stays open to a pod of a template.

        By template, `evicted` has the pods that move, itself included, and `landed` the most that may be
        there.
        """
        found = self._nodes(template, domain)
        others = np.where(found.may_come, landed, 0)
        others[template] = min(int(others[template]), int(evicted[template]) - 1)
        requests = others @ self._trial.taken
        filled = sum(
            int(np.searchsorted(sums, requests[row] * _ROUNDING, side="right"))
            for row, sums in found.lacking.items()
        )
        apart = [*self._templates.open_to(template).apart]
        return found.number > min(filled, int(others.sum())) + int(others[apart].sum())

    def _nodes_of(self, template: int, domain: int | None) -> _OpenNodes:
        open_to = self._templates.open_to(template)
        nodes = np.flatnonzero(open_to.nodes)
        if open_to.spread is not None:
            nodes = nodes[open_to.spread.domain_of[nodes] == domain]
        rows, wants = np.flatnonzero(self._trial.wanted[template]).tolist(), self._trial.wanted[template]
        less = {row: np.sort(self._free[row, nodes] - wants[row] + 1).astype(np.float64) for row in rows}
        lacking = {row: np.cumsum(amounts) for row, amounts in less.items()}
        return _OpenNodes(len(nodes), self._templates.may_come_to(nodes), lacking)
