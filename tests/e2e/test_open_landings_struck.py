"""Nodes of a large cluster go, replacements land anywhere, and the script is struck on its way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from tests.e2e.consolidations import (
    assert_emptied,
    at_home,
    consolidation,
    delete_nodes,
    marked,
    old_pool,
    per_domain,
    skew,
)
from tests.e2e.control_plane import ControlPlane
from tests.e2e.stories import carried_out, carried_out_until, left_behind, script_environment
from tests.e2e.unsteady import unsteady

_NODES = ("--nodes", "pool=old")


def struck(live: ControlPlane, script: Path, words: str, times: int, number: int) -> tuple[int, str]:
    """Send the script a signal at the n-th such line; Ctrl-C goes to what it has started, too."""
    told = ""
    with subprocess.Popen(
        ["sh", str(script)],
        env=script_environment(live),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            told += line
            if line.startswith(words) and not (times := times - 1):
                (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
    return running.returncode, told


def lost(live: ControlPlane, name: str) -> None:
    """A node whose kubelet is gone."""
    away = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    live.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps(away))
    live.kubectl("taint", "node", name, "node.kubernetes.io/unreachable:NoSchedule")


def test_struck_in_the_middle(live: ControlPlane, tmp_path: Path) -> None:
    """Ctrl-C, KILL, a node cordoned, one lost, the API server away for a while: it gets to its end."""
    apps = old_pool(live)
    plan = consolidation(live, tmp_path, *_NODES)
    assert len(plan.document["removed"]) == 30
    code, told = struck(live, plan.script, "evicted", 5, signal.SIGINT)
    assert (code in {-signal.SIGINT, 130}, left_behind(live), marked(live)) == (True, [], set()), told
    assert "the nodes that were to go are open again" in told
    at_home(live, 540)
    ended = carried_out(live, plan.script, "--dry-run")
    if ended.returncode:  # a replacement has landed on a node that was open again
        assert "; nothing was changed; plan again: " in ended.stderr
        plan = consolidation(live, tmp_path, *_NODES)
    code, told = struck(live, plan.script, "evicted", 5, signal.SIGKILL)
    assert (code, marked(live)) == (-signal.SIGKILL, plan.going), told

    def meanwhile() -> None:
        live.kubectl("cordon", "n100")
        lost(live, "n101")
        way.refuse(20)

    with unsteady(live) as (away, way):
        ended = carried_out_until(away, plan.script, "evicted", meanwhile)
    assert ended.returncode == 0, ended
    assert_emptied(live, plan, ended)
    assert left_behind(live) == [f"Node/{name}" for name in sorted({*plan.going, "n100"})]
    live.kubectl("uncordon", "n100")
    delete_nodes(live, plan, 540, ended)
    assert max(skew(per_domain(live, app)) for app in apps[1::2]) <= 1
