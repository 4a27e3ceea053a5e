"""`planner capacity` from the shell: the table, the forms, names, and one line for what cannot be used."""

import json
import os
import signal
from importlib import import_module
from pathlib import Path

import pytest

from cli.output.blocks import VerdictBlock
from cli.output.page import Page
from cli.output.views.capacity import sections
from models import Cluster
from models.controllers.reconcile import reconcile
from planner.documents.capacity import AutoscalerCapacity, Capacity, SetCapacity, WorkloadCapacity
from tests.cli.conftest import Planner
from tests.cli.manifests import Object, deployment, node, pod, write


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Two nodes with room for some more of two workloads."""
    objects = [node("a1", "a"), node("b1", "b"), deployment("web", 2), deployment("api", 1)]
    return write(tmp_path / "cluster.json", *objects)


def autoscaler(name: str, namespace: str = "shop", *, most: int) -> Object:
    """One of the Deployment of the same name."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": most},
    }


def test_every_workload_has_its_row(planner: Planner, snapshot: str) -> None:
    """How many more, and what stops the next; all is well, whatever the numbers are."""
    ended = planner("capacity", "-f", snapshot)
    assert ended.code == 0
    assert ended.verdict.startswith("Every workload has room for at least ")
    assert [line.split()[1] for line in ended.out.splitlines() if "Deployment/" in line]


def test_one_workload_in_kubectls_words(planner: Planner, snapshot: str) -> None:
    """`deploy/web` is enough, and the scheduler's line about the next replica is shown."""
    ended = planner("capacity", "deploy/web", "-n", "shop", "-f", snapshot)
    assert ended.code == 0
    assert ended.verdict.startswith("Deployment/web has room for ")
    assert "nodes are available" in ended.out.replace("\n", " ")
    assert "api" not in ended.out


def test_no_autoscaler_at_all(planner: Planner, snapshot: str) -> None:
    """What went wrong: the answer was that of no flag, and nothing said that there is no autoscaler."""
    ended = planner("capacity", "--autoscalers", "-f", snapshot)
    assert ended.code == 0
    assert "note: no HorizontalPodAutoscaler has its workload here: there is none to set" in ended.err


def test_one_namespace(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: without names -n did nothing, whatever it said."""
    scalers = [autoscaler("web", most=3), autoscaler("far", "other", most=2)]
    items = [node("a1", "a"), deployment("web", 2), deployment("far", 1, namespace="other"), *scalers]
    path = write(tmp_path / "cluster.json", *items)
    ended = planner("capacity", "-n", "other", "--autoscalers", "-f", path, "-o", "json")
    document = json.loads(ended.out)
    assert [row["workload"] for row in document["workloads"]] == ["Deployment/far"]
    assert [row["name"] for row in document["autoscalers"]] == ["far"]
    ended = planner("capacity", "-n", "othr", "-f", path)
    assert (ended.code, ended.err) == (
        2,
        "error: -n othr: there is no such namespace in the cluster (did you mean other?)\n",
    )


def test_the_line_is_told_as_elsewhere(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: one long paragraph, of autoscalers without a word about whose pods wait."""
    path = write(tmp_path / "c.json", node("a1", "a"), deployment("web", 2), autoscaler("web", most=90))
    out = planner("capacity", "--autoscalers", "-f", path).out
    lead = next(line for line in out.splitlines() if "stay pending" in line)
    assert lead.endswith(" pods of Deployment/web in shop stay pending:")
    assert out.count("\n  0/1 nodes are available:\n    1  ") == 2


def test_a_replica_that_would_evict_others(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: `Preemption` was all that was said of a replica that gets a node."""
    low = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "low"},
        "value": -1,
    }
    filler = pod("filler", on="a1", cpu="4")
    filler["spec"]["priority"], filler["spec"]["priorityClassName"] = -1, "low"
    path = write(tmp_path / "c.json", low, node("a1", "a"), filler, deployment("web", 0))
    out = planner("capacity", "-f", path).out
    assert out.endswith("\n  it would get a node by evicting pods of a lower priority\n")


def test_the_document(planner: Planner, snapshot: str) -> None:
    """JSON validates against the class, with bounds where they were asked for."""
    found = json.loads(planner("capacity", "-f", snapshot, "--best", "-o", "json").out)
    document = Capacity.model_validate(found)
    assert all(row.best is not None and row.more <= row.best for row in document.workloads)


def test_names_are_workloads_without_room(planner: Planner, tmp_path: Path) -> None:
    """What needs attention, as kubectl takes it."""
    full = [node("a1"), pod("big", on="a1", cpu="4"), deployment("web", 0)]
    ended = planner("capacity", "-f", write(tmp_path / "full.json", *full), "-o", "name")
    assert (ended.code, ended.out) == (0, "deployment/web -n shop\n")


def test_copies_of_a_set(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """How many, and what stops the next."""
    parts = write(tmp_path / "set.json", deployment("web", 2, cpu="900m"))
    ended = planner("capacity", "-f", snapshot, "--set", parts)
    assert (ended.code, ended.verdict) == (0, "There is room for 4 copies of 2 pods each.")
    assert "shop-5/web-" in ended.out
    found = planner("capacity", "-f", snapshot, "--set", parts, "-o", "json")
    assert Capacity.model_validate(json.loads(found.out)).workloads == ()
    assert planner("capacity", "-f", snapshot, "--set", parts, "--best").code == 2


def test_a_limit_that_has_no_say_is_told(planner: Planner, snapshot: str) -> None:
    """What went wrong: `--survive KEY --time-limit 1` went on for minutes: the limit is that of --best."""
    ended = planner("capacity", "-f", snapshot, "--survive", "kubernetes.io/hostname", "--time-limit", "1")
    assert (ended.code, "note: --time-limit ends the search of --best alone" in ended.err) == (0, True)
    ended = planner("capacity", "-f", snapshot, "--best", "--time-limit", "5")
    assert (ended.code, "--time-limit" in ended.err) == (0, False)


def test_copies_are_counted_until_ctrl_c(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was heeded when thousands of copies had been made; the note named --time-limit, which has no say."""
    attempts = []

    def made(cluster: Cluster) -> Cluster:
        attempts.append(cluster)
        if len(attempts) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("the copies were made to the end")
        return reconcile(cluster)

    monkeypatch.setattr(import_module("planner.capacity.sets"), "reconcile", made)
    large = write(tmp_path / "large.json", node("a1", "a", cpu="64"))
    parts = write(tmp_path / "set.json", deployment("web", 2, cpu="100m"))
    ended = planner("capacity", "-f", large, "--set", parts)
    assert (ended.code, ended.verdict) == (0, "There is room for at least 4 copies of 2 pods each.")
    assert "note: stopped while looking for room for more copies: more time may find more" in ended.err


def test_what_a_stop_leaves_out_is_not_told() -> None:
    """What went wrong: that no workload had a number of replicas to raise, and that every one had room."""
    rows = [
        WorkloadCapacity(namespace="shop", workload=f"Deployment/{n}", replicas=1, more=3, message="")
        for n in "ab"
    ]
    told = [
        (False, (), "No workload here has a number of replicas to raise."),
        (True, (), "No workload was counted."),
        (False, rows, "Every workload has room for at least 3 more replicas."),
        (True, rows, "Every workload that was counted has room for at least 3 more replicas."),
    ]
    for cut, workloads, verdict in told:
        first = next(sections(Capacity(cut=cut, workloads=tuple(workloads)), Page.of(None, False)))
        assert [block.text for block in first.blocks if isinstance(block, VerdictBlock)] == [verdict]


def fits(draws: int) -> AutoscalerCapacity:
    """One without pending pods, as ties go; with others in so many draws."""
    names = {"namespace": "shop", "name": "web", "workload": "Deployment/web"}
    return AutoscalerCapacity(**names, max_replicas=3, pending=0, alone=0, failing_draws=draws)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (
            Capacity(sets=SetCapacity(pods=2, more=3, fewest=0)),
            "There is room for 3 copies of 2 pods each, as ties go here: with others for none.",
        ),
        (
            Capacity(autoscalers=(fits(2), fits(0))),
            "1 of 2 autoscalers can be at the maximum together with the others only as ties go here.",
        ),
    ],
    ids=["copies", "autoscalers"],
)
def test_what_fits_only_as_ties_go(document: Capacity, text: str) -> None:
    """The first sentence says so, in the colour of a warning."""
    assert next(sections(document, Page.of(None, False))).blocks[0] == VerdictBlock(text, "warning")


def test_copies_beside_an_autoscaler_that_is_short(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: that there was no workload to count, and no word about the copies."""
    path = write(
        tmp_path / "c.json", node("a1", "a"), deployment("web", 1, cpu="1"), autoscaler("web", most=99)
    )
    parts = write(tmp_path / "set.json", deployment("api", 1, cpu="1"))
    ended = planner("capacity", "-f", path, "--set", parts, "--autoscalers")
    assert ended.code == 1
    assert ended.verdict.startswith("1 of 1 autoscaler cannot be at the maximum. There is room for 3 copies")


@pytest.mark.parametrize("arguments", [("deploy/none",), ("--survive", "no/such-label")])
def test_what_cannot_be_used_is_one_line(planner: Planner, snapshot: str, arguments: tuple[str, ...]) -> None:
    """Exit code 2, and nothing on stdout."""
    ended = planner("capacity", "-f", snapshot, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
