"""Pending pods that a change of their template alone does not help."""

import pytest

from planner import explain
from tests.builders import LONG_AGO, Object, cluster, node, pod, revision, scaled


def notes(kind: str, *objects: Object, name: str = "web-1", **spec: object) -> tuple[str, ...]:
    """What is noted about a pod that asks for more than there is, of a workload of this kind."""
    owner = scaled(kind, "web", 2, cpu="3")
    owner["spec"] |= spec
    waiting = pod(name, cpu="3", owner=f"{kind}/web", app="web", created=LONG_AGO)
    return explain(cluster(node("a", cpu="2"), owner, *objects, waiting)).notes


@pytest.mark.parametrize(
    ("kind", "spec", "why"),
    [
        ("StatefulSet", {}, "it is OrderedReady and waits for the pod as it is"),
        ("StatefulSet", {"podManagementPolicy": "Parallel"}, ""),
        (
            "StatefulSet",
            {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}},
            "its updateStrategy is OnDelete",
        ),
        ("ReplicaSet", {}, "its controller changes no pod that is there"),
        ("ReplicationController", {}, "its controller changes no pod that is there"),
    ],
)
def test_a_pod_that_its_controller_keeps_is_to_be_deleted(kind: str, spec: Object, why: str) -> None:
    """The patch of a StatefulSet was said to help; its controller waits for the pod of before for ever."""
    told = [note for note in notes(kind, **spec) if "a change of" in note]
    line = f"a change of {kind}/web reaches default/web-1 only when the pod is deleted after it"
    assert told == ([f"{line} (kubectl delete pod web-1 -n default): {why}"] if why else [])


def test_below_the_partition_no_change_arrives() -> None:
    """Not even a deleted pod is made from the new template."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    assert "no change of StatefulSet/web reaches default/web-1: its partition is 2" in notes(
        "StatefulSet", updateStrategy=strategy
    )


def test_a_deployment_makes_new_pods() -> None:
    """Those of the ReplicaSet before go when the new ones are there."""
    deployment = scaled("Deployment", "web", 1, cpu="3")
    made = revision(deployment)
    waiting = pod("web-1", cpu="3", owner="ReplicaSet/web-r1", app="web", created=LONG_AGO)
    found = explain(cluster(node("a", cpu="2"), deployment, made, waiting)).notes
    assert not [note for note in found if "a change of" in note]


def test_the_template_of_a_job_cannot_be_changed() -> None:
    """What went wrong: a patch of it was said to help; the API server says that the field is immutable."""
    assert [note for note in notes("Job", completions=1) if "Job/web" in note] == [
        "the API server refuses to change the template of Job/web: "
        "a change of it helps only where the Job is deleted and made again"
    ]
