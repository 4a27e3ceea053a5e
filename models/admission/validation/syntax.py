"""How names, labels and keys may be spelled, in the words of the API server."""

import re
from collections.abc import Iterator, Mapping

_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL = re.compile(_DNS_LABEL)
_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*")
_KEY = re.compile(_WORD)
_VALUE = re.compile(rf"({_WORD})?")
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_LONGEST_LABEL, _LONGEST_SUBDOMAIN, _LONGEST_PORT_NAME = 63, 253, 15


def label(text: str) -> Iterator[str]:
    """What is wrong with a name of one part: of a container, a volume, a namespace."""
    if "." in text:
        yield from _too_long(text, _LONGEST_LABEL)
        yield "must not contain dots"
    else:
        what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
        yield from _spelled(text, _LABEL, what, _LONGEST_LABEL)


def subdomain(text: str) -> Iterator[str]:
    """What is wrong with the name of most objects: of parts with dots between."""
    what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
    yield from _spelled(text, _SUBDOMAIN, what, _LONGEST_SUBDOMAIN)


def qualified(text: str) -> Iterator[str]:
    """What is wrong with a key of labels and the like: a name, behind a subdomain and a slash if need be."""
    prefix, slash, name = text.rpartition("/")
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {what}" for what in subdomain(prefix))
    what = "must consist of alphanumeric characters, '-', '_' or '.'"
    yield from (f"name part {line}" for line in _spelled(name, _KEY, what, _LONGEST_LABEL, "bytes"))


def label_value(text: str) -> Iterator[str]:
    """What is wrong with the value of a label."""
    what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"
    yield from _spelled(text, _VALUE, what, _LONGEST_LABEL, "bytes")


def _spelled(
    text: str, pattern: re.Pattern[str], what: str, longest: int, unit: str = "characters"
) -> Iterator[str]:
    yield from _too_long(text, longest, unit)
    if not pattern.fullmatch(text):
        yield f"{what}, and must start and end with an alphanumeric character"


def _too_long(text: str, longest: int, unit: str = "characters") -> Iterator[str]:
    if len(text) > longest:
        yield f"must be no more than {longest} {unit}"


def port_name(text: str) -> Iterator[str]:
    """What is wrong with the name of a container's port."""
    yield from _too_long(text, _LONGEST_PORT_NAME)
    if not _PORT_NAME.fullmatch(text):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    elif not any(letter.isalpha() for letter in text):
        yield "must contain at least one letter (a-z)"
    elif "--" in text:
        yield "must not contain consecutive hyphens"
    elif text.startswith("-") or text.endswith("-"):
        yield "must not begin or end with a hyphen"


def labels(found: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(text, what is wrong with it) of the keys and values of labels."""
    for key, value in ((str(key), value) for key, value in found.items()):
        yield from ((key, what) for what in qualified(key))
        if isinstance(value, str):
            yield from ((value, what) for what in label_value(value))
