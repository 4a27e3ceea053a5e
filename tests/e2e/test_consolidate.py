"""A consolidation carried out on a real control plane: nodes emptied and deleted, every pod running."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import budget, node, pod, spread, workload
from tests.e2e.stories import carried_out, planned, too_many


def half_empty(live: ControlPlane, seed: int, nodes: int = 9) -> int:
    """Zones of nodes that a scale-down has left half empty; returns how many pods there are."""
    draw = random.Random(seed)
    live.create(*(node(f"n{n}", zone="abc"[n % 3]) for n in range(nodes)))
    names, replicas = ("web", "api", "jobs"), {}
    for number, name in enumerate(names):
        replicas[name] = draw.randint(3, 5)
        rules = (spread(name),) if number < 2 else ()
        live.create(workload(name, 2 * replicas[name], *rules, cpu="700m"), budget(name, maxUnavailable=1))
    database = workload("db", 2, kind="StatefulSet", cpu="500m")
    database["spec"]["podManagementPolicy"] = "Parallel"
    agent = workload("agent", 0, kind="DaemonSet", cpu="50m", tolerations=[{"operator": "Exists"}])
    del agent["spec"]["replicas"]
    live.create(database, agent, pod("bare", cpu="200m"))
    live.at_rest(2 * sum(replicas.values()) + 3 + nodes, 120)
    for name, many in replicas.items():
        live.kubectl("scale", f"deployment/{name}", f"--replicas={many}", "-n", "default")
    live.at_rest(sum(replicas.values()) + 3 + nodes, 120)
    return sum(replicas.values()) + 3


def marked(live: ControlPlane) -> set[str]:
    """The nodes that the script has left cordoned and marked."""
    return {
        item["metadata"]["name"]
        for item in live.get("nodes")
        if item["spec"].get("unschedulable") and "planner/going" in item["metadata"].get("annotations", {})
    }


def at_home(live: ControlPlane, pods: int) -> list[Manifest]:
    """The pods but those of DaemonSets, when all of them are ready."""

    def ready() -> list[Manifest] | None:
        found = [p for p in live.pods() if p["metadata"]["labels"].get("app") != "agent"]
        return found if len(found) == pods and all(map(is_ready, found)) else None

    return wait_for("all pods ready", ready)


@pytest.mark.parametrize(("seed", "words"), [(1, ("--pin",)), (2, ()), (3, ("--pin",))])
def test_nodes_are_emptied_and_deleted(
    live: ControlPlane, tmp_path: Path, seed: int, words: tuple[str, ...]
) -> None:
    """From the dry run to the last node that is deleted: budgets hold, nothing is broken, every pod runs."""
    pods = half_empty(live, seed)
    broken = too_many(live)
    script = planned(live, tmp_path, "consolidate", *words, "--delete-nodes", "--time-limit", "10")
    names = {line.split()[1] for line in script.read_text().splitlines() if line.startswith("    goes ")}
    tried = carried_out(live, script, "--dry-run")
    assert (tried.returncode, tried.stderr, marked(live)) == (0, "", set())
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert names
    assert marked(live) == names
    found = at_home(live, pods)
    assert not {p["spec"]["nodeName"] for p in found} & names
    deletions = [line.split() for line in ended.stdout.splitlines() if " delete node " in line]
    assert {words[-1] for words in deletions} == names
    for name in names:
        live.kubectl("delete", "node", name)
    at_home(live, pods)
    assert too_many(live) <= broken


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_interrupted_and_started_again(live: ControlPlane, tmp_path: Path, sent: signal.Signals) -> None:
    """After TERM the nodes are open again; after either the same script, or a new plan, comes to the end."""
    pods = half_empty(live, 4)
    script = planned(live, tmp_path, "consolidate", "--pin", "--time-limit", "10")
    environment = {**live.environment, "TIMEOUT": "60"}
    with subprocess.Popen(
        ["sh", str(script)], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("evicted"):
                break
        time.sleep(0.5)
        run.send_signal(sent)
        run.wait(60)
    if sent == signal.SIGTERM:
        assert marked(live) == set()
    again = carried_out(live, script)
    if again.returncode == 1:  # a replacement has landed while nothing held it: the rest is planned anew
        script = planned(live, tmp_path, "consolidate", "--pin", "--time-limit", "10")
        again = carried_out(live, script)
    assert (again.returncode, again.stderr) == (0, "")
    names = marked(live)
    assert names
    assert not {p["spec"]["nodeName"] for p in at_home(live, pods)} & names
