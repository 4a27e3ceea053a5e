"""The version of Kubernetes that a cluster runs, or that the user asks for."""

import re
from dataclasses import dataclass
from typing import Self

#: `1.36`, `v1.36.2`, `v1.35.1-gke.1200`, `1.34+`: what comes after the numbers is a vendor's business.
_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,6}))?(?:[-+].*)?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class KubernetesVersion:
    """A release, compared as releases follow one another; without a patch it is the first one."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The release that a text names; None when it names none."""
        found = _VERSION.fullmatch(text.strip())
        return cls(*(int(number or 0) for number in found.groups())) if found else None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")
