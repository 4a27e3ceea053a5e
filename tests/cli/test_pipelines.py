"""What pipelines read: annotations, reports, and a workflow that is carried out step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from cli.output.forms.pipelines import github, gitlab, junit
from cli.output.junit_cases import JUnitCase
from tests.cli.conftest import Planner

ROOT = Path(__file__).parents[2]
STORY = "examples/50-rollout-half-way"
WRONG = JUnitCase("rollout", "shop", "Deployment/web", '100% <stuck>,\nfor \x1b good & "ever"')
WELL = JUnitCase("rollout", "shop", "Deployment/api")


def test_annotations_are_one_line_each_and_escaped() -> None:
    """A line break or a colon in a message would end the command or its title."""
    (line, note) = github([WRONG, WELL], ["a\nb"], {("shop", "Deployment/web"): "a,b.yaml"})
    head = "::error file=a%2Cb.yaml,title=Deployment/web in shop%3A rollout::"
    assert line == f'{head}100%25 <stuck>,%0Afor \x1b good & "ever"'
    assert note == "::notice title=planner::a%0Ab"


def test_a_report_of_tests_is_xml_whatever_is_in_it() -> None:
    """Markup, quotes and control characters of messages stay text or go."""
    suite = ElementTree.fromstring("\n".join(junit([WRONG, WELL], "Rollout")))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [len(case) for case in suite] == [1, 0]
    assert suite[0][0].text == '100% <stuck>,\nfor  good & "ever"'


def test_a_report_of_quality_knows_a_finding_again() -> None:
    """The fingerprint stays when another number of runs stops."""
    other = JUnitCase(WRONG.what, WRONG.namespace, WRONG.subject, "stops in another run")
    found = [json.loads(gitlab([case, WELL], {})) for case in (WRONG, other)]
    assert [len(items) for items in found] == [1, 1]
    assert found[0][0]["fingerprint"] == found[1][0]["fingerprint"]
    assert found[0][0]["location"] == {"path": "Deployment/web in shop", "lines": {"begin": 1}}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("rollout", "-f", f"{STORY}/next/too-large.yaml", "--snapshot", STORY, "--replays", "1"), 1),
        (("check", "-f", STORY), 0),
        (("check", "-f", "examples/10-after-scale-down"), 1),
        (("simulate", "-f", "examples/30-stuck-by-an-empty-zone"), 1),
        (("drain", "pool=old", "-f", "examples/51-drain-a-pool"), None),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_form_tells_the_same(
    planner: Planner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    code: int | None,
) -> None:
    """As many errors as failures as entries, and none without a finding."""
    monkeypatch.chdir(ROOT)
    report = tmp_path / "report.xml"
    annotated = planner(*command, "-o", "github", "--junit", str(report))
    quality = json.loads(planner(*command, "-o", "gitlab").out)
    suite = ElementTree.parse(report).getroot()[0]
    told = int(suite.get("failures", "-1"))
    assert told == annotated.out.count("::error ") == len(quality)
    assert (told > 0) == (annotated.code == 1)
    assert code in {None, annotated.code}


@pytest.mark.parametrize(
    "command",
    [
        "solve -o github",
        "compare -o gitlab",
        "capacity -o github",
        "check --survive topology.kubernetes.io/zone -o github",
        "check --survive topology.kubernetes.io/zone --junit report.xml",
        "rollout --scale deployment/web=1,2 -o gitlab",
    ],
)
def test_other_documents_have_no_cases(planner: Planner, command: str) -> None:
    """A plan is no list of findings: that is said before anything is read, and there is no empty report."""
    file = "--snapshot" if command.startswith("rollout") else "-f"
    ended = planner(*command.split(), file, "no-such-file")
    assert ended.code == 2
    assert "no-such-file" not in ended.err
    assert "gitlab" in ended.err or "check, simulate, rollout and drain" in ended.err


@pytest.mark.parametrize("option", [("--restart",), ("--prune", "app=web"), ("-f", "web.yaml")])
def test_what_is_about_manifests_is_refused_where_none_are_applied(
    planner: Planner, option: tuple[str, ...]
) -> None:
    """What went wrong: --restart and --prune were passed over beside several numbers of replicas."""
    ended = planner("rollout", "--snapshot", "no-such-file", "--scale", "deployment/web=1,2", *option)
    assert (ended.code, ended.out) == (2, "")
    assert "no -f, --restart, --prune, --junit" in ended.err


@pytest.mark.long
def test_the_workflow_does_what_it_says(tmp_path: Path) -> None:
    """Its steps as a runner would carry them out: the gate fails, with the line, and the report is there."""
    workflow = yaml.safe_load((ROOT / STORY / "github/workflow.yaml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["rollout"]["steps"] if "run" in step]
    bin_folder, summary = tmp_path / "bin", tmp_path / "summary.md"
    bin_folder.mkdir()
    planner = bin_folder / "planner"
    planner.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from cli.main import main; main()" "$@"\n')
    planner.chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ended = [
        subprocess.run(
            ["sh", "-e", "-c", step],
            cwd=tmp_path,
            env={**environment, "GITHUB_STEP_SUMMARY": str(summary)},
            capture_output=True,
            text=True,
            check=False,
        )
        for step in steps
        if not step.startswith("pip ")
    ]
    assert [item.returncode for item in ended] == [0, 1, 0]
    assert ended[1].stdout.startswith(f"::error file={STORY}/next/too-large.yaml,")
    assert (tmp_path / "rollout.xml").exists()
    assert "Completes in 0 of 21 runs" in summary.read_text()


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]}
"""
#: As `helm template` prints it: comments, empty documents, a hook.
CHART = f"""---
# Source: web/templates/serviceaccount.yaml

---
# Source: web/templates/deployment.yaml
{DEPLOYMENT.strip()}
---
# Source: web/templates/tests/test.yaml
apiVersion: v1
kind: Pod
metadata: {{name: web-test, annotations: {{helm.sh/hook: test}}}}
spec: {{containers: [{{name: wget, image: busybox}}]}}
"""


def test_a_chart_as_helm_prints_it(planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workloads roll, whatever else is between them."""
    (tmp_path / "chart.yaml").write_text(CHART)
    monkeypatch.chdir(ROOT)
    words = ("--snapshot", STORY, "--replays", "0", "-n", "shop", "-o", "json")
    ended = planner("rollout", "-f", str(tmp_path / "chart.yaml"), *words)
    rows = json.loads(ended.out)["workloads"]
    assert [(row["namespace"], row["workload"], row["completes"]) for row in rows] == [
        ("shop", "Deployment/web", True)
    ]


def test_a_folder_of_kustomize_is_built(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patches are no manifests of their own: kubectl puts them together, and its words are told when not."""
    folder, bin_folder = tmp_path / "overlay", tmp_path / "bin"
    for item in (folder, bin_folder):
        item.mkdir()
    (folder / "kustomization.yaml").write_text("resources: [base.yaml]\n")
    (folder / "patch.yaml").write_text("kind: Deployment\n")
    built = tmp_path / "built.yaml"
    built.write_text(DEPLOYMENT)
    kubectl = bin_folder / "kubectl"
    kubectl.write_text(f'#!/bin/sh\n[ "$*" = "kustomize {folder}" ] && cat {built}\n')
    kubectl.chmod(0o755)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    words = ("--snapshot", STORY, "--replays", "0", "-n", "shop")
    ended = planner("rollout", "-f", str(folder), *words, "-o", "json")
    assert [row["completes"] for row in json.loads(ended.out)["workloads"]] == [True]
    # Only rollout built it: others read base.yaml beside a note about a Kustomization, and no patch of it.
    simulated = planner("simulate", "-f", STORY, "-f", str(folder), "-n", "shop")
    assert (simulated.code, simulated.err) == (0, "")
    assert "1 pod placed." in simulated.out
    kubectl.write_text("#!/bin/sh\necho 'error: no such base' >&2\nexit 1\n")
    for command in (("rollout", *words), ("simulate", "-f", STORY)):
        refused = planner(*command, "-f", str(folder))
        assert (refused.code, refused.err) == (2, f"error: {folder}: kubectl kustomize: no such base\n")
