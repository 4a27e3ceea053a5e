"""A random test that failed can be repeated with the one seed that it printed."""

import pytest

from tests import seeds


def test_a_test_has_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong: a test that drew twice printed two seeds, and SEED repeats only one."""
    found = {seeds.fresh(), *(next(seeds.seeds(1)) for _ in range(3))}
    assert capsys.readouterr().out == f"SEED={found.pop()}\n"
    assert not found
