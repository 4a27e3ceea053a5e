"""Sequences as arrays: what each place knows of the places before it."""

from __future__ import annotations

import numpy as np

from planner.problem.nodes import Codes, Ints, Mask


def rank_among_equals(codes: Codes, counted: Mask | None = None) -> Ints:
    """For every position, how many before it have the same value; only those that are counted, if said."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    ones = np.ones(len(codes), np.int64) if counted is None else counted[order].astype(np.int64)
    before = np.cumsum(ones) - ones
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(codes) else np.zeros(0, np.intp)
    rank = np.empty(len(codes), np.int64)
    rank[order] = before - np.repeat(before[starts], np.diff(np.r_[starts, len(codes)]))
    return rank


def length_of_start(accepted: Mask) -> int:
    """How many of the first are all true."""
    return len(accepted) if accepted.all() else int(accepted.argmin())
