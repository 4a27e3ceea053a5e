"""`planner snapshot`: a file that can be sent round."""

import json
import stat
from pathlib import Path

import pytest

from models.reading import compact
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, lopsided, write

SECRET = "hunter2"


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """A broken cluster as kubectl prints it, with what must not get out."""
    objects = lopsided()
    for item in objects:
        item["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
        for container in item.get("spec", {}).get("containers", ()):
            container |= {"env": [{"name": "DB_PASSWORD", "value": SECRET}], "args": [SECRET]}
    return write(tmp_path / "dump.json", *objects, deployment("api", 2))


def test_a_dump_becomes_a_snapshot_with_the_same_answer(planner: Planner, dump: str, tmp_path: Path) -> None:
    """Nothing secret is in it, and `check` says the same of it."""
    path = tmp_path / "snapshot.json"
    assert planner("snapshot", "-f", dump, "-o", str(path)) == planner(
        "snapshot", "-f", dump, "-o", str(path)
    )
    assert SECRET in Path(dump).read_text()
    assert SECRET not in path.read_text()
    assert "DB_PASSWORD" not in path.read_text()
    assert planner("check", "-f", str(path)) == planner("check", "-f", dump)


@pytest.mark.parametrize("anonymize", [(), pytest.param(("--anonymize",), marks=pytest.mark.long)])
def test_in_columns_it_answers_alike(
    planner: Planner, dump: str, tmp_path: Path, anonymize: tuple[str, ...]
) -> None:
    """Every command has the same document, byte for byte, and a List is made of it again."""
    listed, columns = str(tmp_path / "a.json"), str(tmp_path / "a.snapshot")
    for path in (listed, columns):
        assert planner("snapshot", "-f", dump, *anonymize, "-o", path).code == 0
    assert Path(columns).read_bytes().startswith(b"\x1f\x8b")
    assert planner("snapshot", "-f", columns).out == Path(listed).read_text()
    for command in (
        "check",
        "simulate",
        "solve",
        "compare",
        "explain",
        "rebalance",
        "capacity",
        "consolidate",
    ):
        assert planner(command, "-f", columns, "-o", "json") == planner(command, "-f", listed, "-o", "json")
    assert planner("check", "-f", columns, "-v") == planner("check", "-f", listed, "-v")


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.json.gz", "cluster.snapshot"])
def test_only_its_owner_may_read_it(planner: Planner, dump: str, tmp_path: Path, name: str) -> None:
    """A new file, and one that all users could read before."""
    path = tmp_path / name
    for _ in range(2):
        assert planner("snapshot", "-f", dump, "-o", str(path)).code == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)


def test_an_old_snapshot_stays_until_there_is_a_new_one(
    planner: Planner, dump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: Ctrl-C while it was put into columns left an empty file in place of the old one."""

    def interrupted(_: bytes) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "cluster.snapshot"
    path.write_text("old")
    monkeypatch.setattr(compact, "compact", interrupted)
    assert planner("snapshot", "-f", dump, "-o", str(path)).code == 130
    assert path.read_text() == "old"


def test_anonymized_names_tell_nothing(planner: Planner, dump: str, tmp_path: Path) -> None:
    """No namespace, name, image or label value of the cluster is in it, and the answer is as long."""
    path = tmp_path / "snapshot.json"
    assert planner("snapshot", "-f", dump, "--anonymize", "-o", str(path)).code == 0
    names = {
        text
        for item in json.loads(Path(dump).read_text())["items"]
        for text in (item["metadata"]["name"], *item["metadata"].get("labels", {}).values())
    }
    assert names
    assert [name for name in names if f'"{name}"' in path.read_text()] == []
    one, other = planner("check", "-f", dump), planner("check", "-f", str(path))
    assert (one.code, len(one.out.splitlines())) == (other.code, len(other.out.splitlines()))


def test_rules_of_admission_stay_as_they_are(planner: Planner, dump: str, tmp_path: Path) -> None:
    """Names are others, what a policy is about is not: a rollout names it all the same."""
    rule = {"apiGroups": ["apps"], "operations": ["UPDATE"], "resources": ["deployments"]}
    group = {"apiVersion": "admissionregistration.k8s.io/v1"}
    policy = {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "owners-only"}, **group}
    policy |= {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
    binding = {"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "bound"}, **group}
    binding |= {"spec": {"policyName": "owners-only", "validationActions": ["Deny"]}}
    more, path = write(tmp_path / "more.json", policy, binding), tmp_path / "snapshot.json"
    assert planner("snapshot", "-f", dump, "-f", more, "--anonymize", "-o", str(path)).code == 0
    assert "owners-only" not in path.read_text()
    items = json.loads(path.read_text())["items"]
    changed = next(item for item in items if item["kind"] == "Deployment")
    changed["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "other"}
    told = planner("rollout", "-f", write(tmp_path / "new.json", changed), "--snapshot", str(path))
    assert "may refuse Deployment" in told.err


def test_files_or_a_live_cluster(planner: Planner, dump: str) -> None:
    """Not both."""
    assert planner("snapshot", "-f", dump, "--context", "x").code == 2
    assert planner("snapshot", "-f", "nowhere.json").code == 2
