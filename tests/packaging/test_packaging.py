"""The planner where people work: wheel, image, manifests, krew."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.input import live
from cli.main import run

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
EXAMPLE = ROOT / "examples" / "10-after-scale-down"
ZONE = "topology.kubernetes.io/zone"
LISTED = {(kind.partition(".")[2], kind.partition(".")[0]) for kind in live.KINDS}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, built without a network."""
    folder = tmp_path_factory.mktemp("dist")
    _build(folder)
    return folder


def _build(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True, cwd=folder)


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((PACKAGING / "kubernetes" / name).read_text()))


@pytest.mark.long
def test_the_wheel_runs_in_an_environment_of_its_own(dist: Path, tmp_path: Path) -> None:
    """`pipx install` would do the same: its three commands are there, and so is all that they read."""
    (wheel,) = dist.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (packages / "others.pth").write_text(str(Path(yaml.__file__).parents[1]))
    programs = python.parent

    def run(*command: str) -> str:
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
        )
        assert ended.returncode in (0, 1), ended.stderr
        return ended.stdout

    assert run("planner", "version").startswith("planner ")
    assert "Deployment/frontend" in run("kubectl-planner", "check", "-f", str(EXAMPLE))
    assert run("kubectl_complete-planner", "chec").startswith("check\t")
    assert "planner __complete" in run("planner", "completion", "zsh")
    assert run(str(python), "-c", "import cli; print(cli.__file__)").startswith(str(packages))


@pytest.mark.long
def test_the_wheel_has_what_belongs_into_it(dist: Path) -> None:
    """The three packages with their scripts and types, and no tests."""
    (wheel,) = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"cli", "models", "planner"}
    sources = {
        str(path.relative_to(ROOT)) for top in tops for path in (ROOT / top).rglob("*") if path.is_file()
    }
    assert {name for name in sources if "__pycache__" not in name} <= set(names)


@pytest.mark.long
def test_the_same_sources_give_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    """Wheel, archive and manifest."""
    _build(tmp_path)
    for folder in (dist, tmp_path):
        command = [sys.executable, str(PACKAGING / "krew" / "make.py"), str(folder), "https://example.com/a"]
        subprocess.run(command, check=True)
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (dist, tmp_path)
    )
    assert first == second
    assert len(first) == 3


def test_the_manifest_for_krew_names_the_archive(dist: Path) -> None:
    """Its sum is that of the archive, its program is in it, and its version is the wheel's."""
    subprocess.run(
        [sys.executable, str(PACKAGING / "krew" / "make.py"), str(dist), "https://example.com/a"], check=True
    )
    plugin = json.loads((dist / "planner.yaml").read_text())
    (platform,) = plugin["spec"]["platforms"]
    content = (dist / "kubectl-planner.tar.gz").read_bytes()
    assert platform["sha256"] == hashlib.sha256(content).hexdigest()
    (wheel,) = dist.glob("*.whl")
    with tarfile.open(dist / "kubectl-planner.tar.gz") as archive:
        assert sorted(archive.getnames()) == ["constraints.txt", "kubectl-planner", wheel.name]
        assert archive.getmember(platform["bin"]).mode & 0o111
    assert f"-{plugin['spec']['version'].removeprefix('v')}-" in wheel.name
    subprocess.run(["sh", "-n", str(PACKAGING / "krew" / "kubectl-planner")], check=True)


@pytest.mark.long
def test_what_krew_installs_sets_itself_up_once(dist: Path, tmp_path: Path) -> None:
    """From the archive to an answer; here the other packages are there already, and pip needs no network."""
    subprocess.run(
        [sys.executable, str(PACKAGING / "krew" / "make.py"), str(dist), "https://example.com/a"], check=True
    )
    with tarfile.open(dist / "kubectl-planner.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl-planner").symlink_to(tmp_path / "store" / "kubectl-planner")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": str(Path(yaml.__file__).parents[1]),
    }

    def run(*arguments: str) -> tuple[str, str]:
        command = [str(tmp_path / "bin" / "kubectl-planner"), *arguments]
        ended = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        return ended.stdout, ended.stderr

    said, told = run("version")
    assert said.startswith("planner ")
    assert told == "Setting up kubectl planner, once\n"
    assert run("simulate", "-f", str(ROOT / "examples" / "01-one-constraint"))[0].startswith("1 pod placed.")
    assert run("version") == (said, "")


def test_the_rights_are_those_that_are_used() -> None:
    """A list for each kind that kubectl is asked for, and no other right but to see kube-system's uid."""
    role = _documents("rbac.yaml")[0]
    listed = {
        (group, resource)
        for rule in role["rules"]
        if rule["verbs"] == ["list"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert listed == LISTED
    others = [rule for rule in role["rules"] if rule["verbs"] != ["list"]]
    assert others == [
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]}
    ]


def test_the_cron_job_is_nobody_special() -> None:
    """No root, no capabilities, nothing to write on, the account with the rights, options that exist.

    One node: on others the figures of earlier checks stayed, and the alerts of the documentation with them.
    """
    (job,) = _documents("cronjob.yaml")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    account = next(item for item in _documents("rbac.yaml") if item["kind"] == "ServiceAccount")
    assert (pod["serviceAccountName"], job["metadata"]["namespace"]) == (
        account["metadata"]["name"],
        account["metadata"]["namespace"],
    )
    assert list(pod["nodeSelector"]) == ["kubernetes.io/hostname"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"]
    assert not security["allowPrivilegeEscalation"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    helped = subprocess.run(
        [sys.executable, "-c", "from cli.main import main; main()", "check", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    flags = re.findall(r"--[a-z-]+", container["args"][0])
    assert flags
    assert [flag for flag in flags if flag not in helped] == []


def _container(job: dict[str, Any]) -> dict[str, Any]:
    """The only container of a Job whose pods do not run as root."""
    pod = job["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    found: dict[str, Any] = container
    return found


def _ran(container: dict[str, Any], folder: Path, index: int, code: int) -> tuple[int, list[str]]:
    """The exit code of a pod's shell, and the arguments it has for a `planner` that ends with `code`."""
    program = folder / "planner"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >words\nexit {code}\n')
    program.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": str(index)}
    command = [*container["command"], *container["args"]]
    ended = subprocess.run(command, cwd=folder, env=environment, check=False)
    return ended.returncode, (folder / "words").read_text().splitlines()


@pytest.mark.long
def test_the_parts_of_the_fleet_job_are_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What its pods run, index by index, leaves nothing to ask for the one that makes the table."""
    (job,) = _documents("fleet-job.yaml")
    container = _container(job)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusters").mkdir()
    for number in range(12):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": {ZONE: "a"}}}
        (tmp_path / "clusters" / f"c{number:02}.json").write_text(json.dumps(node))
    (tmp_path / "clusters" / "broken.yaml").write_text("[")
    for index in range(job["spec"]["completions"]):
        _, words = _ran(container, tmp_path, index, 0)
        assert _ran(container, tmp_path, index, run(words))[0] == 0
    kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "answers").iterdir()}
    assert len(kept) == 12
    capsys.readouterr()
    words = shlex.split(container["args"][0].partition(" --part")[0])
    code = run([*words[1:], "-o", "jsonl"])
    assert (code, len(capsys.readouterr().out.splitlines())) == (3, 13)
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "answers").iterdir()} == kept


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 0), (3, 0), (2, 2), (137, 137)])
def test_a_pod_of_the_fleet_job_fails_where_it_has_no_answers(tmp_path: Path, code: int, ends: int) -> None:
    """Findings, and clusters that cannot be read, are rows; every other exit code is the pod's own."""
    (job,) = _documents("fleet-job.yaml")
    assert _ran(_container(job), tmp_path, 0, code)[0] == ends


def test_the_image_is_small_and_nobody_in_it_is_root() -> None:
    """What can be said of a Containerfile without building it."""
    lines = (PACKAGING / "Containerfile").read_text().splitlines()
    stages = [line for line in lines if line.startswith("FROM ")]
    last = lines[lines.index(stages[-1]) :]
    assert [line.split()[1].rpartition(":")[2] not in {"", "latest"} for line in stages] == [True] * len(
        stages
    )
    assert not any(line.startswith("RUN") for line in last)
    (user,) = [line for line in last if line.startswith("USER ")]
    assert user.split()[1].split(":")[0] not in {"0", "root"}
    copied = [
        name
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert not any(re.search(r"ADD |curl|--privileged|sudo", line) for line in lines)
