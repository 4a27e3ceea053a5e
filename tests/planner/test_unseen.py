"""What the reader had no right to list is said as unknown, never as missing."""

import pytest

from planner import explain, simulate
from tests.builders import Object, cluster, node, pod

KINDS = ["nodes", "persistentvolumeclaims", "persistentvolumes", "pods", "storageclasses"]


def origin(*unseen: str) -> Object:
    """A live cluster in which all kinds but these were listed."""
    kinds = [kind for kind in KINDS if kind not in unseen]
    return {"apiVersion": "planner/v1alpha1", "kind": "SnapshotOrigin", "cluster": "c", "kinds": kinds}


def claim(volume: str = "") -> Object:
    """The claim `data`, bound to a volume of this name if there is one."""
    found: Object = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    found["metadata"] = {"name": "data", "namespace": "default"}
    found["spec"] = {"storageClassName": "fast", "volumeName": volume}
    return found | {"status": {"phase": "Bound" if volume else "Pending"}}


@pytest.mark.parametrize(
    ("unseen", "objects", "unknown", "missing"),
    [
        (
            "persistentvolumeclaims",
            [],
            'unknown: persistentvolumeclaim "data" may not be listed',
            'persistentvolumeclaim "data" not found',
        ),
        (
            "persistentvolumes",
            [claim("pv")],
            "unknown: persistentvolumes may not be listed",
            "bound to non-existent pv(s)",
        ),
        (
            "storageclasses",
            [claim()],
            "unknown: storageclasses may not be listed",
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_volumes_that_may_not_be_listed(
    unseen: str, objects: list[Object], unknown: str, missing: str
) -> None:
    """The pod stays pending either way; only with the right to look it is said what is not there."""
    objects = [node("n1"), pod("web", claims=["data"]), *objects]
    for first, said, never in ((origin(unseen), unknown, missing), (origin(), missing, unknown)):
        (row,) = simulate(cluster(first, *objects)).pending
        assert said in row.message
        assert never not in row.message


def test_no_claim_is_to_be_created_that_may_be_there() -> None:
    """The fix is offered only where the claim is known to be missing."""
    objects = [node("n1"), pod("web", claims=["data"])]
    actions = [
        [
            change.action
            for item in explain(cluster(first, *objects)).items
            for fix in item.fixes
            for change in fix.changes
        ]
        for first in (origin(), origin("persistentvolumeclaims"))
    ]
    assert ("CreateClaim" in actions[0], "CreateClaim" in actions[1]) == (True, False)
