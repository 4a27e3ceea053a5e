"""Descriptions of sets of nodes: values of a label where these describe the set, else names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.documents.move_plan import OnNodes, Place, WithLabels
from planner.landing.constraint_status import is_by_node
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Column, Mask
from planner.proof import effort

#: Labels that users know nodes by, besides those that constraints name.
_KNOWN_KEYS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class NodeSets:
    """Describes sets of nodes, and resolves the descriptions."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._nodes = trial.problem.nodes
        self._keys: dict[int, list[Column]] = {}

    def named(self, nodes: Mask) -> OnNodes:
        """The nodes by their names."""
        return OnNodes(nodes=tuple(self._nodes.names[node] for node in np.flatnonzero(nodes).tolist()))

    def mask(self, place: Place) -> Mask:
        """The nodes that a place names."""
        if isinstance(place, OnNodes):
            found = self._nodes.none.copy()
            found[[self._nodes.index[name] for name in place.nodes]] = True
            return found
        labelled = (self._nodes.column(key).one_of(values) for key, values in place.labels.items())
        every: Mask = np.logical_and.reduce([self._nodes.every, *labelled])
        return every

    def of(self, nodes: Mask, shut: Mask, template: int) -> Place:
        """The nodes that pass the filters: by label values without a `shut` node, else by name."""
        if int(nodes.sum()) > 1:
            static, domains = self._trial.plan(template).static, self._trial.domains(template)
            alike = np.isin(domains, np.unique(domains[nodes])) & ~shut
            for column in self._columns(template):
                values = np.unique(column.codes[nodes])
                inside = np.isin(column.codes, values) & static
                if values[0] >= 0 and not (inside & ~alike).any():
                    return _labelled(column, values.tolist())
        return self.named(nodes)

    def pins(
        self, template: int, nodes: Mask, wrong: Mask, target: int, *, many: bool
    ) -> Iterator[tuple[Place, Mask]]:
        """Pins to good nodes that exclude the wrong ones, the widest first.

        Only with `many` to several domains at once, as a pin to one domain hides all others from constraints.
        """
        static = self._trial.plan(template).static
        for column in self._columns(template):
            clean = set(column.codes[nodes].tolist()) - set(column.codes[wrong].tolist()) - {-1}
            first = int(column.codes[target])
            found = [sorted(clean)] if many and len(clean) > 1 else []
            found += [[code] for code in sorted(clean, key=lambda code: (code != first, code))]
            for values in found:
                yield _labelled(column, values), np.isin(column.codes, values) & static
        domains = self._trial.domains(template)
        for wide in (nodes, nodes & (domains == domains[target])):
            if 1 < int(wide.sum()) <= effort.PIN_NAMES:
                yield self.named(wide), wide
        if nodes[target]:
            only = np.zeros_like(nodes)
            only[target] = True
            yield self.named(only), only

    def _columns(self, template: int) -> list[Column]:
        """The labels that may describe a place, those of the template's constraints first."""
        found = self._keys.get(template)
        if found is None:
            constraints = [d for d in self._trial.ledger.of(template) if not is_by_node(d)]
            keys = dict.fromkeys([d.rule.column.key for d in constraints if d.hard])
            keys |= dict.fromkeys([d.rule.column.key for d in constraints if not d.hard])
            columns = [self._nodes.column(key) for key in (*keys, *_KNOWN_KEYS)]
            kept = {c.key: c for c in columns if c.values and c.shared}
            found = self._keys[template] = [*kept.values()]
        return found


def _labelled(column: Column, codes: list[int]) -> WithLabels:
    return WithLabels(labels={column.key: tuple(sorted(column.values[code] for code in codes))})
