"""Every state of every pod while something happens, as the API server tells it, in its order."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from tests.e2e.control_plane import ControlPlane, Manifest, is_ready

_JOB_FINALIZER = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True, slots=True)
class Event:
    """One state of one pod; `gone` is the last one."""

    gone: bool
    pod: Manifest
    at: float

    @property
    def uid(self) -> str:
        """Of the pod."""
        return str(self.pod["metadata"]["uid"])

    @property
    def name(self) -> str:
        """`namespace/name`, as documents write it."""
        return f"{self.pod['metadata']['namespace']}/{self.pod['metadata']['name']}"

    @property
    def ending(self) -> bool:
        """Whether the pod has been told to go."""
        return self.gone or "deletionTimestamp" in self.pod["metadata"]

    @property
    def holds_room(self) -> bool:
        """Whether it takes room on a node."""
        done = self.pod["status"].get("phase") in ("Failed", "Succeeded")
        return not self.gone and not done and bool(self.node)

    @property
    def node(self) -> str:
        """Its node, or nothing."""
        return str(self.pod["spec"].get("nodeName", ""))

    @property
    def ready(self) -> bool:
        """Whether it runs, is ready and stays."""
        return not self.gone and is_ready(self.pod)

    @property
    def owner(self) -> str:
        """`Kind/name` of its controller, or nothing."""
        owners = self.pod["metadata"].get("ownerReferences", [])
        return f"{owners[0]['kind']}/{owners[0]['name']}" if owners else ""

    @property
    def disruption(self) -> str:
        """Why it was disrupted, as its condition says, or nothing."""
        found = self.pod["status"].get("conditions", ())
        return next((c.get("reason", "") for c in found if c["type"] == "DisruptionTarget"), "")


def fewest_ready(events: Sequence[Event], counted: Callable[[Event], bool], first: int) -> tuple[int, int]:
    """The fewest ready pods of some at any moment, and how many there were at the beginning.

    A watch lists the pods that are there first: so many.
    """
    states: dict[str, bool] = {}
    numbers: list[int] = []
    for event in events:
        if counted(event):
            states[event.uid] = event.ready
        numbers.append(sum(states.values()))
    since = numbers[first - 1 :] or [0]
    return min(since), since[0]


class Recorder:
    """Watches pods while a `with` block runs; says of pods of Jobs that have ended that they failed.

    The latter is a kubelet's part, and a Job with a policy for failures waits for it.
    """

    def __init__(self, live: ControlPlane) -> None:
        self.live = live
        self.events: list[Event] = []

    def __enter__(self) -> Recorder:
        # Of more than 500 pods the first ones would come as lists, and not as pods.
        events = ("--watch", "--output-watch-events", "--chunk-size=0", "-o", "json")
        words = ("kubectl", "get", "pods", "-A", *events)
        self._watch = subprocess.Popen(words, env=self.live.environment, stdout=subprocess.PIPE, text=True)
        assert self._watch.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._watch.stdout,), daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The last events may be on their way.
        time.sleep(0.5)
        self._watch.terminate()
        self._watch.wait()
        self._reader.join()
        assert self._watch.stdout is not None
        self._watch.stdout.close()

    def _read(self, stream: IO[str]) -> None:
        # A document a line, as long as it is watched.
        for found in map(json.loads, stream):
            event = Event(found["type"] == "DELETED", found["object"], time.monotonic())
            self.events.append(event)
            if _has_ended(event):
                self._failed(event)

    def _failed(self, event: Event) -> None:
        namespace, _, name = event.name.partition("/")
        words = ("pod", name, "-n", namespace, "--subresource=status", "--type=merge")
        self.live.run("kubectl", "patch", *words, "-p", '{"status":{"phase":"Failed"}}')


def _has_ended(event: Event) -> bool:
    metadata = event.pod["metadata"]
    held = _JOB_FINALIZER in metadata.get("finalizers", ())
    running = event.pod["status"].get("phase") in ("Pending", "Running")
    return held and running and not event.gone and metadata.get("deletionGracePeriodSeconds") == 0
