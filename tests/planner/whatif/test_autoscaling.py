"""Autoscalers that would undo a what-if are told."""

import pytest

from models.cluster import Cluster
from planner.simulation.scaledown.scale_down import scale_down
from planner.whatif import scale
from tests.builders import Object, cluster, node, replica, revision, scaled

WEB = scaled("Deployment", "web", 4)
RUNNING = (WEB, revision(WEB), *(replica(revision(WEB), f"web-{name}", "n1") for name in "abcd"))


def scaler(name: str = "web", kind: str = "Deployment", namespace: str = "default", **spec: int) -> Object:
    """A HorizontalPodAutoscaler over a workload."""
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": f"{name}-load", "namespace": namespace},
        "spec": {"scaleTargetRef": target, **spec},
    }


def told(snapshot: Cluster) -> list[str]:
    """The notes on autoscalers."""
    return [note for note in snapshot.notes if "HorizontalPodAutoscaler" in note]


@pytest.mark.parametrize(
    ("replicas", "words"),
    [
        (2, "default/web-load keeps at least 3: it will scale Deployment default/web up again from 2 to 3"),
        (6, "default/web-load keeps at most 5: it will scale Deployment default/web down again from 6 to 5"),
        (0, "default/web-load is switched off while Deployment default/web has 0 replicas"),
    ],
)
def test_what_an_autoscaler_would_undo(replicas: int, words: str) -> None:
    """Too few, too many, and none at all, which switches it off."""
    snapshot = cluster(node("n1"), *RUNNING, scaler(minReplicas=3, maxReplicas=5))
    assert told(scale(snapshot, "deploy/web", replicas)) == [f"HorizontalPodAutoscaler {words}"]


@pytest.mark.parametrize("replicas", [3, 4, 5])
def test_nothing_is_told_within_its_bounds(replicas: int) -> None:
    """Both ends belong to them."""
    snapshot = cluster(node("n1"), *RUNNING, scaler(minReplicas=3, maxReplicas=5))
    assert told(scale(snapshot, "deploy/web", replicas)) == []


def test_autoscalers_of_others_are_not_asked() -> None:
    """Neither of another namespace, nor of another kind or name."""
    others = (
        scaler(minReplicas=9, namespace="shop"),
        scaler("api", minReplicas=9),
        scaler(kind="StatefulSet", minReplicas=9) | {"metadata": {"name": "sts", "namespace": "default"}},
    )
    assert told(scale(cluster(node("n1"), *RUNNING, *others), "deploy/web", 2)) == []


def test_scale_down_says_it_too() -> None:
    """Without a minReplicas the least is one; below it nothing is possible but zero."""
    snapshot = cluster(node("n1"), *RUNNING, scaler(minReplicas=3))
    document = scale_down(snapshot, {"deploy/web": 1})
    assert [note for note in document.notes if "keeps at least 3" in note]
    assert not [note for note in scale_down(snapshot, {"deploy/web": 3}).notes if "keeps" in note]
