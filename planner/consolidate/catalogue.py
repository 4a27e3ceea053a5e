"""Machine types that may be added: what each costs, what pods can use of it, and the labels of its nodes.

A row is as a CSV file has it, a text for every column.  Which columns are amounts of a resource and which are
labels is told by their names and by the cluster; a row without a zone stands for one in every zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from models import Cluster
from models.errors import InputError
from models.objects.node import Node
from models.objects.quantity import parse_quantity
from planner.consolidate.prices import price_of
from planner.problem.nodes import HOSTNAME, ZONE

_AMOUNTS = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
_NEEDED = ("cpu", "memory")
#: What the kubelet allows where it is told nothing else.
_PODS = "110"
_NO_NAME = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class MachineType:
    """A type of machine in a zone, empty where the cluster has none."""

    name: str
    price: Decimal
    zone: str
    allocatable: Mapping[str, str]
    labels: Mapping[str, str]

    def node(self, name: str) -> Node:
        labels = {**self.labels, HOSTNAME: name}
        status = {"allocatable": dict(self.allocatable), "capacity": dict(self.allocatable)}
        return Node.model_validate({"metadata": {"name": name, "labels": labels}, "status": status})

    @property
    def prefix(self) -> str:
        """What names of its nodes begin with."""
        text = f"{self.name}-{self.zone}" if self.zone else self.name
        return _NO_NAME.sub("-", text.lower()).strip(".-") or "machine"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All types, each in all of its zones; columns that are neither resource nor label."""

    types: tuple[MachineType, ...] = ()
    unread: tuple[str, ...] = ()
    prices: Mapping[str, Decimal] = field(default_factory=dict)

    @classmethod
    def of(cls, cluster: Cluster, rows: Sequence[Mapping[str, str | None]], price_label: str) -> Catalogue:
        """The rows read for a cluster; a machine has the labels that all of its nodes share."""
        if not rows:
            raise InputError(["catalogue: expected a machine type, and found none"])
        columns = _Columns(cluster, rows)
        types = [found for row in rows for found in columns.types(row, price_label)]
        seen = set[object]()
        for found in types:
            key = found.name, tuple(sorted(found.labels.items()))
            if key in seen:
                raise InputError([f"catalogue: {found.name}: named twice with the same labels"])
            seen.add(key)
        prices: dict[str, Decimal] = {}
        for found in types:
            prices[found.name] = min(found.price, prices.get(found.name, found.price))
        return cls(tuple(types), tuple(columns.unread), prices)


class _Columns:
    def __init__(self, cluster: Cluster, rows: Sequence[Mapping[str, str | None]]) -> None:
        self._known = {key for node in cluster.nodes for key in node.metadata.labels}
        self._zones = sorted({node.metadata.labels.get(ZONE, "") for node in cluster.nodes} - {""}) or [""]
        self._common = _common_labels(cluster.nodes)
        self.amounts: list[str] = []
        self.labels: list[str] = []
        self.unread: list[str] = []
        for column in dict.fromkeys(key for row in rows for key in row):
            if column not in {"name", "price", HOSTNAME}:
                self._kind(column, rows).append(column)

    def _kind(self, column: str, rows: Sequence[Mapping[str, str | None]]) -> list[str]:
        domain = column.partition("/")[0] if "/" in column else ""
        if column in _AMOUNTS or column.startswith("hugepages-"):
            return self.amounts
        if column in self._known or domain.split(".")[-2:] in (["kubernetes", "io"], ["k8s", "io"]):
            return self.labels
        if not domain:
            return self.unread
        filled = [text for row in rows if (text := (row.get(column) or "").strip())]
        return self.amounts if all(text.isdecimal() for text in filled) else self.labels

    def types(self, row: Mapping[str, str | None], price_label: str) -> Iterator[MachineType]:
        """The type of a row in each of its zones."""
        texts = {key: (text or "").strip() for key, text in row.items()}
        name = texts.get("name", "")
        if not name:
            raise InputError(["catalogue: expected the name of a machine type, and found none"])
        for column in _NEEDED:
            if not texts.get(column):
                raise InputError([f"catalogue: {name}: expected an amount of {column}, and found none"])
        allocatable = {"pods": _PODS, **{key: texts[key] for key in self.amounts if texts.get(key)}}
        for resource, text in allocatable.items():
            _check_amount(name, resource, text)
        own = {key: texts[key] for key in self.labels if texts.get(key)}
        price = price_of(name, texts.get("price", ""), "catalogue")
        for zone in [own[ZONE]] if ZONE in own else self._zones:
            labels = {**self._common, price_label: name, **({ZONE: zone} if zone else {}), **own}
            yield MachineType(name, price, zone, allocatable, labels)


def _check_amount(name: str, resource: str, text: str) -> None:
    try:
        amount = parse_quantity(text)
    except ValueError:
        raise InputError([f"catalogue: {name}: {resource}: {text!r} is not a quantity"]) from None
    if amount < 0:
        raise InputError([f"catalogue: {name}: {resource}: expected no negative amount, found {text}"])


def _common_labels(nodes: Sequence[Node]) -> dict[str, str]:
    if not nodes:
        return {}
    shared = set(nodes[0].metadata.labels.items())
    for node in nodes[1:]:
        shared &= set(node.metadata.labels.items())
    return {key: value for key, value in sorted(shared) if key not in {HOSTNAME, ZONE}}
