"""`planner compare` as it is typed: exit codes, every form of the comparison, the options."""

import json
import re
from pathlib import Path

import pytest
import yaml

from planner.documents.comparison import Comparison
from tests.builders import claim, volume
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write


@pytest.fixture
def overfull(tmp_path: Path) -> str:
    """A pod that fits and one that fits nowhere, of different priorities."""
    return write(tmp_path / "overfull.json", node("a1"), pod("small"), pod("huge", cpu="64", priority=5))


def rows(text: str) -> dict[str, list[str]]:
    """The figures of every row, by its label."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {parts[0]: parts[1:] for parts in cells if len(parts) > 1}


def test_all_placed_is_0(planner: Planner, fragmented: str) -> None:
    """What kube-scheduler leaves over is no finding when a plan places it."""
    ended = planner("compare", "-f", fragmented)
    assert (ended.code, ended.err) == (0, "")
    assert ended.verdict == "1 more pod placed than by kube-scheduler: all 3 of them."


@pytest.mark.parametrize("output", [(), ("-o", "json"), ("-o", "wide"), ("-o", "yaml"), ("-o", "name")])
def test_a_pod_left_over_by_the_plan_is_1(planner: Planner, overfull: str, output: tuple[str, ...]) -> None:
    """In whatever form it is printed."""
    assert planner("compare", "-f", overfull, *output).code == 1


def test_nothing_pending_is_0(planner: Planner, tmp_path: Path) -> None:
    """No batch, no table."""
    ended = planner("compare", "-f", write(tmp_path / "quiet.json", node("a1"), pod("web", on="a1")))
    assert (ended.code, ended.out) == (0, "There are no pods to place.\n")


def test_the_table(planner: Planner, fragmented: str) -> None:
    """A figure a row: now, kube-scheduler, its draws, the plan; rows without a difference are folded."""
    found = rows(planner("compare", "-f", fragmented, "--replays", "3").out)
    assert found["FIGURE"] == ["NOW", "KUBE-SCHEDULER", "3 DRAWN", "OPTIMUM"]
    assert found["pods placed, of 3"] == ["0", "2", "2", "3"]
    assert found["nodes used, of 2"] == ["0", "2", "2", "2"]
    assert found["cpu requested"] == ["0%", "12.5%", "12.5%", "62.5%"]
    assert not any(label.startswith(("priority", "pods evicted")) for label in found)
    everything = rows(planner("compare", "-f", fragmented, "--replays", "3", "-v").out)
    assert everything["pods evicted"] == ["0", "0", "0", "0"]


def test_draws_that_differ_are_told_apart(planner: Planner) -> None:
    """A cell has the worst, the median and the best draw, and a line below says so."""
    ended = planner("compare", "-f", "examples/13-rack-grid", "--replays", "20")
    named, drawn = rows(ended.out)["pods placed, of 9"][1:3]
    worst, median, best = map(int, drawn.split("/"))
    assert worst <= median <= best <= 9
    assert worst <= int(named) <= 9
    assert "of draws: the worst/the median/the best run" in ended.out


@pytest.mark.parametrize("way", ["kube-scheduler", "descheduler"])
def test_a_column_is_asked_for(planner: Planner, fragmented: str, way: str) -> None:
    """Descheduler of pending pods, kube-scheduler of running ones: a column that is not there unasked."""
    running = "examples/40-scale-down-repaired"
    for path, unasked in ((fragmented, "kube-scheduler"), (running, "descheduler")):
        heads = rows(planner("compare", "-f", path, "--with", way).out)["FIGURE"]
        assert way.upper() in heads
        assert unasked.upper() in heads
    assert planner("compare", "-f", fragmented, "--with", "nothing").code == 2


def test_afresh_compares_today_with_both_from_nothing(planner: Planner) -> None:
    """Running pods are taken as pending; the first sentence says how far today is from both."""
    ended = planner("compare", "-f", "examples/40-scale-down-repaired", "--afresh")
    assert (ended.code, ended.err) == (0, "")
    assert ended.verdict == (
        "Placed from nothing, 3 pods fit either way; pods beyond maxSkew: 1 today, 0 after kube-scheduler, "
        "0 at best."
    )
    found = rows(ended.out)
    assert found["pods placed, of 3"] == ["3", "3", "3", "3"]
    assert found["domains over maxSkew"] == ["1", "0", "0", "0"]
    assert found["pods on other nodes than now"] == ["0", "1", "1", "1"]
    told = json.loads(
        planner("compare", "-f", "examples/40-scale-down-repaired", "--afresh", "-o", "json").out
    )
    assert told["question"] == "afresh"
    assert [column["name"] for column in told["columns"]] == ["now", *["kubeScheduler"] * 4, "optimum"]


def test_pods_that_descheduler_leaves_pending_are_told_first(planner: Planner, tmp_path: Path) -> None:
    """It evicts pods that their volumes hold in a zone; the first sentence counted pods too many alone."""
    claims = [claim(f"d{n}", f"v{n}") for n in range(3)]
    volumes = [volume(f"v{n}", ["a"]) for n in range(3)]
    uses = [[{"name": "d", "persistentVolumeClaim": {"claimName": f"d{n}"}}] for n in range(3)]
    words = {"app": "db", "namespace": "default", "owner": "ReplicaSet/db", "spread": "DoNotSchedule"}
    pods = [pod(f"db-{n}", on="a1", volumes=uses[n], **words) for n in range(3)]
    path = write(tmp_path / "zonal.json", node("a1", "a"), node("b1", "b"), *claims, *volumes, *pods)
    told = planner("compare", "-f", path).verdict
    assert "and leaves up to 2 pods without a node" in told


def test_afresh_with_nothing_to_place(planner: Planner, tmp_path: Path) -> None:
    """A bare pod would not come again."""
    ended = planner(
        "compare", "-f", write(tmp_path / "bare.json", node("a1"), pod("web", on="a1")), "--afresh"
    )
    assert (ended.code, ended.verdict) == (0, "No controller would make any of these pods again.")


def test_priorities_have_their_rows(planner: Planner, overfull: str) -> None:
    """Where there are several, each is told by itself; what is left over is said to be proved."""
    ended = planner("compare", "-f", overfull)
    assert rows(ended.out)["priority 5, of 1"] == ["0", "0", "0", "0"]
    assert rows(ended.out)["priority 0, of 1"] == ["0", "1", "1", "1"]
    assert ended.verdict == (
        "As many pods placed as by kube-scheduler, 1 left over: proved that no plan is better."
    )


def test_what_is_not_proved_is_not_called_the_optimum(planner: Planner, tmp_path: Path) -> None:
    """Without time the column promises no more than what was found."""
    small = [pod(f"small-{number}", cpu="1500m") for number in range(5)]
    path = write(tmp_path / "tight.json", node("a1"), node("b1"), *small)
    proved = planner("compare", "-f", path).out.splitlines()
    assert "OPTIMUM" in proved[2]
    assert proved[0].endswith("1 left over: proved that no plan is better.")
    hasty = planner("compare", "-f", path, "--time-limit", "0").out.splitlines()
    assert "BEST FOUND" in hasty[2]
    assert hasty[0].endswith("1 left over; a better plan is not ruled out.")


def test_nothing_is_wider_than_the_screen(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long names of workloads, resources and domains are folded or shortened at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    zones = [f"a-very-long-name-of-a-region-and-a-building-{number}" for number in range(3)]
    nodes = [node(f"n{number}", zone) for number, zone in enumerate(zones)]
    path = write(tmp_path / "long.json", *nodes, deployment("w" * 60, 4, namespace="n" * 50))
    lines = planner("compare", "-f", path).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("…" in line for line in lines)


def test_many_domains_are_summed_up(planner: Planner, tmp_path: Path) -> None:
    """More than a handful: how many hold how many; -o wide has them all, and the full key."""
    nodes = [node(f"n{number}", f"zone-{number}") for number in range(9)]
    path = write(tmp_path / "zones.json", *nodes, deployment("web", 10))
    out = planner("compare", "-f", path).out
    assert "\n  now              9 zones hold 0\n" in out
    assert "\n  kube-scheduler   8 zones hold 1, 1 holds 2\n" in out
    wide = planner("compare", "-f", path, "-o", "wide").out
    assert sum(line.startswith("  zone-") for line in wide.splitlines()) == 9
    assert "topology.kubernetes.io/zone" in wide


def test_many_constraints_are_summed_up(planner: Planner, tmp_path: Path) -> None:
    """More than a few are a matrix; of very many those that differ most, and -o wide has them all."""
    path = write(
        tmp_path / "many.json",
        node("a1", "a"),
        node("b1", "b"),
        *(deployment(f"web-{number}", 1) for number in range(22)),
    )
    out = planner("compare", "-f", path).out
    assert "\nPods by zone, now / kube-scheduler / optimum\n" in out
    assert "\nand 2 constraints more (-v shows all)\n" in out
    assert out.count("Deployment/web-") == 20
    assert planner("compare", "-f", path, "-o", "wide").out.count("over topology") == 22


def test_constraints_out_of_bounds_are_counted(planner: Planner, tmp_path: Path) -> None:
    """Soft constraints may be exceeded; the row is there when one is."""
    full = pod("old", on="b1", cpu="4")
    soft = [pod(f"web-{number}", spread="ScheduleAnyway") for number in range(3)]
    path = write(tmp_path / "soft.json", node("a1", "a"), node("b1", "b"), full, *soft)
    assert rows(planner("compare", "-f", path).out)["too many, ScheduleAnyway"] == ["0", "1", "1", "1"]


def test_the_documents_forms_agree(planner: Planner, overfull: str) -> None:
    """JSON validates against the class, and YAML says the same."""
    found = json.loads(planner("compare", "-f", overfull, "-o", "json").out)
    assert (found["apiVersion"], found["kind"]) == ("planner/v1alpha1", "Comparison")
    assert {"before", "kubeScheduler", "optimal", "difference"} < set(found)
    assert found["kubeScheduler"]["replays"]["worst"]["placed"] == 1
    assert set(found["before"]) == set(found["kubeScheduler"]) & set(found["optimal"])
    assert Comparison.model_validate(found).to_dict() == found
    assert yaml.safe_load(planner("compare", "-f", overfull, "-o", "yaml").out) == found


def test_names_are_the_pods_left_over(planner: Planner, overfull: str, fragmented: str) -> None:
    """`-o name` lists what the exit code is about, and nothing when all is well."""
    assert planner("compare", "-f", overfull, "-o", "name").out == "pod/huge -n shop\n"
    assert planner("compare", "-f", fragmented, "-o", "name").out == ""


@pytest.mark.parametrize(
    ("option", "value"),
    [("--replays", "0"), ("--replays", "-3"), ("--replays", "many"), ("--time-limit", "-1")],
)
def test_bad_values_are_2(planner: Planner, fragmented: str, option: str, value: str) -> None:
    """One line on standard error that names the option, and nothing on standard output."""
    ended = planner("compare", "-f", fragmented, option, value)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: Invalid value for '{option}'")
    assert ended.err.count("\n") == 1


def test_what_if_comes_first(planner: Planner, fragmented: str) -> None:
    """A node more, and kube-scheduler places all of them too."""
    out = planner("compare", "-f", fragmented, "--add-nodes", "1=a1").out
    assert rows(out)["pods placed, of 3"] == ["0", "3", "3", "3"]
