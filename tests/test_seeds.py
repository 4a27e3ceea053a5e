"""A random test that failed can be repeated with the one seed that it printed."""

import pytest
from hypothesis import settings

from tests import seeds
from tests.strategies import relaxed


def test_a_test_has_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong: a test that drew twice printed two seeds, and SEED repeats only one."""
    found = {seeds.fresh(), *(next(seeds.seeds(1)) for _ in range(3))}
    assert capsys.readouterr().out == f"SEED={found.pop()}\n"
    assert not found


@pytest.mark.parametrize("chosen", [settings(), relaxed])
def test_examples_are_fresh_on_every_run(chosen: settings) -> None:
    """What went wrong: where CI is set, hypothesis drew the same ones, derandomized."""
    assert not chosen.derandomize
    assert chosen.print_blob
