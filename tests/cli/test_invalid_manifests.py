"""`planner rollout` on manifests that the API server would not store: an error, never "Completes"."""

from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import node, pod, write
from tests.invalid_workloads import Case, Object


def asked(planner: Planner, tmp_path: Path, images: bool, *items: Object) -> tuple[int, str]:
    """Exit code and errors of a rollout onto a node where a pod runs, with an image or without."""
    there = pod("there", on="a1")
    if images:
        there["spec"]["containers"][0]["image"] = "example.com/there:1"
    else:
        there["spec"]["containers"][0].pop("image", None)
    snapshot = write(tmp_path / "there.json", node("a1", "a"), there)
    ended = planner("rollout", "-f", write(tmp_path / "new.json", *items), "--snapshot", snapshot)
    return ended.code, " ".join(ended.err.split())


def test_every_mistake_is_told_at_once(planner: Planner, tmp_path: Path) -> None:
    """With object and field, whatever objects of other kinds are called."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a:b"}}
    first, second = Case({"c.image": ""}), Case({"pod.restartPolicy": "Never"}, "StatefulSet")
    code, told = asked(planner, tmp_path, True, first.manifest(), second.manifest(), {**role, "rules": []})
    assert code == 2
    assert told == (
        f"error: {tmp_path}/new.json, Deployment default/web: "
        "spec.template.spec.containers[0].image: Required value "
        f"error: {tmp_path}/new.json, StatefulSet default/web: spec.template.spec.restartPolicy: "
        'Unsupported value: "Never": supported values: "Always"'
    )


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_what_a_snapshot_made_by_hand_leaves_out_its_manifests_may(
    planner: Planner, tmp_path: Path, kind: str
) -> None:
    """Images and restart policies; a wrong one is told all the same."""
    lacks = Case({"c.image": "", "pod.restartPolicy": None}, kind).manifest()
    assert asked(planner, tmp_path, False, lacks) == (0, "")
    code, told = asked(planner, tmp_path, True, lacks)
    assert (code, "containers[0].image: Required value" in told) == (2, True)
    wrong = Case({"c.image": "", "pod.restartPolicy": "Sometimes"}, kind).manifest()
    code, told = asked(planner, tmp_path, False, wrong)
    assert (code, 'restartPolicy: Unsupported value: "Sometimes"' in told) == (2, True)


def test_the_mistakes_of_all_files_are_told(planner: Planner, tmp_path: Path) -> None:
    """Not only those of the first file that has some."""
    snapshot, folder = write(tmp_path / "there.json", node("a1", "a")), tmp_path / "new"
    folder.mkdir()
    for number in range(2):
        write(folder / f"{number}.json", Case({f"spec.replica{number}": 2}).manifest())
    ended = planner("rollout", "-f", str(folder), "--snapshot", snapshot)
    told = " ".join(ended.err.split())
    assert (ended.code, told.count("unknown field")) == (2, 2)
    assert all(f"{folder}/{number}.json" in told for number in range(2))
