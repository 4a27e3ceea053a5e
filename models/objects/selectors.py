"""Label selectors and node selector terms, and what they match."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from models.objects.base import KubeModel
from models.objects.strings import StringMap

Requirement = tuple[str, str, tuple[str, ...]]
_INT64 = 2**63
_WORD = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:{_PREFIX}/)?{_WORD}")
_LABEL_VALUE = re.compile(rf"(?:{_WORD})?")
_LONGEST_INTEGER = 40


class LabelSelectorRequirement(KubeModel):
    """One condition on a label; `NotIn` also holds where the label is absent."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _check_value_count(self.operator, self.values)
        _check_syntax(self.key, self.values)
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet the condition."""
        return _holds(self.operator, self.values, labels.get(self.key))


class LabelSelector(KubeModel):
    """A choice of objects by their labels: all conditions must hold, none selects everything."""

    match_labels: StringMap = Field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        for key, value in self.match_labels.items():
            _check_syntax(key, (value,))
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(_holds(operator, values, labels.get(key)) for key, operator, values in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.match_labels and not self.match_expressions

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All conditions as sorted tuples: equal for selectors that say the same, and hashable."""
        plain = {(key, "In", (value,)) for key, value in self.match_labels.items()}
        spelled = {
            (item.key, item.operator, tuple(sorted(set(item.values)))) for item in self.match_expressions
        }
        return tuple(sorted(plain | spelled))

    def with_own_labels(
        self, labels: Mapping[str, str], same: Iterable[str], other: Iterable[str] = ()
    ) -> "LabelSelector":
        """Narrowed to objects with the same values as these labels under some keys, not under others.

        That is what `matchLabelKeys` and `mismatchLabelKeys` ask for; keys without a label count for nothing.
        """
        asked = (
            LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
            for operator, keys in (("In", same), ("NotIn", other))
            for key in keys
            if key in labels
        )
        more = tuple(item for item in asked if item not in self.match_expressions)
        if not more:
            return self
        return LabelSelector(
            match_labels=self.match_labels, match_expressions=(*self.match_expressions, *more)
        )


class NodeSelectorRequirement(KubeModel):
    """One condition on a node's label, or on its name as a field."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _check_value_count(self.operator, self.values)
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels meets the condition."""
        return _holds(self.operator, self.values, labels.get(self.key))


class NodeSelectorTerm(KubeModel):
    """Conditions that a node must meet together; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    @model_validator(mode="after")
    def _check_expressions(self) -> Self:
        for item in self.match_expressions:
            _check_syntax(item.key, ())
        return self

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        for field in self.match_fields:
            if field.key != "metadata.name":
                raise ValueError(f"matchFields knows only metadata.name, found {field.key!r}")
            if field.operator not in {"In", "NotIn"} or len(field.values) != 1:
                raise ValueError("matchFields needs operator In or NotIn and exactly one value")
        return self

    @property
    def empty(self) -> bool:
        """Whether the term has no condition, and so matches nothing."""
        return not self.match_expressions and not self.match_fields

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name meets every condition."""
        fields = {"metadata.name": node_name}
        return (
            not self.empty
            and all(item.matches(labels) for item in self.match_expressions)
            and all(item.matches(fields) for item in self.match_fields)
        )


class NodeSelector(KubeModel):
    """A choice of nodes: one of the terms must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...]

    @model_validator(mode="after")
    def _check_terms(self) -> Self:
        if not self.node_selector_terms:
            raise ValueError("nodeSelectorTerms needs at least one term")
        # The API server asks this of required terms alone: a preferred one may say Gt -3.
        for item in (item for term in self.node_selector_terms for item in term.match_expressions):
            _check_syntax(item.key, item.values)
        return self

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name is chosen."""
        return any(term.matches(labels, node_name) for term in self.node_selector_terms)


def integer(text: str) -> int | None:
    """The number that Gt and Lt see in a value: a 64-bit integer as Go reads it, or nothing."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def _holds(operator: str, values: tuple[str, ...], found: str | None) -> bool:
    match operator:
        case "In":
            return found is not None and found in values
        case "NotIn":
            return found is None or found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            return found is not None and _compares(operator, integer(values[0]), integer(found))


def _compares(operator: str, bound: int | None, found: int | None) -> bool:
    if bound is None or found is None:
        return False
    return found > bound if operator == "Gt" else found < bound


def _check_syntax(key: str, values: tuple[str, ...]) -> None:
    if not _LABEL_KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a label key (for example app or example.com/app)")
    for value in values:
        if not _LABEL_VALUE.fullmatch(value):
            raise ValueError(f"{value!r} is not a label value (letters, digits, '-', '_' and '.')")


def _check_value_count(operator: str, values: tuple[str, ...]) -> None:
    match operator:
        case "In" | "NotIn" if not values:
            raise ValueError(f"operator {operator} needs at least one value")
        case "Exists" | "DoesNotExist" if values:
            raise ValueError(f"operator {operator} takes no values, found {list(values)}")
        # The API server does not look whether it is a number; one that is none is compared with no success.
        case "Gt" | "Lt" if len(values) != 1:
            raise ValueError(f"operator {operator} needs exactly one value, found {list(values)}")
        case _:
            return
