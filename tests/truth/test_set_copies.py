"""What `capacity --set` says, beside copies that are placed one after the other."""

from __future__ import annotations

import pytest

from models import Cluster, InputError
from models.controllers import apply
from planner import capacity
from planner.documents.capacity import SetCapacity
from tests import seeds
from tests.builders import ZONE
from tests.draws import nothing_drawn
from tests.truth import sets_drawn
from tests.truth.set_copies import fitting, without
from tests.truth.sets_drawn import SetCase

#: Copies of more than that are not counted.
_MOST = 40


@nothing_drawn()
def told(case: SetCase, survive: str | None = None) -> SetCapacity | None:
    """What the planner says; None of manifests that make no pods, and where no node has the label."""
    cluster, manifests = (
        Cluster.from_objects(case.objects),
        Cluster.from_objects(case.manifests, partial=True),
    )
    try:
        return capacity(cluster, sets=manifests, survive=survive).sets
    except InputError:
        return None


def test_as_many_copies_fit_as_are_said() -> None:
    """Copy after copy in namespaces of its own, each pod where the filters leave it a node."""
    for seed in seeds.seeds_for(0.1):
        case = sets_drawn.draw(seed)
        found = told(case)
        if found is not None:
            assert min(found.more, _MOST) == fitting(case, _MOST), f"seed {seed}"


def test_as_many_copies_fit_without_any_zone() -> None:
    """The least over all zones, and the zone."""
    for seed in seeds.seeds_for(0.1):
        case = sets_drawn.draw(seed)
        found = told(case, ZONE)
        if found is None or found.lost is None:
            continue
        zones = {item["metadata"].get("labels", {}).get(ZONE) for item in case.objects if "metadata" in item}
        counted = {zone: fitting(without(case, ZONE, zone), _MOST) for zone in zones if zone is not None}
        assert min(found.more, _MOST) == min(counted.values()) == counted[found.lost], f"seed {seed}"


@pytest.mark.long
def test_pods_that_are_not_admitted_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what the API server does to Pods that are manifests some number is another one."""
    monkeypatch.setattr(apply, "_admitted", lambda after, _: after.pods)
    cases = (sets_drawn.draw(seed) for seed in range(200))
    found = ((told(case), case) for case in cases if any(item["kind"] == "Pod" for item in case.manifests))
    assert any(one is not None and min(one.more, _MOST) != fitting(case, _MOST) for one, case in found)
