"""The nodes of a snapshot as columns: labels, taints and selectors answered for all nodes at once.

Nodes stand in name order, so the first of several equal maxima is the smallest name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.objects.affinity import Taint
from models.objects.node import Node
from models.objects.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
Codes = NDArray[np.intp]
#: Which nodes an answer is wanted for: all of them, a few by position, or one.
Where = slice | NDArray[np.intp] | int
ALL = slice(None)
V = TypeVar("V")

_FAR = 1 << 62

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def refuse_no_nodes(nodes: Sequence[Node]) -> None:
    """For questions about pods that run: without nodes none does, and no constraint could be broken."""
    if not nodes:
        raise InputError(["there are no nodes to count pods on; `kubectl get nodes,pods -A` has both"])


@dataclass(frozen=True)
class Column:
    """One label of every node: `codes[node]` points into `values`, -1 where the label is absent."""

    key: str
    values: tuple[str, ...]
    code_of: Mapping[str, int]
    codes: Codes
    present: Mask
    complete: bool

    @property
    def shared(self) -> bool:
        """Whether its values are domains of several nodes, rather than nearly every node having its own."""
        return len(self.values) * 2 <= len(self.codes)

    @cached_property
    def one_each(self) -> bool:
        """Whether the n-th node has the n-th value: every node has one of its own."""
        return len(self.values) == len(self.codes) and bool((np.diff(self.codes) == 1).all())

    @cached_property
    def by_name(self) -> tuple[Codes, tuple[str, ...]]:
        """The codes in the order of their values, and the values in that order."""
        order = sorted(range(len(self.values)), key=self.values.__getitem__)
        return np.array(order, np.intp), tuple(map(self.values.__getitem__, order))

    def one_of(self, values: Iterable[str]) -> Mask:
        table = np.zeros(len(self.values) + 1, np.bool_)
        table[[self.code_of[value] for value in values if value in self.code_of]] = True
        return table[self.codes]

    def where(self, wanted: Callable[[str | None], bool]) -> Mask:
        """The nodes whose value satisfies `wanted`, asked once per distinct value."""
        table = np.array([wanted(value) for value in (*self.values, None)], dtype=np.bool_)
        return table[self.codes]


def _in_order(values: Mapping[V, int], codes: Codes) -> tuple[dict[V, int], Codes]:
    """The same column with its values in the order in which nodes have them, and no others."""
    used, first = np.unique(codes[codes >= 0], return_index=True)
    order = used[np.argsort(first)]
    renumbered = np.full(len(values) + 1, -1, np.intp)
    renumbered[order] = np.arange(len(order))
    names = [*values]
    return {names[code]: number for number, code in enumerate(order.tolist())}, renumbered[codes]


class NodeAxis:
    """All nodes in name order, with every question about labels and taints answered as an array."""

    def __init__(self, nodes: Iterable[Node], before: NodeAxis | None = None) -> None:
        """The nodes; what is known of those that are `before`, just as they are, is not read again."""
        self.nodes = tuple(nodes)
        self.names = tuple([node.metadata.name for node in self.nodes])
        if before is not None and self.names == before.names:
            self.index: dict[str, int] = before.index
        else:
            order = sorted(range(len(self.nodes)), key=self.names.__getitem__)
            self.nodes = tuple([self.nodes[place] for place in order])
            self.names = tuple([self.names[place] for place in order])
            self.index = {name: position for position, name in enumerate(self.names)}
        self.size = len(self.nodes)
        self.none = np.zeros(self.size, np.bool_)
        self.every = np.ones(self.size, np.bool_)
        for shared in (self.none, self.every):
            shared.setflags(write=False)
        self._columns: dict[str, Column] = {}
        self._before = before

    @cached_property
    def known(self) -> Codes:
        """For each node its position before, -1 where it was not there or was another."""
        if self._before is None:
            return np.full(self.size, -1, np.int32)
        places = self._before.place_of
        return np.array([places.get(id(node), -1) for node in self.nodes], np.int32)

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The position of each node by its identity."""
        return {id(node): position for position, node in enumerate(self.nodes)}

    @cached_property
    def _one(self) -> Mask:
        """A mask of which `only` gives the right part."""
        found = np.zeros(max(0, 2 * self.size - 1), np.bool_)
        found[self.size - 1 : self.size] = True
        found.setflags(write=False)
        return found

    def only(self, node: int) -> Mask:
        """The mask of one node, to be read: it takes no memory of its own."""
        return self._one[self.size - 1 - node : 2 * self.size - 1 - node]

    def mask_of(self, nodes: Codes | list[int]) -> Mask:
        found = np.zeros(self.size, np.bool_)
        found[nodes] = True
        return found

    def names_of(self, nodes: Mask) -> tuple[str, ...]:
        return tuple([self.names[node] for node in np.flatnonzero(nodes).tolist()])

    def positions_of(self, others: NodeAxis) -> Codes:
        """For each of the other nodes, all of which are here, its position."""
        if self.index is others.index:
            return np.arange(self.size, dtype=np.int32)
        return np.array([self.index[name] for name in others.names], np.int32)

    def column(self, key: str) -> Column:
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = self._read_column(key)
        return found

    def _read_column(self, key: str) -> Column:
        before = None if self._before is None else self._before.column(key)
        known = None if before is None else (before.code_of, before.codes)
        values, codes = self._coded(lambda node: node.metadata.labels.get(key), known)
        present = codes >= 0
        return Column(key, tuple(values), values, codes, present, bool(present.all()))

    def _coded(
        self, value_of: Callable[[Node], V | None], before: tuple[Mapping[V, int], Codes] | None
    ) -> tuple[dict[V, int], Codes]:
        """The distinct values in the order in which nodes have them, and the number of each node's; -1: none.

        `before` is the same for the nodes before; only others are read.
        """
        values: dict[V, int] = {}
        codes = np.empty(self.size, np.intp)
        if before is not None:
            values = dict(before[0])
            codes = np.append(before[1], -1)[self.known].astype(np.intp)
        for position in np.flatnonzero(self.known < 0).tolist():
            value = value_of(self.nodes[position])
            codes[position] = -1 if value is None else values.setdefault(value, len(values))
        return (values, codes) if before is None else _in_order(values, codes)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """One node for each set of labels, taints and room; what only one node has is its name."""
        kinds: dict[Hashable, int] = {}
        for position, node in enumerate(self.nodes):
            own = tuple(sorted((k, v) for k, v in node.metadata.labels.items() if v != node.name))
            room = tuple(sorted(node.status.allocatable.items()))
            kinds.setdefault((own, node.spec.taints, room), position)
        return tuple(kinds.values())

    @cached_property
    def naming_keys(self) -> frozenset[str]:
        """The label keys that act as names: no two nodes have the same value."""
        return frozenset(key for key in self._keys if _tells_all_apart(self.column(key)))

    @cached_property
    def _keys(self) -> list[str]:
        return sorted({key for node in self.nodes for key in node.metadata.labels})

    @cached_property
    def look_of(self) -> Codes:
        """A number for every node, equal where taints, cordon, images and all labels but names are."""
        images: dict[Hashable, int] = {}
        of_images = [images.setdefault(node.status.images, len(images)) for node in self.nodes]
        labels = [
            column.present if column.key in self.naming_keys else column.codes
            for column in map(self.column, self._keys)
        ]
        rows = np.stack([self.taint_set_of, self.unschedulable, np.array(of_images, np.int64), *labels])
        return np.unique(rows, axis=1, return_inverse=True)[1].reshape(-1)

    def with_keys(self, keys: Iterable[str]) -> Mask:
        """The nodes that carry every one of the labels `keys`."""
        mask = self.every
        for key in keys:
            column = self.column(key)
            if not column.complete:
                mask = mask & column.present
        return mask

    def with_labels(self, labels: Iterable[tuple[str, str]]) -> Mask:
        """The nodes a plain nodeSelector chooses."""
        mask = self.every
        for key, value in labels:
            mask = mask & self.column(key).one_of((value,))
        return mask

    def matching(self, selector: NodeSelector) -> Mask:
        """The nodes that at least one term of the selector matches."""
        mask = self.none
        for term in selector.node_selector_terms:
            mask = mask | self.matching_term(term)
        return mask

    def matching_term(self, term: NodeSelectorTerm) -> Mask:
        """The nodes one term matches: all its requirements hold; an empty term matches nothing."""
        if not term.match_expressions and not term.match_fields:
            return self.none
        mask = self.every
        for requirement in term.match_expressions:
            mask = mask & _matching(self.column(requirement.key), requirement)
        for requirement in term.match_fields:
            hit = self.mask_of([self.index[name] for name in requirement.values if name in self.index])
            mask = mask & (hit if requirement.operator == "In" else ~hit)
        return mask

    @cached_property
    def unschedulable(self) -> Mask:
        if self._before is None:
            return np.array([node.spec.unschedulable for node in self.nodes], np.bool_)
        cordoned: Mask = np.append(self._before.unschedulable, False)[self.known]
        for position in np.flatnonzero(self.known < 0).tolist():
            cordoned[position] = self.nodes[position].spec.unschedulable
        return cordoned

    @property
    def taint_sets(self) -> tuple[tuple[Taint, ...], ...]:
        """The distinct lists of taints in the cluster; most nodes share a few."""
        return tuple(self._taints[0])

    @property
    def taint_set_of(self) -> Codes:
        """For every node, which of the `taint_sets` it carries."""
        return self._taints[1]

    @cached_property
    def _taints(self) -> tuple[dict[tuple[Taint, ...], int], Codes]:
        before = None if self._before is None else self._before._taints
        return self._coded(lambda node: node.spec.taints, before)

    def by_taints(self, answer: Callable[[Sequence[Taint]], int]) -> Ints:
        """`answer` for every node, asked once per distinct list of taints."""
        table = np.array([answer(taints) for taints in self.taint_sets], np.int64)
        return table[self.taint_set_of]


def _tells_all_apart(column: Column) -> bool:
    """Whether no two nodes have the same value."""
    codes = column.codes[column.present]
    return len(np.unique(codes)) == len(codes)


def _matching(column: Column, requirement: NodeSelectorRequirement) -> Mask:
    """The nodes whose label meets a requirement."""
    match requirement.operator:
        case "In":
            return column.one_of(requirement.values)
        case "NotIn":
            return ~column.one_of(requirement.values)
        case "Exists":
            return column.present
        case "DoesNotExist":
            return ~column.present
        case _:
            return column.where(lambda value: value is not None and requirement.matches({column.key: value}))


class Feasible:
    """The nodes that passed all filters, with what it takes to compare only those quickly."""

    __slots__ = ("_drop", "_far", "count", "mask")

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))
        self._drop = mask.astype(np.int64) - 1
        self._far: Ints | None = None

    def only(self, values: Ints) -> Ints:
        """The values of these nodes, 0 for the others."""
        return values & ~self._drop

    def best(self, totals: Ints) -> int:
        """The first of the nodes with the highest total; totals are not negative."""
        return int((totals | self._drop).argmax())

    def largest(self, values: Ints) -> int:
        """The largest value, none of which are negative; 0 when there are no nodes."""
        return int(self.only(values).max(initial=0))

    def smallest(self, values: Ints) -> int:
        """The smallest value, none of which are negative."""
        if self._far is None:
            self._far = self._drop & _FAR
        return int((values | self._far).min())
