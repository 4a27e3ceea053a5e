"""A part of a cluster as the solver sees it: sites, movable pods, room, and the constraints that count them.

A site is a node, or many nodes that are alike in all constraints; over the latter, and without room,
a region is a relaxation that bounds every plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Pairs of template and site, and how many pods may leave these together.
RegionLimit = tuple[tuple[tuple[int, int], ...], int]


@dataclass(frozen=True, slots=True)
class Place:
    """Domains that are counted together: how many they are, and what they hold.

    Pods are counted at the eligible `sites`; those with the constraint ask for it wherever they are in the
    domains, at any of `asking`.
    """

    sites: tuple[int, ...]
    asking: tuple[int, ...]
    domains: int
    pods: int
    carriers: int


@dataclass(frozen=True, slots=True)
class RegionConstraint:
    """One constraint inside a region, which counts pods of `members` and is asked for by `carriers`.

    With `few_domains` the global minimum is 0.  Templates that are `kept_out` come only where they leave
    nothing too much, as the scheduler asks.
    """

    hard: bool
    max_skew: int
    few_domains: bool
    members: frozenset[int]
    carriers: tuple[int, ...]
    places: tuple[Place, ...]
    kept_out: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """What may move from where to where, and what counts it."""

    templates: tuple[int, ...]
    leaving: Mapping[int, Mapping[int, tuple[int, ...]]]
    """For every template and site the weights of the pods that may leave, ascending."""
    open: Mapping[int, tuple[int, ...]]
    """For every template the sites that it may come to."""
    room: Mapping[int, Mapping[int, int]]
    """For every site and resource what is free; empty in a relaxation."""
    wants: Mapping[int, Sequence[tuple[int, int]]]
    constraints: tuple[RegionConstraint, ...]
    limits: tuple[RegionLimit, ...] = ()

    @property
    def size(self) -> int:
        """About how many variables a model of the region has."""
        return sum(map(len, self.open.values())) + sum(map(len, self.leaving.values()))
