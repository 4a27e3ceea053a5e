"""`planner scale-down -o script` on a real cluster, from manifests to the end state."""

from pathlib import Path

from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import node, spread, workload
from tests.e2e.stories import carried_out, left_behind, per_zone, planned, struck_everywhere

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


def test_a_stateful_set(live: ControlPlane, tmp_path: Path) -> None:
    """It takes the highest numbers whatever annotations say, and the script waits for just these."""
    live.create(node("a1"), node("b1", zone="b"), workload("db", 4, spread("db"), kind="StatefulSet"))
    live.at_rest(4)
    ended = carried_out(live, planned(live, tmp_path, "scale-down", "statefulset/db=2"))
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(2)
    assert {item["metadata"]["name"] for item in live.pods()} == {"db-0", "db-1"}
