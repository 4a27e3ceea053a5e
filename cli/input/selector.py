"""kubectl's notation of label selectors: `app=web,tier!=db,zone in (a, b),!canary`."""

import re

from pydantic import ValidationError

from models import InputError
from models.objects.selectors import LabelSelector, LabelSelectorRequirement

_KEY = r"(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)"
_FORMS = (
    (re.compile(rf"{_KEY}\s*(?P<operator>=|==|!=)\s*(?P<values>[-A-Za-z0-9_.]*)"), False),
    (re.compile(rf"{_KEY}\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)"), False),
    (re.compile(rf"(?P<operator>!?)\s*{_KEY}"), True),
)
_OPERATORS = {
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    "in": "In",
    "notin": "NotIn",
    "": "Exists",
    "!": "DoesNotExist",
}
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


def parse_selector(text: str, option: str = "-l") -> LabelSelector:
    """The selector that kubectl would read from this text, which stood behind an option."""
    parts = [part.strip() for part in _COMMA_OUTSIDE_PARENTHESES.split(text)]
    return LabelSelector(match_expressions=tuple(_requirement(part, f"{option} {text!r}") for part in parts))


def _requirement(part: str, place: str) -> LabelSelectorRequirement:
    for form, bare in _FORMS:
        found = form.fullmatch(part)
        if found:
            values = () if bare else tuple(value.strip() for value in found["values"].split(","))
            asked = {"key": found["key"], "operator": _OPERATORS[found["operator"]], "values": values}
            try:
                return LabelSelectorRequirement.model_validate(asked)
            except ValidationError:
                break
    raise InputError([f"{place}: {part!r} is not a condition on a label (for example app=web)"])
