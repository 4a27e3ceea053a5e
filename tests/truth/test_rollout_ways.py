"""What `rollout` says, beside all ways in which small rollouts may end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import Cluster
from planner import rollout
from planner.documents.rollout import Rollout
from planner.proof.effort import STANDARD, RolloutEffort
from planner.scheduler.scheduler import Scheduler
from tests import seeds
from tests.truth import rollout_ways, rollouts_drawn
from tests.truth.rollouts_drawn import Rolling, RolloutCase

#: Pods that evict each other in turn are soon given up; what comes to its end takes some hundred events.
_SHORT = replace(STANDARD, rollout=RolloutEffort(least_events=1_500))


def told(case: RolloutCase) -> Rollout:
    """What the planner says."""
    manifests = Cluster.from_objects(case.manifests(), partial=True)
    return rollout(Cluster.from_objects(case.objects()), manifests, replays=5, fixes=False, effort=_SHORT)


def refuted(case: RolloutCase, ways: set[tuple[bool, ...]]) -> bool:
    """Whether a draw ends as no way does, or none completes where all do."""
    found = told(case)
    rows = {row.workload: row for row in found.workloads}
    for place, item in enumerate(case.deployments):
        said = {end.completes for end in rows[f"Deployment/{item.name}"].ends}
        if not said <= {way[place] for way in ways}:
            return True
    return found.completes != (found.replays.completed == found.replays.runs)


def test_every_draw_ends_in_one_of_the_ways() -> None:
    """One or two Deployments with maxSurge and maxUnavailable in numbers and percents, quotas, preemption."""
    looked_at: list[int] = []
    # One in ten has too many states, which takes most of the time.
    for seed in seeds.seeds_for(0.15, looked_at):
        case = rollouts_drawn.draw(seed)
        ways = rollout_ways.ends(case)
        if ways is not None:
            looked_at.append(seed)
            assert not refuted(case, ways), f"seed {seed}"
    assert looked_at


@pytest.mark.long
def test_a_node_that_is_not_kept_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without promises pods evict each other in turn, and a rollout is said to stop that always completes."""
    three = Rolling("w0", 3, 3, 3, (1, 2), (0, 5), "50%", "34%", recreate=False)
    case = RolloutCase(7, None, (three,))
    ways = rollout_ways.ends(case)
    assert ways == {(True,)}
    assert not refuted(case, ways)
    monkeypatch.setattr(Scheduler, "nominate", lambda *_: None)
    assert refuted(case, ways)
