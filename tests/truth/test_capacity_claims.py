"""What `capacity` says is exact, and what `--best` says no plan can beat, on fresh wide clusters."""

from __future__ import annotations

import pytest

from planner import capacity
from planner.documents.capacity import Capacity
from tests import seeds
from tests.truth import capacity_claims, wide
from tests.truth.capacity_claims import capacity_refuted


def test_no_claim_is_refuted() -> None:
    """Scaled by `more` all are placed, by one more not; no order of binds places more than the bound says."""
    for seed in seeds.seeds(3):
        found = list(capacity_refuted(wide.draw(seed, "rebalance"), 3.0))
        assert not found, f"seed {seed}: {found}"


@pytest.mark.long
@pytest.mark.parametrize("field", ["bound", "more"])
def test_a_false_claim_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound, or a number of replicas, that is one less than what kube-scheduler places."""

    def planted(*given: object, **options: object) -> Capacity:
        found = capacity(*given, **options)  # type: ignore[arg-type]
        rows = [row.model_copy(update={field: row.more - 1}) for row in found.workloads if row.more]
        return found.model_copy(update={"workloads": tuple(rows)})

    monkeypatch.setattr(capacity_claims, "capacity", planted)
    assert any([*capacity_refuted(wide.draw(seed, "rebalance"), 3.0)] for seed in range(20))
