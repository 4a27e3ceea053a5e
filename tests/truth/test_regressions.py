"""Clusters about which something untrue was claimed once, as small as they could be made."""

import json
from pathlib import Path

import pytest

from tests.truth.claims import judge
from tests.truth.findings import Finding
from tests.truth.generator import Case

#: Far more than any of them takes, so that a busy machine changes nothing.
_TIME_LIMIT = 60.0
FOLDER = Path(__file__).parent.parent / "data" / "regressions"
SECONDS_EACH = {"rebalance-crash-42000500"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.long] * (path.stem in SECONDS_EACH))
        for path in sorted(FOLDER.glob("*.json"))
    ],
    ids=lambda path: path.stem,
)
def test_stays_mended(path: Path) -> None:
    """Everything claimed about it is true now, and nothing better was missed."""
    assert not faults(path)


def faults(path: Path) -> list[Finding]:
    """What is not as claimed about a cluster; that a looser rule would allow more is no fault."""
    found = json.loads(path.read_text())
    case = Case(
        found["seed"],
        found["command"],
        found["cluster"]["items"],
        found["replicas"],
        found.get("options", {}),
    )
    return [finding for finding in judge(case, _TIME_LIMIT).findings if finding.fault != "away"]
