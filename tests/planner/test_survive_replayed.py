"""What the loss of each zone comes to is what comes of it step by step."""

from copy import copy
from random import Random

from models import Cluster
from planner.simulation.survive import survive
from tests.builders import ZONE
from tests.draws import nothing_drawn
from tests.planner.replayed import Replay, drawn, refute


def _refuted(chance: Random) -> None:
    """Raise where a loss in a random cluster is not as it goes step by step."""
    nodes, apps = drawn(chance)
    # Of pods of one priority, made at the same time, any may be first.
    for app, priority in zip(apps, chance.sample(range(9), len(apps)), strict=True):
        app.words["priority"], app.policy = priority, "Parallel" if app.policy else ""
    found = survive(Cluster.from_objects([*nodes, *(item for app in apps for item in app.manifests())]), ZONE)
    for loss in found.domains:
        replay = Replay(nodes, [*map(copy, apps)], preemption=True).lose(loss.domain)
        added = replay.after - replay.before
        told = {row.workload.partition("/")[2]: row for row in loss.workloads}
        for app in apps:
            lost = 0 if app.kind == "DaemonSet" else sum(one.app.name == app.name for one in replay.lost)
            pending = sum(number for name, number in added.items() if name.partition("-")[0] == app.name)
            row = told.get(app.name)
            assert (row.lost if row else 0) == lost, (loss.domain, app)
            if app.kind != "DaemonSet":
                assert (row.pending if row else 0) == pending, (loss.domain, app)
                left = replay.left[app.name]
                survives = not pending and bool(left or not lost)
                assert (row.ok if row else True) == survives, (loss.domain, app)
                assert row is None or row.replicas == left + lost


@nothing_drawn()
def test_a_loss_comes_to_what_comes_of_it_step_by_step() -> None:
    """The pods of each workload that are lost and that are left without a node, and whether it survives."""
    refute(6, _refuted)
