"""`planner drain` from the shell: what is said, and the exit code, where pods come back."""

import json
import random
from pathlib import Path

import pytest

from cli.output.forms.text import lines
from cli.output.page import Page
from cli.output.screen import Screen
from cli.output.staying_pods import causes
from cli.output.views.drain import sections
from models import Cluster
from planner.simulation.drain import drain
from tests import seeds
from tests.builders import Object, budget, node, pod
from tests.cli.conftest import Planner
from tests.cli.manifests import write
from tests.planner.eviction.jobs import job, of_job
from tests.planner.simulation.drain.made_worse import repaired_and_broken, waits_for_the_eviction


def test_who_comes_back_is_told_and_known_to_the_script(planner: Planner, tmp_path: Path) -> None:
    """It is no failure: the node was drained, and the pod asked for it."""
    tolerations = [{"operator": "Exists"}]
    agent = pod("agent", "a1", owner="ReplicaSet/agent", tolerations=tolerations)
    agent["metadata"]["uid"] = "u1"
    path = write(tmp_path / "c.json", node("a1"), agent)
    ended = planner("drain", "a1", "-f", path)
    assert (ended.code, ended.out.splitlines()[0]) == (
        0,
        "1 of 1 node emptied in 1 wave; 1 eviction; 1 pod back on them.",
    )
    assert "default/agent tolerates the cordon and lands on a1" in ended.err
    script = planner("drain", "a1", "-f", path, "-o", "script")
    assert "    returns default ReplicaSet/agent\n" in script.out


def test_no_node_is_named(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: `there is no node to drain` was said of a cluster full of nodes."""
    ended = planner("drain", "-f", write(tmp_path / "c.json", node("a1")))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: no node is named: by NAME, KEY=VALUE or -l SELECTOR (--help shows how)\n"


def test_a_drain_without_an_end_is_1(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a cluster was drained without an end, as a pod evicts what comes, and comes again.

    It waits for one that does not end.  What was played so far is told, and that it is no answer.
    """
    comes = pod("comes", "n1", cpu="1", owner="ReplicaSet/comes")
    waits = pod("waits", cpu="2", ports=[80], priority=10, owner="ReplicaSet/waits")
    ends = pod("ends", "n2", cpu="1", ports=[80], gone=True, owner="ReplicaSet/waits")
    path = write(tmp_path / "c.json", node("n1"), node("n2", cpu="2"), ends, comes, waits)
    ended = planner("drain", "n1", "-f", path)
    assert ended.code == 1
    assert "Pods evict each other in a loop" in ended.err


def test_a_job_that_fails_by_it_is_1(planner: Planner, tmp_path: Path) -> None:
    """The verdict and a table say so, and the script beside the pod; a loss of retries is no finding."""
    pods = [of_job("sums-0", "n1", spread=[])]
    path = write(tmp_path / "c.json", node("n1"), node("n2"), job(parallelism=1, backoffLimit=0), *pods)
    ended = planner("drain", "n1", "-f", path)
    assert (ended.code, ended.out.splitlines()[0]) == (
        1,
        "1 of 1 node emptied in 1 wave; 1 eviction; 1 Job fails.",
    )
    assert "FAILS (BackoffLimitExceeded)" in ended.out
    told = planner("drain", "n1", "-f", path, "-o", "github").out
    assert "Job/sums" in told
    assert "fails by its evictions (BackoffLimitExceeded)" in told
    assert "# its Job fails" in planner("drain", "n1", "-f", path, "-o", "script").out
    path = write(tmp_path / "d.json", node("n1"), node("n2"), job(parallelism=1, backoffLimit=1), *pods)
    ended = planner("drain", "n1", "-f", path)
    assert (ended.code, "loses retries: 0 of 1 left" in ended.out) == (0, True)


def test_pods_whose_scratch_data_would_be_lost_are_1_and_make_no_script(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: the script evicted them, and their data went without a word; kubectl drain refuses."""
    monkeypatch.setenv("COLUMNS", "200")
    scratch = [{"name": "scratch", "emptyDir": {}}]
    pods = [pod(name, "a1", owner="ReplicaSet/set", volumes=scratch) for name in ("x", "y")]
    for item in pods:
        item["metadata"]["uid"] = item["metadata"]["name"]
    path = write(tmp_path / "c.json", node("a1"), node("b1"), *pods)
    words = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
    ended = planner("drain", "a1", "-f", path)
    assert (ended.code, ended.out.splitlines()[2:4]) == (
        1,
        ["2 pods stay on a1.", f"  {words}: default/x, default/y"],
    )
    assert f"Node/a1%3A drain::{words}" in planner("drain", "a1", "-f", path, "-o", "github").out
    refused = planner("drain", "a1", "-f", path, "-o", "script")
    assert (refused.code, refused.out) == (2, "")
    assert f"2 pods stay on a1: {words}: default/x, default/y" in refused.err
    ended = planner("drain", "a1", "-f", path, "--delete-emptydir-data")
    assert ended.code == 0
    assert "default/x and 1 more have emptyDir volumes" in ended.err
    script = planner("drain", "a1", "-f", path, "--delete-emptydir-data", "-o", "script")
    assert "its emptyDir data is deleted" in script.out


def test_every_pod_that_blocks_a_node_is_told(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a workload with the same cause in one line, each cause with what lets its pods go."""
    monkeypatch.setenv("COLUMNS", "200")
    pods = [pod(f"{app}-{n}", "a1", app=app, owner=f"ReplicaSet/{app}") for app in "cd" for n in range(2)]
    budgets = [budget("c", "c", 0, maxUnavailable=0), budget("d", "d", 0), budget("e", "d", 0)]
    path = write(tmp_path / "c.json", node("a1"), node("b1"), *pods, *budgets)
    ended = planner("drain", "a1", "-f", path)
    told = ended.out.splitlines()
    assert told[2:4] == [
        "2 pods of default ReplicaSet/c stay on a1.",
        "  Cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget c allows none now.",
    ]
    assert (
        " 1. PodDisruptionBudget c with maxUnavailable 1 (lets 2 of the 2 pods go, and empties no node)"
        in told
    )
    place = told.index("2 pods of default ReplicaSet/d stay on a1.")
    assert told[place + 1] == (
        "  This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
    (row,) = json.loads(planner("drain", "a1", "-f", path, "-o", "json").out)["blocked"]
    assert [item["pod"] for item in row["pods"]] == [f"default/{app}-{n}" for app in "cd" for n in range(2)]
    assert row["pod"] == "default/c-0"


@pytest.mark.parametrize(
    ("objects", "told", "case"),
    [
        (waits_for_the_eviction(), "1 eviction; 1 pod pending that was not before.", "1 pod pending:"),
        (
            repaired_and_broken(),
            "3 evictions; DoNotSchedule constraints worse by 1 pod.",
            "0 -&gt; 1 pods too many",
        ),
    ],
)
def test_what_gets_worse_is_a_finding_whatever_gets_better(
    planner: Planner, tmp_path: Path, objects: list[Object], told: str, case: str
) -> None:
    """The exit code, the sentence and the report of tests say so."""
    report = tmp_path / "report.xml"
    ended = planner("drain", "a1", "-f", write(tmp_path / "c.json", *objects), "--junit", str(report))
    assert (ended.code, ended.verdict) == (1, f"1 of 1 node emptied in 1 wave; {told}")
    assert case in report.read_text()


def _pool(size: int) -> list[Object]:
    """Nodes of a pool with two pods each that its budget keeps and a bare one, and a node to go to."""
    items: list[Object] = [node("b1", cpu="40", memory="80Gi"), budget("web", "web", 0, maxUnavailable=0)]
    for number in range(size):
        name = f"old-{number:02}"
        items.append(node(name, labels={"pool": "old"}))
        items += [pod(f"web-{number}-{n}", name, app="web", owner="ReplicaSet/web") for n in range(2)]
        items += [pod(f"api-{number}", name, app="api", owner="ReplicaSet/api")]
    return items


def test_pods_of_a_workload_that_a_budget_keeps_are_told_once_for_a_whole_pool(
    planner: Planner, tmp_path: Path
) -> None:
    """What went wrong: the same was said node by node, in 245 lines; with -v each pod has its node."""
    path = write(tmp_path / "c.json", *_pool(12))
    ended = planner("drain", "pool=old", "-f", path)
    told = ended.out.splitlines()
    assert (
        "24 pods of default ReplicaSet/web stay on 12 nodes: old-00, old-01, old-02, old-03 and 8 more."
        in told
    )
    assert len(told) < 35
    assert "<none>" not in ended.out
    assert ["3", "old-02", "1", "2"] in [line.split() for line in told]
    everything = [line.split() for line in planner("drain", "pool=old", "-f", path, "-v").out.splitlines()]
    for number in range(12):
        name = f"old-{number:02}"
        assert [name, f"default/web-{number}-0"] in everything
        assert [name, f"default/web-{number}-1"] in everything
        assert [str(number + 1), name, f"default/api-{number}", "b1"] in everything


def test_a_node_on_which_nothing_is_evicted_has_a_row(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: kubectl drain refuses a node with a bare pod, and the table of nodes left it out."""
    path = write(tmp_path / "c.json", node("a1"), node("b1"), pod("bare", "a1"))
    told = [line.split() for line in planner("drain", "a1", "-f", path).out.splitlines()]
    assert told[-2:] == [["WAVE", "NODE", "EVICTIONS", "STAY", "LANDS"], ["-", "a1", "0", "1"]]


def test_pods_without_a_node_are_counted(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: they landed on `<none>`."""
    waits = pod("waits", "a1", owner="ReplicaSet/set", cpu="2")
    path = write(tmp_path / "c.json", node("a1"), node("b1", cpu="1"), waits)
    told = [line.split() for line in planner("drain", "a1", "-f", path).out.splitlines()]
    assert ["WAVE", "NODE", "EVICTIONS", "NO", "NODE", "LANDS"] in told
    assert ["1", "a1", "1", "1"] in told


def test_a_node_and_its_number_stay_on_one_line() -> None:
    """What went wrong: of nodes with long names the number of pods that land stood alone on the next line."""
    hosts = [f"ip-10-0-0-{number}.eu-west-1.compute.internal" for number in (1, 2)]
    items = [node("a1"), *map(node, hosts)]
    items += [pod(name, "a1", owner="ReplicaSet/web", cpu="2") for name in ("web-1", "web-2")]
    screen = Screen(width=26 + len(", ".join(hosts)) + 2)
    shown = list(lines(sections(drain(Cluster.from_objects(items), ["a1"]), Page(screen)), screen))
    assert [line.split()[-2:] for line in shown[-2:]] == [[hosts[0], "1,"], [hosts[1], "1"]]


@pytest.mark.parametrize("exhausted", [True, False])
def test_that_nothing_helps_is_said_where_all_was_tried_out(exhausted: bool) -> None:
    """What went wrong: it was also said of pods of a large drain, for which nothing had been tried out."""
    items = [node("a1"), node("b1"), pod("web", "a1", app="web", owner="ReplicaSet/web")]
    items += [budget("one", "web", 0), budget("two", "web", 0)]
    plan = drain(Cluster.from_objects(items), ["a1"])
    (row,) = plan.blocked
    pods = tuple(item.model_copy(update={"exhausted": exhausted}) for item in row.pods)
    plan = plan.model_copy(update={"blocked": (row.model_copy(update={"pods": pods}),)})
    screen = Screen(width=100)
    told = "\n".join(lines(sections(plan, Page(screen)), screen))
    assert ("Neither one more replica nor a budget" in told) == exhausted


def test_every_pod_that_stays_is_in_one_cause() -> None:
    """However they are drawn: none is lost, and none is told twice."""
    draw = random.Random(seeds.fresh())
    for _ in range(seeds.tries(6)):
        _compare_causes(draw)


def _compare_causes(draw: random.Random) -> None:
    items: list[Object] = [node("b1", cpu=str(draw.randint(1, 40)), memory="80Gi")]
    for number in range(draw.randint(1, 6)):
        items.append(node(f"a{number}", labels={"pool": "old"}))
        for place in range(draw.randint(0, 4)):
            app = draw.choice(["x", "y", "z"])
            owner = f"ReplicaSet/{app}{draw.randint(0, 1)}" if draw.random() < 0.9 else None
            items.append(pod(f"{app}-{number}-{place}", f"a{number}", app=app, owner=owner, cpu="1"))
    items += [budget(app, app, draw.randint(0, 1), maxUnavailable=draw.randint(0, 1)) for app in "xyz"]
    cluster = Cluster.from_objects(items)
    plan = drain(cluster, [item.name for item in cluster.nodes if item.name != "b1"])
    found = [(row.node, item.pod) for cause in causes(plan.blocked) for row, item in cause.staying]
    assert sorted(found) == sorted((row.node, item.pod) for row in plan.blocked for item in row.pods)
