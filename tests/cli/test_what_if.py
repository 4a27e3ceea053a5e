"""The what-if flags as they are typed: every command has them, they are told apart, mistakes are one line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write

COMMANDS = ("check", "simulate", "solve")
WITH_FLAGS = (*COMMANDS, "scale-down")
FLAGS = ("--drain", "--remove-node", "--cordon", "--add-nodes", "--scale", "--delete-pod")


@pytest.fixture
def zones(tmp_path: Path) -> str:
    """Two zones with a node each, a Deployment of two that is yet to be placed, and a bare pod."""
    objects = [node("a1", "a"), node("b1", "b"), deployment("web", 2), pod("bare", on="a1", app="bare")]
    return write(tmp_path / "zones.json", *objects)


@pytest.mark.parametrize("command", WITH_FLAGS)
def test_every_command_has_the_flags(planner: Planner, command: str) -> None:
    """Under the same names, and `--changes` is no option."""
    text = planner(command, "--help").out
    assert all(f"  {flag} " in text for flag in FLAGS)
    assert "--changes" not in text
    assert planner(command, "--changes", "x").code == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_without_flags_nothing_changes(planner: Planner, zones: str, command: str) -> None:
    """The document has no notes about changes."""
    assert json.loads(planner(command, "-f", zones, "-o", "json").out)["notes"] == []


def placed(planner: Planner, zones: str, *flags: str) -> dict[str, str | None]:
    """Where `simulate` puts the pods."""
    found = json.loads(planner("simulate", "-f", zones, "-o", "json", *flags).out)
    return {item["pod"].split("-")[-1]: item["node"] for item in found["decisions"]}


def test_flags_work_in_simulate(planner: Planner, zones: str) -> None:
    """Each of them, with its effect on where the pods go."""
    assert sorted(map(str, placed(planner, zones).values())) == ["a1", "b1"]
    assert sorted(map(str, placed(planner, zones, "--cordon", "b1").values())) == ["None", "a1"]
    assert set(placed(planner, zones, "--remove-node", "b1").values()) == {"a1"}
    assert len(placed(planner, zones, "--scale", "deploy/web=5")) == 5
    assert len(placed(planner, zones, "--delete-pod", "shop/bare")) == 2
    added = placed(
        planner, zones, "--add-nodes", "1=a1,topology.kubernetes.io/zone=c", "--scale=deploy/web=3"
    )
    assert set(added.values()) == {"a1", "a1-1", "b1"}


def test_the_order_counts(planner: Planner, zones: str) -> None:
    """A node that is added after the zone was removed stays; one that is added before goes with it."""
    zone = ("--remove-node", "topology.kubernetes.io/zone=b")
    more = ("--add-nodes", "1=a1,topology.kubernetes.io/zone=b")
    assert set(placed(planner, zones, *zone, *more).values()) == {"a1", "a1-1"}
    assert set(placed(planner, zones, *more, *zone).values()) == {"a1"}
    again = (*zone, *more, "--cordon", "a1", *zone)
    assert placed(planner, zones, *again) == {"1": None, "2": None}


def test_flags_work_in_check_and_solve(planner: Planner, zones: str) -> None:
    """`check` sees the domains that are left; `solve` places what is left to place."""
    report = json.loads(planner("check", "-f", zones, "-o", "json", "--remove-node", "b1").out)
    assert report["constraints"][0]["domains"] == {"a": 0}
    plan = json.loads(planner("solve", "-f", zones, "-o", "json", "--remove-node", "b1").out)
    assert {step["node"] for step in plan["steps"]} == {"a1"}


def test_a_node_may_come_from_a_file(planner: Planner, zones: str, tmp_path: Path) -> None:
    """Any file with one Node in it."""
    big = write(tmp_path / "big.json", node("big", "c", cpu="64"))
    found = placed(planner, zones, "--add-nodes", f"2={big}", "--cordon", "a1", "--cordon", "b1")
    assert set(found.values()) <= {"big-1", "big-2", None}
    assert "big-1" in found.values()


def test_what_is_unusual_is_a_note(planner: Planner, zones: str) -> None:
    """On standard error, and in the document."""
    ended = planner("simulate", "-f", zones, "--drain", "a1", "-o", "json")
    (note,) = json.loads(ended.out)["notes"]
    assert note.startswith("drain a1: 1 pod without a controller, lost for good: shop/bare")
    assert ended.err == f"note: {note}\n"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--drain", "zz"], "--drain zz: there is no node zz in the cluster"),
        (["--cordon", "zz"], "--cordon zz: there is no node zz in the cluster"),
        (
            ["--remove-node", "disk=ssd"],
            "--remove-node disk=ssd: there is no node with disk=ssd in the cluster",
        ),
        (["--delete-pod", "zz"], "--delete-pod zz: there is no pod zz in the cluster"),
        (["--scale", "web"], "--scale web: expected KIND/NAME[.NS]=REPLICAS, such as deployment/web.shop=3"),
        (["--scale", "deploy/web=two"], "--scale deploy/web=two: expected KIND/NAME[.NS]=REPLICAS, such as "),
        (["--scale", "deploy/web=-1"], "--scale deploy/web=-1: expected KIND/NAME[.NS]=REPLICAS, such as "),
        (["--scale", "deploy/webb=3"], "--scale deploy/webb=3: there is no Deployment webb in the cluster"),
        (
            ["--add-nodes", "a1"],
            "--add-nodes a1: expected N=NODE or N=FILE, and labels after it: 3=a1,disk=ssd",
        ),
        (["--add-nodes", "2=a1,ssd"], "--add-nodes 2=a1,ssd: expected N=NODE or N=FILE, and labels after it"),
        (["--add-nodes", "2=a1,=ssd"], "--add-nodes 2=a1,=ssd: expected N=NODE or N=FILE, and labels"),
        (["--add-nodes", "2=zz"], "--add-nodes 2=zz: neither a node of the cluster nor a file"),
        (["--remove-node", "b1", "--drain", "b1"], "--drain b1: there is no node b1 in the cluster"),
    ],
)
def test_a_mistake_is_one_line(planner: Planner, zones: str, flags: list[str], line: str) -> None:
    """It names the flag with its value, what was expected or what is missing; exit code 2, no document."""
    ended = planner("simulate", "-f", zones, *flags)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {line}")
    assert ended.err.count("\n") == 1


def test_a_file_with_two_nodes_is_no_pattern(planner: Planner, zones: str, tmp_path: Path) -> None:
    """Which of them is not for the planner to say."""
    two = write(tmp_path / "two.json", node("x"), node("y"))
    ended = planner("simulate", "-f", zones, "--add-nodes", f"1={two}")
    assert (ended.code, ended.err.endswith(f"{two}: expected one Node, found 2\n")) == (2, True)


def test_a_broken_file_is_told_as_elsewhere(planner: Planner, zones: str, tmp_path: Path) -> None:
    """With file, object and field."""
    broken = node("x")
    broken["spec"]["taints"] = [{"key": "k", "effect": "Never"}]
    file = write(tmp_path / "broken.json", broken)
    ended = planner("simulate", "-f", zones, "--add-nodes", f"1={file}")
    assert ended.code == 2
    assert "Node x, spec.taints[0].effect: expected " in ended.err


def test_a_flag_without_a_value_is_a_usage_error(planner: Planner, zones: str) -> None:
    """As with every option."""
    ended = planner("simulate", "-f", zones, "--drain")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "--drain" in ended.err


def test_a_scheduler_configuration_counts_on_every_command(planner: Planner, tmp_path: Path) -> None:
    """The same file with -f gives the same answer; a file without a configuration is refused."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}},
            }
        ],
    }
    small, large = node("a1", "a"), pod("p", app="p")
    large["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "99"}}
    files = {}
    for name, objects in {"cluster": [small, large], "config": [config]}.items():
        files[name] = str(tmp_path / f"{name}.json")
        Path(files[name]).write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    assert planner("simulate", "-f", files["cluster"]).code == 1
    told = planner("simulate", "-f", files["cluster"], "--scheduler-config", files["config"])
    assert (told.code, told.out) == (
        0,
        planner("simulate", *("-f", files["cluster"], "-f", files["config"])).out,
    )
    refused = planner("simulate", "-f", files["cluster"], "--scheduler-config", files["cluster"])
    assert refused.code == 2
    assert "no KubeSchedulerConfiguration is in it" in refused.err
