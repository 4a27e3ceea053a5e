"""`planner drain` from the shell: what is said, and the exit code, where pods come back."""

import gzip
import json
from pathlib import Path

from tests.builders import node, pod
from tests.cli.conftest import Planner
from tests.cli.manifests import write
from tests.planner.eviction.jobs import job, of_job

RECORDED = Path(__file__).parents[1] / "data/conformance/preemption.jsonl.gz"


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


def test_a_drain_without_an_end_is_1(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a recorded cluster was drained without an end, as its pods evict each other in turn.

    What was played so far is told, and that it is no answer.
    """
    with gzip.open(RECORDED, "rt") as file:
        case = next(case for case in map(json.loads, file) if case["name"] == "preempt-120081")
    objects = case["cluster"]["items"]
    name = min(item["metadata"]["name"] for item in objects if item["kind"] == "Node")
    ended = planner("drain", name, "-f", write(tmp_path / "c.json", *objects))
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
