"""`planner scale-down -o script` on a real cluster, from manifests to the end state."""

import json
import re
from pathlib import Path

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, pod, spread, workload
from tests.e2e.stories import (
    carried_out,
    carried_out_until,
    left_behind,
    per_zone,
    planned,
    strike,
    struck_everywhere,
)
from tests.e2e.test_admission import create_quota
from tests.e2e.test_struck_meanwhile import halted

COST = "controller.kubernetes.io/pod-deletion-cost"


def grown(live: ControlPlane) -> None:
    """Eight pods, five of them in zone a, which came about before zone b had room."""
    live.create(node("a1"), node("a2"), workload("web", 5, spread("web", skew=8)))
    live.at_rest(5)
    live.create(node("b1", zone="b"), node("b2", zone="b"))
    for name in ("a1", "a2"):
        live.kubectl("cordon", name)
    live.kubectl("scale", "deployment/web", "--replicas=8")
    live.at_rest(8)
    for name in ("a1", "a2"):
        live.kubectl("uncordon", name)


def costs(live: ControlPlane) -> dict[str, str]:
    """The deletion costs that pods have."""
    return {
        item["metadata"]["name"]: item["metadata"]["annotations"][COST]
        for item in live.pods()
        if COST in item["metadata"].get("annotations", {})
    }


def test_the_best_victims_go(live: ControlPlane, tmp_path: Path) -> None:
    """Two in each zone stay, of which the controller by itself would not be sure; no cost is left."""
    grown(live)
    keeper = live.pods()[0]["metadata"]["name"]
    live.kubectl("annotate", "pod", keeper, f"{COST}=7")
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    dry = carried_out(live, script, "--dry-run")
    assert (dry.returncode, dry.stderr, len(live.pods()), costs(live)) == (0, "", 8, {keeper: "7"})
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(4)
    assert (per_zone(live, "web"), left_behind(live)) == ({"a": 2, "b": 2}, [])
    assert set(costs(live)) <= {keeper}
    again = carried_out(live, script)
    assert (again.returncode, again.stderr, len(live.pods())) == (0, "", 4)


def test_a_cluster_that_changed(live: ControlPlane, tmp_path: Path) -> None:
    """Another number of replicas, or a pod that is gone: plan again, and nothing is touched."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    live.kubectl("delete", live.kubectl("get", "pods", "-o", "name").split()[0])
    live.at_rest(8)
    gone = carried_out(live, script)
    live.kubectl("scale", "deployment/web", "--replicas=7")
    live.at_rest(7)
    scaled = carried_out(live, script)
    for ended in (gone, scaled):
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
        assert "plan again: planner scale-down deployment/web=4 -o script --context local" in ended.stderr
    assert (len(live.pods()), costs(live)) == (7, {})


def test_interrupted_in_every_place(live: ControlPlane, tmp_path: Path) -> None:
    """Costs come off whenever it ends; only a KILL leaves some, and the next start takes them off."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    struck_everywhere(live, script, lambda _: costs(live) or left_behind(live), first=3)
    live.at_rest(4)
    assert (per_zone(live, "web"), costs(live), left_behind(live)) == ({"a": 2, "b": 2}, {}, [])


def test_another_pod_goes(live: ControlPlane, tmp_path: Path) -> None:
    """One that is not ready goes before all others; there is nothing to scale again, which is said."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    stays = re.findall(r"^ *stays default (\S+) ", script.read_text(), re.MULTILINE)
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    words = ("-n", "default", "--subresource=status", "-p", json.dumps(status))
    live.kubectl("patch", "pod", stays[0], *words)
    ended = carried_out(live, script)
    why = "the replicas are as many as planned, so there is nothing to scale again"
    assert ended.returncode == 1
    assert f"stopped: default/{stays[0]} went instead of another; {why}" in ended.stderr
    live.at_rest(4)
    assert left_behind(live) == []
    ended = live.planner("scale-down", "deployment/web=4")
    assert ended.stdout.startswith("No pods go")


def test_costs_stay_until_the_controller_has_looked_at_them(live: ControlPlane, tmp_path: Path) -> None:
    """They came off although the Deployment was scaled: back at work, the controller took other pods.

    Neither a stop, a second start nor a KILL takes them off, and a plan that is made then has them in mind.
    """
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    with halted(live, "kube-controller-manager"):
        for _ in range(2):
            ended = carried_out(live, script, TIMEOUT="15", progress=True)
            assert ended.returncode == 1
            assert re.search(
                r"^waiting for 1\d s, at most 15 s: 4 pods still to go$", ended.stderr, re.MULTILINE
            )
            assert "nothing has happened for 15 seconds: 4 pods still to go; start this again" in ended.stderr
            assert "deletion costs stay on 4 pods that controllers have still to take" in ended.stderr
            assert {*costs(live).values()} == {"-1"}
        assert strike(live, script, "KILL", 12, "after").returncode == -9
        assert len(costs(live)) == 4
        again = json.loads(live.planner("scale-down", "deployment/web=4", "-o", "json").stdout)
        assert sorted(again["best"]["victims"]) == sorted(f"default/{name}" for name in costs(live))
    live.at_rest(4)
    assert per_zone(live, "web") == {"a": 2, "b": 2}
    assert carried_out(live, script).returncode == 0
    assert (costs(live), left_behind(live)) == ({}, [])


def test_scaled_by_another_client_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """It waited for pods that nobody was to take any more; costs are at once what they were when it began.

    They were what the plan had seen, and pods of another script in the namespace lost theirs.
    """
    grown(live)
    live.create(pod("other"))
    live.at_rest(9)
    live.kubectl("annotate", "pod", "other", f"{COST}=-3", "planner/deletion-cost=was:5")
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    goes = next(line.split()[2] for line in script.read_text().splitlines() if line.startswith("    goes "))
    live.kubectl("annotate", "pod", goes, f"{COST}=9")
    with halted(live, "kube-controller-manager"):
        ended = carried_out_until(
            live, script, "scaled", lambda: live.kubectl("scale", "deployment/web", "--replicas=7")
        )
        assert ended.returncode == 1
        assert "stopped: Deployment/web in default has 7 replicas by now, not 4; plan again" in ended.stdout
        assert costs(live) == {goes: "9", "other": "-3"}


def test_scaled_by_another_client_while_pods_end(live: ControlPlane, tmp_path: Path) -> None:
    """It was said to be done when an autoscaler had long put the replicas up again."""
    web = workload("web", 4, annotations={"stand-in/linger": "4"})
    web["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    live.create(node("a1"), web)
    live.at_rest(4)
    script = planned(live, tmp_path, "scale-down", "deployment/web=2")
    ended = carried_out_until(
        live, script, "scaled", lambda: live.kubectl("scale", "deployment/web", "--replicas=3")
    )
    assert ended.returncode == 1
    assert "stopped: Deployment/web in default has 3 replicas by now, not 2" in ended.stdout
    assert costs(live) == {}


def test_deleted_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """It was asked for until the time was over, when all of its pods had long gone."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    ended = carried_out_until(live, script, "scaled", lambda: live.kubectl("delete", "deployment/web"))
    assert ended.returncode == 1
    assert (
        'stopped: Deployment/web in default: Error from server (NotFound): deployments.apps "web"'
        in ended.stdout
    )


def test_a_stateful_set(live: ControlPlane, tmp_path: Path) -> None:
    """It takes the highest numbers whatever annotations say, and the script waits for just these."""
    live.create(node("a1"), node("b1", zone="b"), workload("db", 4, spread("db"), kind="StatefulSet"))
    live.at_rest(4)
    ended = carried_out(live, planned(live, tmp_path, "scale-down", "statefulset/db=2"))
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(2)
    assert {item["metadata"]["name"] for item in live.pods()} == {"db-0", "db-1"}


def test_pods_that_are_not_made(live: ControlPlane, tmp_path: Path) -> None:
    """A quota refuses two, and a set waits for its second pod: the script missed these pods, and ended."""
    few = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"}}
    live.create(node("a1"))
    create_quota(live, few | {"spec": {"hard": {"pods": "5"}}})
    db = workload("db", 4, kind="StatefulSet")
    live.create(db)
    live.at_rest(4)
    live.kubectl("scale", "statefulset/db", "--replicas=1")
    live.at_rest(1)
    db["spec"]["template"]["metadata"]["annotations"] = {"stand-in/never-ready": ""}
    live.kubectl("patch", "statefulset/db", "--type=merge", "-p", json.dumps(_on_delete(db)))
    live.kubectl("scale", "statefulset/db", "--replicas=4")
    wait_for("two pods", lambda: len(live.pods()) == 2)
    live.create(workload("web", 5))
    wait_for("as many as may be", lambda: len(live.pods()) == 5)
    script = planned(live, tmp_path, "scale-down", "deployment/web=2", "statefulset/db=1")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(3)
    assert left_behind(live) == []


def _on_delete(item: Manifest) -> Manifest:
    """Its template, for pods that are made from now on."""
    strategy = {"type": "OnDelete", "rollingUpdate": None}
    return {"spec": {"template": item["spec"]["template"], "updateStrategy": strategy}}


def test_a_cluster_that_was_supposed(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: what `--drain` supposes was not looked for, and the scaling was carried out."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4", "--drain", "b1")
    ended = carried_out(live, script)
    assert (ended.returncode, len(live.pods()), costs(live)) == (1, 8, {})
    assert "node b1 is not cordoned; nothing was changed" in ended.stderr
    assert "planner scale-down deployment/web=4 --drain b1 -o script" in ended.stderr
