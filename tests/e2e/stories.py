"""What stories have in common: clusters out of balance, scripts, and what must hold at the end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.control_plane import ControlPlane, Manifest
from tests.e2e.manifests import ZONE, budget, node, spread, workload

#: What scripts leave on objects while they are at work.
MARKS = (
    "planner/pinned-for",
    "planner/affinity",
    "planner/resume",
    "planner/deletion-cost",
    "planner/cordoned-for",
    "planner/by",
)


def zone_that_came_back(live: ControlPlane) -> int:
    """Thirty nodes in three zones, 99 pods of eight Deployments with budgets, none of them in zone c.

    Returns the number of pods.
    """
    replicas = (6, 9, 9, 12, 12, 15, 18, 18)
    live.create(*(node(f"n{zone}{n}", zone=zone) for zone in "ab" for n in range(10)))
    for number, many in enumerate(replicas):
        name = f"app{number}"
        live.create(workload(name, many, spread(name), cpu="200m"), budget(name, maxUnavailable=1))
    live.at_rest(sum(replicas))
    live.create(*(node(f"nc{n}", zone="c") for n in range(10)))
    return sum(replicas)


def lopsided(live: ControlPlane, **words: Any) -> None:
    """Four pods in zone a, and a zone b that has come since: two moves, which the filter leads."""
    live.create(node("a1"), node("a2"), workload("web", 4, spread("web"), **words))
    live.at_rest(4)
    live.create(node("b1", zone="b"))


def planned(live: ControlPlane, folder: Path, *command: str) -> Path:
    """The script that the planner prints for the live cluster."""
    ended = live.planner(*command, "-o", "script")
    assert ended.returncode in (0, 1), ended.stderr
    script = folder / "script.sh"
    script.write_text(ended.stdout)
    return script


def script_environment(live: ControlPlane, **settings: str) -> dict[str, str]:
    """What a script needs, with more time for every wave than even a machine with other work takes."""
    return {**live.environment, "TIMEOUT": "180", **settings}


_PROGRESS = re.compile(r"waiting(: | for \d+ (pods? to end, |s, at most ))")


def carried_out(
    live: ControlPlane, script: Path, *words: str, progress: bool = False, **settings: str
) -> subprocess.CompletedProcess[str]:
    """A script, run to its end; its lines of progress, which depend on the machine, only where asked for."""
    ended = subprocess.run(
        ["sh", str(script), *words],
        env=script_environment(live, **settings),
        capture_output=True,
        text=True,
        check=False,
    )
    if not progress:
        lines = ended.stderr.splitlines(keepends=True)
        ended.stderr = "".join(line for line in lines if not _PROGRESS.match(line))
    return ended


def carried_out_until(
    live: ControlPlane, script: Path, words: str, then: Callable[[], object], **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a script, and do something as soon as it says a line with these words; it is halted meanwhile."""

    def halted(running: subprocess.Popen[str]) -> None:
        os.killpg(running.pid, signal.SIGSTOP)
        try:
            then()
        finally:
            os.killpg(running.pid, signal.SIGCONT)

    return _listened_to(live, script, words, 1, halted, **settings)


def carried_out_beside(
    live: ControlPlane, script: Path, words: str, then: Callable[[], object], **settings: str
) -> subprocess.CompletedProcess[str]:
    """The same, but the script goes on meanwhile."""
    return _listened_to(live, script, words, 1, lambda _: then(), **settings)


def struck(
    live: ControlPlane, script: Path, name: str, words: str, times: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run a script that a signal comes to at its n-th line with these words.

    A Ctrl-C comes to what the script has started, too.
    """
    send = os.killpg if name == "INT" else os.kill
    number = signal.Signals[f"SIG{name}"]
    return _listened_to(live, script, words, times, lambda running: send(running.pid, number))


def _listened_to(
    live: ControlPlane,
    script: Path,
    words: str,
    times: int,
    then: Callable[[subprocess.Popen[str]], object],
    **settings: str,
) -> subprocess.CompletedProcess[str]:
    """Run a script, and do something at its n-th line with these words; both of its streams are one."""
    told = ""
    with subprocess.Popen(
        ["sh", str(script)],
        env=script_environment(live, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            told += line
            if words in line and not (times := times - 1):
                then(running)
    assert times <= 0, told
    return subprocess.CompletedProcess(running.args, running.returncode, told)


def too_many(live: ControlPlane) -> int:
    """Violations, as the planner counts them afresh."""
    ended = live.planner("check", "-o", "json")
    found: int = json.loads(ended.stdout)["violations"]
    return found


def per_zone(live: ControlPlane, app: str) -> Counter[str]:
    """How many pods of an app there are in each zone."""
    zones = {item["metadata"]["name"]: item["metadata"]["labels"][ZONE] for item in live.get("nodes")}
    return Counter(zones.get(pod["spec"].get("nodeName", ""), "-") for pod in live.pods(labels=f"app={app}"))


def evictions(live: ControlPlane, before: list[Manifest]) -> int:
    """How many of the pods that were there are gone."""
    now = {pod["metadata"]["uid"] for pod in live.get("pods")}
    return len({pod["metadata"]["uid"] for pod in before} - now)


def left_behind(live: ControlPlane) -> list[str]:
    """Whatever is paused, pinned, cordoned or marked."""
    found = []
    items = live.get("deployments,replicasets,nodes,pods")
    affinities = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"].get("affinity")
        for item in items
        if item["kind"] == "Deployment"
    }
    for item in items:
        name = f"{item['kind']}/{item['metadata']['name']}"
        marks = set(item["metadata"].get("annotations", {})).intersection(MARKS)
        if marks or item["spec"].get("paused") or item["spec"].get("unschedulable"):
            found.append(name)
        for above in item["metadata"].get("ownerReferences", ()) if item["kind"] == "ReplicaSet" else ():
            if item["spec"]["template"]["spec"].get("affinity") != affinities[above["name"]]:
                found.append(f"{name} affinity")
    return found


def versions(live: ControlPlane) -> dict[str, str]:
    """The version of every object that a script might touch, once controllers are at rest."""

    def read() -> dict[str, str]:
        found = live.get("pods,replicasets,deployments,nodes")
        return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in found}

    return live.unchanged(read, seconds=1)


_STOPPER = """#!/bin/sh
# kubectl that strikes the script: before its $AT-th call, or right after it.
number=$(($(cat "$COUNTER") + 1))
echo "$number" >"$COUNTER"
[ "$WHEN$number" != "before$AT" ] || kill "-$SIGNAL" "$(cat "$TARGET")"
kubectl "$@"
code=$?
[ "$WHEN$number" != "after$AT" ] || kill "-$SIGNAL" "$(cat "$TARGET")"
exit "$code"
"""


#: One after the other, so that each comes at every kind of moment.
_SIGNALS = ("KILL", "TERM", "HUP", "INT")


def struck_everywhere(
    live: ControlPlane, script: Path, changed: Callable[[ControlPlane], object], first: int = 4
) -> None:
    """Strike a script at one call of kubectl after the other, from the `first`, until it gets to its end.

    It ends by the signal itself as long as there is nothing to put back; a KILL alone leaves something
    `changed`.
    """
    for at in range(80):
        name = _SIGNALS[at % len(_SIGNALS)]
        code = strike(live, script, name, first + at, ("before", "after")[at % 2]).returncode
        if code == 0:
            assert at > 6
            return
        number = signal.Signals[f"SIG{name}"]
        assert code in (-number, 128 + number), (at, name)
        if name != "KILL":
            assert not changed(live), (at, name)
    raise AssertionError("it never gets to its end")


def strike(
    live: ControlPlane, script: Path, name: str, at: int, when: str
) -> subprocess.CompletedProcess[str]:
    """Run a script whose n-th call of kubectl brings it a signal."""
    kubectl, counter, target = (script.with_name(name) for name in ("kubectl", "counter", "target"))
    kubectl.write_text(_STOPPER)
    kubectl.chmod(0o755)
    counter.write_text("0")
    words = {"COUNTER": str(counter), "TARGET": str(target), "SIGNAL": name, "AT": str(at), "WHEN": when}
    return subprocess.run(
        ["sh", "-c", 'echo $$ >"$TARGET"; exec sh "$0"', str(script)],
        env=script_environment(live, KUBECTL=str(kubectl), **words),
        capture_output=True,
        text=True,
        check=False,
    )
