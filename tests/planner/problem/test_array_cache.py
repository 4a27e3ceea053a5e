"""What a cache of arrays keeps, and what it lets go."""

import pytest

from planner.problem import array_cache
from planner.problem.array_cache import ArrayCache


def made_of(cache: ArrayCache[str], keys: str) -> str:
    """The keys of which values were made, when all these are asked for one after the other."""
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key

    for key in keys:
        assert cache.get(key, lambda key=key: make(key)) == key  # type: ignore[misc]
    return "".join(made)


def test_what_is_made_a_second_time_is_kept() -> None:
    """What is asked for twice in a row is at hand, too."""
    assert made_of(ArrayCache(1), "aabbaba") == "aba" + "b"
    assert made_of(ArrayCache(1, at_once=True), "abab") == "ab"


def test_what_was_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four elements there is room for two arrays of two nodes."""
    monkeypatch.setattr(array_cache, "_AT_LEAST", 1)
    monkeypatch.setattr(array_cache, "_ELEMENTS", 4)
    assert made_of(ArrayCache(2, at_once=True), "abacab") == "abc" + "b"
    assert made_of(ArrayCache(2, part=1 / 2, at_once=True), "abcdabcd") == "abcd"
