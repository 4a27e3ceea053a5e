"""`planner solve -o script` on a real cluster: held batches, room made by evictions, fragments."""

import json
import time
from pathlib import Path

import pytest

from tests.e2e.batches import CASES, create_held, placed_as_planned
from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import HOSTNAME, node, pod, spread, workload
from tests.e2e.stories import carried_out, carried_out_until, evictions, left_behind, planned, struck
from tests.e2e.test_struck_meanwhile import halted

GATES = [{"name": "example.com/batch"}]


def stuck(live: ControlPlane) -> None:
    """Three held pods, of which kube-scheduler, left alone, would not place the last."""
    live.create(node("a1", cpu="4"), node("b1", zone="b", cpu="4"))
    for name, cpu in (("small1", "1500m"), ("small2", "1500m"), ("large", "4")):
        if name == "large":
            # The queue goes by whole seconds: the large one is to be the youngest.
            time.sleep(1.1)
        live.create(pod(name, "batch", cpu=cpu, schedulingGates=GATES))


def test_a_held_batch(live: ControlPlane, tmp_path: Path) -> None:
    """Every pod comes to its planned node, though nothing but its gate held it back."""
    stuck(live)
    assert live.planner("simulate", "--gated").returncode == 1
    script = planned(live, tmp_path, "solve", "--gated", "--time-limit", "60")
    dry = carried_out(live, script, "--dry-run")
    assert (dry.returncode, dry.stderr, dry.stdout.count("(dry run)")) == (0, "", 4)
    assert all(item["spec"]["schedulingGates"] == GATES for item in live.pods())
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert placed_as_planned(live, script) == 3
    again = carried_out(live, script)
    assert (again.returncode, again.stderr) == (0, "")


def test_a_held_batch_that_changed(live: ControlPlane, tmp_path: Path) -> None:
    """A pod made anew, or held by another gate, is not the plan's: nothing is touched."""
    stuck(live)
    script = planned(live, tmp_path, "solve", "--gated", "--time-limit", "60")
    live.kubectl("delete", "pod", "large")
    live.create(pod("large", "batch", cpu="4", schedulingGates=GATES))
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "default/large is not there any more; nothing was changed; plan again" in ended.stderr
    assert all(item["spec"]["schedulingGates"] == GATES for item in live.pods())


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case["name"])
def test_a_recorded_batch(live: ControlPlane, tmp_path: Path, case: dict[str, object]) -> None:
    """Batches that kube-scheduler gets stuck with, held and then let go in order."""
    if not create_held(live, case):
        pytest.skip("the API server takes not all of its objects")
    script = planned(live, tmp_path, "solve", "--gated", "--time-limit", "5")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    placed_as_planned(live, script)


def test_room_is_made(live: ControlPlane, tmp_path: Path) -> None:
    """--allow-moves: a running pod goes to the node of the plan and not back, and the held pod fits."""
    live.create(node("a1"), workload("web", 2, cpu="1500m"))
    live.at_rest(2)
    live.create(node("b1", cpu="2"), pod("large", cpu="2500m", schedulingGates=GATES))
    script, before = planned(live, tmp_path, "solve", "--gated", "--allow-moves"), live.get("pods")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(3)
    where = {item["metadata"]["name"]: item["spec"]["nodeName"] for item in live.pods()}
    assert where["large"] == "a1"
    assert (sorted(where.values()), evictions(live, before), left_behind(live)) == (["a1", "a1", "b1"], 1, [])


def test_pods_that_nobody_schedules(live: ControlPlane, tmp_path: Path) -> None:
    """Without a gate a Binding is posted."""
    live.create(node("a1", zone="a", unschedulable=True))
    live.create(pod("x", nodeSelector={HOSTNAME: "a1"}))
    wait_for("verdict", lambda: live.get("pods")[0]["status"].get("conditions"))
    with halted(live, "kube-scheduler"):
        live.kubectl("uncordon", "a1")
        ended = carried_out(live, planned(live, tmp_path, "solve"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "default/x comes to a1" in ended.stdout
    assert live.at_rest(1)[0]["spec"]["nodeName"] == "a1"


def test_what_is_not_applied_yet(live: ControlPlane, tmp_path: Path) -> None:
    """Fragments for the manifests; applied with the gate, the next plan carries it out."""
    live.create(node("a1"), node("b1", zone="b"))
    manifest = tmp_path / "web.json"
    web = workload("web", 4, spread("web"))
    manifest.write_text(json.dumps(web))
    assert live.planner("snapshot", "-o", str(tmp_path / "now.json")).returncode == 0
    files = ("-f", str(tmp_path / "now.json"), "-f", str(manifest))
    printed = live.planner("solve", *files, "-o", "script").stdout.splitlines()
    [fragment] = [line for line in printed if "schedulingGates" in line and line.startswith("    #")]
    gate = json.loads(fragment.partition("#")[2])["spec"]["template"]["spec"]
    web["spec"]["template"]["spec"].update(gate)
    live.create(web)
    wait_for("held pods", lambda: len(live.pods()) == 4)
    script = planned(live, tmp_path, "solve", "--gated", "--time-limit", "60")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert placed_as_planned(live, script) == 4


def led(live: ControlPlane, folder: Path) -> Path:
    """Room for a held pod is made by two evictions, and the replacements are led to another node."""
    live.create(node("a1"), workload("web", 3, cpu="1"))
    live.at_rest(3)
    live.create(node("b1", cpu="2"), pod("large", cpu="3", schedulingGates=GATES))
    return planned(live, folder, "solve", "--gated", "--allow-moves")


def test_killed_while_a_replacement_is_led(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: in a second start the pin did not say for which pod it was, and nothing took it off.

    The ReplicaSet stayed pinned, and its Deployment paused.
    """
    script = led(live, tmp_path)
    with halted(live, "kube-scheduler"):
        assert struck(live, script, "TERM", "leaves").returncode == 143
        assert struck(live, script, "KILL", "are pinned").returncode == -9
        assert left_behind(live)
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(4)
    assert left_behind(live) == []


def test_scaled_down_while_a_replacement_is_led(live: ControlPlane, tmp_path: Path) -> None:
    """It was waited for until the time was over, without a word; no pod is made any more."""
    script = led(live, tmp_path)
    ended = carried_out_until(
        live, script, "leaves", lambda: live.kubectl("scale", "deployment/web", "--replicas=1")
    )
    assert ended.returncode == 1
    assert " in default has as many pods as it asks for, 1: no new one comes to b1" in ended.stdout
    assert left_behind(live) == []
