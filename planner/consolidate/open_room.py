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
    `least` has the same sums in one measure of all resources, of the one that each node lacks least of, and
    `largest` what a pod of each template takes in it, of the one that it takes most of.
    """

    number: int
    may_come: Mask
    lacking: Mapping[int, NDArray[np.float64]]
    least: NDArray[np.float64]
    largest: NDArray[np.float64]

    def filled(self, others: Ints, taken: Ints) -> int:
        """How many nodes so many other pods of each template can make too full at most; each takes an amount.

        One bound is what each resource is enough for by itself, added up.  The other is what the largest
        parts are enough for: of a node that is too full its pods exhaust some resource.
        """
        requests = others @ taken
        by_resource = sum(_filled(requests[row], sums) for row, sums in self.lacking.items())
        return min(by_resource, _filled(float(others @ self.largest), self.least), int(others.sum()))


def _filled(amount: float, sums: NDArray[np.float64]) -> int:
    """How many of the nodes that lack least an amount fills."""
    return int(np.searchsorted(sums, amount * _ROUNDING, side="right"))


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
        apart = [*self._templates.open_to(template).apart]
        return found.number > found.filled(others, self._trial.taken) + int(others[apart].sum())

    def _nodes_of(self, template: int, domain: int | None) -> _OpenNodes:
        open_to = self._templates.open_to(template)
        nodes = np.flatnonzero(open_to.nodes)
        if open_to.spread is not None:
            nodes = nodes[open_to.spread.domain_of[nodes] == domain]
        wants, taken = self._trial.room_needed[template], self._trial.taken
        rows = np.flatnonzero(wants)
        less = (self._free[np.ix_(rows, nodes)] - wants[rows, np.newaxis] + 1).astype(np.float64)
        mean = less.mean(axis=1)
        sums = np.cumsum(np.sort(less, axis=1), axis=1)
        least = np.cumsum(np.sort((less / mean[:, np.newaxis]).min(axis=0, initial=np.inf)))
        largest = (taken[:, rows] / mean).max(axis=1, initial=0)
        lacking = dict(zip(rows.tolist(), sums, strict=True))
        return _OpenNodes(len(nodes), self._templates.may_come_to(nodes), lacking, least, largest)
