"""Clusters too large to be searched: what one engine reaches, no other has proved to be out of reach."""

import pytest

from models import Cluster
from planner import solve
from tests import seeds
from tests.truth import cross_check, merged
from tests.truth.cross_check import cross_checked
from tests.truth.planted import proves_that_nothing_fits


def test_no_claim_is_refuted() -> None:
    """Fresh clusters; the seed says which command is asked."""
    for seed in seeds.seeds(1):
        found = list(cross_checked(merged.draw(seed, parts=2), 1.0))
        assert not found, f"seed {seed}: {found}"


@pytest.mark.long
def test_a_false_claim_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that leaves all pods out, and says that this is proved, is beaten by pods in some order."""
    case = merged.draw(next(seed for seed in range(100) if _places(seed)), "solve", parts=2)

    monkeypatch.setattr(cross_check, "solve", proves_that_nothing_fits)
    assert {finding.fault for finding in cross_checked(case, 1.0)} == {"false"}


def _places(seed: int) -> bool:
    cluster = Cluster.from_objects(merged.draw(seed, "solve", parts=2).objects)
    return bool(solve(cluster, time_limit=0.05).steps)
