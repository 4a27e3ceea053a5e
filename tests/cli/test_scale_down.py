"""`planner scale-down` as it is typed: the two choices, the script, exit codes, mistakes."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from models.objects.annotations import DELETION_COST
from planner.documents.plan import ScaleDown
from tests.builders import HOST, node, replica, revision, scaled, spread
from tests.cli.conftest import Planner
from tests.cli.manifests import write

READY = [{"type": "Ready", "status": "True"}]


def deployed(path: Path, on: dict[str, str], name: str = "web", **words: Any) -> str:
    """A file with a Deployment in namespace shop over zones a and b, its pods on these nodes."""
    words.setdefault("spread", [spread(app=name)])
    owner = scaled("Deployment", name, len(on), namespace="shop", **words)
    current = revision(owner)
    pods = [replica(current, pod, place, conditions=READY, uid=pod) for pod, place in on.items()]
    return write(path, node("a1", "a"), node("a2", "a"), node("b1", "b"), owner, current, *pods)


@pytest.fixture
def lopsided(tmp_path: Path) -> str:
    """Two pods share the only node of zone b, so the controller would take one of these."""
    return deployed(tmp_path / "lopsided.json", {"one": "a1", "two": "a2", "three": "b1", "four": "b1"})


def test_both_choices_are_shown(planner: Planner, lopsided: str) -> None:
    """Which pods go by which choice, the spread after each, and where they differ."""
    ended = planner("scale-down", "-f", lopsided, "deployment/web=2")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines[2] == ["NAMESPACE", "NAME", "CONTROLLER", "BEST"]
    assert ["shop", "four", "goes", "goes"] in lines
    assert ["shop", "three", "goes", "stays"] in lines
    told = (
        "shop Deployment/web over zone, DoNotSchedule: skew 2 -> 0, maxSkew 1; the controller's choice leaves"
    )
    assert told in ended.out
    assert ["a", "██", "2", "█", "1"] in lines
    assert ["b", "0", "█", "1"] in lines
    assert ended.verdict == "2 pods go: the best choice leaves no pods too many, the controller's leaves 1."


def test_skews_of_several_constraints_are_called_a_sum(planner: Planner, tmp_path: Path) -> None:
    """`leaves skew 2` stood above constraints none of which has it: all skews were added up."""
    pods = {"one": "a1", "two": "a2", "three": "b1", "four": "b1"}
    path = deployed(tmp_path / "loose.json", pods, spread=[spread(skew=3), spread(HOST, skew=3)])
    told = planner("scale-down", "-f", path, "deployment/web=2").verdict
    assert told == "2 pods go: the best choice leaves skews of 1 in all, the controller's leaves 3."


def test_json_is_the_document(planner: Planner, lopsided: str) -> None:
    """It validates, and is proved."""
    ended = planner("scale-down", "-f", lopsided, "deploy/web=2", "-o", "json")
    document = ScaleDown.model_validate_json(ended.out)
    assert document.status == "Optimal"
    assert [stage.name for stage in document.objective] == [
        "hardExcess",
        "softExcess",
        "skew",
        "controllersVictims",
    ]
    assert document.controller.victims == ("shop/four", "shop/three")
    assert [(item.namespace, item.workload, item.heeds_deletion_costs) for item in document.workloads] == [
        ("shop", "Deployment/web", True)
    ]


def rows(script: str, verb: str) -> list[list[str]]:
    """The words of every line of the plan that begins with this one."""
    plan = script.partition("plan() {\n")[2].partition("\n}\n")[0]
    found = (shlex.split(line, comments=True) for line in plan.splitlines())
    return [words[1:] for words in found if words[:1] == [verb]]


def test_the_script_annotates_and_scales(planner: Planner, lopsided: str, tmp_path: Path) -> None:
    """Done to the snapshot as it stands there, the controller takes the best choice."""
    ended = planner("scale-down", "-f", lopsided, "deploy/web=2", "-o", "json")
    best = json.loads(ended.out)["best"]["victims"]
    script = planner("scale-down", "-f", lopsided, "deploy/web=2", "-o", "script").out
    assert rows(script, "scale") == [["shop", "Deployment/web", "4", "2"]]
    [(namespace, value, pods)] = rows(script, "cost")
    assert namespace == "shop"
    assert [f"shop/{name}" for name in pods.split()] == sorted(best)
    assert sorted(f"shop/{name}" for _, name, _ in rows(script, "goes")) == sorted(best)
    assert len(rows(script, "stays")) == 2
    objects = json.loads(Path(lopsided).read_text())["items"]
    for item in objects:
        if item["metadata"]["name"] in pods.split():
            item["metadata"].setdefault("annotations", {})[DELETION_COST] = value
    annotated = write(tmp_path / "annotated.json", *objects)
    after = json.loads(planner("scale-down", "-f", annotated, "deploy/web=2", "-o", "json").out)
    assert sorted(after["controller"]["victims"]) == sorted(best)
    assert planner("check", "-f", annotated, "--scale", "deploy/web=2").code == 0
    assert planner("check", "-f", lopsided, "--scale", "deploy/web=2").code == 1


def test_a_name_that_no_cluster_has_is_refused(planner: Planner, tmp_path: Path) -> None:
    """A snapshot may come from anywhere, and a script is run."""
    file = deployed(tmp_path / "c.json", {"x; reboot": "a1", "y; reboot": "a1", "z": "b1"})
    ended = planner("scale-down", "-f", file, "deploy/web=2", "-o", "script")
    assert (ended.code, ended.out) == (2, "")
    assert "reboot" in ended.err


def test_a_stateful_set_is_not_annotated(planner: Planner, tmp_path: Path) -> None:
    """A note says why, and the script only scales; it waits for the pod that the controller takes."""
    owner = scaled("StatefulSet", "db", 2, spread=[spread(app="db")])
    pods = [replica(owner, f"db-{number}", "a1") for number in range(2)]
    file = write(tmp_path / "db.json", node("a1", "a"), owner, *pods)
    ended = planner("scale-down", "-f", file, "sts/db=1", "-o", "script")
    assert ended.err.startswith("note: StatefulSet default/db does not look at deletion costs: ")
    assert rows(ended.out, "cost") == []
    assert rows(ended.out, "scale") == [["default", "StatefulSet/db", "2", "1"]]
    assert [name for _, name, _ in rows(ended.out, "goes")] == ["db-1"]


QUOTA: Any = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "shop"},
    "spec": {"hard": {"pods": "4"}},
}


def test_pods_that_a_quota_refuses_do_not_go(planner: Planner, lopsided: str, tmp_path: Path) -> None:
    """They were named as if they were there, and the script, which missed them, said to plan again."""
    objects = json.loads(Path(lopsided).read_text())["items"]
    for item in objects:
        if item["kind"] in {"Deployment", "ReplicaSet"}:
            item["spec"]["replicas"] = 6
    file = write(tmp_path / "quota.json", *objects, QUOTA)
    words = ("scale-down", "-f", file, "deploy/web=3")
    assert json.loads(planner(*words, "-o", "json").out)["best"]["victims"] == ["shop/four"]
    script = planner(*words, "-o", "script").out
    assert (rows(script, "scale"), len(rows(script, "goes"))) == ([["shop", "Deployment/web", "6", "3"]], 1)
    assert len(rows(script, "stays")) == 3


def test_a_script_scales_from_the_number_that_is_asked_for(planner: Planner, tmp_path: Path) -> None:
    """It was the number of pods: that of a set that waits for one, or of a Job near its end, is another."""
    owner = scaled("StatefulSet", "db", 4)
    there = [{"type": "Ready", "status": status} for status in ("True", "False")]
    pods = [replica(owner, f"db-{number}", "a1", conditions=[there[number]]) for number in range(2)]
    job = scaled("Job", "sums", 5)
    template = job["spec"]["template"]
    job |= {"apiVersion": "batch/v1", "status": {"succeeded": 3, "active": 2}}
    job["spec"] = {"template": template, "parallelism": 5, "completions": 5}
    pods += [replica(job, f"sums-{number}", "a1") for number in range(2)]
    file = write(tmp_path / "c.json", node("a1", "a"), owner, job, *pods)
    script = planner("scale-down", "-f", file, "sts/db=1", "job/sums=1", "-o", "script").out
    assert rows(script, "scale") == [
        ["default", "StatefulSet/db", "4", "1"],
        ["default", "Job/sums", "5", "1"],
    ]
    assert {name for _, name, _ in rows(script, "goes")} in ({"db-1", "sums-0"}, {"db-1", "sums-1"})


def test_a_rollout_that_goes_on_is_told(planner: Planner, tmp_path: Path) -> None:
    """What it takes and makes is not played; the script scales from what the Deployment asks for."""
    file = deployed(tmp_path / "c.json", {"one": "a1", "two": "a2", "three": "b1", "four": "b1"})
    objects = json.loads(Path(file).read_text())["items"]
    (owner,) = (item for item in objects if item["kind"] == "Deployment")
    new = revision(owner, 2)
    pod = replica(new, "five", "b1", conditions=READY, uid="five")
    rolling = write(tmp_path / "rolling.json", *objects, new, pod)
    ended = planner("scale-down", "-f", rolling, "deploy/web=3", "-o", "script")
    assert "note: Deployment shop/web is being rolled out: " in ended.err
    assert rows(ended.out, "scale") == [["shop", "Deployment/web", "4", "3"]]


def test_names_are_the_pods_that_should_go(planner: Planner, lopsided: str) -> None:
    """One line for each."""
    ended = planner("scale-down", "-f", lopsided, "deploy/web=3", "-o", "name")
    assert ended.out in ("pod/three -n shop\n", "pod/four -n shop\n")


@pytest.mark.parametrize("output", ["wide", "json", "yaml", "name", "script"])
def test_what_cannot_be_repaired_is_1(planner: Planner, tmp_path: Path, output: str) -> None:
    """All replicas are in one zone, and the constraint stays broken whichever goes; in every form."""
    file = deployed(tmp_path / "c.json", {"one": "a1", "two": "a1", "three": "a2", "four": "a2"})
    assert planner("scale-down", "-f", file, "deploy/web=3", "-o", output).code == 1
    assert planner("scale-down", "-f", file, "deploy/web=1", "-o", output).code == 0


def test_where_the_controller_does_well(planner: Planner, tmp_path: Path) -> None:
    """That is said as well; and so is that nothing goes."""
    file = deployed(tmp_path / "c.json", {"one": "a1", "two": "a1", "three": "b1"})
    assert planner("scale-down", "-f", file, "deploy/web=2").verdict == (
        "1 pod goes: the controller takes it, or others as good, by itself, and no choice is better."
    )
    assert planner("scale-down", "-f", file, "deploy/web=3").verdict == "No pods go."


def test_a_long_list_is_summed_up(planner: Planner, tmp_path: Path) -> None:
    """More than fifty victims are listed only with -o wide or -v."""
    pods = {f"web-{number:03}": ("a1", "b1")[number % 2] for number in range(70)}
    file = deployed(tmp_path / "many.json", pods)
    assert "goes" not in planner("scale-down", "-f", file, "deploy/web=10").out.splitlines()[1]
    assert planner("scale-down", "-f", file, "deploy/web=10", "-o", "wide").out.count(" goes") >= 60
    verbose = planner("scale-down", "-f", file, "deploy/web=10", "-v").out
    assert "controllersVictims" in verbose
    script = planner("scale-down", "-f", file, "deploy/web=10", "-o", "script").out
    assert len(rows(script, "cost")[0][2].split()) == 60


def test_a_long_list_begins_with_what_differs(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: 20 of 65 pods were shown, and none that only one of the choices takes."""
    pods = {f"web-{number:03}": ("a1" if number < 60 else "b1") for number in range(70)}
    lines = planner(
        "scale-down", "-f", deployed(tmp_path / "many.json", pods), "deploy/web=10"
    ).out.splitlines()
    first = [line.split()[2:] for line in lines[3:13]]
    assert sorted(first) == [["goes", "stays"]] * 5 + [["stays", "goes"]] * 5


def test_what_if_flags_come_first(planner: Planner, lopsided: str) -> None:
    """The question is asked about the changed cluster."""
    ended = planner("scale-down", "-f", lopsided, "deploy/web=3", "--scale", "deploy/web=6", "-o", "json")
    assert json.loads(ended.out)["workloads"][0]["replicasBefore"] == 6


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["web=2"], "web=2: web: expected KIND/NAME or KIND/NAME.NAMESPACE, the kind one of"),
        (["deploy/web"], "deploy/web: expected KIND/NAME[.NS]=REPLICAS, such as deployment/web.shop=3"),
        (["deploy/web=9"], "deploy/web=9: that is no scale-down, there are 4 replicas"),
        (["deploy/web=2", "deploy/web=3"], "deploy/web=3: deploy/web has another number already, 2"),
        (["deploy/wob=2"], "deploy/wob=2: there is no Deployment wob in the cluster"),
        ([], "Missing argument"),
    ],
)
def test_a_mistake_is_one_line(planner: Planner, lopsided: str, words: list[str], line: str) -> None:
    """With the words that were typed; exit code 2, and no document."""
    ended = planner("scale-down", "-f", lopsided, *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"error: {line}")


def test_several_mistakes_are_told_at_once(planner: Planner, lopsided: str) -> None:
    """A line for each."""
    ended = planner("scale-down", "-f", lopsided, "deploy/x=1", "deploy/web=9")
    assert (ended.code, ended.err.count("\n")) == (2, 2)
