"""What happens to nodes in the middle of a script of `planner solve`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import HOSTNAME, ZONE, node, pod, workload
from tests.e2e.stories import carried_out, evictions, left_behind, planned
from tests.e2e.test_solve import GATES
from tests.e2e.test_struck_meanwhile import halted

_WHY = "cordoned, tainted, not ready or gone since the plan was made; plan again: "
_CLOSINGS = {
    "cordoned": ("cordon", "b1"),
    "tainted": ("taint", "node", "b1", "example.com/dedicated=x:NoSchedule"),
    "gone": ("delete", "node", "b1"),
}
_STRIKER = """#!/bin/sh
# kubectl that does something else right after its first call with some words.
kubectl "$@"
code=$?
case "$*" in *{words}*) kubectl {then} >/dev/null ;; esac
exit "$code"
"""


def _struck_after(words: str, then: Sequence[str], folder: Path) -> str:
    """A kubectl that does this right after a call with these words: in between no script does anything."""
    found = folder / "kubectl"
    found.write_text(_STRIKER.format(words=f"'{words}'", then=" ".join(then)))
    found.chmod(0o755)
    return str(found)


def _waiting(live: ControlPlane, *names: str) -> list[str]:
    """Those of the pods that have no node and still have their gates."""
    pods = {item["metadata"]["name"]: item["spec"] for item in live.get("pods")}
    return [name for name in names if "nodeName" not in pods[name] and pods[name].get("schedulingGates")]


@pytest.mark.parametrize("closing", _CLOSINGS)
def test_no_pod_is_let_go_to_a_node_that_is_closed(live: ControlPlane, tmp_path: Path, closing: str) -> None:
    """What went wrong: its gate was taken off, and from then on it could go to the closed node alone."""
    live.create(node("a1"), node("b1", zone="b"))
    held = (
        pod(name, schedulingGates=GATES, nodeSelector={ZONE: name[0]}) for name in ("a-first", "b-second")
    )
    live.create(*held)
    script = planned(live, tmp_path, "solve", "--gated")
    kubectl = _struck_after("patch pod a-first", _CLOSINGS[closing], tmp_path)
    ended = carried_out(live, script, KUBECTL=kubectl)
    assert ended.returncode == 1
    line = f"stopped: default/b-second stays held: no pod may come to b1 any more, {_WHY}"
    assert ended.stderr.splitlines()[-1].startswith(line)
    assert _waiting(live, "b-second") == ["b-second"]


def test_no_pod_is_bound_to_a_node_that_is_gone(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: the API server takes such a Binding, and the script said that all was done."""
    live.create(node("a1"), node("b1", zone="b"))
    with halted(live, "kube-scheduler"):
        live.create(pod("a-first", nodeSelector={ZONE: "a"}), pod("b-second", nodeSelector={ZONE: "b"}))
        script = planned(live, tmp_path, "solve")
        kubectl = _struck_after("/pods/a-first/binding", _CLOSINGS["gone"], tmp_path)
        ended = carried_out(live, script, KUBECTL=kubectl)
        # Before kube-scheduler goes on, which may hear of the pod sooner than of the node.
        nodes = {item["metadata"]["name"]: item["spec"].get("nodeName") for item in live.get("pods")}
    assert ended.returncode == 1
    assert f"default/b-second is not bound: no pod may come to b1 any more, {_WHY}" in ended.stderr
    assert nodes == {"a-first": "a1", "b-second": None}


def test_no_room_is_made_on_a_node_that_is_closed(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: pods went for a pod that could not come there any more."""
    live.create(node("a1"), workload("web", 3, cpu="1"))
    live.at_rest(3)
    held = pod("large", cpu="3", schedulingGates=GATES, nodeSelector={HOSTNAME: "a1"})
    live.create(node("b1", cpu="2"), held)
    script, before = planned(live, tmp_path, "solve", "--gated", "--allow-moves"), live.get("pods")
    kubectl = _struck_after("}N|{.metadata.name}|{.metadata.uid}|", ("cordon", "a1"), tmp_path)
    ended = carried_out(live, script, KUBECTL=kubectl)
    assert ended.returncode == 1
    assert f" stays where it is: no pod may come to a1 any more, {_WHY}" in ended.stderr
    assert (evictions(live, before), _waiting(live, "large")) == (0, ["large"])
    live.kubectl("uncordon", "a1")
    assert left_behind(live) == []
