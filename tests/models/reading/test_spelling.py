"""Mistakes of spelling that hide something: each is named, with what was probably meant."""

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


def test_a_required_field_in_another_spelling(tmp_path: Path) -> None:
    """What went wrong: `maxSkew: is required` alone, beside a line that says `maxskew`."""
    path = tmp_path / "web.yaml"
    constraint = "{maxskew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        f"spec: {{containers: [], topologySpreadConstraints: [{constraint}]}}\n"
    )
    with pytest.raises(InputError) as refused:
        Cluster.load(path)
    where = "spec.topologySpreadConstraints[0]"
    assert refused.value.problems == (
        f"{path}, Pod web, {where}.maxSkew: is required",
        f'{path}, Pod web: unknown field "{where}.maxskew", did you mean "maxSkew"?',
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "apiVersion: v1\nkind: Pod\napiVersion: v1\n",
            "line 3: broken YAML: the key 'apiVersion' appears twice (is a line with --- missing before it?)",
        ),
        ("kind: Pod\nspec: {}\nspec: {}\n", "line 3: broken YAML: the key 'spec' appears twice"),
        (
            "kind: Pod\nmetadata:\n\tname: web\n",
            "line 3: broken YAML: found character that cannot start any token "
            "(lines begin with spaces, not with tabs)",
        ),
        (
            "kind: Pod\nmetadata:\n  name: {{ .Release.Name }}-web\n",
            "line 3: broken YAML: a key must be a string "
            "(where this is a template, `helm template` makes manifests of it)",
        ),
    ],
)
def test_what_was_probably_forgotten(tmp_path: Path, text: str, words: str) -> None:
    """A line between two documents, or the step that makes manifests of a chart."""
    path = tmp_path / "web.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        Cluster.load(path)
    assert refused.value.problems == (f"{path}, {words}",)


def test_the_folder_of_a_helm_chart(tmp_path: Path) -> None:
    """Its files were told one by one to have no kind; what was forgotten is `helm template`."""
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 0.1.0\n")
    (tmp_path / "values.yaml").write_text("replicas: 1\n")
    with pytest.raises(InputError) as refused:
        Cluster.load(tmp_path)
    assert refused.value.problems == (
        f"{tmp_path}: is a Helm chart: `helm template {tmp_path}` makes manifests of it",
    )
