"""Manifests applied to a cluster: pods that are there stay where they are, new ones are admitted."""

from models import Cluster
from models.controllers.apply import applied
from tests.builders import LONG_AGO, cluster, node, pod, priority_class


def test_a_pod_that_runs_stays_on_its_node() -> None:
    """What went wrong: its manifest has no nodeName, so it was looked for a node once more."""
    there = cluster(node("a1"), pod("p", on="a1", cpu="2", priority=7, created=LONG_AGO))
    manifest = {key: value for key, value in pod("p", cpu="2").items() if key != "status"}
    after = applied(there, Cluster.from_objects([manifest], partial=True))
    assert after.pods == there.pods


def test_a_new_pod_has_the_priority_of_its_class() -> None:
    """What went wrong: it was 0, as classes are in the cluster, and not beside the manifest."""
    there = cluster(node("a1"), priority_class("high", 5))
    manifests = Cluster.from_objects([pod("p", priorityClassName="high")], partial=True)
    assert applied(there, manifests).pods[0].priority == 5
