"""Sequences as arrays: what each place knows of the places before it."""

from __future__ import annotations

import numpy as np

from planner.problem.nodes import Codes, Ints, Mask


def rank_among_equals(codes: Codes, counted: Mask | None = None) -> Ints:
    """For every position, how many before it have the same value; only those that are counted, if said."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    begins = np.ones(len(codes), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    if counted is None:
        before = np.arange(len(codes))
    else:
        ones = counted[order].astype(np.int64)
        before = np.cumsum(ones) - ones
    rank = np.empty(len(codes), np.int64)
    rank[order] = before - before[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return rank


def length_of_start(accepted: Mask) -> int:
    """How many of the first are all true."""
    return len(accepted) if accepted.all() else int(accepted.argmin())
