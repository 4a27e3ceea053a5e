"""A spread constraint in the solver's terms: global minimum, fullest domain, pods too many.

`pods - global minimum <= maxSkew` in every domain.  The global minimum is a variable that is at most what any
domain holds; the solver wants it large, so it need not be told that it is no less.  Domains may be counted
together: then they hold so many times the minimum at least, and are allowed so many times the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model


@dataclass(frozen=True, slots=True)
class DomainPods:
    """The pods of a domain, or of several together: an expression, and between what numbers it lies."""

    pods: Any
    least: int
    most: int
    domains: int = 1


class Spread:
    """One constraint over its domains."""

    def __init__(
        self,
        cp: cp_model.CpModel,
        domains: Sequence[DomainPods],
        max_skew: int,
        *,
        few_domains: bool = False,
        ceiling: int | None = None,
    ) -> None:
        """With too few domains the minimum is 0; else it is at most `ceiling`, if that is given."""
        self._cp = cp
        self.domains = domains
        self._least = 0
        self.minimum: Any = 0
        if domains and not few_domains:
            self.minimum = self._lowest(ceiling)
        self._surely = self._least + max_skew
        #: The most pods that a domain may hold.
        self.allowed = self.minimum + max_skew

    def _lowest(self, ceiling: int | None) -> Any:
        """A variable that is no more than the pods of any domain."""
        bounds = [] if ceiling is None else [ceiling]
        most = min([*(domain.most // domain.domains for domain in self.domains), *bounds])
        self._least = min([*(max(0, domain.least) // domain.domains for domain in self.domains), *bounds])
        minimum = self._cp.new_int_var(self._least, max(self._least, most), "global_minimum")
        for domain in self.domains:
            if domain.least < domain.domains * most:
                self._cp.add(domain.domains * minimum <= domain.pods)
        return minimum

    def skew(self) -> Any:
        """The fullest domain less the global minimum."""
        return self.highest() - self.minimum if self.domains else 0

    def highest(self) -> Any:
        """A variable that is no less than the pods of any domain."""
        least = max(-(-domain.least // domain.domains) for domain in self.domains)
        most = max(-(-domain.most // domain.domains) for domain in self.domains)
        highest = self._cp.new_int_var(max(0, least), max(0, least, most), "fullest_domain")
        for domain in self.domains:
            if domain.most > domain.domains * least:
                self._cp.add(domain.pods <= domain.domains * highest)
        return highest

    def may_exceed(self, domain: DomainPods) -> bool:
        """Whether there could be too many in a domain."""
        return domain.most > domain.domains * self._surely

    def excess(self, domain: DomainPods, asking: DomainPods | None = None) -> Any:
        """The pods too many in a domain, or a variable that is no less; 0 while no pod asks for it.

        `asking` are the pods with the constraint there; without it there always are some.
        """
        if not self.may_exceed(domain):
            return 0
        over = self._cp.new_int_var(0, domain.most, "excess")
        added = self._cp.add(domain.pods - domain.domains * self.allowed <= over)
        if asking is not None and asking.least <= 0:
            held = self._cp.new_bool_var("asks")
            self._cp.add(asking.pods <= 0).only_enforce_if(~held)
            added.only_enforce_if(held)
        return over
