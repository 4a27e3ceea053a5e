"""One random story on a real control plane: set up, planned, carried out, and all of it written down."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.contact_record import Event, Recorder
from tests.e2e.contact_stories import Filler, Shrunk, Story, Unready, priority_classes
from tests.e2e.control_plane import PATIENCE_SECONDS, ControlPlane, Manifest, wait_for
from tests.e2e.manifests import ZONE
from tests.e2e.stories import carried_out, left_behind

#: A script gives up after so many seconds without progress; more than the longest grace period.
TIMEOUT = 40
_STILL_SECONDS = 1.5
#: A Job makes a failed pod again after ten seconds, and a pod may take all of its grace period.
_LAST_SECONDS = 24
#: Where nothing changes for so long not all pods find room.
_UNPLAYABLE_SECONDS = 8
_SEARCH_SECONDS = "120"


class UnplayableError(Exception):
    """No story: not all pods of the cluster find room, or the search was cut and would find another plan."""


@dataclass(frozen=True, slots=True)
class Played:
    """What the planner said, what the script did, and every state of every pod meanwhile."""

    story: Story
    document: Manifest
    exit_code: int
    #: The script's exit code and what it said, None when there was none to run.
    script_code: int | None
    told: str
    events: Sequence[Event]
    pods_before: Sequence[Manifest]
    pods_after: Sequence[Manifest]
    check_before: Manifest
    check_after: Manifest
    nodes: Sequence[Manifest]
    budgets: Sequence[Manifest]
    jobs: Sequence[Manifest]
    preempted: Sequence[str]
    left_behind: Sequence[str]


def play(live: ControlPlane, story: Story, folder: Path) -> Played:
    """The story from its manifests to the end."""
    prepare(live, story)
    assert live.planner("snapshot", "-o", str(folder / "snapshot.json")).returncode == 0
    pods, before, known = live.pods(), _checked(live), _preempted(live)
    words = (*story.command, "--kubeconfig", str(live.kubeconfig))
    if story.command[0] != "drain":
        words = (*words, "--time-limit", _SEARCH_SECONDS)
    ended = live.planner(*words, "-o", "json")
    assert ended.returncode in (0, 1), (story.seed, ended.returncode, ended.stderr)
    document = json.loads(ended.stdout)
    (folder / "plan.json").write_text(ended.stdout)
    if document.get("cut"):
        raise UnplayableError("the search was cut")
    code, told, events = _carried_out(live, words, folder, pods)
    return Played(
        story=story,
        document=document,
        exit_code=ended.returncode,
        script_code=code,
        told=told,
        events=events,
        pods_before=pods,
        pods_after=live.pods(),
        check_before=before,
        check_after=_checked(live),
        nodes=live.get("nodes"),
        budgets=live.get("poddisruptionbudgets"),
        jobs=live.get("jobs"),
        preempted=sorted(_preempted(live) - known),
        left_behind=left_behind(live),
    )


def _carried_out(
    live: ControlPlane, words: Sequence[str], folder: Path, pods: Sequence[Manifest]
) -> tuple[int | None, str, Sequence[Event]]:
    """The script, run until it ends and the cluster has come to rest; exit code, words and events."""
    printed = live.planner(*words, "-o", "script")
    script = folder / "script.sh"
    script.write_text(printed.stdout)
    if not printed.stdout:
        return None, printed.stderr, ()
    with Recorder(live) as recorder:
        ended = carried_out(live, script, TIMEOUT=str(TIMEOUT))
        at_rest(live, len(pods), PATIENCE_SECONDS, _LAST_SECONDS)
    (folder / "told").write_text(ended.stdout + ended.stderr)
    return ended.returncode, ended.stderr, recorder.events


def prepare(live: ControlPlane, story: Story) -> None:
    """Create everything, stage by stage, with real controllers and the real scheduler at work."""
    live.create(*priority_classes(), *story.early, *story.workloads, *story.budgets)
    pods = sum(item["spec"].get("replicas", item["spec"].get("parallelism", 0)) for item in story.workloads)
    _running(live, pods)
    if story.shrunk:
        pods -= sum(_shrink(live, shrunk) for shrunk in story.shrunk)
        _running(live, pods)
    live.create(*story.late) if story.late else None
    for filler in story.fillers:
        pods += _fill(live, filler)
        _running(live, pods)
    for unready in story.unready:
        _stop_being_ready(live, unready)
    if story.held:
        live.create(*story.held)
    wait_for("a count of every budget", lambda: live.is_seen(live.get("pods")))


def _running(live: ControlPlane, pods: int) -> None:
    found = at_rest(live, pods, PATIENCE_SECONDS, _UNPLAYABLE_SECONDS)
    if len(found) != pods or any(item["status"]["phase"] != "Running" for item in found):
        raise UnplayableError(f"{len(found)} of {pods} pods")


def at_rest(live: ControlPlane, pods: int, seconds: float, patience: float) -> list[Manifest]:
    """The pods when so many run and nothing has changed for a moment, or when nothing changes for longer."""
    until, seen, since = time.monotonic() + seconds, "", time.monotonic()
    while True:
        found = live.get("pods")
        now = str(sorted(item["metadata"]["resourceVersion"] for item in found))
        if now != seen:
            seen, since = now, time.monotonic()
        still = time.monotonic() - since
        if still > (_STILL_SECONDS if _all_run(found, pods) else patience) or time.monotonic() > until:
            return found
        time.sleep(0.7)


def _all_run(found: list[Manifest], pods: int) -> bool:
    def runs(item: Manifest) -> bool:
        gated = bool(item["spec"].get("schedulingGates"))
        leaves = "deletionTimestamp" in item["metadata"]
        return gated or (item["status"].get("phase") == "Running" and not leaves)

    return len(found) == pods and all(map(runs, found))


def _shrink(live: ControlPlane, shrunk: Shrunk) -> int:
    """Take replicas away, those of one zone first; how many went."""
    zones = {item["metadata"]["name"]: item["metadata"]["labels"][ZONE] for item in live.get("nodes")}
    pods = live.pods(labels=f"app={shrunk.name}")
    first = [item["metadata"]["name"] for item in pods if zones[item["spec"]["nodeName"]] == shrunk.zone]
    if first:
        live.kubectl("annotate", "pod", *first, "controller.kubernetes.io/pod-deletion-cost=-100")
    live.kubectl("scale", f"deployment/{shrunk.name}", f"--replicas={shrunk.replicas}")
    return len(pods) - shrunk.replicas


def _fill(live: ControlPlane, filler: Filler) -> int:
    """Create a filler with as many pods as its share of the free room holds; how many."""
    places = sum(free // filler.cpu_milli for zone, free in _free_milli(live) if filler.zone in (None, zone))
    replicas = int(places * filler.share)
    manifest = {**filler.manifest, "spec": {**filler.manifest["spec"], "replicas": replicas}}
    live.create(manifest)
    return replicas


def _free_milli(live: ControlPlane) -> Iterator[tuple[str, int]]:
    """The zone and the free CPU of every node."""
    pods = live.pods()
    for item in live.get("nodes"):
        name, labels = item["metadata"]["name"], item["metadata"]["labels"]
        used = sum(cpu_milli(p) for p in pods if p["spec"].get("nodeName") == name)
        yield labels[ZONE], int(item["status"]["allocatable"]["cpu"]) * 1000 - used


def cpu_milli(pod: Manifest) -> int:
    """What a pod asks for; the API server writes whole CPUs without the m."""
    text = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return int(text.removesuffix("m")) if text.endswith("m") else int(text) * 1000


def _stop_being_ready(live: ControlPlane, unready: Unready) -> None:
    if not unready.movable:
        live.kubectl("annotate", "pod", unready.name, "cluster-autoscaler.kubernetes.io/safe-to-evict=false")
    change = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    words = ("pod", unready.name, "-n", "default", "--subresource=status", "--type=strategic")
    live.kubectl("patch", *words, "-p", json.dumps(change))


def _checked(live: ControlPlane) -> dict[str, Any]:
    """The cluster as `planner check` sees it now."""
    found: dict[str, Any] = json.loads(live.planner("check", "-o", "json").stdout)
    return found


def _preempted(live: ControlPlane) -> set[str]:
    """What the scheduler has said about preemption until now."""
    found = live.get("events", fields="reason=Preempted")
    return {f"{item['metadata']['uid']} {item['message']}" for item in found}
