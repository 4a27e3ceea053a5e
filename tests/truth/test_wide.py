"""The wider generator: its clusters are read, the search agrees with filters, and the oracle sees orders."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from models import Cluster
from planner import solve
from planner.proof import move_effort as effort
from tests import seeds
from tests.truth import wide
from tests.truth.agreement import Walk
from tests.truth.claims import judge
from tests.truth.findings import CORRECT
from tests.truth.large_paths import PATHS, SOLVE_PATHS, lowered
from tests.truth.manifests import Object, complete
from tests.truth.oracle import Oracle
from tests.truth.planted import proves_that_nothing_fits

#: All features are looked for in the same clusters: each is drawn once.
first_seed = cache(seeds.fresh)


@cache
def with_everything(seed: int) -> Sequence[Object]:
    """The cluster of a seed, with nothing left out."""
    return wide.draw(seed).objects


@pytest.mark.parametrize("feature", wide.FEATURES)
def test_every_feature_is_drawn(feature: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some cluster differs where a feature is left out."""
    first = first_seed()
    for seed in range(first, first + 400):
        found = with_everything(seed)
        monkeypatch.setattr(wide, "SKIPPED", {feature})
        without = wide.draw(seed).objects
        monkeypatch.setattr(wide, "SKIPPED", set())
        if found != without:
            return
    raise AssertionError(f"{feature}: no difference in 400 clusters from seed {first}")


def test_the_search_agrees_with_the_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """On random walks both accept the same nodes, whatever else pods ask for."""
    # Amounts that the planner refuses to count are no walk.
    monkeypatch.setattr(wide, "SKIPPED", {"huge quantities"})
    for seed in seeds.seeds(5):
        case = wide.draw(seed)
        if not wide.has_claims(case):
            differences = list(Walk(case.objects, seed).differences(6))
            assert not differences, f"seed {seed}: {differences}"


def test_the_oracle_finds_an_order_that_binds_a_shared_claim_first() -> None:
    """Two pods share a waiting claim: only one order of binds places both."""
    assert Oracle(complete(_shared()), [0]).run(moves=False).value == (2,)


def test_a_volume_that_is_missing_costs_a_pod() -> None:
    """The oracle asks the filters about volumes: without one of them a pod finds no node."""
    objects = [item for item in _shared() if item["metadata"]["name"] != "v1"]
    assert Oracle(complete(objects), [0]).run(moves=False).value == (1,)


def _shared() -> list[Object]:
    path = Path(__file__).parent.parent / "data" / "found" / "waiting-claim-shared.json"
    items: list[Object] = json.loads(path.read_text())["items"]
    return items


@pytest.mark.parametrize("path", PATHS)
def test_lowered_thresholds_are_put_back(path: str) -> None:
    """Inside, the thresholds of a path hold; outside, they are as before."""
    name, value = next(iter(PATHS[path].items()))
    before = getattr(effort, name)
    with lowered(path):
        assert getattr(effort, name) == value
    assert getattr(effort, name) == before != value


@pytest.mark.parametrize("path", SOLVE_PATHS)
def test_what_large_batches_are_told_is_true(path: str) -> None:
    """No false proof and no plan that breaks where large batches go; neighbourhoods are searched, too."""
    for seed in seeds.seeds_for(0.15):
        found = judge(replace(wide.draw(seed, "solve"), effort=SOLVE_PATHS[path]))
        assert not found.faults.keys() & CORRECT, f"seed {seed}: {found.findings}"


def test_batches_that_no_plan_places_whole_are_not_packed_on_fewer_nodes() -> None:
    """What went wrong: quotas of all six pods were asked for, where no plan places more than two: a crash."""
    found = judge(replace(wide.draw(1260255, "solve"), effort=SOLVE_PATHS["cells"]))
    assert not found.faults.keys() & CORRECT, found.findings


def test_a_pod_that_waits_does_not_stand_for_those_that_run() -> None:
    """What went wrong: it draws on no budget, and so exhaustive search evicted two where one is allowed."""
    found = judge(wide.draw(93010369, "solve --allow-moves"))
    assert not found.faults.keys() & CORRECT, found.findings


def test_final_states_have_volumes_for_all_claims() -> None:
    """Claims that share volumes, and pods that share claims."""
    cases = (wide.draw(seed, "solve --final-state") for seed in seeds.seeds_for(0.15))
    for case in filter(wide.has_claims, cases):
        found = judge(case)
        assert not found.faults.keys() & CORRECT, f"seed {case.seed}: {found.findings}"


def test_final_states_are_what_profiles_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters that only some profiles have: what is proved stands, and every placement is compared."""
    monkeypatch.setattr(wide, "FORCED", {"profiles"})
    for seed in seeds.seeds_for(0.1):
        found = judge(wide.draw(seed, "solve --final-state"))
        assert not found.faults.keys() & CORRECT, f"seed {seed}: {found.findings}"


def test_a_false_claim_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that leaves a pod out, and says that this is proved, is found out with volumes as well."""
    from tests.truth import placing_claims

    case = next(
        case
        for seed in range(1000)
        if wide.has_claims(case := wide.draw(seed, "solve"))
        and judge(case).complete
        and solve(Cluster.from_objects(case.objects)).steps
    )

    monkeypatch.setattr(placing_claims, "solve", proves_that_nothing_fits)
    assert judge(case).faults.keys() & CORRECT
