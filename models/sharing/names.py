"""Other names in the same order: what stands first among the old ones stands first among the new.

A name is cut at its dashes, dots and slashes, and every part gets another word.  Parts that are equal stay
equal, so `web`, its ReplicaSet `web-6d4b` and its pods still belong together, and a StatefulSet's pods are
still its name with a number.  Order holds for whole names because it holds for the parts: the signs between
them come before all letters and digits, in the old names as in the new.

Digits at the beginning of a part stay, and so a part that is a number stays as it is: ordinals, and what
Gt and Lt compare, keep their meaning.  Four numbers in a row are an address, as in `ip-10-0-3-17`: they are
one part and become a word, which stands behind all other numbers.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product

#: What no separator stands in: every sign of ASCII but the underscore, which sorts among letters.
_WORD = r"[^\s!-/:-@\[-^`{-~]"
#: Four numbers of at most three digits, with dots or dashes between them.
_ADDRESS = rf"(?<!{_WORD})[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}(?!{_WORD})"
_PART = re.compile(rf"{_ADDRESS}|{_ADDRESS.replace('.[', '-[', 1)}|{_WORD}+")
_NUMBER = re.compile(r"[0-9]*")
#: Without vowels no words come about by chance.
_LETTERS = "bcdfghjklmnpqrstvwxz"
#: Names that Kubernetes itself gives a meaning.
_OF_KUBERNETES = {"default-scheduler", "system-cluster-critical", "system-node-critical"}
#: Addresses that do, for ports on hosts.
_OF_HOSTS = {"", "0.0.0.0", "127.0.0.1", "::", "::1"}
#: Parts of an image's name that do.
_OF_IMAGES = {"latest", "sha256"}


class NewNames:
    """The new name for each old one; the same old ones always give the same new ones."""

    def __init__(self, parts: Iterable[str]) -> None:
        old = sorted(part for part in set(parts) if not part.isdecimal())
        self._new = {part: _kept_digits(part) + word for part, word in zip(old, _words(old), strict=False)}

    def name(self, text: str) -> str:
        """Another name for this one."""
        if text in _OF_KUBERNETES:
            return text
        return _PART.sub(lambda part: self._of(part[0]), text)

    def address(self, text: str) -> str:
        """Another address; those that mean every address, or the host itself, stay."""
        return text if text in _OF_HOSTS else self._of(text)

    def image(self, text: str) -> str:
        """Another name for an image; a digest is still one, and the tag `latest` too."""
        return _PART.sub(
            lambda part: part[0] if part[0] in _OF_IMAGES else self._new.get(part[0], part[0]), text
        )

    def _of(self, part: str) -> str:
        return self._new.get(part, part)


class OldNames:
    """Takes the place of NewNames on a first way through, and keeps every part of a name that it sees."""

    def __init__(self) -> None:
        self.parts: set[str] = set()

    def name(self, text: str) -> str:
        """The name itself."""
        self.parts.update(_PART.findall(text))
        return text

    def address(self, text: str) -> str:
        """The address itself, which is a part as it is."""
        self.parts.add(text)
        return text

    image = name


def _kept_digits(part: str) -> str:
    """The digits that a part begins with; of an address none."""
    found = _NUMBER.match(part)
    return found[0] if found and not {".", "-", ":"} & set(part) else ""


def _words(old: list[str]) -> Iterator[str]:
    """As many words in their order, all of one length, none of them an old part."""
    length, taken = 1, {part.removeprefix(_kept_digits(part)) for part in old}
    while len(_LETTERS) ** length < 2 * len(old):
        length += 1
    return (word for word in map("".join, product(_LETTERS, repeat=length)) if word not in taken)
