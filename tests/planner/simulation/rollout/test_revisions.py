"""StatefulSets and DaemonSets of which some pods are of an older revision than the template that runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from models import Cluster
from planner import rollout
from planner.documents.rollout import WorkloadRollout
from tests.builders import Object, node, spread
from tests.planner.simulation.rollout.running import manifests, running, web, zones


def applied(
    kind: str, revisions: Sequence[str], status: Object, *strategies: Object, replicas: int = 3
) -> WorkloadRollout:
    """The same template, with a strategy before and one after, over pods of such revisions, oldest first."""
    before, after = strategies
    item = web(3, kind=kind, constraints=[], updateStrategy=before)
    objects = running(item, ["a1", "b1", "c1"], *zones("abc"))
    objects[3]["status"] = status
    for number, (found, revision) in enumerate(zip(objects[4:], revisions, strict=True)):
        found["metadata"]["creationTimestamp"] = f"2026-01-0{number + 1}T00:00:00Z"
        found["metadata"]["labels"] |= {"controller-revision-hash": revision} if revision else {}
    new = web(replicas, kind=kind, constraints=[], updateStrategy=after)
    return rollout(Cluster.from_objects(objects), manifests(new), replays=2).workloads[0]


def partition(number: int) -> Object:
    """A rolling update of the ordinals from this one on."""
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}


CANARY = {"currentRevision": "old", "updateRevision": "new"}


@pytest.mark.parametrize(
    ("revisions", "after", "replaced"),
    [
        (["old", "old", "new"], partition(0), 2),
        (["old", "old", "new"], partition(1), 1),
        (["old", "old", "new"], partition(2), 0),
        (["old", "old", "new"], {"type": "OnDelete"}, 0),
        (["new", "new", "new"], partition(0), 0),
        (["", "", ""], partition(0), 0),
    ],
)
def test_a_lower_partition_replaces_what_it_kept(
    revisions: Sequence[str], after: Object, replaced: int
) -> None:
    """A canary that goes on with the same template was said to be complete, with no step at all."""
    row = applied("StatefulSet", revisions, CANARY, partition(2), after)
    assert row.completes
    assert len([step for step in row.steps if step.old + step.new == 3]) == replaced
    assert row.least_ready == (2 if replaced else 3)


def test_a_canary_that_is_scaled_keeps_its_old_pods() -> None:
    """Ordinals below the partition stay of their revision, and the highest goes."""
    row = applied("StatefulSet", ["old", "old", "new"], CANARY, partition(2), partition(2), replicas=2)
    assert ([(step.old, step.new) for step in row.steps], row.completes) == ([(2, 0)], True)


def test_a_new_template_has_a_revision_of_its_own() -> None:
    """Its pods had the label of the revision before, and were counted together with those that run."""
    apart = [spread(app="web", matchLabelKeys=["controller-revision-hash"])]
    words: Object = {"kind": "StatefulSet", "constraints": apart, "updateStrategy": partition(2)}
    objects = running(web(3, **words), ["a1"] * 3, node("a1", zone="a"), node("b1", zone="b", cpu="10m"))
    objects[2]["status"] = {"currentRevision": "old", "updateRevision": "old"}
    for found in objects[3:]:
        found["metadata"]["labels"] |= {"controller-revision-hash": "old"}
    after = manifests(web(3, cpu="200m", **words))
    assert rollout(Cluster.from_objects(objects), after, replays=2).completes


@pytest.mark.parametrize(
    ("revisions", "updated", "replaced"),
    [
        (["", "", ""], 0, 3),
        (["old", "old", "old"], 0, 3),
        (["old", "old", "new"], 1, 2),
        (["new", "new", "old"], 2, 1),
        (["older", "old", "new"], 1, 2),
        (["new", "new", "new"], 3, 0),
        (["old", "old", "new"], None, 0),
    ],
)
def test_a_daemon_set_that_rolls_on_replaces_what_on_delete_kept(
    revisions: Sequence[str], updated: int | None, replaced: int
) -> None:
    """How many pods are updated is in its status, which ones the hash of their revision tells."""
    status: dict[str, Any] = {"desiredNumberScheduled": 3, "updatedNumberScheduled": updated}
    row = applied("DaemonSet", revisions, status, {"type": "OnDelete"}, {"type": "RollingUpdate"})
    assert row.completes
    assert max((step.new for step in row.steps), default=3) == 3
    assert len([step for step in row.steps if step.old + step.new == 3]) == replaced
    kept = applied("DaemonSet", revisions, status, {"type": "OnDelete"}, {"type": "OnDelete"})
    assert (kept.completes, kept.steps) == (True, ())
