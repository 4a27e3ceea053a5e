"""Sets of nodes in the words of a cluster: the values of a label where these say it, else names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.documents.move_plan import OnNodes, Place, WithLabels
from planner.landing.constraint_status import is_by_node
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Column, Mask
from planner.proof import effort

#: Labels by which people know nodes, beside those that constraints name.
_KNOWN_KEYS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class NodeSets:
    """Finds the words for sets of nodes."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._nodes = trial.problem.nodes
        self._keys: dict[int, list[Column]] = {}

    def named(self, nodes: Mask) -> OnNodes:
        """Nodes by their names."""
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
        """The nodes that filters leave a replacement: by a label that holds no shut node, if one does."""
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
        """Restrictions to good nodes that leave the wrong ones out, the widest first.

        With `many` to several domains at once, else to one: constraints look at no other domain then.
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
        """The labels with which a place may be told, those of a template's constraints first."""
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
