"""Fields of objects as they are written, and what the API server says of those that are wrong."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

Fields = Mapping[str, Any]


def fields_of(found: Fields, name: str) -> Fields:
    """What is below a field; nothing where it is not there."""
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def text_of(found: Fields, name: str) -> str:
    """A text; empty where it is not there."""
    return str(found.get(name) or "")


def items_of(found: Fields, name: str) -> list[Fields]:
    """The items of a list of objects."""
    value = found.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def names_of(found: Fields, name: str, key: str = "name") -> list[str]:
    """The names of the items of a list."""
    return [text_of(item, key) for item in items_of(found, name)]


def checked(where: str, text: object, rule: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """What a rule says of a text, if there is one."""
    if isinstance(text, str) and text:
        yield from (invalid_value(where, text, what) for what in rule(text))


def one_of(where: str, value: object, supported: Sequence[str]) -> Iterator[str]:
    """That a text is none of those that are supported."""
    if value and value not in supported:
        names = ", ".join(f'"{name}"' for name in supported)
        yield f'{where}: Unsupported value: "{value}": supported values: {names}'


def at_least_zero(found: Fields, at: str, *names: str) -> Iterator[str]:
    """That a number is negative."""
    for name in names:
        value = found.get(name)
        if isinstance(value, int) and value < 0:
            yield f"{at}.{name}: Invalid value: {value}: must be greater than or equal to 0"


def duplicates(names: list[str], where: str) -> Iterator[str]:
    """That a name is there twice; `where` has a place for its number."""
    for number, name in enumerate(names):
        if name in names[:number]:
            yield f'{where.format(number)}: Duplicate value: "{name}"'


def invalid_value(where: str, value: object, what: str) -> str:
    """The line for a value with a mistake."""
    shown = f'"{value}"' if isinstance(value, str) else value
    return f"{where}: Invalid value: {shown}: {what}"


def near(name: str, names: Collection[str]) -> str | None:
    """The name that one was to be: no more than a letter, or capitals, make the difference."""
    if name in names or not name.isalpha():
        return None
    return next((known for known in names if _is_slip(name.lower(), known.lower())), None)


def _is_slip(name: str, known: str) -> bool:
    """Whether one letter is wrong, missing, too many or in the place of its neighbour."""
    if abs(len(name) - len(known)) > 1:
        return False
    begin = next((at for at, (one, other) in enumerate(zip(name, known, strict=False)) if one != other), None)
    if begin is None:
        return True
    one, other = name[begin:], known[begin:]
    return (
        one[1:] == other[1:]
        or one[1:] == other
        or one == other[1:]
        or (one[1::-1] == other[:2] and one[2:] == other[2:])
    )
