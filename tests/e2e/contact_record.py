"""Every state of every pod, or of other objects, while something happens, as the API server tells it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for

_JOB_FINALIZER = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True, slots=True)
class Event:
    """One state of one pod, or other object; `gone` is the last one."""

    gone: bool
    item: Manifest

    @property
    def uid(self) -> str:
        """Of the pod."""
        return str(self.item["metadata"]["uid"])

    @property
    def name(self) -> str:
        """`namespace/name`, as documents write it."""
        return f"{self.item['metadata']['namespace']}/{self.item['metadata']['name']}"

    @property
    def ending(self) -> bool:
        """Whether the pod has been told to go."""
        return self.gone or "deletionTimestamp" in self.item["metadata"]

    @property
    def holds_room(self) -> bool:
        """Whether it takes room on a node."""
        done = self.item["status"].get("phase") in ("Failed", "Succeeded")
        return not self.gone and not done and bool(self.node)

    @property
    def node(self) -> str:
        """Its node, or nothing."""
        return str(self.item["spec"].get("nodeName", ""))

    @property
    def ready(self) -> bool:
        """Whether it runs, is ready and stays."""
        return not self.gone and is_ready(self.item)

    @property
    def owner(self) -> str:
        """`Kind/name` of its controller, or nothing."""
        owners = self.item["metadata"].get("ownerReferences", [])
        return f"{owners[0]['kind']}/{owners[0]['name']}" if owners else ""

    @property
    def disruption(self) -> str:
        """Why it was disrupted, as its condition says, or nothing."""
        found = self.item["status"].get("conditions", ())
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
    """Watches pods, or other objects, while a `with` block runs, from what is there on, until all is told.

    Says of pods of Jobs that have ended that they failed, which is a kubelet's part, and a Job with a policy
    for failures waits for it.
    """

    def __init__(self, live: ControlPlane, kind: str = "pods") -> None:
        self.live = live
        self.kind = kind
        self.events: list[Event] = []

    def __enter__(self) -> Recorder:
        # Of more than 500 pods the first ones would come as lists, and not as pods.
        events = ("--watch", "--output-watch-events", "--chunk-size=0", "-o", "json")
        words = ("kubectl", "get", self.kind, "-A", *events)
        self._watch = subprocess.Popen(words, env=self.live.environment, stdout=subprocess.PIPE, text=True)
        assert self._watch.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._watch.stdout,), daemon=True)
        self._reader.start()
        wait_for("what is there", self._is_told)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                wait_for("the last events", self._is_told)
        finally:
            self._end()

    def _is_told(self) -> bool:
        """Whether the events come to what the API server has now."""
        last = {event.uid: event for event in [*self.events]}.values()
        told = _versions(event.item for event in last if not event.gone)
        return told == _versions(self.live.get(self.kind))

    def _end(self) -> None:
        self._watch.terminate()
        self._watch.wait()
        self._reader.join()
        assert self._watch.stdout is not None
        self._watch.stdout.close()

    def _read(self, stream: IO[str]) -> None:
        # A document a line, as long as it is watched.
        for found in map(json.loads, stream):
            event = Event(found["type"] == "DELETED", found["object"])
            self.events.append(event)
            if _has_ended(event):
                self._failed(event)

    def _failed(self, event: Event) -> None:
        namespace, _, name = event.name.partition("/")
        words = ("pod", name, "-n", namespace, "--subresource=status", "--type=merge")
        self.live.run("kubectl", "patch", *words, "-p", '{"status":{"phase":"Failed"}}')


def _versions(items: Iterable[Manifest]) -> dict[str, str]:
    return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in items}


def _has_ended(event: Event) -> bool:
    metadata = event.item["metadata"]
    held = _JOB_FINALIZER in metadata.get("finalizers", ())
    running = event.item["status"].get("phase") in ("Pending", "Running")
    return held and running and not event.gone and metadata.get("deletionGracePeriodSeconds") == 0
