"""A kind that does not exist is told from one that is not read."""

import json
from pathlib import Path

import pytest

from models import Cluster, InputError
from models.objects.kinds import meant


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deploymnet"}, "Deploymnet in apps/v1 (did you mean Deployment?)"),
        ({"apiVersion": "v1", "kind": "node"}, "node in v1 (did you mean Node?)"),
        ({"kind": "Pods"}, "Pods (did you mean Pod?)"),
    ],
)
def test_a_misspelled_kind_is_an_error(tmp_path: Path, head: dict[str, str], words: str) -> None:
    """What went wrong: it was skipped with a note, and the answer was about all others, with exit code 0."""
    path = tmp_path / "web.json"
    path.write_text(json.dumps({**head, "metadata": {"name": "web"}}))
    with pytest.raises(InputError) as refused:
        Cluster.load(path)
    assert refused.value.problems == (f"{path}, {head['kind']} web, kind: there is no {words}",)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("apps/v1", "ControllerRevision"),
        ("resource.k8s.io/v1", "ResourceSlice"),
        ("storage.k8s.io/v1", "CSIDriver"),
        ("v1", "PodTemplate"),
        ("apps.kruise.io/v1beta1", "DaemonSet"),
        ("apps.kruise.io/v1alpha1", "CloneSets"),
    ],
)
def test_kinds_that_are_not_read_are_none_that_are_misspelled(api_version: str, kind: str) -> None:
    """Of groups of others not all kinds are known."""
    assert not meant(api_version, kind)
