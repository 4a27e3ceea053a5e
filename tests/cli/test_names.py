"""Names as kubectl spells them, wherever a pod, node or workload is named; `-o name` can be pasted back."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import Object, deployment, node, write

SPELLINGS = [
    "deploy/web",
    "deployment/web",
    "deployments/web",
    "deployment.apps/web",
    "deployment.v1.apps/web",
]


def scaled(name: str, namespace: str, replicas: int, cpu: str = "1") -> Object:
    """A Deployment whose pods wait, as it is applied and nothing else."""
    return deployment(name, replicas, namespace=namespace, cpu=cpu)


@pytest.fixture
def twice(tmp_path: Path) -> str:
    """A workload of the same name in two namespaces; each of them has a pod too large for any node."""
    nodes = [node("a1", "a"), node("b1", "b")]
    return write(
        tmp_path / "c.json", *nodes, scaled("web", "shop", 1, cpu="64"), scaled("web", "bank", 2, cpu="64")
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_explain_takes_workloads(planner: Planner, twice: str, spelling: str) -> None:
    """All pending pods of it, and of no other."""
    ended = planner("explain", spelling, "-n", "bank", "-f", twice, "-o", "name")
    assert ended.code == 1
    assert len(ended.out.splitlines()) == 2
    assert all(line.endswith(" -n bank") for line in ended.out.splitlines())
    assert planner("explain", f"{spelling}.bank", "-f", twice, "-o", "name").out == ended.out


@pytest.mark.parametrize(
    ("command", "spelling"),
    [
        *(("check", spelling) for spelling in SPELLINGS),
        *((command, SPELLINGS[0]) for command in ("simulate", "explain", "solve", "compare", "drain")),
    ],
)
def test_scale_takes_them(planner: Planner, twice: str, spelling: str, command: str) -> None:
    """With -n, with the namespace in the name; without either it is not clear which one is meant."""
    nodes = ["a1"] if command == "drain" else []
    words = [command, *nodes, "-f", twice, "--scale"]
    assert planner(*words, f"{spelling}=0", "-n", "bank").code in {0, 1}
    assert planner(*words, f"{spelling}.bank=0").code in {0, 1}
    ended = planner(*words, f"{spelling}=0")
    assert ended.code == 2
    assert "several namespaces: bank, shop" in ended.err


def test_the_right_one_is_scaled(planner: Planner, twice: str) -> None:
    """Only the pods of the other namespace are left."""
    scale = ("--scale", "deployment.apps/web=0", "-n", "bank")
    found = json.loads(planner("solve", "-f", twice, *scale, "-o", "json").out)
    assert [left["pod"].partition("/")[0] for left in found["unplaced"]] == ["shop"]


def test_scale_down_takes_them(planner: Planner, tmp_path: Path) -> None:
    """As kubectl prints it, with -n."""
    path = write(tmp_path / "c.json", node("a1", "a"), scaled("web", "shop", 3), scaled("web", "bank", 3))
    for words in (("deployment.apps/web=1", "-n", "bank"), ("deploy/web.bank=1",)):
        found = json.loads(planner("scale-down", "-f", path, *words, "-o", "json").out)
        assert [item["namespace"] for item in found["workloads"]] == ["bank"]


@pytest.mark.parametrize(
    "spelling", ["deployment.batch/web", "deployment.apps.example.com/web", "web", "deploy/"]
)
def test_other_kinds_are_not_taken_for_it(planner: Planner, twice: str, spelling: str) -> None:
    """A kind of another group has another name."""
    ended = planner("check", "-f", twice, "--scale", f"{spelling}=1", "-n", "bank")
    assert (ended.code, ended.out) == (2, "")


def test_what_is_printed_can_be_pasted_back(planner: Planner, twice: str) -> None:
    """A line of `-o name` is an argument of explain, and of --delete-pod and --drain."""
    lines = planner("simulate", "-f", twice, "-o", "name").out.splitlines()
    assert len(lines) == 3
    for line in lines:
        ended = planner("explain", *shlex.split(line), "-f", twice, "-o", "json")
        name, _, namespace = shlex.split(line)
        assert json.loads(ended.out)["pod"] == f"{namespace}/{name.removeprefix('pod/')}"
        gone = planner("simulate", "-f", twice, "--delete-pod", *shlex.split(line), "-o", "json")
        assert gone.code in {0, 1}
    for name in planner("drain", "a1", "-f", twice, "-o", "name").out.split():
        assert planner("drain", name, "-f", twice).code in {0, 1}
        assert planner("simulate", "-f", twice, "--cordon", name).code == 1


def test_nodes_are_taken_as_they_are_printed(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: --keep, --nodes and --add-nodes knew no node/NAME, which -o name prints."""
    path = write(tmp_path / "c.json", node("a1", "a"), node("b1", "b"))
    assert planner("consolidate", "-f", path, "-o", "name", "--keep", "node/a1").out == "node/b1\n"
    assert planner("consolidate", "-f", path, "-o", "name", "--nodes", "node/a1").out == "node/a1\n"
    assert planner("consolidate", "-f", path, "--nodes", "node/c1").code == 2
    assert planner("simulate", "-f", path, "--add-nodes", "2=no/a1").code == 0


def test_a_workload_without_pending_pods(planner: Planner, tmp_path: Path) -> None:
    """It is there, so it is no error; there is nothing to explain."""
    path = write(tmp_path / "c.json", node("a1", "a"), scaled("web", "shop", 0), scaled("db", "shop", 1))
    assert planner("explain", "deploy/web", "-f", path).out == "No pod stays pending.\n"
    ended = planner("explain", "deploy/wep", "-f", path)
    assert ended.code == 2
    assert "did you mean web" in ended.err


def test_what_scale_down_cannot_find_is_told(planner: Planner, tmp_path: Path) -> None:
    """Every one by what was typed, and two spellings of one workload are a mistake."""
    path = write(tmp_path / "c.json", node("a1", "a"), scaled("web", "shop", 3))
    typed = ("deploy/wep=1", "deploy/web=1", "deployment/web=2")
    ended = planner("scale-down", "-f", path, "-n", "shop", *typed)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "error: deploy/wep=1: there is no Deployment wep in namespace shop (did you mean web?)",
        "error: deployment/web=2: Deployment/web.shop is named twice",
    ]
