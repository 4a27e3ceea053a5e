"""Scripts of moves whose replacements may land on the nodes with some labels, which may change meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_moves_script import row, run_part

_MOVE = "move shop web-1 u1 old ReplicaSet/web 'zone in (b)'"
_ALL_DONE = "stop_if_stranded() { :; }; read_sets; carry_out; say done"


@pytest.mark.parametrize(("then", "code"), [("n1 n2", 0), ("n2", 1)])
def test_labels_are_read_once_more_in_the_end(tmp_path: Path, then: str, code: int) -> None:
    """What went wrong: all had landed, so it was done, while the node was in another zone by then."""
    (tmp_path / "labelled").write_text(f"L|n1 n2\nL|{then}\nL|{then}\n")
    ended, words, _ = run_part(tmp_path, _MOVE, _ALL_DONE, row("web-2", "n1", "u2"))
    assert ended == code
    assert words.endswith("done\n") == (code == 0)
    assert ("stopped: shop/web-2 has landed on n1, planned was zone in (b); plan again" in words) == code


def test_labels_that_cannot_be_read_are_not_other_labels(tmp_path: Path) -> None:
    """What went wrong: where the API server was away, a replacement was said to have landed elsewhere."""
    words = "TIMEOUT=5; guard; read_sets || carry_out"
    (tmp_path / "answer").write_text("Error from server: it is away\n")
    code, told, _ = run_part(tmp_path, _MOVE, words, row("web-2", "n1", "u2"), failing="-l")
    assert code == 1
    assert "nothing has happened for 5 seconds: Error from server: it is away" in told
    assert "has landed on n1, planned was" not in told
