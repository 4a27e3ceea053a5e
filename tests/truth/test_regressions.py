"""Clusters about which something untrue was claimed once, as small as they could be made."""

import json
from pathlib import Path

import pytest

from tests.truth.claims import judge
from tests.truth.generator import Case

FILES = sorted((Path(__file__).parent.parent / "data" / "regressions").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stays_mended(path: Path) -> None:
    """Everything claimed about it is true now, and nothing better was missed."""
    found = json.loads(path.read_text())
    case = Case(found["seed"], found["command"], found["cluster"]["items"], found["replicas"])
    assert not [finding for finding in judge(case).findings if finding.fault != "away"]
