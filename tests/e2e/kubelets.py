"""Kubelets for a control plane: a bound pod becomes Running and Ready, one that is told to go goes.

The stand-in that comes with the control plane lists all pods ten times a second, which is most of what a
small cluster does.  This one watches them, and goes by the same annotations: `stand-in/ready-after` and
`stand-in/linger` in seconds, and `stand-in/never-ready`.  It ends with its standard input.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from tests.control_plane.api import Api
from tests.e2e.control_plane import Manifest

_PAUSE = 0.1
#: After so long it is asked for again what has not come.
_AGAIN = 5.0
#: A connection that ended, perhaps in the middle of a line.
_LOST = (OSError, http.client.HTTPException, json.JSONDecodeError)
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


class Kubelets:
    """The pods that have something to come, and when it comes."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._pods: dict[str, Manifest] = {}
        self._due: dict[tuple[str, bool], float] = {}

    def see(self, happened: str, pod: Manifest) -> None:
        """An event of a pod."""
        uid, going = pod["metadata"]["uid"], _is_going(pod)
        self._pods.pop(uid, None)
        if happened == "DELETED":
            self._due.pop((uid, True), None)
            self._due.pop((uid, False), None)
        elif pod["spec"].get("nodeName") and (going or _is_to_start(pod)):
            self._pods[uid] = pod
            after = _annotation(pod, "linger" if going else "ready-after") or "0"
            self._due.setdefault((uid, going), time.monotonic() + float(after))

    def act(self) -> None:
        """Let come what is due."""
        for uid, pod in self._pods.items():
            key = uid, _is_going(pod)
            if time.monotonic() >= self._due[key]:
                (self._end if key[1] else self._start)(pod)
                self._due[key] = time.monotonic() + _AGAIN

    def _end(self, pod: Manifest) -> None:
        if pod["metadata"].get("finalizers"):
            # The Job controller takes its finalizer off a pod that it replaces when it has failed.
            self._api.try_to("PATCH", f"{_path(pod)}/status", {"status": {"phase": "Failed"}})
        only = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._api.try_to("DELETE", _path(pod), only)

    def _start(self, pod: Manifest) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        status = {
            "phase": "Running",
            "startTime": stamp,
            "containerStatuses": [_running(container, stamp) for container in pod["spec"]["containers"]],
            "conditions": [
                {"type": name, "status": "True", "lastTransitionTime": stamp} for name in _CONDITIONS
            ],
        }
        self._api.try_to("PATCH", f"{_path(pod)}/status", {"status": status})


def _running(container: Manifest, stamp: str) -> Manifest:
    known = {"name": container["name"], "image": container["image"], "imageID": container["image"]}
    state = {"running": {"startedAt": stamp}}
    return known | {"ready": True, "started": True, "restartCount": 0, "state": state}


def _is_going(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _is_to_start(pod: Manifest) -> bool:
    return pod["status"].get("phase") == "Pending" and _annotation(pod, "never-ready") is None


def _annotation(pod: Manifest, name: str) -> str | None:
    found: str | None = pod["metadata"].get("annotations", {}).get(f"stand-in/{name}")
    return found


def _path(pod: Manifest) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _watch(api: Api, note: Callable[[tuple[str, Manifest]], None]) -> None:
    """All pods again whenever the server ends the watch, so that nothing is missed."""
    while True:
        with suppress(*_LOST):
            for event in api.watch("/api/v1/pods"):
                note(event)
        time.sleep(_PAUSE)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(kubeconfig: Path) -> None:
    """Until standard input ends."""
    events: SimpleQueue[tuple[str, Manifest]] = SimpleQueue()
    threading.Thread(target=_end_with_input, daemon=True).start()
    threading.Thread(target=_watch, args=(Api(kubeconfig), events.put), daemon=True).start()
    kubelets = Kubelets(Api(kubeconfig))
    while True:
        time.sleep(_PAUSE)
        while not events.empty():
            kubelets.see(*events.get())
        with suppress(*_LOST):
            kubelets.act()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
