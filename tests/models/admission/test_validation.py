"""What is said of a workload is what kube-apiserver says of it, which tests/e2e/test_validation.py asks."""

from collections.abc import Sequence

import pytest

from models import Cluster, InputError
from models.admission.validation import invalid_fields
from tests.invalid_workloads import ACCEPTED, REFUSED, REFUSED_PODS, Case


def problems(case: Case) -> Sequence[str]:
    """What is wrong with the workload, for its reader or after that."""
    item = case.manifest()
    try:
        Cluster.from_objects([item], partial=True)
    except InputError as error:
        return error.problems
    return [*invalid_fields(item)]


@pytest.mark.parametrize("case", [*REFUSED, *REFUSED_PODS], ids=str)
def test_a_mistake_is_told(case: Case) -> None:
    """And of the field that has it, or one beside that."""
    lines = problems(case)
    assert any(top.lower() in line.lower() for line in lines for top in map(_field, case.changes)), lines


def _field(path: str) -> str:
    """What a line about this path has to name."""
    above, name, *_ = path.split(".")
    return "containers" if above == "c" else name


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_nothing_is_said_without_a_mistake(case: Case) -> None:
    """Neither by the reader nor by the rules."""
    assert problems(case) == []


def test_a_pod_by_itself_has_the_same_rules() -> None:
    """Its spec is where others have a template, and it may end."""
    pod = Case({"pod.restartPolicy": "Never"}).pod()
    assert [*invalid_fields(pod)] == []
    pod["spec"]["containers"][0]["image"] = ""
    assert [*invalid_fields(pod)] == ["spec.containers[0].image: Required value"]


def test_a_pod_of_a_dump_has_what_the_api_server_added() -> None:
    """What went wrong: the label that it had merged into the selector was a mistake of the dump."""
    pod = Case({"pod.restartPolicy": "Always"}).pod()
    pod["metadata"]["labels"] = {"rev": "1"}
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    merged = constraint | {"labelSelector": {"matchLabels": {"rev": "1"}}, "matchLabelKeys": ["rev"]}
    pod["spec"]["topologySpreadConstraints"] = [merged]
    assert len([*invalid_fields(pod)]) == 1
    pod["metadata"]["uid"] = "one"
    assert [*invalid_fields(pod)] == []


def test_a_version_that_is_no_more() -> None:
    """As kubectl says it."""
    before = {**Case({}).manifest(), "apiVersion": "apps/v1beta2"}
    assert [*invalid_fields(before)] == ['no matches for kind "Deployment" in version "apps/v1beta2"']


@pytest.mark.parametrize(
    ("version", "kind", "gone"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", True),
        ("policy/v1", "PodDisruptionBudget", False),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", True),
        ("autoscaling/v1", "HorizontalPodAutoscaler", False),
        ("resource.k8s.io/v1beta1", "ResourceClaim", False),
    ],
)
def test_a_version_of_what_goes_with_workloads_that_is_no_more(version: str, kind: str, gone: bool) -> None:
    """The rollout was said to complete, and the API server takes no such budget."""
    item = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": {}}
    assert [*invalid_fields(item)] == (
        [f'no matches for kind "{kind}" in version "{version}"'] if gone else []
    )


@pytest.mark.parametrize("kind", ["ClusterRole", "CloneSet"])
def test_nothing_is_said_of_other_kinds(kind: str) -> None:
    """Roles have colons in their names, and what others define has rules of its own."""
    others = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": kind, "metadata": {"name": "system:x"}}
    assert [*invalid_fields(others)] == []
    assert [*invalid_fields({**others, "kind": "StatefulSet"})] == []


def test_a_null_amount_is_left_out() -> None:
    """As kubectl apply leaves it out; kubectl create, which sends it on, is refused."""
    assert problems(Case({"c.resources": {"limits": {"cpu": None}, "requests": {"cpu": "1"}}})) == []
    assert problems(Case({"c.resources": {"limits": {"example.com/gpu": None}}})) == []
