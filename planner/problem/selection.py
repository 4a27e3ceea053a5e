"""Which templates a label selector picks, found without asking every template.

Selectors nearly always require some label to have a certain value; templates are indexed by label,
so only those that carry it are asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from models.objects.selectors import LabelSelector
from planner.problem.nodes import Mask


class Labelled(Protocol):
    """What a selection looks at in a template."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...


#: Labels of its node that a pod gets when it is bound.
PLACE_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class Members(dict[int, int]):
    """Templates that belong to a tally, each with how much a pod counts.

    `where` has the nodes on which the pods of a template belong to it, if that is not everywhere.
    """

    def __init__(self, amounts: Mapping[int, int] | None = None) -> None:
        super().__init__(amounts or {})
        self.where: dict[int, Mask] = {}

    def common(self, others: Iterable[Members]) -> Members:
        """The templates that belong to all, where they do."""
        found = Members(self)
        found.where = dict(self.where)
        for other in others:
            for number in [number for number in found if number not in other]:
                del found[number]
            for number in found.keys() & other.where.keys():
                mask = found.where.get(number)
                found.where[number] = other.where[number] if mask is None else mask & other.where[number]
        return found


@dataclass(frozen=True, slots=True)
class PlacedLabels:
    """A template's labels as its pods have them on some node."""

    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods by namespace and labels; namespaces None means all, selector None means no pod at all."""

    namespaces: frozenset[str] | None
    selector: LabelSelector | None = field(compare=False)
    identity: Hashable = field(init=False)

    def __post_init__(self) -> None:
        identity = None if self.selector is None else self.selector.requirements
        object.__setattr__(self, "identity", identity)

    def matches(self, pod: Labelled) -> bool:
        if self.selector is None or (self.namespaces is not None and pod.namespace not in self.namespaces):
            return False
        return self.selector.matches(pod.labels)

    def names(self, keys: Iterable[str]) -> bool:
        """Whether the selector looks at any of these labels."""
        asked = () if self.selector is None else self.selector.requirements
        return not {key for key, _, _ in asked}.isdisjoint(keys)

    def anchor(self) -> tuple[str, Sequence[str]] | None:
        """A label and the values it must have one of, where the selector says so."""
        if self.selector is None:
            return None
        for key, operator, values in self.selector.requirements:
            if operator == "In":
                return key, values
        return None


class LabelIndex:
    """Templates by label, to answer "which does this selection match"."""

    def __init__(self, templates: Sequence[Labelled], before: LabelIndex | None = None) -> None:
        """The templates, the first of which are those that an index from `before` has."""
        self._templates = templates
        self._before = before
        self._first = 0 if before is None else len(before._templates)
        # By label, and then by namespace: many namespaces may have workloads with the same labels.
        self._carrying: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, template in enumerate(templates[self._first :], start=self._first):
            for label in template.labels.items():
                self._carrying[label][template.namespace].append(number)

    def matched(self, selection: Selection) -> Iterator[int]:
        """The positions of the templates that the selection matches, ascending."""
        if selection.selector is None:
            return
        if self._before is not None:
            yield from self._before.matched(selection)
        anchor = selection.anchor()
        candidates: Iterable[int] = range(self._first, len(self._templates))
        if anchor is not None:
            key, values = anchor
            candidates = sorted(
                n for value in set(values) for n in self._with((key, value), selection.namespaces)
            )
        for number in candidates:
            if selection.matches(self._templates[number]):
                yield number

    def _with(self, label: tuple[str, str], namespaces: frozenset[str] | None) -> Iterator[int]:
        """The templates that have a label, in these namespaces."""
        there = self._carrying.get(label, {})
        for namespace in there if namespaces is None else namespaces:
            yield from there.get(namespace, ())


T = TypeVar("T")


class SelectionIndex(Generic[T]):
    """Many selections, to answer the converse: "which of them match this template"."""

    def __init__(self) -> None:
        self._anchored: dict[tuple[str, str], list[tuple[Selection, T]]] = defaultdict(list)
        self._others: list[tuple[Selection, T]] = []

    def add(self, selection: Selection, item: T) -> None:
        """Remember an item under its selection."""
        anchor = selection.anchor()
        if anchor is None:
            self._others.append((selection, item))
            return
        key, values = anchor
        for value in set(values):
            self._anchored[key, value].append((selection, item))

    def matching(self, pod: Labelled) -> Iterator[T]:
        """The items whose selection matches the pod."""
        for label in pod.labels.items():
            for selection, item in self._anchored.get(label, ()):
                if selection.matches(pod):
                    yield item
        for selection, item in self._others:
            if selection.matches(pod):
                yield item
