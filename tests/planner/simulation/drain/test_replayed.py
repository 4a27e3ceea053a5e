"""What a drain comes to is what comes of it step by step."""

from collections import Counter
from random import Random

from models import Cluster
from planner import drain
from tests.draws import nothing_drawn
from tests.planner.replayed import NAMES, Replay, drawn, refute


def _refuted(chance: Random) -> None:
    """Raise where a drain of a random cluster is not as it goes step by step."""
    nodes, apps = drawn(chance)
    going, at_once = chance.sample(NAMES, chance.randint(1, 3)), chance.randint(1, 2)
    found = Cluster.from_objects([*nodes, *(item for app in apps for item in app.manifests())])
    preemption = chance.random() < 0.5
    plan = drain(found, going, at_once=at_once, fixes=False, preemption=preemption)
    replay = Replay(nodes, apps, preemption).drain(going, at_once)
    assert {row.node for row in plan.blocked} == replay.blocked
    pending = plan.before.pending, plan.after.pending, plan.new_pending
    added = replay.after - replay.before
    assert pending == (replay.before.total(), replay.after.total(), added.total())
    evictions = [row for step in plan.steps for row in step.evictions]
    assert sorted(row.pod.partition("/")[2] for row in evictions) == sorted(replay.evicted)
    for app in apps:
        lands = Counter(row.lands for row in evictions if row.pod.startswith(f"{app.name}/") and row.lands)
        assert lands <= replay.on(app), app


@nothing_drawn()
def test_a_drain_comes_to_what_comes_of_it_step_by_step() -> None:
    """The nodes that are emptied, the pods that wait before and after, and where replacements land."""
    refute(10, _refuted)
