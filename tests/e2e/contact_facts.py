"""What the events of a story come to: which pods went and when, what was made instead, which Jobs failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from tests.e2e.contact_play import Played
from tests.e2e.contact_record import Event, fewest_ready
from tests.e2e.control_plane import Manifest


class Facts:
    """Of one story; pods by uid, moments by their place among the events."""

    def __init__(self, played: Played) -> None:
        self.played = played
        self.uids = {name_of(pod): _uid(pod) for pod in played.pods_before}
        self.first = {_uid(pod) for pod in played.pods_before}

    @cached_property
    def planned(self) -> dict[str, int]:
        """Uid to wave of the pods that the plan evicts; a plan of binds has no waves."""
        steps, command = self.played.document["steps"], self.played.story.command[0]
        if command == "drain":
            rows = [(eviction["pod"], step["wave"]) for step in steps for eviction in step["evictions"]]
        elif command == "solve":
            rows = [(step["pod"], 0) for step in steps if step["action"] == "evict"]
        else:
            rows = [(step["pod"], step["wave"]) for step in steps]
        return {self.uids[pod]: wave for pod, wave in rows}

    @cached_property
    def left(self) -> dict[str, tuple[int, Event]]:
        """Uid to place and event of the first that told each pod to go."""
        found: dict[str, tuple[int, Event]] = {}
        for place, event in enumerate(self.played.events):
            if event.ending:
                found.setdefault(event.uid, (place, event))
        return found

    @cached_property
    def gone(self) -> dict[str, int]:
        """Uid to place of the last event of each pod that is gone."""
        return {event.uid: place for place, event in enumerate(self.played.events) if event.gone}

    @cached_property
    def ready(self) -> dict[str, int]:
        """Uid to place of the first event at which each pod is ready."""
        found: dict[str, int] = {}
        for place, event in enumerate(self.played.events):
            if event.ready:
                found.setdefault(event.uid, place)
        return found

    @cached_property
    def replacements(self) -> dict[str, str | None]:
        """Uid of each planned pod to that of its replacement, in the order in which both come and go."""
        made: dict[str, list[str]] = defaultdict(list)
        for event in self.played.events:
            if event.uid not in self.first and event.uid not in made[event.owner]:
                made[event.owner].append(event.uid)
        found: dict[str, str | None] = {}
        for uid, (_, event) in self.left.items():
            if uid in self.planned:
                found[uid] = made[event.owner].pop(0) if made[event.owner] else None
        return found

    @cached_property
    def failed_jobs(self) -> dict[str, str]:
        """The Jobs that have failed, and why; they take their pods with them."""
        return {
            f"Job/{job['metadata']['name']}": condition["reason"]
            for job in self.played.jobs
            for condition in job.get("status", {}).get("conditions", ())
            if condition["type"] in ("FailureTarget", "Failed")
        }

    def fewest_ready(self, counted: Callable[[Event], bool]) -> tuple[int, int]:
        """The fewest ready pods of some at any moment, and how many there were at the beginning."""
        return fewest_ready(self.played.events, counted, len(self.first))

    def name(self, uid: str) -> str:
        """Of a pod of the beginning."""
        return next(name for name, found in self.uids.items() if found == uid)


def name_of(pod: Manifest) -> str:
    """`namespace/name`."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _uid(pod: Manifest) -> str:
    return str(pod["metadata"]["uid"])
