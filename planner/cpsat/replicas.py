"""A scale-down as the solver sees it: groups of replicas, and the constraints that count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.objects.pod import Pod


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """Replicas of one controller that no constraint tells apart, `taken` of which the controller takes."""

    group: int
    pods: tuple[Pod, ...]
    taken: int


@dataclass(frozen=True, slots=True)
class ReplicaConstraint:
    """One constraint over domains: what each holds before the choice, and which replica groups are in it.

    `carriers` are the groups whose pods ask for the constraint; a domain in `held` has a pod that does
    and stays in any case.
    """

    hard: bool
    max_skew: int
    floor_is_zero: bool
    counts: Mapping[int, int]
    replica_groups: Mapping[int, Sequence[int]]
    carriers: Mapping[int, Sequence[int]]
    held: frozenset[int]


@dataclass(frozen=True, slots=True)
class Removal:
    """All there is to choose from: replica groups, how many go of each, and what they are judged by."""

    replica_groups: tuple[ReplicaGroup, ...]
    going: tuple[int, ...]
    constraints: tuple[ReplicaConstraint, ...]
