"""Scripts beside others: what one at work has changed is left alone, what a killed one left is taken over."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

from tests.e2e.consolidations import assert_emptied, consolidation, marked
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import HOSTNAME, node, pod
from tests.e2e.stories import carried_out, carried_out_beside, left_behind, planned, strike
from tests.e2e.test_consolidate_interrupted import four_nodes
from tests.e2e.test_drain import pool
from tests.e2e.test_rebalance import free, pinned_moves
from tests.e2e.test_scale_down import grown
from tests.e2e.test_struck_meanwhile import halted

BY = "planner/by"
_ELSEWHERE = "7@elsewhere 2026-01-02T03:04:05Z other.sh"
_ELSEWHERE_IN_WORDS = "other.sh, process 7 on elsewhere since 2026-01-02T03:04:05Z"
_ADVICE = "wait until that script has ended, or start this with --take-over if it is no longer at work\n"


def by(live: ControlPlane) -> set[str]:
    """What objects say of the script that has changed them."""
    items = live.get("nodes,pods,replicasets,deployments")
    return {item["metadata"].get("annotations", {}).get(BY, "") for item in items} - {""}


def assert_refused(ended: CompletedProcess[str], what: str) -> None:
    """In one line, with the script that is at work, where, and since when."""
    host = re.escape(os.uname().nodename)
    line = (
        rf"{what} has been changed by script.sh, process \d+ on {host} since 20\S+Z(, and \d+ more objects?)?"
    )
    assert ended.returncode == 2, ended
    assert re.fullmatch(rf"refused, nothing was changed: {line}: {re.escape(_ADVICE)}", ended.stderr), ended


def test_a_pin_of_another_script(live: ControlPlane, tmp_path: Path) -> None:
    """The second took the pin off, and the first stopped in the middle of its move."""
    free(live)
    first = pinned_moves(live, tmp_path)
    (tmp_path / "second").mkdir()
    second = planned(live, tmp_path / "second", "rebalance")
    stranger = pod("stranger", cpu="3950m", nodeSelector={HOSTNAME: "b1"})
    live.create(stranger)
    live.at_rest(5)
    told: list[CompletedProcess[str]] = []

    def others() -> None:
        told.extend(carried_out(live, script) for script in (second, first))
        told.extend(carried_out(live, script, "--dry-run") for script in (second, first))
        live.kubectl("delete", "pod", "stranger")

    ended = carried_out_beside(live, first, "evicted", others)
    for refused in told:
        assert_refused(refused, r"ReplicaSet/web-\w+ in default")
    assert (len(told), ended.returncode, by(live), left_behind(live)) == (4, 0, set(), [])


def test_taken_over_from_a_script_at_work(live: ControlPlane, tmp_path: Path) -> None:
    """With --take-over its pin comes off; it stops, and leaves alone what the other one does since."""
    free(live)
    first = pinned_moves(live, tmp_path)
    (tmp_path / "second").mkdir()
    second = planned(live, tmp_path / "second", "rebalance")
    live.create(pod("stranger", cpu="3950m", nodeSelector={HOSTNAME: "b1"}))
    live.at_rest(5)
    told = []
    ended = carried_out_beside(
        live, first, "evicted", lambda: told.append(carried_out(live, second, "--take-over").stdout)
    )
    assert ended.returncode == 1
    assert "was still pinned by another script; put back\nnothing to move\n" in told[0]
    assert ", planned was b1; plan again" in ended.stdout
    assert left_behind(live) == []


_FASTER = """#!/bin/sh
# kubectl, but for a pin: another script marks the controller a moment before.
case $* in *planner/pinned-for*planner/affinity*)
    kubectl annotate --overwrite replicasets --all -n default "planner/by=$OTHER" >/dev/null ;;
esac
exec kubectl "$@"
"""


def test_pinned_by_two_at_once(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: the second noted the pin of the first as how it was, and it stayed on for good."""
    free(live)
    script, before = pinned_moves(live, tmp_path), live.get("replicasets,deployments")
    faster = tmp_path / "faster"
    faster.write_text(_FASTER)
    faster.chmod(0o755)
    ended = carried_out(live, script, KUBECTL=str(faster), OTHER=_ELSEWHERE)
    assert ended.returncode == 1
    assert f"in default has been changed by {_ELSEWHERE_IN_WORDS}; plan again" in ended.stderr
    assert by(live) == {_ELSEWHERE}
    now = live.get("replicasets,deployments")
    assert [item["spec"] for item in now] == [item["spec"] for item in before]


def test_what_was_left_on_another_host(live: ControlPlane, tmp_path: Path) -> None:
    """A killed script is known to be gone on its own host alone; elsewhere a user has to say so."""
    free(live)
    script = pinned_moves(live, tmp_path)
    strikes = (strike(live, script, "KILL", at, "after").returncode for at in range(14, 40))
    assert any(code == -9 and by(live) for code in strikes)
    (owner,) = live.get("replicasets")
    name = owner["metadata"]["name"]
    live.kubectl("annotate", "--overwrite", "replicaset", name, "-n", "default", f"{BY}={_ELSEWHERE}")
    ended = carried_out(live, script)
    why = f"ReplicaSet/{name} in default has been changed by {_ELSEWHERE_IN_WORDS}"
    assert (ended.returncode, ended.stderr) == (2, f"refused, nothing was changed: {why}: {_ADVICE}")
    assert by(live) == {_ELSEWHERE}
    ended = carried_out(live, script, "--take-over")
    assert (ended.returncode, by(live), left_behind(live)) == (0, set(), [])


def test_a_consolidation_at_work(live: ControlPlane, tmp_path: Path) -> None:
    """Neither it nor moves are begun once more; in the end nothing says that a script is at work."""
    four_nodes(live, ready_after=3)
    (tmp_path / "second").mkdir()
    second = planned(live, tmp_path / "second", "rebalance")
    plan = consolidation(live, tmp_path)
    told: list[CompletedProcess[str]] = []
    ended = carried_out_beside(
        live,
        plan.script,
        "evicted",
        lambda: told.extend(map(partial(carried_out, live), (plan.script, second))),
    )
    for refused in told:
        assert_refused(refused, r"node \w+")
    assert_emptied(live, plan, ended)
    assert (len(told), by(live)) == (2, set())


def test_a_consolidation_that_was_killed(live: ControlPlane, tmp_path: Path) -> None:
    """The next start has what it left in its own name: a third one is refused."""
    four_nodes(live, ready_after=3)
    plan = consolidation(live, tmp_path)
    assert strike(live, plan.script, "KILL", 24, "after").returncode == -9
    (left,) = by(live)
    told: list[set[str]] = []

    def other() -> None:
        told.append(by(live))
        assert_refused(carried_out(live, plan.script), r"node \w+")

    ended = carried_out_beside(live, plan.script, "evicted", other)
    assert_emptied(live, plan, ended)
    assert (len(told[0]), left in told[0], by(live), marked(live)) == (1, False, set(), plan.going)


def test_a_drain_at_work(live: ControlPlane, tmp_path: Path) -> None:
    """The same nodes are not drained twice at a time; others are."""
    pool(live)
    live.create(node("spare", taints=[{"key": "example.com/closed", "effect": "NoSchedule"}]))
    first = planned(live, tmp_path, "drain", "old1", "old2")
    (tmp_path / "second").mkdir()
    other = planned(live, tmp_path / "second", "drain", "spare")
    told: list[CompletedProcess[str]] = []
    ended = carried_out_beside(
        live, first, "evicted", lambda: told.extend(carried_out(live, path) for path in (first, other))
    )
    assert_refused(told[0], "node old1")
    assert (told[1].returncode, ended.returncode, by(live)) == (0, 0, set())


def test_a_scale_down_at_work(live: ControlPlane, tmp_path: Path) -> None:
    """Its deletion costs stay until the controller has taken its pods, whatever else is started."""
    grown(live)
    script = planned(live, tmp_path, "scale-down", "deployment/web=4")
    told: list[CompletedProcess[str]] = []
    with halted(live, "kube-controller-manager"):
        ended = carried_out_beside(
            live, script, "scaled", lambda: told.append(carried_out(live, script)), TIMEOUT="8"
        )
    assert_refused(told[0], r"pod default/web-\S+")
    assert ended.returncode == 1
    live.at_rest(4)
    ended = carried_out(live, script)
    assert (ended.returncode, by(live), left_behind(live)) == (0, set(), [])
